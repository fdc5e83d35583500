"""Tables: rows of finished trials, whose columns may differ."""

import dataclasses
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of finished trials.

    Args:
      arrow: the rows as an Arrow table; a column is empty in rows that do not have it.

    >>> table = Table(pa.table({"risk": [0.1, 0.2]}))
    >>> len(table), table.to_pandas().risk.mean().round(2)
    (2, np.float64(0.15))
    """

    arrow: pa.Table

    def __len__(self) -> int:
        return self.arrow.num_rows

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas frame."""
        return self.arrow.to_pandas()


def table_of(rows: Iterable[dict[str, Any]]) -> Table:
    """A table from rows whose columns may differ.

    >>> table_of([{"a": 1}, {"b": 2.0}]).arrow.column_names
    ['a', 'b']
    """
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(pa.table({name: _column([row.get(name) for row in rows]) for name in names}))


def _column(items: list[Any]) -> pa.Array:
    try:
        return pa.array(items)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Such as a field of 3 in one trial and of (3, 3), which is text, in another.
        return pa.array(
            [item if item is None or isinstance(item, str) else json.dumps(item) for item in items]
        )


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Tables on top of each other.

    A column that is text in some tables, or a truth value in some and a number in others, becomes
    text in all.

    >>> joined([pa.table({"a": [1]}), pa.table({"a": ["[3, 3]"]})])["a"].to_pylist()
    ['1', '[3, 3]']
    """
    tables = list(tables)
    kinds: dict[str, set[str]] = {}
    for schema in {table.schema for table in tables}:
        for field in schema:
            if not pa.types.is_null(field.type):
                kinds.setdefault(field.name, set()).add(_kind(field.type))
    text = {name for name, types in kinds.items() if "text" in types or len(types) > 1}
    # Tables of one schema first: finding common types of thousands of small tables, one by one,
    # would take most of the time.
    runs: list[list[pa.Table]] = []
    for table in tables:
        for place, field in enumerate(table.schema):
            if field.name in text and not pa.types.is_string(field.type):
                table = table.set_column(place, field.name, table[field.name].cast(pa.string()))
        if runs and runs[-1][0].schema == table.schema:
            runs[-1].append(table)
        else:
            runs.append([table])
    return pa.concat_tables([pa.concat_tables(run) for run in runs], promote_options="permissive")


def _kind(column: pa.DataType) -> str:
    if pa.types.is_string(column):
        return "text"
    return "truth value" if pa.types.is_boolean(column) else "number"
