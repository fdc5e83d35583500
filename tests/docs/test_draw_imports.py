"""The drawing of the packages' imports is that of the code, and there is no cycle."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import draw_imports  # noqa: E402


def test_the_committed_drawing_is_current():
    drawn = draw_imports.draw(draw_imports.imports())
    assert draw_imports.TARGET.read_text(encoding="utf-8") == drawn, (
        "the packages' imports changed: run `python docs/draw_imports.py`"
    )


def test_packages_lie_above_what_they_import():
    edges = draw_imports.imports()
    height = {name: -level for level, row in enumerate(draw_imports.layers(edges)) for name in row}
    assert all(height[name] > height[target] for name in edges for target in edges[name])


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="a cycle of imports: a -> b -> a"):
        draw_imports.layers({"a": {"b"}, "b": {"a"}})


def test_arrows_that_follow_from_others_are_left_out():
    edges = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert draw_imports.reduced(edges) == [("a", "b"), ("b", "c")]
