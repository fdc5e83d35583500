"""The notebooks of the teaching kit: they run, they end with a figure, and they are up to date."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Small sizes: the test is about the code, not about what comes out.
SMALL = {
    "patterns": {"EXPONENTS": [3, 4], "DRAWS": 2, "BITS": [8], "STEPS": 8, "SEEDS": 2},
    "signals": {"PATCHES": [3], "TRIALS": 4, "STEPS": 5, "SAMPLES": (7, 8)},
    "stability": {"SAMPLES": [15, 16], "WIDTH": 4, "STEPS": 16, "SEEDS": 2},
}


@pytest.fixture(scope="module")
def make():
    file = ROOT / "docs" / "make_notebooks.py"
    spec = importlib.util.spec_from_file_location("make_notebooks", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_notebook_was_executed_since_its_source_changed(make):
    assert make.names() == sorted(SMALL)
    assert make.stale() == [], "run `python docs/make_notebooks.py` with these names"


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_notebook_runs_and_ends_with_a_figure(make, name):
    cells = make.cells_of((make.SOURCES / f"{name}.py").read_text(encoding="utf-8"))
    assert cells[0].source.startswith("# "), "a title comes first"
    outputs = make.run(cells, SMALL[name])
    assert outputs[-1][-1]["data"]["text/html"].startswith("<img ")


@pytest.mark.parametrize("name", sorted(SMALL))
def test_the_executed_notebook_is_one_that_jupyter_reads_and_its_page_shows_it(make, name):
    kept = json.loads((make.TARGETS / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert len({cell["id"] for cell in kept["cells"]}) == len(kept["cells"])
    assert "<img " in code[-1]["outputs"][-1]["data"]["text/html"]
    page = make.page(name)
    assert page.startswith("# ")
    assert page.count("```py\n") == len(code)
    assert f"]({name}.ipynb)" in page


def test_cells_print_show_and_keep_their_names(make):
    text = "# %% [markdown]\n# # Title\n#\n# Words.\n\n# %% sizes\nn = 3\nprint(n)\n\n# %%\nn + 1\n"
    made = make.notebook("planted", text, {"n": 5})
    first, sizes, last = made["cells"]
    assert first["source"] == "# Title\n\nWords."
    assert sizes["outputs"][0]["text"] == "3\n"
    assert last["outputs"][0]["data"] == {"text/plain": "6"}
    with pytest.raises(ValueError, match="sets no m"):
        make.run(make.cells_of(text), {"m": 1})
    with pytest.raises(ValueError, match="begins with"):
        make.cells_of("x = 1\n" + text)
