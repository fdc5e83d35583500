# make run: from nothing to a table of verdicts.  make test: the tests.  Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: run test check bench docs clean

run: .venv/.run
	$(BIN)/separatrix verify --scale quick

test: .venv/.test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

check: .venv/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

# The comparison with PyTorch needs the extra `bench`; without it the other figures are printed.
bench: .venv/.run
	$(BIN)/python benchmarks/networks.py

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "separatrix needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.run: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) install -q -c constraints.txt -e .
	@touch $@

.venv/.test: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) install -q -c constraints.txt -e '.[test]'
	@touch $@ .venv/.run

.venv/.check: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) install -q -c constraints.txt -e '.[test,check]'
	@touch $@ .venv/.run .venv/.test

clean:
	rm -rf .venv results build dist .pytest_cache .ruff_cache .hypothesis
