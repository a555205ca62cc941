# The commands of the repository. Rust, Go and Node must be installed; each target installs anything
# else that it needs and prints one line when it does.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

HOST := $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_SECONDS ?= 15
FUZZ_TARGETS := http1_pieces http1_oracle http2_pieces http2_headers http2_requests sse_pieces \
  simulation probe_parsers typed_values remote_frames profiles kernel_types archives nats_protocol \
  fleet_messages foreign_outputs pages plans flows
# Coverage instrumentation for libFuzzer, as far as the stable compiler supports it.
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares

BENCH := cargo run --quiet --release --locked -p bench --

EIGHT := wrk wrk2 oha hey h2load vegeta k6 autocannon

ALL_TESTS := --test host --test truth
COMPILE_TESTS := cargo test --quiet --locked --workspace --no-run
GO_MODULES := targets/go deploy/check

DRAWS ?= 1
TRUTH_DRAWS ?= 10
SEED ?= 1

# `build-ceiling`, `go-fiber`: programs of the workspace, built for speed, and servers in Go.
RUST := $(addprefix build-,ceiling target-sink target-stage walls floor)
GO := $(addprefix go-,nethttp fasthttp fiber nginx certs behave line grpc shop)

.PHONY: help build $(RUST) $(GO) build-go build-ranch build-nginx demo lesson spectrum
.PHONY: peers journal check test format tidy test-unit test-servers test-programs test-it
.PHONY: test-others test-go deploy-check test-web test-host test-truth fuzz services bench
.PHONY: bench-guard walls dist test-dist deny clean nats-server

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20
	@echo '  make -C bench, make -C walls: comparisons and scenarios beside these'

build: build-go ## bin/ceiling, and the servers that it may measure: bin/target-*
	$(call cargo-build,ceiling target-sink target-stage)

# One command for several programs: cargo builds what they share once, and all CPUs have work.
cargo-build = cargo build --release --locked $(addprefix -p ,$(1)) && mkdir -p bin && \
  install $(addprefix target/release/,$(1)) bin/

$(RUST): build-%:
	$(call cargo-build,$*)

$(GO): go-%:
	go build -C targets/go -trimpath -o ../../bin/target-$* ./cmd/$*

build-go: $(GO)

# Debian ships nginx and Ranch as binaries, so `make build` does not build these two.
# RANCH_EBIN=DIR uses another Ranch.
build-ranch:
	./scripts/need erlc erlang-ssl
	./targets/ranch/build

build-nginx: go-nginx
	test -x .cache/nginx/usr/sbin/nginx || ./scripts/unpack .cache/nginx nginx
	bin/target-nginx --version

demo: build-ceiling go-fiber ## ramps a real Fiber prefork server and writes the report
	./demo/run

lesson: build-ceiling go-nethttp ## one server measured with a starved generator and with a free one
	./demo/lesson

spectrum: build services build-nginx build-ranch ## every kind of request, in one table
	bin/ceiling run experiments/spectrum/plan.toml --runs out/runs -o out/spectrum.html || \
	  [ $$? = 3 ]

peers: ## the load generators that a plan may name (load.tool), in .cache/peers
	bench/audit/install $(EIGHT)

journal: build-ceiling ## checks the journal of this repository, and builds its site in out/journal
	bin/ceiling journal check
	bin/ceiling journal build -o out/journal

# Tests, in tiers. Any user can run `check` and `test`, which change nothing on the host; what they
# assert does not depend on the speed of the machine or on what else runs there. They build all Rust
# code once, with cargo's dev profile. `test-host` runs the same programs in virtual machines, for
# any user who has qemu.

check: format tidy test-unit ## the inner loop: format, lint, tidy, unit, golden, property, usage

# The tests of the Go servers run while cargo compiles.
test: format tidy test-servers services ## what a change must pass
	./scripts/side-by-side "$(MAKE) test-go deploy-check" "$(COMPILE_TESTS)" \
	  "$(MAKE) -C bench test"
	./scripts/side-by-side "$(MAKE) test-it" "$(MAKE) test-others" "$(MAKE) test-web"

format:
	cargo fmt --all --check
	test -z "$$(gofmt -l $(GO_MODULES))" || { gofmt -d $(GO_MODULES); exit 1; }

tidy:
	cargo run --quiet --locked -p xtask -- tidy
	cargo metadata --quiet --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	cargo clippy --quiet --locked --workspace $(ALL_TESTS) -- -D warnings

# Builds the whole workspace each time and filters the tests: for a part of it cargo would choose
# other features, which is a second build.
test-unit:
	cargo test --quiet --locked --workspace --lib --bins
	cargo test --quiet --locked --workspace --test it -- usage::

