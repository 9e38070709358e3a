# `make` lists the targets. All of them work right after `git clone`: what they need, they install under this folder.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
UV := .tools/bin/uv
LOCK := requirements/dev.txt
STAMP := .venv/.installed
# how long `make fuzz` takes; the shell has a variable of this name, make has not
SECONDS ?= 600
# training engines of `make smoke` and `make demo`
ENGINES ?= 1
# of `make soak`
HOURS ?= 4
GENERATED := common/specfleet_common/wire/v1 crds charts/specfleet/templates/crds docs/reference.md docs/cli.md docs/metrics.md docs/settings.md docs/values.md docs/bad-input.md charts/specfleet/dashboards

# uv uses this machine's Python and certificates; vLLM started by a test reports its usage to nobody.
export UV_PYTHON_DOWNLOADS := never
export UV_SYSTEM_CERTS := 1
export VLLM_NO_USAGE_STATS := 1
export DO_NOT_TRACK := 1

.PHONY: help env libnuma browser programs lock generate format check docs test e2e test-unit test-long images smoke demo observe pictures bench fuzz model clean \
	experiment-cost experiment-elastic experiment-shift experiment-learning experiment-bytes experiment-robust gate-study \
	audit-greedy audit-sampling audit-scale audit-equivalence audit-break-even soak gpu-check

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The stamp holds a digest of what was installed, so that a fresh checkout of the same lock installs nothing.
env: $(UV) ## Build or update .venv from the lock (about 6 GB at first: torch and vLLM)
	@wanted=$$(cat $(LOCK) pyproject.toml | sha256sum); \
	if [ "$$(cat $(STAMP) 2>/dev/null)" = "$$wanted" ]; then \
		$(if $(filter env,$(MAKECMDGOALS)),echo "env: .venv is up to date";) exit 0; fi; \
	rm -f $(STAMP); \
	[ -x $(BIN)/python ] || { \
		echo "env: creating .venv with $$($(PYTHON) --version)"; \
		$(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv; }; \
	echo "env: installing what $(LOCK) names, which can take minutes"; \
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode $(LOCK); \
	echo "env: installing specfleet itself, editable"; \
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	echo "$$wanted" > $(STAMP)

# The one library that vLLM needs and PyPI does not have.
libnuma: env
	@has() { $(BIN)/python -c 'import ctypes; ctypes.CDLL("libnuma.so.1")' 2>/dev/null; }; \
	if has; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "libnuma: installing Debian's libnuma1"; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends libnuma1 >/dev/null; fi; \
	has || { echo "libnuma: vLLM needs libnuma.so.1 (Debian and Ubuntu: apt-get install libnuma1)"; exit 1; }

$(UV): requirements/bootstrap.txt
	@$(PYTHON) -c 'import platform, sys; sys.exit(not ((3, 11) <= sys.version_info < (3, 14) and platform.system() == "Linux" and platform.machine() == "x86_64"))' || { \
		echo "env: $(PYTHON) is $$($(PYTHON) --version 2>&1) on $$(uname -sm); needed is Python 3.11 to 3.13 on Linux x86_64 (choose one with make PYTHON=...)"; \
		exit 1; }
	@echo "env: installing uv into .tools"
	@$(PYTHON) -m venv --clear .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

lock: $(UV) ## Write the locked requirements again after a change in pyproject.toml
	@$(PYTHON) tools/lock.py --uv $(UV)

generate: env ## Write the generated files again (the gRPC messages, the resource definitions and their reference)
	@$(BIN)/python tools/generate_wire.py
	@$(BIN)/python -m tools.generate_crds
	@$(BIN)/python -m tools.generate_pages
	@$(BIN)/python -m tools.dashboards

format: env ## Format the code and sort its imports
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format .

check: env ## Formatting, lints, types, import contracts, generated files
	@echo "check: format"
	@$(BIN)/ruff format --quiet --check --output-format concise . || { echo "run 'make format' and commit the result"; exit 1; }
	@echo "check: lint"
	@$(BIN)/ruff check --quiet --output-format concise .
	@echo "check: types"
	@$(BIN)/mypy
	@echo "check: import contracts"
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report"; exit 1; }
	@echo "check: locked and generated files"
	@$(BIN)/python tools/lock.py --check
	@digest() { find $(GENERATED) -type f -not -path '*/__pycache__/*' | sort | xargs sha256sum; }; \
	before=$$(digest); $(MAKE) generate; \
	[ "$$before" = "$$(digest)" ] || { echo "one of $(GENERATED) was out of date: commit what 'make generate' wrote"; exit 1; }

docs: env ## Build the documentation site into out/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "docs: out/site/index.html"

# Tests open reports in it, and pictures are made with it.
browser: env
	@$(BIN)/python -m tools.browser >/dev/null

# Built once into the user's cache: the S3 server, Prometheus, and the programs of a Kubernetes cluster.
programs: env
	@$(BIN)/python -m tools.versitygw >/dev/null
	@$(BIN)/python -m tools.prometheus >/dev/null
	@$(BIN)/python -m tools.prometheus_operator >/dev/null
	@$(BIN)/python -m tools.cluster.programs >/dev/null

test: check libnuma programs browser ## The checks, the unit tests, the end-to-end tests with a real vLLM
	@$(MAKE) test-unit
	@echo "test: end to end"
	@$(BIN)/python -m pytest -q -m "e2e and not long" -n 2 --dist loadfile --durations=20

test-unit: programs ## The fast tests only
	@echo "test: unit"
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile --durations=20

e2e: libnuma programs ## Stories in a Kubernetes cluster, made on this machine or by kind (10 minutes)
	@echo "test: in a cluster"
	@$(BIN)/python -m pytest -q -m "cluster and not long" e2e/kubernetes --durations=20

test-long: libnuma programs ## The stories that take minutes each, here and in a cluster; MINUTES=30 begins none later
	@echo "test: long stories"
	@$(BIN)/python -m pytest -q -m long $(if $(MINUTES),--minutes $(MINUTES)) --durations=0 --durations-min=1

cluster: libnuma programs ## A Kubernetes cluster on this machine with the images, until Ctrl-C
	@$(BIN)/python -m e2e.cluster

images: env ## Build the images for a registry, each with its bill of materials (BASE= a Python with its digest, TORCH_INDEX=)
	@$(BIN)/python -m tools.build_images --base "$(BASE)" --torch-index "$(TORCH_INDEX)" \
		$(if $(REGISTRY),--registry "$(REGISTRY)") $(if $(BUILDER),--program "$(BUILDER)")

smoke: libnuma ## Train and serve one drafter end to end on this machine, with a real vLLM
	@$(BIN)/python -m e2e.smoke --engines $(ENGINES)

demo: libnuma ## The main job: a fleet learns Hindi, is compared with its stock drafter, judges candidates, and reports (20 minutes)
	@$(BIN)/python -m e2e.demo --train-engines $(ENGINES)

experiment-cost: libnuma ## What capturing and training cost, and what serving the result gains, side by side
	@$(BIN)/python -m e2e.experiments.cost

experiment-elastic: libnuma ## Engines, trainers and the aggregator die and come back under traffic
	@$(BIN)/python -m e2e.experiments.elastic

experiment-shift: libnuma ## Hindi, then Python, then Japanese: what is learnt and what is forgotten
	@$(BIN)/python -m e2e.experiments.shift

experiment-learning: libnuma ## Variants of the training step on the same captured requests
	@$(BIN)/python -m e2e.experiments.learning

experiment-bytes: libnuma ## Codecs of deltas and versions: bytes per round against what was learnt
	@$(BIN)/python -m e2e.experiments.bytes

experiment-robust: libnuma ## What one bad worker of three costs, by the rule that combines deltas
	@$(BIN)/python -m e2e.experiments.robust

gate-study: env ## How often the promotion gate is wrong and how soon it is right, in simulation
	@$(BIN)/python -m e2e.gate_study --out out/gate-study

audit-greedy: libnuma ## Outputs with and without speculation and across swaps, token by token
	@$(BIN)/python -m e2e.audits.greedy

audit-sampling: libnuma ## Sampled outputs against the target's own distribution
	@$(BIN)/python -m e2e.audits.sampling --mended

audit-scale: env ## An aggregator with 200 agents: heartbeats, memory, file descriptors
	@$(BIN)/python -m e2e.audits.scale

audit-equivalence: libnuma ## The same drafter in both arms of a canary, with a swap for every block
	@$(BIN)/python -m e2e.audits.equivalence

audit-break-even: libnuma ## What engines call break-even, against an engine without speculation
	@$(BIN)/python -m e2e.audits.break_even

soak: env ## A fleet under traffic whose processes are killed all the time, HOURS=4: does anything grow?
	@$(BIN)/python -m e2e.soak --hours $(HOURS)

gpu-check: ## On a GPU: capture, swap, identity, timing, by VLLM_PYTHON=... (REHEARSE=1: on a CPU, by stand-ins)
	@$(if $(VLLM_PYTHON),$(VLLM_PYTHON),$(BIN)/python) -m e2e.gpu_check $(if $(REHEARSE),--rehearse)

observe: libnuma programs ## A fleet under a real Prometheus for 8 minutes: what every panel of the dashboards shows
	@$(BIN)/python -m e2e.dashboards

# The fuzzer is installed for this target alone, beside the environment.
fuzz: env ## Fuzz every decoder of foreign bytes by coverage, SECONDS=600 for all together
	@$(UV) pip install --quiet --python $(BIN)/python --target build/fuzz --require-hashes --no-deps -r requirements/fuzz.txt
	@PYTHONPATH=build/fuzz $(BIN)/python -m tools.fuzz --seconds $(SECONDS)

bench: libnuma ## Speed of the training step, cost of capture, time of swaps and transfers, memory
	@$(BIN)/python -m e2e.bench

pictures: browser ## Draw docs/pictures again from what was recorded of real runs
	@$(BIN)/python -m e2e.pictures

model: env libnuma ## Train the small model of tests and examples again (an hour or two)
	@$(BIN)/python tools/tiny_model/target.py --out build/small-model
	@$(BIN)/python tools/tiny_model/stock_head.py --target build/small-model
	@$(BIN)/python tools/tiny_model/measure.py

clean: ## Remove everything that the other targets installed or built
	@rm -rf .venv .venv-gen .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist out
	@find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
