# Loci: `make help` prints the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8765
STAGE ?= dev
PIP = -m pip install --quiet --disable-pip-version-check
# uv brings packages in a tenth of pip's time. Pip does it where uv can't, as from an index that only pip's settings name.
bring = $(BIN)/uv pip install --quiet --system-certs --python $(1) $(2) || $(1) $(PIP) $(2)
CDK = $(BIN)/python -m infra.cdk --context stage=$(STAGE)
# With their bytecode kept: without it each run compiles the tests anew, and each command that they start all of Loci.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q
# Two workers. Where servers are shared, a module's tests stay together (tests/support/sharing.py).
SHARED = -n 2 --dist loadscope
# The first interpreter that is at least 3.11 and starts (a shim on the path may not).
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys, venv, sqlite3; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Where there is no wall no code is run: its packages are then not brought unasked.
run: $(VENV)/.laptop ## serve on this machine, at http://127.0.0.1:8765/mcp (PORT=…)
	@exec $(BIN)/loci serve --port $(PORT) --example $(if $(filter Linux,$(shell uname)),--install-runner)

setup: $(VENV)/.laptop $(VENV)/.runner ## install Loci into .venv (the command is .venv/bin/loci)

test: $(VENV)/.dev $(VENV)/.runner ## run what every change runs: the tests of promises, units and contracts, and smokes (TESTS=DIR)
	$(PYTEST) -n 2 --dist worksteal --circle test $(TESTS)

test-aws: $(VENV)/.dev $(VENV)/.runner ## run the contracts and a walk on LocalStack, DynamoDB Local and OpenSearch, which it starts (no Docker)
	$(PYTEST) $(SHARED) --circle aws $(TESTS)

test-all: $(VENV)/.dev $(VENV)/.runner $(if $(SHARD),,conformance test-browser) ## run every test (TESTS=DIR, SHARD=1/4)
	$(PYTEST) $(SHARED) -m "not clients and not conformance and not browser and not exhaustive" $(if $(SHARD),--shard $(SHARD)) $(TESTS)

check: $(VENV)/.dev ## format, lint, types, import rules, and the size of each room
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.support.rooms
	$(BIN)/pyright

attack: $(VENV)/.dev $(VENV)/.runner ## attack all doors, and the sandboxes behind every wall that this machine has; writes docs/security.md
	ATTACK_WALLS=all ATTACK_TABLE=docs/security.md $(PYTEST) $(SHARED) tests/attack tests/unit/sandbox

attack-touched: $(VENV)/.dev $(VENV)/.runner ## attack what the last commits touched
	$(PYTEST) $(SHARED) -m "not exhaustive" $$($(BIN)/python -m tests.attack.touched)

test-exhaustive: $(VENV)/.dev $(VENV)/.runner ## run what takes minutes and `make test` leaves out: all generated requests, all kills, all attacks on a bare function (SHARD=1/4)
	$(PYTEST) $(SHARED) -m exhaustive $(if $(SHARD),--shard $(SHARD))

