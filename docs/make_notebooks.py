"""Execute the notebooks of the teaching kit: python docs/make_notebooks.py [NAME ...].

The sources are scripts in the percent format, examples/notebooks/NAME.py, which editors and
`jupytext` read. Each is executed cell by cell and becomes docs/teaching/NAME.ipynb, with its
outputs. The build of the site turns the notebooks into pages and fails where one is older than its
source.
"""

import ast
import contextlib
import dataclasses
import hashlib
import html
import io
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "examples" / "notebooks"
TARGETS = ROOT / "docs" / "teaching"
MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell of a notebook: `kind` is "markdown" or "code"; `sizes` is the cell that sets sizes."""

    kind: str
    source: str
    sizes: bool = False


def cells_of(text: str) -> list[Cell]:
    """The cells of a script in the percent format."""
    parts = MARK.split(text)
    if parts[0].strip():
        raise ValueError("a notebook begins with `# %%`")
    cells = []
    for head, body in zip(parts[1::2], parts[2::2]):
        if "[markdown]" in head:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().split("\n")]
            cells.append(Cell("markdown", "\n".join(lines)))
        else:
            cells.append(Cell("code", body.strip(), "sizes" in head))
    return cells


def run(cells: list[Cell], changes: Mapping[str, Any] | None = None) -> list[list[dict[str, Any]]]:
    """Execute the cells from top to bottom.

    Args:
        cells: the cells.
        changes: names that get these values after the cell that sets sizes, for a smaller run.

    Returns:
        The outputs of every cell, as Jupyter's format has them.
    """
    os.environ.setdefault("MPLBACKEND", "agg")
    space: dict[str, Any] = {"__name__": "__notebook__"}
    outputs = []
    for number, cell in enumerate(cells, 1):
        outputs.append([] if cell.kind == "markdown" else _executed(cell, number, space))
        if cell.sizes and changes:
            unknown = set(changes) - set(space)
            if unknown:
                raise ValueError(f"the notebook sets no {', '.join(sorted(unknown))}")
            space.update(changes)
    return outputs


def _executed(cell: Cell, number: int, space: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(cell.source, f"cell {number}")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), space)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), space)
    out: list[dict[str, Any]] = []
    if printed.getvalue():
        out.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_()
        out.append({"output_type": "execute_result", "data": data, "metadata": {}})
    return out


def notebook(name: str, text: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The executed notebook of a script, in Jupyter's format 4.5."""
    cells, count, plain = cells_of(text), 0, []
    for number, (cell, outputs) in enumerate(zip(cells, run(cells, changes)), 1):
        about: dict[str, Any] = {"cell_type": cell.kind, "id": f"{name}-{number}", "metadata": {}}
        if cell.kind == "code":
            count += 1
            for output in outputs:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = count
            about |= {"execution_count": count, "outputs": outputs}
        plain.append(about | {"source": cell.source})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": plain,
        "metadata": {"kernelspec": kernel, "separatrix": {"source_sha256": digest(text)}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def digest(text: str) -> str:
    """The hash of a source."""
    return hashlib.sha256(text.encode()).hexdigest()


def names() -> list[str]:
    """The names of all notebooks."""
    return sorted(file.stem for file in SOURCES.glob("*.py"))


def stale() -> list[str]:
    """The notebooks that are missing or older than their source."""
    out = []
    for name in names():
        target = TARGETS / f"{name}.ipynb"
        text = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
        kept = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
        if kept.get("metadata", {}).get("separatrix") != {"source_sha256": digest(text)}:
            out.append(name)
    return out


def page(name: str) -> str:
    """An executed notebook as a page of the site, in Markdown."""
    plain = json.loads((TARGETS / f"{name}.ipynb").read_text(encoding="utf-8"))
    files = (
        f"[Download the notebook]({name}.ipynb){{ download }} · "
        f"source: `examples/notebooks/{name}.py` · [all of the teaching kit](../teaching.md)\n"
    )
    parts = []
    for cell in plain["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"])
            if len(parts) == 1:
                parts.append(files)
            continue
        parts.append(f"```py\n{cell['source']}\n```")
        parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{output['text'].rstrip()}\n```"
    data = output["data"]
    if "text/html" in data:
        return f'<div class="output">{_one_line(data["text/html"])}</div>'
    return f"<pre>{html.escape(data['text/plain'])}</pre>"


def _one_line(text: str) -> str:
    """HTML on one line: Markdown ends a block of HTML at an empty line."""
    return re.sub(r"\s*\n\s*", " ", text)


if __name__ == "__main__":
    TARGETS.mkdir(exist_ok=True)
    for name in sys.argv[1:] or names():
        source = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
        made = json.dumps(notebook(name, source), ensure_ascii=False, indent=1)
        (TARGETS / f"{name}.ipynb").write_text(made + "\n", encoding="utf-8")
        print(f"docs/teaching/{name}.ipynb: {len(made) // 1000} kB")
