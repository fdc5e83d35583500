"""The data behind figures: whole in files, small on the page, and in the right place of the
drawing.
"""

import csv
import io
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_run import CELLS, figures, write_run

from separatrix.report import write_report
from separatrix.report.figure.data import MOST_ROWS, csv_of, data_of, page_data, series_on_page
from separatrix.report.figure.draw import drawing_of
from separatrix.report.figure.legend import entries_of
from separatrix.studies import Axis, Figure, Series


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


def test_a_file_has_every_point_of_every_series_with_all_digits():
    third = 1 / 3
    figure = Figure(
        "f",
        "F",
        Axis("m"),
        Axis("risk"),
        (Series('a, "b"\nc', (1, 2), (third, None)), Series("FCN", ("x",), (2.0,), (1.0,), (3.0,))),
    )
    head, *rows = rows_of(csv_of(data_of(figure)))
    assert head == ["series", "role", "m", "risk", "low", "high", "trials"]
    assert rows[0][:3] == ['a, "b"\nc', "measured", "1"]
    assert float(rows[0][3]) == third
    assert rows[1][3:] == ["", "", "", ""]
    assert rows[2] == ["FCN", "measured", "x", "2.0", "1.0", "3.0", ""]


def test_trials_are_those_stated_or_else_the_seeds_that_the_figure_shows():
    rows = rows_of(csv_of(data_of(figures()[0])))
    seeds = {(row[0], row[1], row[2]): row[6] for row in rows[1:] if row[1] == "measured"}
    assert seeds == {
        ("CNN", "measured", "16.0"): "2",
        ("CNN", "measured", "64.0"): "2",
        ("CNN", "measured", "256.0"): "",
        ("FCN", "measured", "16.0"): "24",
        ("FCN", "measured", "64.0"): "24",
        ("FCN", "measured", "256.0"): "24",
    }


def test_maps_and_pictures_have_files_too():
    _, _, cells, picture = figures()
    assert rows_of(csv_of(data_of(cells)))[-1] == ["20", "6", "90.0", "at least 90", "True"]
    assert rows_of(csv_of(data_of(picture))) == [
        ["picture", "row", "column", "red", "green", "blue"],
        ["one", "0", "0", "255", "0", "0"],
        ["one", "0", "1", "0", "0", "0"],
    ]


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(0, 120))
def test_the_page_keeps_the_small_series_and_never_too_many_rows(sizes, most):
    series = tuple(
        Series(str(i), tuple(range(size)), (0.5,) * size) for i, size in enumerate(sizes)
    )
    data = data_of(Figure("f", "F", Axis("m"), Axis("risk"), series))
    kept = {group.series for group in series_on_page(data, most)}
    assert sum(sizes[i] for i in kept) <= most
    for gone in set(range(len(sizes))) - kept:
        assert all(sizes[i] <= sizes[gone] for i in kept)
    if sum(sizes) <= most:
        assert len(kept) == len(sizes)


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


def test_very_many_seeds_stay_beside_the_page(tmp_path):
    rng = np.random.default_rng(0)
    count = 100_000
    x = tuple(np.repeat(CELLS, [count - 2 * (count // 3), count // 3, count // 3]).tolist())
    seeds = tuple(np.exp(rng.normal(size=count)).tolist())
    drawn = (
        Figure(
            "f",
            "F",
            Axis("m", True),
            Axis("risk", True),
            (Series("CNN", x, seeds, role="samples"), Series("CNN", CELLS, (1.0, 1.0, 1.0))),
        ),
    )
    page = write_report(write_run(tmp_path / "run", drawn=drawn))
    html = page.read_text(encoding="utf-8")
    # A hundred studies of this size must stay below 10 MB: this page is one of them, and what all
    # pages have in common.
    assert len(html.encode()) < 100_000
    assert "100,000 of 100,003 points are too many for this page" in html
    assert 'href="data/sample-f.csv"' in html
    assert (page.parent / "data" / "sample-f.csv").read_text().count("\n") == count + 4
    found = re.search(r"data-figure='([^']*)'", html)
    assert found is not None
    kept = json.loads(found.group(1).replace("&#39;", "'"))["groups"]
    assert [group["lead"] for group in kept] == [["CNN", "measured"]]
    assert kept[0]["columns"][4] == [33_334, 33_333, 33_333]
    assert sum(len(group["at"]) for group in kept) <= MOST_ROWS


@pytest.mark.parametrize("rows, shown", [(1000, 1000), (1001, 1000)])
def test_long_tables_are_cut_and_say_where_the_rest_is(tmp_path, rows, shown):
    def lengthen(_, outcome):
        outcome["tables"][0]["rows"] = [["CNN", float(i)] for i in range(rows)]

    page = write_report(write_run(tmp_path / "run", drawn=(), change=lengthen))
    html = page.read_text(encoding="utf-8")
    assert html.count("<td>CNN</td>") == shown
    assert ("data/sample-risks.csv" in html) == (rows > shown)
    assert (page.parent / "data" / "sample-risks.csv").read_text().count("\n") == rows + 1
