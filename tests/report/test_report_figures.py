"""Figures: the same each time, readable on both grounds, whatever the data."""

import itertools
import math
import re
from importlib import resources
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.errors import SeparatrixError
from separatrix.report import draw, save
from separatrix.report.figure.axes import limits
from separatrix.report.figure.draw import drawing_of
from separatrix.report.figure.legend import spread
from separatrix.report.figure.series import (
    _array,
    _drawable,
    categories_of,
    hidden_points,
    offsets_of,
    points_of,
    runs,
)
from separatrix.report.figure.style import GREY, NETWORKS, OTHERS, looks_of
from separatrix.studies import Axis, Figure, Series

EVIL = "<script>alert(1)</script>"


def one(*series, x=None, y=None, title="A figure", name="figure"):
    return Figure(name, title, x or Axis("samples"), y or Axis("risk"), series)


def parsed(figure):
    return ElementTree.fromstring(drawing_of(figure).alone)


def both(figure):
    """The drawing for a page and for a file."""
    drawing = drawing_of(figure)
    return drawing.inline, drawing.alone


def texts(figure):
    return [
        "".join(node.itertext()).strip()
        for node in parsed(figure).iter()
        if node.tag.endswith("}text")
    ]


BANDED = one(
    Series("CNN", (1, 2, 4), (0.3, 0.2, 0.1), (0.2, 0.1, 0.05), (0.4, 0.3, 0.2)),
    Series("CNN law", (1, 4), (0.3, 0.1), role="law"),
    Series("constant", (1, 4), (0.5, 0.5), role="baseline"),
)


def test_drawing_twice_gives_the_same_bytes_also_after_another_figure():
    first = both(BANDED)
    draw(one(Series("FCN", (1, 2), (1.0, 2.0))))
    assert both(BANDED) == first
    assert "metadata" not in first[1], "it would hold the date"


def test_a_drawing_takes_the_colour_of_the_text_around_it_and_has_no_ground():
    inline, alone = both(BANDED)
    assert "currentColor" in inline
    assert "#0a0b0c" not in inline + alone
    assert "#ffffff" not in inline
    assert 'fill="#ffffff"' in alone
    assert "currentColor" not in alone
    assert "<style" not in inline, "a style sheet inside one figure would rule the whole page"


def test_names_inside_figures_differ_between_figures_and_references_resolve():
    seen = set()
    for prefix in ("f0-", "f1-"):
        svg = draw(BANDED, prefix)
        names = re.findall(r'\sid="([^"]+)"', svg)
        used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
        assert len(names) == len(set(names))
        assert used
        assert used <= set(names)
        assert not seen & set(names)
        seen |= set(names)


def test_labels_are_shown_and_never_run():
    figure = one(
        Series(EVIL, (1, 2), (1.0, 2.0)),
        Series("<b>base", (1, 2), (1.5, 1.5), role="baseline"),
        x=Axis(EVIL),
        y=Axis('"&$\\frac{$'),
        title=EVIL,
    )
    for svg in both(figure):
        assert "<script" not in svg
        assert "<b>" not in svg
    assert {EVIL, "<b>base", '"&$\\frac{$'} <= set(texts(figure))
    assert 'aria-label="&lt;script&gt;' in draw(figure)


def test_a_label_that_looks_like_the_ink_stays_as_it_is():
    assert "fill: #0a0b0c" in texts(one(Series("fill: #0a0b0c", (1, 2), (1.0, 2.0))))


def test_letters_that_the_font_lacks_are_kept():
    assert "真の信号" in texts(one(Series("真の信号", (1, 2), (1.0, 2.0))))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return np.dot(
        [0.2126, 0.7152, 0.0722],
        [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts],
    )


