"""The data behind a figure."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st
from sample_run import figures

from separatrix.report.figure.data import csv_of, data_of, series_on_page, table_csv
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


def test_cells_that_a_spreadsheet_would_compute_are_escaped():
    evil = ['=HYPERLINK("http://x")', "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1"]
    table = {"columns": ["=head", "risk"], "rows": [[cell, -0.5] for cell in evil]}
    rows = list(csv.reader(io.StringIO(table_csv(table), newline="")))
    assert rows[0] == ["'=head", "risk"]
    escaped = [f"'{cell}".replace("\r", "\n") for cell in evil]
    assert [row[0] for row in rows[1:]] == escaped
    assert {row[1] for row in rows[1:]} == {"-0.5"}  # numbers stay numbers