# The broker of a fleet, for tests and experiments. scripts/nats/go.sum pins the modules; a binary
# newer than these files is not rebuilt.
nats-server: .cache/nats/nats-server

.cache/nats/nats-server: scripts/nats/go.mod scripts/nats/go.sum
	go build -C scripts/nats -trimpath -ldflags '-s -w' -o ../../$@ \
	  github.com/nats-io/nats-server/v2

# PostgreSQL and etcd for the parts of the targets: installed, not started.
services:
	./scripts/need pg_ctlcluster postgresql
	./scripts/need etcd etcd-server

# Servers for tests. Those in Rust stay in cargo's target folder.
test-servers: build-go build-ranch build-nginx nats-server
	./scripts/need wrk wrk
	./scripts/need h2load nghttp2-client

test-programs: test-servers
	$(COMPILE_TESTS)

# The tests of the command and of the servers, and the others; both need `make test-programs`. Most
# of the former wait for a load or a child, so more of them run than there are CPUs.
test-it:
	RUST_TEST_THREADS=10 cargo test --locked --workspace --test it

test-others:
	cargo test --locked --workspace --lib --bins --tests \
	  --config 'target.$(HOST).runner="$(CURDIR)/scripts/without-it"'

test-go: build-go build-ranch build-nginx services
	cd targets/go && go vet ./... && go test ./...

# It reads files outside of its module, where Go does not notice a change: no cached results.
deploy-check:
	cd deploy/check && go vet ./... && go test -count=1 ./...

test-web:
	./scripts/need chromium chromium
	rm -rf out/pages out/pages-site && mkdir -p out/pages
	REPORT_PAGES=$(CURDIR)/out/pages SITE_PAGES=$(CURDIR)/out/pages-site \
	  cargo test --quiet --locked --workspace --lib --bins files_are_left
	node crates/report/tests/browser.mjs out/pages/*.html
	node crates/site/tests/browser.mjs out/pages-site
	cargo test --quiet --locked --workspace --no-run
	node crates/live/tests/browser.mjs target/debug/ceiling target/debug/target-sink

test-host: test-programs ## tests that change a host, in virtual machines: ONLY="knobs killed"
	./scripts/vm/all $(ONLY)

test-truth: build build-ranch build-nginx ## rates of right verdicts, percentiles, costs; needs root
	./scripts/need ip iproute2
	./scripts/rates $(TRUTH_DRAWS)

fuzz: ## runs each fuzz target for FUZZ_SECONDS
	cd fuzz && RUSTFLAGS="$(FUZZ_FLAGS)" \
	  cargo build --quiet --release --locked --target $(HOST)
	for name in $(FUZZ_TARGETS); do ./scripts/fuzz $$name $(HOST) $(FUZZ_SECONDS); done

bench: build build-floor ## against peers and the floor; prints ratios: ARGS="--only depth-1"
	$(BENCH) rows $(ARGS)

bench-guard: build build-floor ## BASE=PATH: an older ceiling against this one; fails above 1.02
	$(BENCH) guard --base $(BASE) $(ARGS)

walls: build build-walls ## scenarios whose wall is known: ONLY=a DRAWS=5 SEED=1 WRITE=1; root
	./scripts/need ip iproute2
	./scripts/need ethtool ethtool
	./scripts/need nft nftables
	bin/walls run --draws $(DRAWS) --seed $(SEED) $(if $(ONLY),--only $(ONLY)) --keep out/walls \
	  $(addprefix --with=,$(WITH))
	bin/walls score out/walls $(if $(WRITE),--write walls/table.md)

dist: ## a release in out/dist: static program, .deb, OCI image, SBOM, checksums
	$(MAKE) deny
	./scripts/dist

test-dist: build-go ## tests what `make dist` made, in a virtual machine
	./scripts/test-dist

# Licences, sources and advisories of the program's dependencies (deny.toml).
deny:
	command -v cargo-deny >/dev/null || test -x .cache/tools/bin/cargo-deny || \
	  cargo install --quiet --locked --root .cache/tools cargo-deny
	PATH="$(CURDIR)/.cache/tools/bin:$$PATH" && \
	  cargo deny --locked --log-level error check bans licenses sources && \
	  if cargo deny --log-level off fetch db; then cargo deny --locked check advisories; \
	  else echo "the advisory database cannot be reached: advisories are NOT checked"; fi

clean: ## removes what the other targets made
	cargo clean
	rm -rf bin out .cache fuzz/target fuzz/corpus fuzz/artifacts
