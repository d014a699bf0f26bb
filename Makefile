# Everything here needs Python 3.11+, make and git, and nothing else: each target makes and reuses .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= out
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint types format docs bench repro clean

help:  ## show what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

# One stamp per set of packages: `make demo` must not wait for the test tools.
$(VENV)/.demo: pyproject.toml
	@echo "Setting up $(VENV) for the demo (once, about half a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -qq --editable '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml
	@echo "Setting up $(VENV) for development (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -qq --editable '.[test]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## label a real data set end to end: killed half-way, resumed, certified (two minutes)
	@$(BIN)/quorate demo --out $(OUT)/demo

test: $(VENV)/.test  ## run the tests
	@$(BIN)/python -m pytest --numprocesses=auto --quiet -m "not slow"

test-all: $(VENV)/.test  ## run the tests, the slow ones too
	@$(BIN)/python -m pytest --numprocesses=auto --quiet

lint: $(VENV)/.test  ## check format, lint and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(VENV)/.test  ## put the code into its format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(VENV)/.test  ## build the documentation, warnings as errors
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/.test  ## run the benchmarks; results go to benchmarks/results
	@$(BIN)/pip install -qq --editable '.[bench]'
	@$(BIN)/python benchmarks/run.py

repro: $(VENV)/.demo  ## remake the paper's table and figures
	@$(BIN)/quorate reproduce --out $(OUT)/repro

clean:  ## remove what was made here
	rm -rf $(VENV) $(OUT) docs/_build build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
