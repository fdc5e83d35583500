"""The committed diagrams are those that the script draws, and well-formed."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import draw_diagrams  # noqa: E402


@pytest.mark.parametrize("name", draw_diagrams.DIAGRAMS)
def test_the_committed_diagram_is_current(name):
    drawn = draw_diagrams.DIAGRAMS[name]()
    committed = (draw_diagrams.IMAGES / f"{name}.svg").read_text(encoding="utf-8")
    assert committed == drawn, "run `python docs/draw_diagrams.py`"
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label")
