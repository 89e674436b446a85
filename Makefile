# Loci: `make help` prints the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8765
# The first interpreter that is at least 3.11 and starts (a shim on the path may not).
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys, venv, sqlite3; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup ## serve on this machine, at http://127.0.0.1:8765/mcp (PORT=…)
	@exec $(BIN)/loci serve --port $(PORT)

setup: $(VENV)/.laptop ## install Loci into .venv (the command is .venv/bin/loci)

test: $(VENV)/.dev ## run all tests that need nothing outside this machine
	$(BIN)/pytest -q -n 2 -m "not conformance and not aws" $(TESTS)

check: $(VENV)/.dev ## format, lint, types and import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright

conformance: $(VENV)/.dev ## run the official MCP conformance suite and the Inspector (npm packages)
	$(BIN)/pytest -q -m conformance tests/conformance

bench: $(VENV)/.dev ## measure speed and memory against the budgets
	$(BIN)/python -m tests.bench

format: $(VENV)/.dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(VENV)/.dev ## renew requirements/*.lock from pyproject.toml (UPGRADE=1: to the newest versions)
	$(BIN)/python requirements/renew.py $(if $(UPGRADE),--upgrade)

clean: ## remove what was installed and built here (your data stays)
	rm -rf $(VENV) build dist tests/conformance/node_modules .ruff_cache .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Loci needs Python 3.11 or newer with venv; none was found. Install one, or say which: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Loci needs Python 3.11 or newer; $(PYTHON) is older"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The package comes without dependencies: pip takes no `-e .` in hash mode, and the lock has them all.
$(VENV)/.%: requirements/%.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@ && if [ $* = dev ]; then touch $(VENV)/.laptop; fi

.PHONY: help run setup test check conformance bench format lock clean
