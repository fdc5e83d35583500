"""Tables: rows of finished trials, whose columns may differ."""

import dataclasses
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# What trials bring forth, as `Table.to_frame` shows it.
RESULTS = ("risk", "accuracy", "train_loss", "loss", "status", "steps", "run.seconds")
MOST_COLUMNS = 12


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

    def __repr__(self) -> str:
        head = f"Table: {len(self):,} trials, {self.arrow.num_columns} columns"
        if not len(self):
            return head
        rows = self.to_frame().head(5).to_string(index=False, max_colwidth=18, line_width=96)
        lines = [head, *rows.splitlines()[:7]]
        return "\n".join([*lines, "… .to_frame(), .to_pandas() (every column), .plot()"])

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        more = f"<p>The first 8 of {len(frame):,} trials</p>" if len(frame) > 8 else ""
        return more + frame.head(8).to_html(index=False)

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas frame with every column."""
        return self.arrow.to_pandas()

    def to_frame(self) -> "pd.DataFrame":
        """The rows with at most a dozen columns: what differs between trials, and what came out.

        >>> Table(pa.table({"task.bits": [8, 8], "samples": [4, 8], "risk": [0.5, 0.1]})).to_frame()
           samples  risk
        0        4   0.5
        1        8   0.1
        """
        frame = self.to_pandas()
        results = [name for name in RESULTS if name in frame]
        varied = [
            str(name)
            for name in frame
            if str(name).startswith(("task.", "network.", "learner."))
            and len(set(frame[name].astype(str))) > 1
        ]
        about = [name for name in ("samples", "seed") if name in frame]
        room = MOST_COLUMNS - len(results) - len(about)
        return frame.loc[:, [*varied[:room], *about, *results]]

    def plot(self, x: str = "samples", y: str = "risk", by: str = "network.connectivity") -> "Axes":
        """Draw a result against a size: medians over trials and their range, one line per network.

        Args:
            x: the column of the horizontal axis.
            y: the column of the vertical axis.
            by: the column that tells the lines apart; one line where there is no such column.

        Returns:
            Axes of matplotlib, which a notebook shows; `axes.figure.savefig("risk.pdf")` saves
            them.
        """
        from separatrix.plots import new_axes

        axes = new_axes()
        frame = self.to_pandas()
        groups = frame.groupby(by) if by in frame else [("", frame)]
        for name, group in groups:
            spread = group.groupby(x)[y].agg(["median", "min", "max"])
            line = axes.plot(spread.index, spread["median"], marker="o", label=str(name))
            axes.fill_between(
                spread.index, spread["min"], spread["max"], alpha=0.2, color=line[0].get_color()
            )
        axes.set(xlabel=x, ylabel=y, xscale="log")
        axes.legend(title=by if by in frame else None)
        return axes


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
