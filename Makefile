# make run: from nothing to a table of verdicts.  make test: the tests.  Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: run test check bench chaos audit docs dist clean

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

# A hundred runs killed with signal 9 and resumed, other faults, and 10,000 malformed inputs; takes a while.
chaos: .venv/.test
	$(BIN)/python tests/chaos/run.py --page docs/chaos.md
	$(BIN)/python tests/malformed.py --page docs/chaos.md

# Known vulnerabilities of the pinned versions, by pip-audit in an environment of its own. Asks a public database: without it, --strict ends in an error.
audit:
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip --disable-pip-version-check install -q pip-audit
	.venv/audit/bin/pip-audit --strict --disable-pip --no-deps -r constraints.txt

# The site goes to site/; a warning, a dead link or a public name without an entry ends the build.
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Build the sdist and the wheel, install the wheel into a clean environment outside the checkout, and
# use it there: doctor, and a study of about a minute.
dist: .venv/bin/python
	rm -rf dist build
	$(PIP) install -q build
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tests/check_dist.py dist

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

.venv/.docs: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) install -q -c constraints.txt -e '.[docs]'
	@touch $@ .venv/.run

clean:
	rm -rf .venv results site build dist .pytest_cache .ruff_cache .hypothesis
