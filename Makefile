# The commands of the repository. Rust, Go and Node must be installed; each target installs anything
# else that it needs and prints one line when it does.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

HOST := $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_SECONDS ?= 15
FUZZ_TARGETS := http1_pieces http1_oracle sse_pieces simulation probe_parsers typed_values \
  remote_frames profiles archives nats_protocol fleet_messages foreign_outputs \
  pages plans
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
CONFIRM_EVERY ?= 5
FIT_SEED ?= 21

.PHONY: help build build-rust build-go demo lesson test bench bench-truth fuzz tidy format clean
.PHONY: build-ranch build-nginx ranch journal nats-server
.PHONY: behaviours noise outputs picture test-bench bench-audit peers eight-tools
.PHONY: walls walls-ordinary walls-machines walls-fit spectrum services
.PHONY: bench-bare bench-database bench-size bench-steering bench-live
.PHONY: bench-guard dist deny test-dist deploy-check
.PHONY: check test-unit test-servers test-programs test-it test-others test-go test-web
.PHONY: test-host test-truth

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

build: build-rust build-go ## bin/ceiling, bin/floor and bin/target-*

build-rust:
	cargo build --release --locked -p ceiling -p target-sink -p target-stage -p walls \
	  -p floor
	mkdir -p bin
	install $(addprefix target/release/,ceiling floor target-sink target-stage walls) bin/

build-go:
	mkdir -p bin
	for name in nethttp fasthttp fiber nginx certs behave line; do \
	  go build -C targets/go -trimpath -o ../../bin/target-$$name ./cmd/$$name; \
	done

# Debian ships nginx and Ranch as binaries, so `make build` does not build these two.
build-ranch: ## bin/target-ranch: Erlang and Ranch 2; RANCH_EBIN=DIR uses another Ranch
	./scripts/need erlc erlang-ssl
	./targets/ranch/build

build-nginx: build-go ## unpacks nginx, which bin/target-nginx starts
	test -x .cache/nginx/usr/sbin/nginx || ./scripts/unpack .cache/nginx nginx
	bin/target-nginx --version

bin/target-sink: build-rust

demo: build ## ramps a real Fiber prefork server and writes the report
	./demo/run

lesson: build ## the same server measured with a starved generator and with a free one, on one page
	./demo/lesson

spectrum: build services build-nginx build-ranch ## every kind of request, in one table
	bin/ceiling run experiments/spectrum/plan.toml --runs out/runs -o out/spectrum.html || \
	  [ $$? = 3 ]

peers: ## the load generators that a plan may name (load.tool), in .cache/peers
	bench/audit/install $(EIGHT)

eight-tools: build peers ## one server by eight tools: what each reports, and what the wall was
	mkdir -p out
	for plan in plan stall; do \
	  PATH="$(CURDIR)/.cache/peers/bin:$(CURDIR)/.cache/peers/node_modules/.bin:$$PATH" \
	    bin/ceiling run experiments/eight-tools/$$plan.toml --runs out/runs \
	    -o out/eight-tools-$$plan.html || [ $$? = 5 ]; \
	done

journal: build ## checks the journal of this repository, and builds its site in out/journal
	bin/ceiling journal check
	bin/ceiling journal build -o out/journal

# Tests, in tiers. Any user can run `check` and `test`, which change nothing on the host; what they
# assert does not depend on the speed of the machine or on what else runs there. They build all Rust
# code once, with cargo's dev profile. `test-host` runs the same programs in virtual machines, for
# any user who has qemu.

check: format tidy test-unit ## the inner loop: format, lint, tidy, unit, golden, property, usage

# The tests of the Go servers run while cargo compiles.
test: format tidy test-servers services ## what a change must pass
	./scripts/side-by-side "$(MAKE) test-go deploy-check test-bench" "$(COMPILE_TESTS)"
	./scripts/side-by-side "$(MAKE) test-it" "$(MAKE) test-others" "$(MAKE) test-web"

format:
	cargo fmt --all --check
	test -z "$$(gofmt -l $(GO_MODULES))" || { gofmt -d $(GO_MODULES); exit 1; }

tidy: ## checks the repository itself, and runs clippy
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
nats-server: .cache/nats/nats-server ## .cache/nats/nats-server, which ceiling fleet up starts

.cache/nats/nats-server: scripts/nats/go.mod scripts/nats/go.sum
	go build -C scripts/nats -trimpath -ldflags '-s -w' -o ../../$@ \
	  github.com/nats-io/nats-server/v2

services: ## installs PostgreSQL and etcd for the parts of the targets; does not start them
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
deploy-check: ## checks what deploys a fleet: manifests, units, compose file; no cluster
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

test-host: test-programs ## tests that change a host, in virtual machines: ONLY="knobs two-hosts"
	./scripts/vm/all $(ONLY)

test-truth: build build-ranch build-nginx ## rates of right verdicts, percentiles, costs; needs root
	./scripts/need ip iproute2
	./scripts/rates $(TRUTH_DRAWS)