audit: build/audit/.made ## weekly: look for known weaknesses in what is pinned (packages, actions); asks the advisory services
	build/audit/bin/zizmor --offline .github
	code=0; for lock in requirements/*.lock requirements/clients/*.lock; do echo "$$lock"; \
		build/audit/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r $$lock || code=1; done; \
	for lock in infra tests/browser tests/clients tests/conformance tests/servers/upstream; do echo "$$lock"; \
		(cd $$lock && npm audit --package-lock-only) || code=1; done; exit $$code

quality: $(VENV)/.dev $(VENV)/.runner ## measure answers on the sets of a folder, as docs/benchmarks.md shows them (EVAL=DIR)
	$(BIN)/python -m tests.quality "$(EVAL)" $(QUALITY)

conformance: $(VENV)/.dev $(VENV)/.runner ## run the official MCP conformance suite, the Inspector and the TypeScript SDKs (npm packages)
	$(PYTEST) -m conformance tests/conformance

clients: $(VENV)/.dev $(VENV)/.runner ## nightly: call Loci from SDKs and the libraries that agents are built with (LangChain, OpenAI, Google, Vercel, ...)
	$(PYTEST) -m clients tests/clients

test-browser: $(VENV)/.dev ## run the tests of the pages in a headless Chromium, which it installs where it may (SMOKES=1: a few)
	@command -v chromedriver >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
		&& apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; } \
		|| echo "Without Chromium these tests are skipped. Install it and its driver (Debian: chromium chromium-driver)"
	$(PYTEST) -m "browser$(if $(SMOKES), and smoke)" -rs tests/browser

pictures: $(VENV)/.dev ## take the pictures of the documentation anew, in a headless Chromium
	PICTURES=docs/images $(PYTEST) tests/browser/test_pictures.py

layers: $(VENV)/.dev ## build the Lambda layers (ARCH=arm64, MODEL=all-MiniLM-L6-v2)
	$(BIN)/python -m layers.build $(if $(ARCH),--arch $(ARCH)) $(if $(MODEL),--model $(MODEL))

synth: $(VENV)/.dev ## write the CloudFormation templates; needs no AWS account (STAGE=prod, OUT=DIR)
	$(CDK) synth --quiet $(if $(OUT),--output "$(OUT)")

image: synth ## build an image as a deployment does, and ask it something; needs Docker (IMAGE=run_python)
	$(BIN)/python -m tests.infra.built_image $(IMAGE) --assembly "$(or $(OUT),build/cdk)"

site: build/zensical/.made ## build the site of the documentation into build/site/site; a link that leads nowhere fails it
	rm -rf build/site && mkdir -p build/site && cp -r docs build/site/docs && mv build/site/docs/zensical.toml build/site/
	build/zensical/bin/zensical build --strict -f build/site/zensical.toml

costs: $(VENV)/.dev ## renew the tables of costs in infra/README.md
	$(BIN)/python -m infra.cost_tables

bootstrap: $(VENV)/.dev ## prepare an AWS account and region for deployments, once
	$(CDK) bootstrap

deploy: $(VENV)/.dev ## check your AWS account, then deploy into it (STAGE=prod, CHECK=no)
	$(if $(filter no,$(CHECK)),,$(BIN)/python -m infra.preflight --stage $(STAGE))
	$(BIN)/python -m infra.failed_creation --stage $(STAGE)
	$(CDK) deploy --all

rollback: ## deploy an earlier version again, with the settings of today (TO=v1.2.0, STAGE=prod)
	@test -n "$(TO)" || { echo "Say to which version: make rollback TO=v1.2.0 STAGE=$(STAGE)"; exit 1; }
	rm -rf build/rollback && git worktree prune && git worktree add --detach build/rollback "$(TO)"
	cp cdk.json build/rollback/cdk.json
	$(MAKE) -C build/rollback deploy STAGE=$(STAGE)
	git worktree remove --force build/rollback

smoke: $(VENV)/.dev ## walk through all of a running Loci, from outside, in two minutes (URL=https://…/mcp, KEY=…)
	@LOCI_KEY="$${KEY:-$$LOCI_KEY}" $(BIN)/python -m tests.deployed.smoke "$(URL)"

destroy: $(VENV)/.dev ## take a deployment down again, with what it holds unless the stage retains it (STAGE=…)
	$(CDK) destroy 'loci-$(STAGE)-!(data)'
	$(BIN)/python -m infra.empty --stage $(STAGE)
	$(CDK) destroy --all

opensearch: $(VENV)/.dev ## start a real OpenSearch node on a free port (needs Java 17 and Maven; MAJOR=3: Java 21)
	@exec $(BIN)/python -m tests.servers.java opensearch$(MAJOR)

dynamodb: $(VENV)/.dev ## start DynamoDB Local on a free port (needs Java 17 and Maven)
	@exec $(BIN)/python -m tests.servers.java dynamodb

localstack: $(VENV)/.dev ## start LocalStack on a free port (needs Python 3.13)
	@exec $(BIN)/python -m tests.servers.localstack

# What cdk.json runs, for who has the CDK's command line: `cdk deploy --all` does all of it by itself.
cdk-app: $(VENV)/.dev
	@exec $(BIN)/python -m infra.app

bench: $(VENV)/.dev ## measure speed and memory against the budgets
	$(BIN)/python -m tests.bench

stress: $(VENV)/.dev ## many writers, a mixed crowd, a hostile owner and kills, with their figures; 5 minutes
	$(BIN)/python -m tests.stress

dist: $(VENV)/.dev build/audit/.made ## build what a release publishes, into dist: the packages, the bundle, and the list of what is in them (SBOM)
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist/packages
	$(BIN)/python -m release.bundle dist/packages/*.whl dist
	build/audit/bin/cyclonedx-py requirements requirements/laptop.lock --pyproject pyproject.toml --output-reproducible -o dist/loci-mcp.cdx.json

test-dist: $(VENV)/.dev $(VENV)/.runner ## test the built wheel with what the lock pins, and by uvx, and the entries that name it; asks the package index
	WHEEL=$$(ls dist/packages/*.whl) $(PYTEST) tests/unit/test_listings.py tests/layers/test_wheel.py

format: $(VENV)/.dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(VENV)/.dev ## renew requirements/*.lock from pyproject.toml (UPGRADE=1: to the newest versions)
	$(BIN)/python requirements/renew.py $(if $(UPGRADE),--upgrade)

clean: ## remove what was installed and built here (your data stays)
	rm -rf $(VENV) build dist tests/clients/node_modules tests/conformance/node_modules tests/servers/upstream/node_modules infra/node_modules .ruff_cache .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Loci needs Python 3.11 or newer with venv; none was found. Install one, or say which: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Loci needs Python 3.11 or newer; $(PYTHON) is older"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.uv: requirements/uv.lock | $(BIN)/python
	$(BIN)/python $(PIP) --require-hashes -r $<
	@touch $@

# Without dependencies: the lock has all that are needed, and none takes `-e .` where it asks for hashes.
$(VENV)/.%: requirements/%.lock pyproject.toml | $(VENV)/.uv
	$(call bring,$(BIN)/python,--no-deps --require-hashes -r $<)
	$(call bring,$(BIN)/python,--no-deps --no-build-isolation -e .)
	@touch $@ && if [ $* = dev ]; then touch $(VENV)/.laptop; fi

build/%/.made: requirements/%.lock | $(VENV)/.uv
	$(BIN)/python -m venv build/$*
	$(call bring,build/$*/bin/python,--require-hashes -r $<)
	@touch $@

# Where there is no wall no code is run (docs/code.md): its packages are then not brought unasked.
$(VENV)/.runner: requirements/runner.lock | $(VENV)/.laptop
	if [ "$$(uname)" = Linux ]; then $(BIN)/loci runner install; fi
	@touch $@

.PHONY: site pictures help run setup test test-aws test-all check clients conformance bench format lock clean layers synth costs bootstrap deploy destroy smoke rollback
.PHONY: attack attack-touched audit stress test-exhaustive test-browser quality cdk-app opensearch dynamodb localstack image dist test-dist
