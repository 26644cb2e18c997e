# Needs Rust 1.90 or newer, Python 3.10 or newer with venv, and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock
PY_SOURCES := python tests tools $(wildcard benches/*.py)

# Minutes of `make torture`.
MINUTES ?= 10

INSTRUCTIONS := cargo test --quiet --workspace --lib --no-run --message-format=json | $(PYTHON) benches/instructions.py $(ARGS)
# Each crate is one unit then. In many, counts of one commit in two folders differed by up to 15 %.
all-rust instructions: export CARGO_PROFILE_DEV_CODEGEN_UNITS := 1
all-rust instructions: export CARGO_INCREMENTAL := 0

# Tests that take long, of a kind of which others are tried: `make test-all` runs them.
LONG := no_checkpoint_misleads swarms_are_endured is_divided_anew \
	the_power_is_cut_while_blocks_fail blocks_fail_with_every_setting each_leveller_keeps_its_bound \
	dftl_hit_ratio_meets_che no_trial_takes_more_operations time_is_shared_evenly with_every_two_settings

MODULES := $(VENV)/simulator $(VENV)/native $(VENV)/checked
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
MATURIN := VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin
PARALLEL := $(MAKE) --jobs=2 --output-sync=target

.PHONY: demo live test test-all test-rust test-python all-rust rest-python torture bench instructions module lint docs api site wheel lock release clean
.DELETE_ON_ERROR:

demo: $(if $(wildcard $(VENV)/native),$(VENV)/native,$(VENV)/simulator) ## four translation layers on one workload, and a report
	mkdir -p out
	$(BIN)/ftlkit run examples/demo.toml --report out/report.html --json out/report.json
	@echo "Open out/report.html in a browser."

live: $(VENV)/native ## the live device: images, servers and mounts, which the demo leaves out

test: $(VENV)/checked ## every kind of check, at a small size
	$(PARALLEL) test-rust test-python

test-all: out/checked ## all tests
	$(PARALLEL) all-rust test-python rest-python

test-rust:
	cargo test --workspace --exclude benches --lib --test check --test ftl -- $(LONG:%=--skip %)

all-rust:
	cargo test --workspace
	$(INSTRUCTIONS)

test-python: $(VENV)/checked
	$(BIN)/python -m pytest -m "not full"

rest-python: out/checked
	FTLKIT_WHEEL=$$(ls $(abspath out/checked)/*.whl) $(BIN)/python -m pytest -m full

# The wheel that the tests install. What is in it was compiled for the tests, so it takes seconds.
out/checked: $(VENV)/checked
	rm -rf $@
	$(MATURIN) build --out $@

torture: $(VENV)/native ## power cuts, failing flash and all else, on every scheme, for a while
	mkdir -p out
	$(BIN)/ftlkit torture --ftl all --minutes $(MINUTES) --json out/torture.json

bench: $(VENV)/native
	cargo bench --workspace
	$(BIN)/python benches/ratios.py
	$(BIN)/python benches/live.py

instructions: ## what a flash operation costs, in instructions, beside the figures kept
	$(INSTRUCTIONS)

lint: $(VENV)/tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check $(PY_SOURCES)
	$(BIN)/ruff format --check $(PY_SOURCES)
	$(BIN)/mypy
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet

docs: $(VENV)/native ## one page a scheme from the stories in the sources, columns, types of results
	$(BIN)/python -m ftlkit.docs docs
	$(BIN)/python -m ftlkit.results.schema
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

api: ## what is public, as docs/api lists it; needs cargo-public-api and a nightly compiler
	$(PYTHON) tools/public_api.py

site: $(VENV)/tools ## all pages as a site that needs no network: out/site/index.html
	@$(BIN)/python -c 'import ftlkit._native' 2>/dev/null || $(MAKE) $(VENV)/native
	$(BIN)/python tools/make_site.py out/site-pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open out/site/index.html in a browser."

wheel: $(VENV)/tools ## one wheel for all Pythons from 3.10 on, built and tried in an environment of its own
	rm -rf out/wheel
	$(MATURIN) build --release --out out/wheel
	FTLKIT_WHEEL=$$(ls $(abspath out/wheel)/*.whl) $(BIN)/python -m pytest tests/test_wheel.py

release: ## one version for all crates and the package, and CHANGELOG closed: make release VERSION=0.2.0
	$(PYTHON) tools/release.py $(VERSION)

$(VENV)/maturin: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "ftlkit needs Python 3.10 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) $$(grep ^maturin== requirements.lock)
	touch $@

$(VENV)/tools: $(VENV)/maturin
	$(PIP) --requirement requirements.lock
	touch $@

# The package is installed in place: Python files are used as they stand, only the compiled module is built. There is one
# place for it, so these take turns: one that simulates alone, the whole one, and that of the tests, which checks itself and
# shares its libraries with the Rust tests. The compiler works while pip fetches the tools.
define in_place
$(MAKE) --jobs=2 $(VENV)/tools module BUILD="$(1)"
$(MATURIN) develop $(1)
rm -f $(filter-out $@,$(MODULES))
touch $@
endef

$(MODULES): requirements.lock pyproject.toml $(RUST_SOURCES)

# The demo simulates for seconds after minutes of compiling: crate sim in four parts takes 55 s of processor time instead of 72,
# on both cores. Simulations then take a tenth longer.
$(VENV)/simulator:
	$(call in_place,--release --no-default-features --config profile.release.package.ftlkit-sim.codegen-units=4)

$(VENV)/native:
	$(call in_place,--release)

$(VENV)/checked:
	$(call in_place,)

module: $(VENV)/maturin
	$(MATURIN) develop $(BUILD) --skip-install

lock: $(VENV)/tools ## resolve the newest versions that the oldest supported Python takes
	$(BIN)/python tools/lock.py

clean:
	rm -rf $(VENV) out target .mypy_cache .ruff_cache .pytest_cache python/ftlkit/*.so