def test_every_colour_stands_out_on_both_grounds_of_the_page():
    css = resources.files("separatrix.report").joinpath("templates/page.css").read_text()
    grounds = re.findall(r"--ground: (#[0-9a-f]{6})", css)
    assert len(grounds) == 2
    for ground, colour in itertools.product(
        grounds, [GREY, *(c for c, _ in (*NETWORKS.values(), *OTHERS))]
    ):
        light, dark = sorted([luminance(ground), luminance(colour)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, (ground, colour)


@pytest.mark.parametrize("order", list(itertools.permutations(["CNN", "LCN", "FCN"])))
def test_networks_keep_their_colour_and_marker(order):
    looks = looks_of([Series("other", (), ()), *(Series(name, (), ()) for name in order)])
    for name in order:
        assert (looks[name, "measured"].colour, looks[name, "measured"].marker) == NETWORKS[name]


def test_what_a_diagnosis_calls_its_networks_has_their_colours():
    labels = ("local", "shared, pixels permuted", "full", "shared", "fully booked", "local rule")
    looks = {
        label: look.colour
        for (label, _), look in looks_of([Series(label, (), ()) for label in labels]).items()
    }
    assert looks["local"] == NETWORKS["LCN"][0]
    assert looks["shared, pixels permuted"] == looks["shared"] == NETWORKS["CNN"][0]
    assert looks["full"] == NETWORKS["FCN"][0]
    assert {looks["fully booked"], looks["local rule"]} == {OTHERS[0][0], OTHERS[1][0]}


def test_series_of_one_network_differ_in_line_and_filling():
    looks = looks_of([Series(f"CNN, k = {k}", (), ()) for k in (2, 4, 8)])
    assert len({look.colour for look in looks.values()}) == 1
    assert len({(str(look.line), look.fill) for look in looks.values()}) == 3


def test_laws_are_dashed_and_measured_lines_are_not():
    assert "stroke-dasharray" not in draw(one(Series("CNN", (1, 2), (1.0, 2.0))))
    for role in ("law", "bound"):
        assert "stroke-dasharray" in draw(one(Series("CNN", (1, 2), (1.0, 2.0), role=role)))


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


def test_labels_of_close_baselines_do_not_overlap():
    names = ["constant", "best linear rule that there is", "nearest neighbour", "Bayes"]
    figure = one(
        Series("CNN", (1, 2), (0.0, 1.0)),
        *(
            Series(name, (1, 2), (0.5 + i / 1000,) * 2, role="baseline")
            for i, name in enumerate(names)
        ),
    )
    found = {}
    for node in parsed(figure).iter():
        if node.tag.endswith("}text") and "".join(node.itertext()).strip() in (
            "constant",
            "nearest neighbour",
            "Bayes",
        ):
            found["".join(node.itertext()).strip()] = float(
                node.get("y") or node.get("transform").split()[-1].rstrip(")")
            )
    heights = sorted(found.values())
    assert len(heights) == 3
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 8


@given(
    st.lists(st.tuples(st.floats(-0.2, 1.2), st.floats(0.001, 0.2)), min_size=1, max_size=12),
)
def test_spread_labels_keep_apart_in_order_and_inside(labels):
    wanted, sizes = [each for each, _ in labels], [size for _, size in labels]
    found = spread(wanted, sizes)
    order = sorted(range(len(found)), key=lambda i: found[i])
    for a, b in itertools.pairwise(order):
        assert found[b] - found[a] >= (sizes[a] + sizes[b]) / 2 - 1e-9
        assert wanted[a] <= wanted[b]
    if sum(sizes) <= 1:
        assert all(
            place - size / 2 >= -1e-9 and place + size / 2 <= 1 + 1e-9
            for place, size in zip(found, sizes)
        )


@given(st.lists(st.floats(-1e100, 1e100)), st.booleans())
def test_limits_hold_all_values(values, log):
    low, high = limits(np.array(values, float), log)
    assert low < high
    assert math.isfinite(high - low)
    for value in values:
        if not log or value > 1e-100:
            assert low <= value <= high


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
