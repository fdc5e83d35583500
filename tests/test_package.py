"""What makes this a package that people can install and cite: files that must agree."""

import re
import tomllib
from pathlib import Path

import typer

import separatrix as sx
from separatrix.cli.main import app

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ["3.11", "3.12", "3.13"]


def test_version_and_date_are_those_of_the_changelog_and_the_citation():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE)
    assert versions[0][0] == sx.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sx.__version__}\n" in citation
    assert f"\ndate-released: {versions[0][1]}\n" in citation
    assert "\nauthors:\n  - name:" in citation


def test_pythons_are_the_same_everywhere():
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"python: \[(.*)\]", workflow)
    assert matrix is not None
    assert re.findall(r'"([\d.]+)"', matrix[1]) == named == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert "run: .ci/run" in workflow


def test_ci_checks_builds_and_tests_and_requires_the_browser_that_it_has():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = [script.index(step) for step in ("make check\n", "make dist\n", "make test\n")]
    assert steps == sorted(steps)
    assert "export SEPARATRIX_BROWSER=required" in script


def test_types_policies_and_completion_are_there():
    for name in ("src/separatrix/py.typed", "SECURITY.md", "CODE_OF_CONDUCT.md", "LICENSE"):
        assert (ROOT / name).is_file(), name
    options = {name for param in typer.main.get_command(app).params for name in param.opts}
    assert {"--install-completion", "--show-completion"} <= options