fuzz: ## runs each fuzz target for FUZZ_SECONDS
	cd fuzz && RUSTFLAGS="$(FUZZ_FLAGS)" \
	  cargo build --quiet --release --locked --target $(HOST)
	for name in $(FUZZ_TARGETS); do ./scripts/fuzz $$name $(HOST) $(FUZZ_SECONDS); done

bench: build ## ceiling against its peers and the floor; prints ratios: ARGS="--only depth-1"
	$(BENCH) rows $(ARGS)

bench-guard: build ## BASE=PATH: an older ceiling against this one, paired; fails above 1.02
	$(BENCH) guard --base $(BASE) $(ARGS)

bench-bare: build ## targets against bare handlers of their libraries; prints ratios
	$(BENCH) bare $(ARGS)

bench-database: build services ## /db/read of the targets against pgbench on one PostgreSQL
	$(BENCH) database $(ARGS)

bench-size: build ## what `size` predicts for two generators against what they use
	$(BENCH) size $(ARGS)

bench-steering: build ## RPS and RFS: the prediction of a run against the effect; needs root
	./scripts/need ip iproute2
	$(BENCH) steering $(ARGS)

bench-live: build ## what watchers of --live cost, in pairs: PAIRS=20 WATCHERS=10 SECONDS=10
	node bench/live.mjs

bench-truth: build ## what load generators report against what is true
	$(BENCH) truth $(ARGS)

behaviours: build ## what ceiling, wrk, oha and h2load report of 26 servers: ONLY=a,b TOOLS=wrk
	./scripts/need wrk wrk
	./scripts/need h2load nghttp2-client
	test -x .cache/peers/bin/oha || cargo install oha --locked --root .cache/peers || \
	  echo "oha cannot be installed here, and is left out"
	node bench/behaviours.mjs

bench-audit: build ## crates/audit/corpus: outputs of other tools on servers with known truth
	bench/audit/install
	node bench/audit.mjs

outputs: build ## docs/output.md: what ceiling, wrk and oha print for four servers
	./scripts/outputs

picture: build ## docs/pictures/report.png: the page of a ramp of the Fiber server
	./scripts/picture

noise: build ## load, ramp and find on a shared host: RUNS=40 ONLY=load,find NOISE=0
	node bench/noise.mjs

test-bench: ## tests the parts of the comparisons that could make a tool look wrong
	node --test bench/behaviours/test.mjs bench/noise/test.mjs bench/audit/test.mjs \
		bench/live/test.mjs

walls: build ## scenarios whose wall is known: ONLY=a,b DRAWS=5 SEED=1 WRITE=1; needs root
	./scripts/need ip iproute2
	./scripts/need ethtool ethtool
	./scripts/need nft nftables
	bin/walls run --draws $(DRAWS) --seed $(SEED) $(if $(ONLY),--only $(ONLY)) --keep out/walls \
		--confirm-every $(CONFIRM_EVERY)
	bin/walls score out/walls $(if $(WRITE),--write docs/walls-table.md)

walls-ordinary: build ## the same with servers from package registries, installed; needs root
	./scripts/need ip iproute2
	./scripts/need ethtool ethtool
	walls/ordinary/install
	bin/walls run --family ordinary --draws $(DRAWS) --seed $(SEED) \
	  $(if $(ONLY),--only $(ONLY)) --keep out/walls-ordinary
	bin/walls score out/walls-ordinary $(if $(WRITE),--write docs/walls-ordinary-table.md)

walls-machines: build ## some of them on two virtual machines; for any user who has qemu
	ONLY=$(ONLY) ./scripts/vm/walls out/walls-machines --draws $(DRAWS) --seed $(SEED)
	bin/walls score out/walls-machines $(if $(WRITE),--write docs/walls-machines-table.md)

walls-fit: build ## counts how often tests fire, for the judge: DRAWS=5, not the scored seed
	bin/walls run --draws $(DRAWS) --seed $(FIT_SEED) --keep out/walls-fit
	bin/walls fit out/walls-fit --write crates/judge/src/odds/table.tsv

dist: ## a release in out/dist: static program, debug file, .deb, OCI image, SBOM, checksums
	$(MAKE) deny
	./scripts/dist

test-dist: build-go ## tests what `make dist` made: the image, and the package in a virtual machine
	./scripts/test-dist

deny: ## licences, sources and advisories of the program's dependencies (deny.toml)
	command -v cargo-deny >/dev/null || test -x .cache/tools/bin/cargo-deny || \
	  cargo install --quiet --locked --root .cache/tools cargo-deny
	PATH="$(CURDIR)/.cache/tools/bin:$$PATH" && \
	  cargo deny --locked --log-level error check bans licenses sources && \
	  if cargo deny --log-level off fetch db; then cargo deny --locked check advisories; \
	  else echo "the advisory database cannot be reached: advisories are NOT checked"; fi

clean: ## removes what the other targets made
	cargo clean
	rm -rf bin out .cache fuzz/target fuzz/corpus fuzz/artifacts
