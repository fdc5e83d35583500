"""The documentation: its code runs, its links lead somewhere, and every public name is covered."""

import importlib
import importlib.util
import json
import pkgutil
import re
from pathlib import Path

import pytest

import separatrix as sx

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PACKAGES = [found.name for found in pkgutil.walk_packages(sx.__path__, "separatrix.") if found.ispkg]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def read(path):
    return path.read_text(encoding="utf-8")


def names(path):
    return str(path.relative_to(ROOT))


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make_pages():
    return load(DOCS / "make_pages.py")


def with_code():
    slow = {"tutorial.md"}
    pages = [page for page in PAGES if BLOCK.search(read(page))]
    return [pytest.param(page, marks=[pytest.mark.slow] if page.name in slow else [], id=names(page)) for page in pages]


@pytest.mark.parametrize("page", with_code())
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    from separatrix.studies import PAPERS

    monkeypatch.chdir(tmp_path)
    papers, probes = dict(PAPERS), dict(importlib.import_module("separatrix.probes").PROBES)
    space = {"__name__": f"page_{page.stem.replace('-', '_')}"}
    try:
        for number, block in enumerate(BLOCK.findall(read(page))):
            exec(compile(block, f"{page.name}, block {number + 1}", "exec"), space)
    finally:
        for kept, now in ((papers, PAPERS), (probes, importlib.import_module("separatrix.probes").PROBES)):
            now.clear()
            now.update(kept)
    if page.name == "tutorial.md":
        claims = json.loads((tmp_path / "results/neighbours/claims.json").read_text())
        assert {claim["id"] for claim in claims} == {"mine.ahead", "mine.linear"}
        assert all(claim["reason"] for claim in claims)
        assert "Do neighbours agree?" in read(tmp_path / "results/neighbours/report/index.html")
