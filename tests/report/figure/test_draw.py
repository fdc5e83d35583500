"""Drawings: the same each time, whatever the data."""

import numpy as np
import pytest
from drawn_figures import BANDED, EVIL, both, one, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_run import CELLS

from separatrix.errors import SeparatrixError
from separatrix.report import draw, save
from separatrix.report.figure.data import csv_of, data_of, page_data
from separatrix.report.figure.draw import canvas_of, drawing_of
from separatrix.studies import Axis, Figure, Series


def test_drawing_twice_gives_the_same_bytes_also_after_another_figure():
    first = both(BANDED)
    draw(one(Series("FCN", (1, 2), (1.0, 2.0))))
    assert both(BANDED) == first
    assert "metadata" not in first[1], "it would hold the date"


numbers = (
    st.none()
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.integers(-(10**30), 10**30)
    | st.sampled_from([0.0, 0.5, 0.5])
)


@st.composite
def series(draw_one):
    size = draw_one(st.integers(0, 6))
    many = st.lists(numbers, min_size=size, max_size=size).map(tuple)
    x = draw_one(
        many
        | st.lists(
            st.text(max_size=12) | st.booleans() | st.none(), min_size=size, max_size=size
        ).map(tuple)
    )
    ends = st.just(()) | many
    role = draw_one(st.sampled_from(["measured", "samples", "law", "bound", "baseline"]))
    label = draw_one(
        st.sampled_from(["CNN", "LCN", "FCN law", "", "$x^{$", EVIL]) | st.text(max_size=30)
    )
    return Series(label, x, draw_one(many), draw_one(ends), draw_one(ends), role)


@settings(max_examples=15, deadline=None)
@given(st.lists(series(), max_size=4), st.booleans(), st.booleans())
def test_whatever_the_data_a_figure_is_drawn(found, log_x, log_y):
    svg = draw(one(*found, x=Axis("x", log_x), y=Axis("y", log_y)))
    assert svg.startswith("<svg")
    assert svg.rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    "figure", [one(), one(Series("CNN", (1, 2), (None, None))), one(Series("CNN", (), ()))]
)
def test_a_figure_without_points_says_so(figure):
    assert "no points to show" in texts(figure)
    assert "no points to show" not in texts(one(Series("CNN", (3,), (0.5,))))


@pytest.mark.parametrize("name", ["a.pdf", "a.svg", "a.PNG"])
def test_files_for_papers_are_the_same_each_time(tmp_path, name):
    first = save(BANDED, tmp_path / name).read_bytes()
    assert first == save(BANDED, tmp_path / f"again-{name}").read_bytes()
    assert first[:4] in (b"%PDF", b"<?xm", b"\x89PNG")


def test_a_file_that_cannot_be_written_is_told_in_one_sentence(tmp_path):
    with pytest.raises(
        SeparatrixError, match=r"must be a file name that ends in \.pdf, \.svg, \.png, got 'a\.gif'"
    ):
        save(BANDED, "a.gif")
    with pytest.raises(SeparatrixError, match=r"cannot write a\.svg: No such file"):
        save(BANDED, tmp_path / "missing" / "a.svg")


def test_very_many_seeds_become_one_picture():
    values = tuple(float(value) for value in np.sin(np.arange(5000)))
    svg = draw(one(Series("CNN", tuple(range(5000)), values, role="samples")))
    assert "data:image/png" in svg
    assert len(svg) < 400_000


def test_places_are_those_of_the_axes():
    """On logarithmic axes equal ratios are equal distances, and larger is higher."""
    figure = Figure(
        "f",
        "F",
        Axis("m", True),
        Axis("risk", True),
        (Series("CNN", CELLS, (0.4, 0.2, 0.1)), Series("FCN", CELLS, (0.4, None, 0.0))),
    )
    first, second = drawing_of(figure).places
    assert np.allclose(np.diff(first[:, 0], n=2), 0, atol=1e-6)
    assert np.allclose(np.diff(first[:, 1], n=2), 0, atol=1e-6)
    assert np.all(np.diff(first[:, 0]) > 0)
    assert np.all(np.diff(first[:, 1]) > 0), "down is positive in an SVG"
    assert np.allclose(second[0], first[0])
    assert np.isnan(second[1:, 1]).all()
    at = page_data(data_of(figure), (first, second))["groups"][1]["at"]
    assert at[1:] == [None, None]


def test_panels_have_the_same_axes_and_one_legend():
    """The same numbers are equally high in both panels; a label that both have is told once."""
    panels = ("d = 50", "d = 100")
    figure = one(
        *(Series("CNN", CELLS, (0.4, 0.2, 0.1), panel=panel) for panel in panels),
        Series("FCN", CELLS, (0.4, 0.4, 0.8), panel=panels[1]),
        *(Series("guessing", CELLS[:2], (0.5, 0.5), role="baseline", panel=p) for p in panels),
    )
    left, right, full = drawing_of(figure).places[:3]
    assert np.allclose(left[:, 1], right[:, 1])
    assert np.allclose(np.diff(left[:, 0]), np.diff(right[:, 0]))
    assert left[:, 0].max() < right[:, 0].min()
    assert np.allclose(full[0], right[0])
    words = texts(figure)
    assert [words.count(word) for word in ("CNN", "FCN", "guessing", *panels)] == [1] * 5
    assert csv_of(data_of(figure)).splitlines()[1].startswith('"CNN, d = 50",measured,')


def test_panels_have_one_range_across_or_each_its_own():
    pair = (
        Series("CNN", (1, 2), (1.0, 2.0), panel="against k"),
        Series("CNN", (1, 64), (1.0, 2.0), panel="against d"),
    )
    for own in (False, True):
        axis = Axis("size", log=True, per_panel=own)
        canvas, _ = canvas_of(Figure("f", "F", axis, Axis("m"), pair), "black")
        ends = [axes.get_xlim()[1] for axes in canvas.axes]
        assert (ends[0] < 4) == own
        assert ends[1] > 64
