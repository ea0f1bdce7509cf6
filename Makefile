# What developers type often. CONTRIBUTING.md explains; .ci/run checks everything.

BUF = go tool -modfile=tools/go.mod buf

# Time for each fuzz target of make fuzz.
FUZZTIME = 10m

.PHONY: all build web test beam live check race lint prose fmt generate golden fuzz bench bench-docs microbench ci

all: build test

build:
	go build -o weft ./cmd/weft

# weft for browsers: weft.html, one file, and weft-hosted/, the same for web servers (docs/web.md).
web:
	go run ./cmd/weftweb/bundle

test:
	go test ./...
	go -C tools/perftable test ./...
	go -C internal/outside test ./...
	go -C internal/outside/arrow test ./...
	go -C browsertest test ./...

# Vets and tests the module of the Apache Beam pipeline. Building Beam from nothing takes a few minutes. WEFT_BEAM_SLOW=1 adds what needs
# more: prism and workers as processes, many kills, 100,000 files.
beam:
	go -C beam vet ./...
	go -C beam test -timeout=15m ./...

# Records programs with the tracers of this machine, or says what is missing for that.
live:
	@.ci/live

check: test live

race:
	go test -race ./...

lint:
	go vet ./...
	go -C tools vet ./...
	go -C tools/perftable vet ./...
	go -C internal/outside vet ./...
	go -C internal/outside/arrow vet ./...
	go -C browsertest vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	$(BUF) lint
	$(BUF) format -d --exit-code

# Checks pages, comments and texts by the rules in tools/vale/styles. Building Vale needs a C compiler.
prose:
	tools/vale/run

fmt:
	gofmt -w $$(git ls-files '*.go' ':!*.pb.go')
	$(BUF) format -w

# Writes gen/, internal/schema and what weft schema prints anew from proto/, and what internal/outside has of its own.
generate:
	$(BUF) generate
	cp proto/weft/v1/event.proto cmd/weft/schema/event.proto
	$(BUF) build --path proto/weft --exclude-source-info --as-file-descriptor-set -o cmd/weft/schema/event.binpb
	$(BUF) generate --template internal/outside/buf.gen.yaml internal/outside

# Writes the golden files of all packages that have some. Read the diff before you commit it.
golden:
	go test $$(git grep -lE 'flag.Bool\("update"|readertest\.Suite' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

# Runs every fuzz target for FUZZTIME. Without the bound, minimizing each interesting input (60 s by default) would take
# most of that. Ends at the first finding, which lies in testdata/fuzz then.
fuzz:
	@go test -list '^Fuzz' ./... | \
	awk '/^Fuzz/ { names[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, names[i]; n = 0 }' | \
	while read -r package target; do \
		echo "== $$package $$target"; \
		go test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=1s "$$package" </dev/null || exit 1; \
	done

# Prints the table of docs/performance.md, measured here and now: a few minutes on a machine that does nothing else.
bench:
	go run -C tools/perftable .

# Measures everything in full size (15 GB of temporary files) and writes docs/performance.md and its plot.
bench-docs:
	go run -C tools/perftable . -full -docs

# The benchmarks of the packages.
microbench:
	go test -run='^$$' -bench=. ./...

ci:
	.ci/run
