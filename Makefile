# make help lists the targets. On a fresh machine with Go, a C compiler (for the
# race detector) and git, `make demo` and `make test` are the whole set-up.

.DEFAULT_GOAL := build
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# Stamped by hand: a checkout without git history builds as well.
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)

# One set of flags for whatever touches the labcluster module: its dependencies
# are compiled once for building, testing and linting together.
LAB := cd cmd/labcluster && CGO_ENABLED=0 GOFLAGS=-trimpath
# The modules of Kubernetes carry no version: the link says which one it is.
KUBERNETES = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2; exit }' cmd/labcluster/go.mod)
# Prometheus itself, for the tests of examples/monitoring alone.
PROMCHECK := cd tools/promcheck &&
LAB_SOURCES := $(shell find cmd/labcluster -name '*.go' -o -name 'go.*')

CONTROLLER_GEN := go tool -modfile=tools/controller-gen/go.mod controller-gen

.PHONY: help build demo test chromium bench soak lint generate bin/webservice-controller
.PHONY: lint-format lint-generated lint-modules lint-code

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s%s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: bin/webservice-controller bin/labcluster ## build bin/webservice-controller and bin/labcluster

# The Dockerfile runs this target as well: the same sources, version and Go release
# make the same binary anywhere.
bin/webservice-controller:
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false \
		-ldflags '-s -w -buildid= -X "main.version=$(VERSION) $(COMMIT)"' -o $@ ./cmd/webservice-controller

bin/labcluster: $(LAB_SOURCES)
	@echo 'building bin/labcluster, a Kubernetes API server: about 6 minutes on 2 cores the first time'
	@$(LAB) go build -buildvcs=false -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)' -o ../../bin/labcluster .
	@touch $@

demo: build ## start a control plane and the controller on desired/; Ctrl-C ends both
	@hack/demo.sh

# A real browser is what the status page is tested in.
chromium:
	@hack/chromium.sh

test: build chromium ## run every test; sets up what they need
	go test -race -timeout 20m $$(go list ./... | grep -v -e /internal/bench -e /internal/e2e -e /internal/walk)
	@# What runs the whole program has the machine to itself.
	go test -race -p 1 -timeout 45m ./internal/e2e ./internal/walk
	@# The walk over all combinations is whole, and speed is measured, without the race detector.
	go test -timeout 20m ./internal/plan
	go test -timeout 20m ./internal/bench
	$(LAB) go test -timeout 20m ./...
	$(PROMCHECK) go test -timeout 10m ./...

bench: build chromium ## measure speed and cost, against a bare loop and against bounds
	go test -v -count=1 -timeout 20m ./internal/bench

soak: build ## test what takes minutes: long outages, tokens that end, long fights, long walks; over an hour
	go test -tags soak -v -count=1 -parallel 8 -timeout 120m -run Soak ./internal/e2e
	WALK_STEPS=20000 WALK_SEED=$${WALK_SEED:-$$RANDOM} go test -v -count=1 -timeout 120m -run TestARandomWalk ./internal/walk

lint: lint-format lint-generated lint-modules lint-code ## format, linters, generated code up to date, modules tidy

lint-format:
	@unformatted=$$(gofmt -l cmd internal manifests tools); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:" $$unformatted; exit 1; fi

# Generates into a directory of its own and compares: the work tree stays as it is.
lint-generated:
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	$(CONTROLLER_GEN) object crd paths=./internal/api/v1 \
		output:object:dir="$$fresh/api" output:crd:dir="$$fresh/crd"; \
	{ diff -u internal/api/v1/zz_generated.deepcopy.go "$$fresh/api/zz_generated.deepcopy.go" && \
	diff -ru manifests/crd "$$fresh/crd"; } || \
	{ echo 'generated files are stale: run make generate and commit'; exit 1; }

# The tools' modules aren't held to be tidy: that would fetch what their own
# tests need.
lint-modules:
	@for module in . cmd/labcluster tools/promcheck tools/controller-gen tools/golangci-lint; do \
		( cd $$module && go mod verify >/dev/null ) || { echo "$$module: modules differ from go.sum"; exit 1; }; \
	done
	@for module in . cmd/labcluster tools/promcheck; do \
		( cd $$module && go mod tidy -diff ) || { echo "$$module: run go mod tidy there and commit"; exit 1; }; \
	done

lint-code:
	@echo 'linting; the first time this compiles the linter and all of labcluster, about 6 minutes on 2 cores'
	@go vet ./...
	@linter=$$(go tool -n -modfile=tools/golangci-lint/go.mod golangci-lint) && \
	"$$linter" run ./... && \
	( $(LAB) "$$linter" run --config ../../.golangci.yml ./... ) && \
	$(PROMCHECK) "$$linter" run --config ../../.golangci.yml ./...

generate: ## make deepcopy code and the CRD from internal/api/v1 anew
	$(CONTROLLER_GEN) object paths=./internal/api/v1
	$(CONTROLLER_GEN) crd paths=./internal/api/v1 output:crd:dir=manifests/crd
