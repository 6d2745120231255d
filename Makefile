# make lab    set up, then open the workbench in JupyterLab
# make test   set up, then run every check
#
# Needs Python >= 3.11 and make; everything else is installed into .venv, at the versions of
# constraints.txt. Choose another interpreter with `make PYTHON=python3.12 lab`, hand options to pip
# (an index of CPU builds of torch, say) with `make PIP_OPTIONS=... lab`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?=
PIP_OPTIONS ?=

# torch's OpenMP threads spin while they wait. On a shared machine that makes two threads twenty
# times slower than one, and the variable counts only if it is set before torch is imported.
export OMP_WAIT_POLICY := PASSIVE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help lab test bench peers bench-kernels bench-views kernels-table soak notebooks setup-lab setup-test \
	chromium clean \
	check-style check-types check-imports test-rooms test-kernels test-notebooks test-browser

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

lab: setup-lab ## set up, then open notebooks/00_start_here.ipynb in JupyterLab
	$(BIN)/ninfer-lab start

test: setup-test chromium check-style check-types check-imports ## set up, then run every check
test: test-rooms test-kernels test-notebooks test-browser

bench: setup-test ## measure against transformers; prints the table of the README
	$(BIN)/ninfer-lab bench

peers: setup-test ## run vLLM and llama.cpp on the same requests, in an environment of their own (.venv-peers)
	$(BIN)/ninfer-lab peers $(addprefix --pip-option=,$(PIP_OPTIONS))

bench-kernels: setup-test ## on a GPU: time of every kernel against the GPU's own limits and the usual library
	$(BIN)/python kernels/bench/gpu_table.py

bench-views: setup-test chromium ## in a browser: time of a view's first draw and of a step
	PYTHONPATH=tests $(BIN)/python -m browser.view_speed

kernels-table: setup-test ## compile every shipped kernel for every chip, no GPU needed; the table of kernels/README.md
	$(BIN)/python -m ninfer_kernels.ahead_of_time --readme kernels/README.md

soak: setup-test ## the long random tests, from new seeds (printed when one fails)
	$(BIN)/pytest --soak tests

notebooks: setup-lab ## run every notebook and write it back with its outputs
	$(BIN)/ninfer-lab build-notebooks

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) .venv-peers build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# ---- set-up: a stamp per set of extras, so that a second run installs nothing -------------------

setup-lab: $(VENV)/.installed-lab ## only set up what `make lab` needs
setup-test: $(VENV)/.installed-test ## only set up what `make test` needs

$(VENV)/.installed-lab: EXTRAS := torch,notebooks
$(VENV)/.installed-test: EXTRAS := torch,notebooks,test

$(VENV)/.installed-lab $(VENV)/.installed-test: pyproject.toml constraints.txt
	@python=""; \
	for candidate in $(or $(PYTHON),python3 python3.11 python3.12 python3.13 python3.14); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    python="$$candidate"; break; \
	  fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "make: no Python >= 3.11 among: $(or $(PYTHON),python3 python3.11 ... python3.14). Install" \
	    "one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; \
	  exit 2; \
	fi; \
	echo "setting up $(VENV) with $$($$python --version), extras $(EXTRAS)"; \
	"$$python" -m venv $(VENV) || { \
	  echo "make: '$$python -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; \
	  exit 2; }
	@$(BIN)/python -m pip install -qq $(PIP_OPTIONS) --constraint constraints.txt --upgrade \
	  pip setuptools
	@$(BIN)/python -m pip install -qq $(PIP_OPTIONS) --constraint constraints.txt \
	  --no-build-isolation --editable '.[$(EXTRAS)]'
	@touch $(VENV)/.installed-lab $@

# ---- the checks, each by its own name -----------------------------------------------------------

check-style: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check-types: setup-test
	$(BIN)/mypy

check-imports: setup-test
	$(BIN)/lint-imports --no-logo --no-cache

# A kernel test runs Triton's interpreter, which is chosen once per process and which a bad mask can
# crash: two workers, and one that dies is a failed test and not the end of the run. Notebooks and the
# browser start processes of their own. Each has its own pytest.
test-rooms: setup-test
	$(BIN)/pytest -n 2 --dist loadfile --ignore=tests/kernels --ignore=tests/notebooks --ignore=tests/browser

test-kernels: setup-test
ifneq ($(wildcard tests/kernels),)
	TRITON_INTERPRET=1 $(BIN)/pytest -n 2 --dist worksteal tests/kernels
endif

test-notebooks: setup-test
	$(BIN)/pytest tests/notebooks

test-browser: setup-test chromium
	$(BIN)/pytest tests/browser

# The browser tests drive a Chromium of the system. It is installed where that needs no question;
# elsewhere they skip and say so, except in CI, where a missing browser fails.
chromium:
	@if ! command -v chromium chromium-browser google-chrome >/dev/null \
	  && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium for the browser tests"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    --no-install-recommends chromium fonts-dejavu-core fonts-liberation >/dev/null; \
	fi
