#!/usr/bin/env bash
# Starts the embedded control plane in .demo and the controller on desired/, and
# says how to look at the result. Ctrl-C ends both. `make demo` builds them first.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${DEMO_DIR:-.demo}
lab_pid= hint_pid= controller_pid=

# Every child gets a process group of its own. In a terminal, Ctrl-C then reaches
# the controller alone, so that the control plane outlives its last requests, and
# make, which would call it a failure, doesn't notice.
set -m

stop() {
  trap '' INT TERM
  for pid in $hint_pid $controller_pid $lab_pid; do
    kill -TERM "$pid" 2>/dev/null && wait "$pid" || true
  done
}
trap stop EXIT
trap 'exit 0' INT TERM

start_lab() {
  mkdir -p -m 700 "$dir"
  echo 'starting the control plane (a few seconds) ...'
  exec 3< <(exec bin/labcluster up --dir "$dir" 2>"$dir/labcluster.log")
  lab_pid=$!
  local line
  while read -r line <&3; do
    [[ $line == ready* ]] && return
  done
  echo "the control plane didn't start; the end of $dir/labcluster.log:" >&2
  tail -n 5 "$dir/labcluster.log" >&2
  exit 1
}

# A cycle has ended: all is as desired/ says, or the log has told what isn't.
hint_when_settled() {
  until grep -qs '"finished"' "$dir/out/reconcile-report.json"; do sleep 0.2; done
  local so='The cluster is what desired/ says.'
  grep -qs '"converged": true' "$dir/out/reconcile-report.json" || so='Not all is as desired/ says; the lines above tell why.'
  cat <<TEXT

$so
Open the page at the address behind "serving http", or, in another terminal:

  export KUBECONFIG=$dir/kubeconfig
  bin/labcluster kubectl get webservices -A
  bin/labcluster kubectl get configmap checkout-desired -n crd-lab -o yaml
  cat $dir/out/reconcile-report.json

Edit a file below desired/ and look again. Ctrl-C ends the demo.

TEXT
}

run_controller() {
  local command=(bin/webservice-controller run --kubeconfig "$dir/kubeconfig" --out "$dir/out")
  if [ -t 0 ]; then
    "${command[@]}"
  else
    # Without a terminal the signal comes to this script, which a job in the
    # foreground would keep from hearing it.
    "${command[@]}" &
    controller_pid=$!
    wait "$controller_pid"
  fi
}

start_lab
rm -f "$dir/out/reconcile-report.json"
hint_when_settled &
hint_pid=$!
run_controller
