"""Truths and lines of the proof."""

from pathlib import Path

import numpy as np
import pytest

from separatrix.diagnosis.proof.lines import REVISION, grade, on_page, read_lines, table_of
from separatrix.diagnosis.proof.truths import BLIND_HALF, OPEN_HALF, TRUTHS, case_of
from separatrix.diagnosis.verdict import UNSETTLED, VERDICTS
from separatrix.errors import UnknownNameError


@pytest.mark.parametrize("name", TRUTHS)
def test_truths_can_be_made_again(name):
    (first, truth), (second, _) = case_of(name, 3), case_of(name, 3)
    assert np.array_equal(first.x, second.x)
    assert np.array_equal(first.y, second.y)
    assert len(first.x) == len(first.y)
    assert set(truth.right) <= set(VERDICTS)
    assert len(np.unique(first.y)) > 1


def test_halves():
    assert len(TRUTHS) >= 20
    assert not set(OPEN_HALF) & set(BLIND_HALF)
    with pytest.raises(UnknownNameError):
        case_of("nowhere", 0)


def test_grades_and_tables(tmp_path):
    assert grade(UNSETTLED, ("convolution pays",)) == "open"
    assert grade(UNSETTLED, ("neither pays",)) == "wrong"
    file = tmp_path / "lines.jsonl"
    line = f'{{"revision": {REVISION}, '
    line += '"truth": "chirps", "seed": 0, "right": ["convolution pays"], '
    file.write_text(line + '"grade": "right", "cpu": 30.0}\n{"torn', encoding="utf-8")
    table = table_of(read_lines(file))
    assert "| chirps | convolution pays | 1 | 1 | 0 | 0 |" in table


def test_the_page_shows_the_kept_lines():
    root = Path(__file__).parents[3]
    lines = read_lines(root / "evidence/diagnose-proof.jsonl")
    page = (root / "docs/diagnose.md").read_text(encoding="utf-8")
    if lines:
        assert on_page(page, lines) == page
