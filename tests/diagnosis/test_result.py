"""The result object: short text, frames, JSON, pages."""

import json

import pytest

from separatrix.diagnosis.result import labels_for, needed_words, percent
from separatrix.inference.intervals import Interval


def test_ten_lines_at_most(found):
    lines = repr(found).splitlines()
    assert len(lines) <= 10
    assert lines[0].startswith("bumps: ")
    assert any("labels for 90.0 %" in line for line in lines)


def test_json_and_frame(found):
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    assert plain["schema"] == 2
    assert plain["verdict"] == found.verdict
    frame = found.to_frame()
    assert set(frame.columns) >= {"model", "labels", "score", "low", "high"}
    assert len(frame) == sum(map(len, found.scores.values()))


def test_report_writes_a_page_that_answers_first(found, tmp_path):
    page = found.report(tmp_path / "out").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.index("What to do") < page.index("<svg") < page.index("Gains, in percentage")
    assert "pixels" not in page
    assert json.loads((tmp_path / "out/diagnosis.json").read_text())["name"] == "bumps"
    assert (tmp_path / "out/scores.csv").read_text().startswith("model,labels")


def test_a_notebook_shows_it(found, tmp_path):
    assert "<svg" in found._repr_html_()
    assert "<img" in found.plot()._repr_html_()
    assert found.plot(tmp_path / "curves.svg").exists()


def test_labels_needed():
    curve = tuple((n, Interval(s, s, s, 0.95, "", 3)) for n, s in ((100, 0.7), (400, 0.9)))
    assert labels_for(curve, 0.6) == (0.0, 100)
    assert needed_words(curve, 0.8) == "about 200"
    assert needed_words(curve, 0.99) == "more than 400"
    assert percent(0.5) == "50.0 %"
    with pytest.raises(AttributeError):
        labels_for(((1, None),), 0.5)
