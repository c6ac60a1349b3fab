#!/usr/bin/env bash
# Sees to it that there is a Chromium: the status page is tested in a real browser.
set -euo pipefail

for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null; then exit 0; fi
done

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo 'installing Chromium, in which the status page is tested'
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends chromium fonts-noto-core >/dev/null
  exit 0
fi

cat >&2 <<'TEXT'
error: the tests of the status page need Chromium, and it can't be installed from here.
Install it (Debian: sudo apt-get install chromium), or run this as root on Debian.
TEXT
exit 1
