# Thin verbs over the `kernelwright` command; `make help` lists them. Variables: OP OP_DIR PLATFORM FRAMEWORK MODE AGENT
# MAX_ITERS TOKEN_BUDGET TARGET_UTIL MAX_STALL BUCKETS PROFILE JOBS RESULTS CONFIG. config/config.yaml explains each.
SHELL := /bin/sh
.DEFAULT_GOAL := help
BIN := .venv/bin
KW := $(BIN)/python -m kernelwright
OP ?= rms_norm
RESULTS ?= results

flag = $(if $(strip $($(1))),--$(2) "$($(1))")
# `several` is not named `words`: that is a function of make, which `call` would prefer.
several = $(if $(strip $($(1))),--$(2) $($(1)))
WHERE := $(call flag,OP_DIR,operator-dir) $(call flag,PLATFORM,platform) $(call several,FRAMEWORK,framework) $(call flag,MODE,mode)
LIMITS := $(call flag,MAX_ITERS,max-iters) $(call flag,TOKEN_BUDGET,token-budget) $(call flag,TARGET_UTIL,target-util) \
	$(call flag,MAX_STALL,max-stall) $(call flag,BUCKETS,buckets)
HOW := $(call flag,AGENT,agent) $(call flag,PROFILE,profile) $(call flag,JOBS,jobs) $(call flag,CONFIG,config) --results "$(RESULTS)"
NAMES := $(if $(OP_DIR),$(basename $(notdir $(patsubst %/,%,$(OP_DIR)))),$(OP))
OPERATORS := $(if $(OP_DIR),,--operator $(OP))

.PHONY: help setup optimize judge report watch replay skill doctor wiki wiki-experiments calibrate bench test lint format \
	containers clean

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready  ## make .venv ready (done by the other verbs when needed)

.venv/.ready: pyproject.toml scripts/setup.sh
	@scripts/setup.sh

optimize: setup  ## run the campaigns of OP="a b c" to a report
	@$(KW) optimize $(OPERATORS) $(WHERE) $(LIMITS) $(HOW)

judge: setup  ## judge one kernel: OP=rms_norm CANDIDATE=kernel.py [AGAINST=other.py] [PLATFORM=cpu]
	@$(KW) judge --operator "$(or $(OP_DIR),operators/$(OP))" $(call flag,CANDIDATE,candidate) --platform $(or $(PLATFORM),auto) \
		$(call flag,FRAMEWORK,framework) $(call flag,MODE,mode) $(call flag,AGAINST,against) $(call flag,JSON,json)

report: setup  ## render the reports of OP again, running nothing else
	@$(KW) report all --results "$(RESULTS)" --operator $(NAMES)

watch: setup  ## live progress of OP in the terminal
	@$(KW) watch --results "$(RESULTS)" --operator $(NAMES)

doctor: setup  ## what this machine has, what is missing and how to get it; AGENT=claude: that agent's program and login
	@$(KW) doctor $(call flag,AGENT,agent)

wiki: setup  ## list the knowledge cards and their measured effects; Q="words" finds some
	@$(KW) wiki $(if $(Q),query "$(Q)" $(call flag,PLATFORM,platform) $(call flag,FRAMEWORK,framework),list)

wiki-experiments: setup  ## measure the cards' experiments again; a card whose effect is gone is flagged
	@$(KW) wiki experiments --platform $(or $(PLATFORM),auto)

calibrate: setup  ## measure what this machine reaches: bandwidth, matrix rates, launch
	@$(KW) calibrate --platform $(or $(PLATFORM),auto) --again

replay: setup  ## print the agent sessions of VERSION=results/.../b00/v001 readably
	@$(KW) replay "$(VERSION)"

skill: setup  ## put skill and hooks into PREFIX=folder for your own coding session; ACTION=uninstall, HOOKS_ONLY=1
	@$(KW) skill $(or $(ACTION),install) --prefix "$(or $(PREFIX),.)" $(if $(HOOKS_ONLY),--hooks-only)

bench: setup  ## measure the workflow's overhead and the judge's speed
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

test: setup  ## run the tests (no GPU: those marked gpu are skipped)
	@$(BIN)/python -m pytest -q -n 2 tests/unit tests/integration
	@$(BIN)/python -m pytest -q --ignore=tests/unit --ignore=tests/integration

lint: setup  ## style, types and workflow checks
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/snakefmt --check Snakefile rules && $(BIN)/mypy
	@$(BIN)/snakemake --lint >/dev/null

format: setup  ## rewrite the sources in the house style
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . && $(BIN)/snakefmt Snakefile rules

containers: setup  ## build the images under containers/ with docker, podman or buildah
	@$(BIN)/python -m kernelwright.containers --image cpu

clean:  ## remove caches of the workflow and the tests; results stay
	@rm -rf .snakemake .pytest_cache .mypy_cache .ruff_cache
