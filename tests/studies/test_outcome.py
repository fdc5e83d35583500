"""Outcomes as data: plain values, and series from intervals."""

import dataclasses
import json
import math

import pytest

from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.inference import Interval, Tally, estimate_threshold
from separatrix.notes import Note
from separatrix.studies import (
    Axis,
    Claim,
    Evidence,
    Figure,
    Finding,
    Outcome,
    Series,
    TableData,
    figure_from,
)

CLAIM = Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "σ at most 1/√k")


def test_an_outcome_is_json_without_nan_and_its_figures_come_back():
    odd = (math.nan, math.inf, -math.inf, 1.0)
    figure = Figure(
        "f",
        "F",
        Axis("x", log=True),
        Axis("y"),
        (Series("s", ("a", "b", "c", "d"), odd, odd, odd, "law"),),
        "caption",
    )
    finding = Finding(
        CLAIM,
        "undecided",
        "why",
        None,
        (Evidence("e", math.nan, -math.inf, math.inf, 2, baselines={"b": math.nan}),),
        "out",
    )
    table = TableData("t", "T", ("a", "b"), ((math.nan, "x"), (1, None)))
    plain = Outcome((finding,), (figure,), (table,), (Note("code", "info", "words"),)).plain()
    text = json.dumps(plain, allow_nan=False)
    assert json.loads(text) == plain
    for key in ("id", "paper", "statement", "verdict", "conditions_met", "evidence"):
        assert key in plain["findings"][0]
    assert plain["findings"][0]["evidence"][0]["baselines"] == {"b": None}
    back = figure_from(json.loads(text)["figures"][0])
    assert back == dataclasses.replace(
        figure,
        series=(Series("s", ("a", "b", "c", "d"), *[(None, None, None, 1.0)] * 3, role="law"),),
    )


def interval(estimate, low, high):
    return Interval(estimate, low, high, 0.95, "test", 9)


def test_a_series_of_intervals_has_gaps_and_open_ends():
    series = Series.of("s", [(1, interval(2.0, 1.0, math.inf)), (2, None)])
    assert series == Series("s", (1, 2), (2.0, None), (1.0, None), (None, None), seeds=(9, None))
    assert Series.of("s", []) == Series("s", (), ())


def test_bounds_are_drawn_as_bounds():
    at_least, at_most = interval(math.nan, 3.0, math.inf), interval(math.nan, 0.0, 5.0)
    unknown, known = interval(math.nan, 0.0, math.inf), interval(2.0, 1.0, 4.0)
    points = [("a", at_least), ("b", at_most), ("c", unknown), ("d", known)]
    measured, bounds = Series.bounded("s", points)
    assert measured.x == ("a", "b", "c", "d")
    assert measured.y == (None, None, None, 2.0)
    assert measured.low == (None, None, None, 1.0)
    assert measured.seeds == (9, 9, 9, 9)
    assert bounds == Series("s", ("a", "b"), (3.0, 5.0), role="bound")
    assert Series.bounded("s", points[3:]) == [Series.of("s", points[3:])]
    assert Series.bounded("s", []) == []
    threshold = estimate_threshold([Tally(8, 0, 8), Tally(16, 8, 8)])
    assert Series.of("s", [(1, threshold)]).seeds == (16,)


def test_the_headline_marker_and_the_answer_survive_the_file():
    plain = Outcome(
        (),
        (
            Figure("a", "A", Axis("x"), Axis("y"), (), headline=True),
            Figure("b", "B", Axis("x"), Axis("y"), ()),
        ),
        answer="Convolution needs fewer samples.",
    ).plain()
    assert plain["answer"] == "Convolution needs fewer samples."
    assert [figure_from(figure).headline for figure in plain["figures"]] == [True, False]
    older = {key: value for key, value in plain["figures"][0].items() if key != "headline"}
    assert not figure_from(older).headline, "files of earlier runs have no marker"


def test_an_outcome_plots_its_headline_or_the_figure_that_is_named(tmp_path):
    axes = Axis("x"), Axis("y")
    outcome = Outcome(
        (), (Figure("a", "A", *axes, ()), Figure("b", "The headline", *axes, (), headline=True))
    )
    assert "The headline" in repr(outcome.plot())
    assert 'alt="A"' in outcome.plot("a")._repr_html_()
    assert outcome.plot(file=tmp_path / "b.svg").read_text(encoding="utf-8").startswith("<?xml")
    with pytest.raises(UnknownNameError, match="there is no figure `c`"):
        outcome.plot("c")
    with pytest.raises(SeparatrixError, match="no figure"):
        Outcome(()).plot()
