"""The page on scaling has the numbers that the simulation gives."""

import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def simulate(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("simulate_cluster")


def test_the_page_has_the_simulated_numbers(simulate):
    """One row of the first table; the whole page takes five seconds of processor time."""
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    costs = simulate.Costs(driver=0.025, scheduler=0.013, latency=0.005)
    shares = [
        sum(simulate.efficiency(10, chunk, costs, seed) for seed in range(3)) / 3
        for chunk in simulate.CHUNKS
    ]
    row = "| 10 | " + " | ".join(f"{100 * share:.0f} %" for share in shares) + " |"
    assert row in page, "run `python benchmarks/simulate_cluster.py --page docs/scale.md`"


def test_the_page_has_the_words_of_the_script(simulate):
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    source = inspect.getsource(simulate.page)
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings
    assert all(f'"{heading}"' in source for heading in headings)
