# The commands of the project; people and CI run the same ones. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

# One interpreter and one set of build flags for cargo and maturin: nothing is compiled twice.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

RUST := Cargo.toml Cargo.lock python/bindings/Cargo.toml \
        $(shell find src python/bindings/src -name '*.rs')

.PHONY: help demo test quick check rust python packaging sdist docs docs-serve docs-links cluster-test bench benchmarks reproduce long free-threaded fuzz sanitize miri platforms clean

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.built ## train on real data; table and out/demo.png
	$(BIN)/python -m budgetsvm.demo

test: check rust python ## everything a change must pass
	@echo "make test: all passed"

# ONLY names the test files of what is being changed; the Rust crate is type-checked, not compiled
# for its tests.
ONLY_QUICK = $(or $(ONLY),tests/python/test_budget_svc.py)
quick: $(VENV)/.built $(VENV)/.tools ## a first verdict in minutes: ONLY="tests/python/test_auto.py"
	cargo fmt --all --check
	cargo check --package budgetsvm --lib --tests --locked
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n $(JOBS) $(ONLY_QUICK)

check: $(VENV)/.built $(VENV)/.tools ## format, lints, types, stubs, links, dependencies
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/python tests/dependencies.py
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/stubtest budgetsvm._core

rust: $(VENV)/.python ## Rust tests: unit, integration, documentation
	cargo test --workspace --locked

python: $(VENV)/.built $(VENV)/.tools ## Python tests
	$(BIN)/pytest -n $(JOBS)

# What a release needs beside `make test`: a job of its own in the workflow, and a part of `make long`.
packaging: sdist ## the source archive, the crate's documentation, the crate that only predicts
	cargo clippy --package budgetsvm --lib --locked --no-default-features --features predict -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --no-deps --locked

sdist: $(VENV)/.tools ## the source archive builds, installs and imports in an empty environment
	$(BIN)/python tests/sdist.py

# Every picture of the gallery is drawn anew; a warning is an error. Tools of its own, so that
# `make test` need not install them.
docs: $(VENV)/.built $(VENV)/.docs ## the site: out/docs/index.html
	rm -rf out/docs docs/gallery docs/api/generated target/doc
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs out/docs
	RUSTDOCFLAGS="-D warnings" cargo doc --package budgetsvm --lib --no-deps --locked
	cp -r target/doc out/docs/rust
	@echo "make docs: out/docs/index.html"

# The real engines, a few processes of this machine; Spark wants Java. Tools of their own.
cluster-test: $(VENV)/.built $(VENV)/.tools $(VENV)/.cluster ## Dask, Ray and Spark in local mode
	$(BIN)/pytest tests/python/test_dask.py tests/python/test_dask_ml.py
	$(BIN)/python examples/ray_shards.py
	$(BIN)/python examples/spark_shards.py
	$(BIN)/python tests/cluster.py

docs-serve: docs ## the site at http://localhost:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory out/docs 8000

docs-links: $(VENV)/.built $(VENV)/.docs ## the site's links to other places (needs the network)
	$(BIN)/python -m sphinx -q -b linkcheck -D plot_gallery=0 docs out/links
	@echo "make docs-links: all answer"

# Needs the data sets of BUDGETSVM_DATA, and the network for scikit-learn-intelex; what is not
# there is left out, and said so.
bench: $(VENV)/.built $(VENV)/.tools ## criterion benches, the engine's bars
	cargo bench --workspace --locked --bench engine -- --quick
	$(BIN)/maturin develop --release --locked
	@rm $(VENV)/.built # the next command wants the dev profile again
	$(BIN)/python benches/python/engine_bars.py --intelex

# Data: the folder BUDGETSVM_DATA (benches/python/fetch.py fills one). QUICK=1 runs small problems;
# ONLY="exact latency" runs these parts again.
benchmarks: $(VENV)/.built $(VENV)/.tools ## what the README states: docs/benchmarks.md
	$(if $(QUICK),,$(BIN)/maturin develop --release --locked && rm $(VENV)/.built)
	$(BIN)/python benches/python/benchmarks.py $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

# The same of the papers; ONLY="mpd_paper local". The peers need the network; without them their
# rows are missing.
reproduce: $(VENV)/.built $(VENV)/.tools ## the papers' tables and figures: docs/reproduction.md
	@$(BIN)/python -c "import clarabel" 2> /dev/null || $(BIN)/python -m pip install --group peers \
	  || echo "left out, not installed: the peers of pyproject.toml"
	$(if $(QUICK),,$(BIN)/maturin develop --release --locked && rm $(VENV)/.built)
	$(BIN)/python benches/python/reproduce.py $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

# The exhaustive test of the exponential is one of the ignored ones. Documentation is left to
# `make test`: there, to ignore an example means that it cannot be compiled.
long: $(VENV)/.built $(VENV)/.tools packaging ## the slow tests that `make test` samples
	cargo test --workspace --locked --release --lib --tests --examples -- --include-ignored
	BUDGETSVM_LONG=1 $(BIN)/pytest -n $(JOBS)

FREE ?= python3.14t
FREE_BIN := target/free-threaded/bin

