"""The page of benchmark results is made from the kept results."""

import importlib
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def make_results(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("make_results")


def test_the_page_is_up_to_date(make_results):
    page = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    assert page == make_results.page(), "run `python benchmarks/make_results.py`"


def test_every_result_names_its_machine_day_commit_and_command(make_results):
    for result in make_results.results():
        section = make_results.section(result)
        for fact in ("command", "machine", "date", "commit"):
            assert result[fact] in section
        for row in result["rows"]:
            assert all(make_results.cell(value) in section for value in row)


def test_every_benchmark_is_on_the_page(make_results):
    page = make_results.page()
    kept = {result["benchmark"] for result in make_results.results()}
    for file in FOLDER.glob("*.py"):
        known = file.stem in kept or file.stem in make_results.HELPERS
        assert known or f"benchmarks/{file.name}" in page


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"date": None}, "lacks"), ({"speed": 3}, "unknown"), ({"rows": [[1]]}, "does not fit")],
)
def test_a_result_that_lacks_something_is_refused(make_results, tmp_path, change, sentence):
    good = json.loads((FOLDER / "kept" / "cores.json").read_text(encoding="utf-8"))
    result = {name: fact for name, fact in (good | change).items() if fact is not None}
    (tmp_path / "new.json").write_text(json.dumps(result))
    with pytest.raises(ValueError, match=sentence):
        make_results.results(tmp_path)
