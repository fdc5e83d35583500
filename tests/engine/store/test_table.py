"""Tables of rows whose columns differ."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from separatrix.engine import table_of
from separatrix.engine.store.table import joined

cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=5),
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), cells, max_size=3), min_size=1, max_size=4))
def test_any_plain_cells_make_a_table(rows):
    made = table_of(rows).arrow
    assert made.num_rows == len(rows) or not any(rows)
    for name in made.column_names:
        for row, item in zip(rows, made[name].to_pylist()):
            assert (item is None) == (row.get(name) is None)


def test_a_truth_value_here_and_a_number_there_become_text():
    tables = [pa.table({"x": column}) for column in ([True, None], [3], [None], [0.5])]
    assert joined(tables)["x"].to_pylist() == ["true", None, "3", None, "0.5"]
    assert joined(tables[1:])["x"].to_pylist() == [3.0, None, 0.5]


def test_a_table_is_read_in_ten_lines_a_dozen_columns_and_a_figure():
    rows = [
        {f"task.field{i}": i for i in range(30)}
        | {"network.connectivity": name, "samples": m, "seed": seed, "risk": 1.0 / m}
        for name in ("shared", "full")
        for m in (8, 16)
        for seed in range(9)
    ]
    table = table_of(rows)
    assert len(repr(table).splitlines()) <= 10
    frame = table.to_frame()
    assert list(frame.columns) == ["network.connectivity", "samples", "seed", "risk"]
    assert len(frame) == len(table)
    assert "The first 8 of 36 trials" in table._repr_html_()
    axes = table.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["full", "shared"]
    assert repr(table_of([])) == "Table: 0 trials, 0 columns"