# A test that cannot run in several threads (Ctrl-C, standard error, forks) runs in one. River has no
# wheel for such a Python, and Dask is nobody's here: what is of them is left out. ONLY="FILES" runs
# these alone.
free-threaded: $(VENV)/.python ## tests/python, four threads a test, on a free-threaded Python (FREE)
	$(FREE) -c 'import sys; sys.exit(sys._is_gil_enabled() and "FREE names a free-threaded Python")'
	$(FREE) -m venv $(dir $(FREE_BIN))
	mkdir -p out
	$(BIN)/python -c "import tomllib; \
	  test = tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['test']; \
	  print(*(name for name in test if not name.startswith('river')), sep='\n')" > out/free-threaded.txt
	$(FREE_BIN)/python -m pip install --only-binary=:all: \
	  -r out/free-threaded.txt pytest-run-parallel pytest-timeout
	env -u PYO3_PYTHON -u VIRTUAL_ENV $(FREE_BIN)/python -m pip install .
	PYTHON_GIL=0 $(FREE_BIN)/python -m pytest -q -p no:cacheprovider -p no:xdist \
	  --parallel-threads=4 --timeout=900 $(foreach name,river dask dask_ml dask_alone house, \
	    --ignore=tests/python/test_$(name).py) -k 'not river' $(ONLY)

FUZZ ?= 300
TARGETS := model csr_rows svmlight fit stream

# Coverage-guided fuzzing needs cargo-fuzz, and atheris in the virtual environment; memcheck needs
# valgrind. What is not there is left out, and said so. Corpora grow in fuzz/corpus, from the smallest
# that cover as much as all that was found so far.
fuzz: $(VENV)/.built $(VENV)/.tools ## random files, lives, bytes and streams, FUZZ seconds each
	BUDGETSVM_FUZZ=$(FUZZ) $(BIN)/pytest -n $(JOBS) tests/python/test_fuzz.py
	tar -xJf fuzz/seeds.tar.xz -C fuzz --skip-old-files
	@if command -v cargo-fuzz > /dev/null; then for target in $(TARGETS); do \
	  mkdir -p fuzz/corpus/$$target; seeds=; \
	  with=; case $$target in m*) seeds="tests/files/1 tests/files/2 tests/files/rust";; \
	    sv*) seeds=fuzz/seeds;; \
	    fit|stream) with="--features train";; esac; \
	  RUSTC_BOOTSTRAP=1 cargo fuzz run $$with $$target fuzz/corpus/$$target $$seeds -- -max_total_time=$(FUZZ) -max_len=8192 -timeout=20 -malloc_limit_mb=12000 || exit 1; \
	done; else echo "left out, no cargo-fuzz: $(TARGETS)"; fi
	@if $(BIN)/python -c "import atheris" 2> /dev/null; then \
	  $(BIN)/python fuzz/load.py -max_total_time=$(FUZZ) -max_len=20000; \
	else echo "left out, no atheris: fuzz/load.py"; fi
	@if command -v valgrind > /dev/null; then \
	  mkdir -p out; PYTHONMALLOC=malloc valgrind --quiet --num-callers=40 \
	    --log-file=out/memcheck.log $(BIN)/python tests/memcheck.py; \
	  $(BIN)/python tests/memcheck.py out/memcheck.log; \
	else echo "left out, no valgrind: tests/memcheck.py"; fi

# AddressSanitizer is in rustc; the option is a nightly one, which RUSTC_BOOTSTRAP allows. What asks
# for too much memory is to get none, as without it.
sanitize: $(VENV)/.python ## the Rust tests under AddressSanitizer (hours on few cores)
	ASAN_OPTIONS=allocator_may_return_null=1 RUSTC_BOOTSTRAP=1 \
	  RUSTFLAGS=-Zsanitizer=address RUSTDOCFLAGS=-Zsanitizer=address \
	  cargo test --locked --lib --tests --target x86_64-unknown-linux-gnu --target-dir target/asan \
	  --config 'profile.dev.package.budgetsvm.opt-level=1'

# The room with `unsafe` under Miri, a component of the nightly toolchain. It does not know AVX-512,
# and changes the last bits of what the standard library says of exp and cos unless told not to.
miri: ## the unsafe code under Miri, plain and with vectors (minutes)
	for level in scalar avx2; do \
	  BUDGETSVM_SIMD=$$level RUSTFLAGS="-Ctarget-feature=+avx2,+fma" \
	  MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-deterministic-floats" \
	  cargo +nightly miri test --locked --lib --target-dir target/miri simd:: || exit 1; \
	done

platforms: ## the crate under clippy for every target that rustup has
	for target in $$(rustup target list --installed); do \
	  cargo clippy --package budgetsvm --lib --locked --target $$target -- -D warnings || exit 1; \
	done

clean: ## remove the virtual environment and everything built
	rm -rf $(VENV) out dist
	cargo clean

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name it: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install "pip>=25.1" "maturin>=1.14,<2"
	@touch $@

# The extension in cargo's dev profile: optimised, shared with the tests.
$(VENV)/.built: $(VENV)/.python pyproject.toml $(RUST)
	$(BIN)/maturin develop --locked --extras plot
	@touch $@

$(VENV)/.tools: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --group check
	@$(BIN)/python -m pip install --group libsvm \
	  || echo "left out, no C++ compiler: the tests against LIBSVM's own program"
	@touch $@

$(VENV)/.cluster: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --group cluster
	@touch $@

$(VENV)/.docs: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --group docs
	@touch $@
