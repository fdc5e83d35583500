"""The series of a figure: arrays and marks."""

import dataclasses

import numpy as np
from drawn_figures import one, texts
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import FillBetweenPolyCollection

from separatrix.report import draw
from separatrix.report.figure.draw import canvas_of, drawing_of
from separatrix.report.figure.series import (
    _array,
    _drawable,
    categories_of,
    hidden_points,
    offsets_of,
    points_of,
    runs,
)
from separatrix.studies import Axis, Series


def test_laws_are_dashed_and_measured_lines_are_not():
    assert "stroke-dasharray" not in draw(one(Series("CNN", (1, 2), (1.0, 2.0))))
    for role in ("law", "bound"):
        assert "stroke-dasharray" in draw(one(Series("CNN", (1, 2), (1.0, 2.0), role=role)))


def test_a_floor_is_named_beside_its_line_in_the_network_s_colour():
    floor = Series("floor of the CNN", (1, 2, 4), (1.0, 2.0, 4.0), role="floor")
    figure = one(Series("CNN", (1, 2, 4), (2.0, 4.0, 8.0)), floor)
    drawing = drawing_of(figure)
    own = drawing.inline.partition('data-s="1"')[2]
    for part in ("#0072b2", "stroke-dasharray", "> floor<"):
        assert part in own
    assert ">floor of the CNN<" not in drawing.alone, "the word beside the line is its legend"
    among = one(Series("floor of the CNN", ("k = 8",), (1.0,), role="floor"), Series("a", (), ()))
    assert ">floor of the CNN<" in drawing_of(among).alone, "categories have no line to name"


def test_a_law_with_an_interval_has_a_band_and_measured_intervals_become_bars():
    measured = Series("CNN", (1, 2), (1.0, 2.0), (0.8, 1.8), (1.2, 2.2))
    law = Series("CNN law", (1, 2), (1.1, 2.1), role="law")
    wide = dataclasses.replace(law, low=(1.0, 2.0), high=(1.5, 2.5))
    plain, banded = (canvas_of(one(measured, each), "black")[0].axes[0] for each in (law, wide))
    bands = [
        [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]
        for axes in (plain, banded)
    ]
    assert [len(each) for each in bands] == [1, 1]
    heights = [each[0].get_paths()[0].vertices[:, 1].max() for each in bands]
    assert heights == [2.2, 2.5], "first the measured band, then the law's alone"
    assert len(banded.collections) > len(plain.collections), "bars in place of the band"


def test_points_that_a_logarithmic_axis_cannot_show_are_left_out_and_counted():
    figure = one(
        Series("CNN", (1, 2, 4, 8), (0.5, None, 0.0, -1.0)),
        Series("FCN", (1, 2), (1.0, 2.0)),
        y=Axis("risk", log=True),
    )
    assert hidden_points(figure) == {"CNN": (2, 3)}
    assert points_of(figure.series[0], log_y=True).shown.tolist() == [True, False, False, False]
    assert "0.5" in texts(figure)


def test_gaps_part_a_line():
    mask = np.array([True, True, False, True, False, True, True])
    assert runs(mask) == [slice(0, 2), slice(3, 4), slice(5, 7)]
    assert runs(np.zeros(3, bool)) == []


def test_categories_stand_on_the_axis_and_series_side_by_side():
    pair = [
        Series(name, ("plain", "shifted"), (0.1, 0.2), (0.0, 0.1), (0.2, 0.3))
        for name in ("CNN", "FCN")
    ]
    figure = one(*pair)
    assert {"plain", "shifted"} <= set(texts(figure))
    aside = offsets_of(pair, [points_of(each, categories_of(figure)) for each in pair])
    assert aside["CNN", "measured"] < 0 < aside["FCN", "measured"]
    apart = [Series(name, (name,), (0.1,)) for name in ("CNN", "FCN")]
    assert set(
        offsets_of(apart, [points_of(each, categories_of(one(*apart))) for each in apart]).values()
    ) == {0.0}


@given(
    st.lists(
        st.floats(allow_nan=True, allow_infinity=True)
        | st.integers(-(10**30), 10**30)
        | st.booleans(),
        max_size=6,
    ),
    st.booleans(),
)
def test_many_numbers_at_once_are_what_they_are_one_by_one(values, log):
    found, wanted = _array(tuple(values), log), [_drawable(each, log) for each in values]
    np.testing.assert_array_equal(found, wanted)


def test_bounds_are_beside_their_series_among_categories():
    series = [
        Series("CNN", ("a",), (1.0,)),
        Series("FCN", ("a", "b"), (2.0, None)),
        Series("FCN", ("b",), (3.0,), role="bound"),
    ]
    places = {"a": 0, "b": 1}
    moved = offsets_of(series, [points_of(each, places) for each in series])
    assert moved["FCN", "bound"] == moved["FCN", "measured"] > moved["CNN", "measured"]
