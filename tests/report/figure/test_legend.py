"""Legends and the labels of baselines."""

import itertools
import re

from drawn_figures import one, parsed
from hypothesis import given
from hypothesis import strategies as st
from sample_run import figures

from separatrix.report.figure.draw import drawing_of
from separatrix.report.figure.legend import entries_of, legend_handles, spread
from separatrix.report.figure.style import Look
from separatrix.studies import Series


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


def test_all_that_belongs_to_a_series_can_be_switched_and_nothing_else():
    drawing = drawing_of(figures()[0])
    assert set(re.findall(r'data-s="(\d+)"', drawing.inline)) == {"0", "1", "2", "3", "4"}
    axes = re.sub(
        r'<g data-s="\d+">.*?</g>(?=<g data-s|<path|<text|<defs|</svg>)', "", drawing.inline
    )
    assert "constant" not in axes, "the label of a baseline goes with it"
    assert "samples m" in axes
    entries = entries_of(figures()[0])
    assert sorted(i for entry in entries for i in entry.series) == [0, 1, 2, 3, 4]
    assert [entry.role for entry in entries] == [
        "measured",
        "measured",
        "samples",
        "law",
        "baseline",
    ]


def test_the_page_s_drawing_has_no_legend_and_the_file_has_one():
    drawing = drawing_of(figures()[0])
    assert ">CNN law<" not in drawing.inline
    assert ">CNN law<" in drawing.alone
    tops = [float(text.split()[1]) for text in re.findall(r'viewBox="([^"]+)"', drawing.inline)[:1]]
    assert tops[0] > 10, "nor the room that the legend took"


def test_bounds_beside_measured_points_are_named_in_files():
    series = (Series("CNN", (1,), (2.0,)), Series("CNN", (2,), (3.0,), role="bound"))
    looks = {("CNN", role): Look("#808080", "") for role in ("measured", "bound")}
    handles = legend_handles(series, looks, baselines=False)
    assert [handle.get_label() for handle in handles] == ["CNN", "CNN (bound)"]


def test_bounds_of_a_measured_series_are_hollow_marks_without_a_line():
    figure = one(
        Series("CNN", (1, 2), (2.0, None)), Series("CNN", (2, 4), (3.0, 4.0), role="bound")
    )
    assert "stroke-dasharray" not in drawing_of(figure).inline.partition("data-s")[2]
    measured, bound = (entry.swatch for entry in entries_of(figure))
    assert "M0 6h28" in measured
    assert "M0 6h28" not in bound, "bounds are not joined"
    assert 'fill="none" stroke="#0072b2"' in bound
