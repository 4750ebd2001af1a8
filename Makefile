# The two commands that everybody needs are `make demo` and `make test`.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# A count of inputs, not a time: a time that runs out while a worker is busy is reported by go test as a failure.
FUZZTIME ?= 4000x

.PHONY: help demo test lint fuzz bench build need-demo need-test need-lint

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: need-demo ## the whole job on embedded defaults: label to posted report
	go run ./cmd/bot demo $(DEMO_FLAGS)

test: need-test ## all tests, under the race detector
	go vet ./...
	go test -race -timeout 20m ./...

lint: need-lint ## formatting, vet, staticcheck, deployment files, a short run of every fuzz target
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not gofmt-ed:"; echo "$$files"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	bash deploy/check.sh
	$(MAKE) --no-print-directory fuzz

fuzz: ## run every fuzz target for FUZZTIME (4000x, or a time such as 10m)
	@.ci/fuzz $(FUZZTIME)

SOAK ?= 1h
.PHONY: soak
soak: need-demo ## serve and a runner busy with short jobs for SOAK, with what they hold each minute
	go vet -tags soak ./cmd/bot
	go test -tags soak -count=1 -v -timeout 0 -run '^TestSoak$$' ./cmd/bot -args -soak $(SOAK)

bench: ## the benchmarks behind every speed and memory figure
	go test -run '^$$' -bench . -benchmem ./...

build: ## a static binary in ./bin/bot
	CGO_ENABLED=0 go build -trimpath -o bin/bot ./cmd/bot

need-demo:
	@.ci/need bubblewrap:bwrap git:git
need-test:
	@.ci/need bubblewrap:bwrap git:git r-base-core:Rscript nodejs:node chromium:chromium
need-lint:
	@.ci/need systemd:systemd-analyze bubblewrap:bwrap python3-yaml:/usr/share/doc/python3-yaml python3-seccomp:/usr/share/doc/python3-seccomp

.PHONY: simulate r-check need-r
simulate: ## draw what the statistics claim 400,000 times over, into docs/validation.md
	go run ./report/stats/simulate/table $(SIMULATE_FLAGS)

r-check: need-r ## 200 random comparisons against R's t.test, with the largest error
	go test -count=1 -run '^TestWelchAgreesWithR$$' -v ./report

need-r:
	@.ci/need r-base-core:Rscript

.PHONY: contract need-contract
contract: need-contract ## requests, answers and webhooks against GitHub's own descriptions, and a GitHub that others wrote
	@internal/forgetest/contract/run

need-contract:
	@.ci/need git:git bubblewrap:bwrap nodejs:node npm:npm
