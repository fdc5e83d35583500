"""The cache of drawn figures."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from sample_run import figures, write_run

from separatrix.report import write_report
from separatrix.report.figure import cache as drawn
from separatrix.report.figure.cache import cache_key, drawings_of
from separatrix.report.figure.draw import drawing_of


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """An empty cache, and the names of the figures that are drawn from now on."""
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))
    names = []

    def counting(figure, prefix):
        names.append(figure.name)
        return drawing_of(figure, prefix)

    monkeypatch.setattr(drawn, "drawing_of", counting)
    return names


def files(folder):
    return {
        file.relative_to(folder): file.read_bytes()
        for file in Path(folder).rglob("*")
        if file.is_file()
    }


def test_a_second_report_draws_nothing_and_is_the_same(counted, tmp_path):
    run = write_run(tmp_path / "run")
    write_report(run)
    first = files(run)
    assert counted == ["curves", "bars", "map", "picture"]
    write_report(run)
    assert len(counted) == 4
    assert files(run) == first
    assert not [file for file in first if "cache" in str(file) or file.name.startswith(".")], (
        "the cache is not in the run's folder"
    )


def test_only_what_changed_is_drawn_again(counted, tmp_path):
    write_report(write_run(tmp_path / "run"))
    counted.clear()
    curves, *others = figures()
    series = dataclasses.replace(curves.series[0], y=(0.4, 0.2, 0.1000001))
    write_report(
        write_run(
            tmp_path / "again",
            drawn=(dataclasses.replace(curves, series=(series, *curves.series[1:])), *others),
        )
    )
    assert counted == ["curves"]


def test_what_is_kept_is_what_was_drawn(counted):
    for figure in figures():
        fresh, kept = (drawings_of({"a": (figure, "f0-")})["a"] for _ in range(2))
        assert (kept.inline, kept.alone) == (fresh.inline, fresh.alone)
        assert len(kept.places) == len(fresh.places)
        for mine, theirs in zip(kept.places, fresh.places):
            np.testing.assert_array_equal(mine, theirs)
    assert len(counted) == 4


def test_equal_figures_of_a_report_are_drawn_once_under_their_own_names(counted):
    figure = figures()[0]
    both = drawings_of({"a": (figure, "f0-"), "b": (figure, "f1-")})
    assert counted == ["curves"]
    for key, prefix in (("a", "f0-"), ("b", "f1-")):
        assert both[key].inline == drawing_of(figure, prefix).inline
    assert both["a"].inline != both["b"].inline


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"inline": "x"}',
        '{"inline": "x", "alone": "y", "places": [[[1]]]}',
        '{"inline": 1, "alone": 2, "places": 3}',
    ],
)
def test_a_damaged_cache_is_drawn_over(counted, tmp_path, text):
    figure = figures()[1]
    drawings_of({"a": (figure, "")})
    (file,) = (tmp_path / "cache" / "drawings").iterdir()
    good = file.read_bytes()
    file.write_text(text)
    inline = json.loads(good)["inline"].replace(f"f{cache_key(figure)}-", "")
    assert drawings_of({"a": (figure, "")})["a"].inline == inline
    assert file.read_bytes() == good


def test_without_a_cache_everything_is_drawn(counted, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        drawings_of({"a": (figures()[1], "")})
    assert counted == ["bars", "bars"]


def test_another_program_draws_anew(counted, monkeypatch):
    figure = figures()[1]
    before = cache_key(figure)
    monkeypatch.setattr(drawn, "code_digest", lambda: "another version")
    assert cache_key(figure) != before


def test_the_cache_does_not_grow_for_ever(counted, tmp_path, monkeypatch):
    monkeypatch.setattr(drawn, "MOST_DRAWINGS", 3)
    for number in range(5):
        drawings_of({"a": (dataclasses.replace(figures()[1], title=str(number)), "")})
    assert len(list((tmp_path / "cache" / "drawings").iterdir())) == 3
