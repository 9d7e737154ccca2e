# Two commands matter: `make demo` and `make test`. The others are for those who change the code.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
PYTEST_ARGS ?=
# As many processes as share the tests, file by file, each with a server of its own; PYTEST_ARGS='-n 0' uses one. Many tests wait
# for processes and servers, so three keep two processors busy.
WORKERS ?= 3
# Each of these has a Slurm of its own.
HPC_WORKERS ?= 2
SLURM := munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins

.PHONY: help demo demo-hpc test test-postgres test-hpc test-slurm test-aiida lint format types imports security check bench crashes mutants lock clean

help:
	@echo "make demo    install Tenure in .venv and run the demonstration"
	@echo "make demo-hpc  the same for clusters: run the demonstration on a real Slurm (Debian; installs it where it may)"
	@echo "make test    install the test tools in .venv and run the tests (PYTEST_ARGS='-k name' to choose)"
	@echo "make test-postgres  migrations, law and conformance on each other PostgreSQL that is installed (15 or newer)"
	@echo "make test-hpc  the tests on a real Slurm (Debian; installs it where it may)"
	@echo "make check   lint, types, import rules and security rules"
	@echo "make format  let ruff rewrite the code"
	@echo "make bench   measure Tenure beside bare SQL on this machine (beside its peers: bench/README.md)"
	@echo "make crashes kill a node's agent 50 times at each of 8 lines (CRASH_LINES=all for every line) and count the jobs"
	@echo "make mutants break the model in small ways and count what its tests notice (an hour)"
	@echo "make lock    pin the dependencies again (needs uv)"
	@echo "make clean   remove .venv, .venv-aiida, caches and builds (.tenure, your data, stays)"

# The stamps keep the second run quick: an environment is made again only when what it should hold has changed.
.venv/.runtime: pyproject.toml locks/runtime.txt tools/venv.sh
	bash tools/venv.sh locks/runtime.txt
	@touch $@

.venv/.dev: pyproject.toml locks/dev.txt tools/venv.sh
	bash tools/venv.sh locks/dev.txt
	@touch .venv/.runtime $@

# AiiDA holds back packages that the others need newer, so it has an environment of its own.
.venv-aiida/.stamp: pyproject.toml locks/aiida.txt tools/venv.sh
	bash tools/venv.sh locks/aiida.txt .venv-aiida
	@touch $@

demo: .venv/.runtime
	$(BIN)/tenure demo

# A Slurm, a database, a server and an agent of its own, in a temporary folder.
demo-hpc: .venv/.runtime
	@bash tools/system-packages.sh $(SLURM)
	$(BIN)/tenure demo --hpc

# axe-core, which the tests of the screens look for barriers with.
tests/ui/node_modules/.stamp: tests/ui/package-lock.json
	@bash tools/system-packages.sh npm
	@if command -v npm >/dev/null; then npm ci --prefix tests/ui --silent && touch $@; fi

# What was compiled is kept, whatever the caller's shell says: each test of a command or a worker starts Python anew.
test test-postgres test-slurm test-aiida: export PYTHONDONTWRITEBYTECODE :=

test: .venv/.dev tests/ui/node_modules/.stamp
	@bash tools/system-packages.sh pgbouncer chromium
	$(BIN)/python -m pytest -n $(WORKERS) -m "not hpc" --ignore=tests/hpc $(PYTEST_ARGS)

# A short look at the versions of PostgreSQL that this host has beside the embedded one; POSTGRES names others.
POSTGRES ?= $(patsubst %/bin/initdb,%,$(wildcard /usr/lib/postgresql/*/bin/initdb))
SHORT_LOOK := tests/store/test_migrations.py tests/store/test_law*.py tests/store/test_conformance_*.py tests/flow/test_costs.py

test-postgres: .venv/.dev
	@for programs in $(POSTGRES); do \
		echo "PostgreSQL in $$programs"; \
		TENURE_TEST_POSTGRES=$$programs $(BIN)/python -m pytest -q -n $(WORKERS) -k "not memory" $(SHORT_LOOK) $(PYTEST_ARGS) || exit 1; \
	done

# What runs on a real Slurm, in folders of its own. The two halves run side by side: mostly they wait for Slurm.
test-hpc: .venv/.dev
	@bash tools/system-packages.sh $(SLURM)
	@$(MAKE) --no-print-directory --output-sync=target --jobs=2 test-slurm test-aiida

test-slurm: .venv/.dev
	$(BIN)/python -m pytest -n $(HPC_WORKERS) -m hpc tests/hpc --ignore=tests/hpc/with_aiida $(PYTEST_ARGS)

test-aiida: .venv/.dev
	@if $(MAKE) --silent .venv-aiida/.stamp; then \
		.venv-aiida/bin/python -m pytest -n $(HPC_WORKERS) -m hpc tests/hpc/with_aiida $(PYTEST_ARGS); \
	else echo "AiiDA cannot be installed here; its tests are skipped."; fi

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.dev
	$(BIN)/mypy --strict tenure

imports: .venv/.dev
	$(BIN)/lint-imports

security: .venv/.dev
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml tenure

check: lint types imports security

bench: .venv/.runtime
	$(BIN)/tenure bench

CRASH_LINES ?= 8
crashes: .venv/.dev
	TENURE_CRASH_SAMPLES=50 TENURE_CRASH_LINES=$(CRASH_LINES) $(BIN)/python -m pytest -n 0 tests/agent/test_crashes.py

mutants: .venv/.dev
	$(BIN)/python -m pip install --quiet 'mutmut>=3.8'
	bash tools/mutants.sh

lock:
	@command -v uv >/dev/null || { echo "make lock needs uv: install it with 'pip install uv'."; exit 1; }
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--quiet --upgrade --extra server --output-file locks/runtime.txt pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--quiet --upgrade --extra dev --extra sqlalchemy --output-file locks/dev.txt pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--quiet --upgrade --extra test --extra aiida --output-file locks/aiida.txt pyproject.toml

clean:
	rm -rf .venv .venv-aiida tests/ui/node_modules dist build htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.tenure/*' -prune -exec rm -rf {} +
