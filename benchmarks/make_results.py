"""RESULTS.md from the kept results: python benchmarks/make_results.py

Each file in `benchmarks/kept/` holds the newest result of one benchmark: what was timed, the
command, the machine, the day, the commit, and a table. To keep a newer one, replace the file's
facts and rows by those that the benchmark printed, and run this script. Earlier results are in the
notebook of the documentation.
"""

import ast
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FACTS = ("benchmark", "title", "what", "command", "machine", "date", "commit", "columns", "rows")
MORE = ("versions", "goal", "note")
HELPERS = ("floors_torch", "images_torch", "other_convolutions", "make_results")
HEAD = """# Benchmark results

One table per benchmark: the newest kept result, with its machine, day, commit and command. Ratios
are measured side by side in one run, because absolute times depend on the machine.
`python benchmarks/make_results.py` writes this page from `benchmarks/kept/*.json`; earlier results
are in [the notebook](../docs/notebook/2026-11-18-benchmarks.md)."""


def results(folder: Path = HERE / "kept") -> list[dict[str, Any]]:
    """The kept results in the order of their titles.

    Raises:
        ValueError: a file lacks a fact, has an unknown one, or has a row that does not fit.
    """
    out = []
    for file in sorted(folder.glob("*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        missing = [name for name in FACTS if name not in result]
        unknown = [name for name in result if name not in FACTS + MORE]
        if missing or unknown:
            raise ValueError(f"{file.name} lacks {missing} and has unknown {unknown}")
        if any(len(row) != len(result["columns"]) for row in result["rows"]):
            raise ValueError(f"{file.name} has a row that does not fit its columns")
        out.append(result)
    return sorted(out, key=lambda result: result["title"])


def section(result: dict[str, Any]) -> str:
    """One result as Markdown."""
    versions = f", {result['versions']}" if result.get("versions") else ""
    about = (
        f"`{result['command']}`  \n{result['machine']}, {result['date']}, "
        f"commit {result['commit']}{versions}"
    )
    rows = [result["columns"], ["---"] * len(result["columns"]), *result["rows"]]
    table = "\n".join("| " + " | ".join(map(cell, row)) + " |" for row in rows)
    goal = [f"Goal: {result['goal']}."] if result.get("goal") else []
    note = [result["note"]] if result.get("note") else []
    return "\n\n".join([f"## {result['title']}", result["what"], about, table, *goal, *note])


def cell(value: Any) -> str:
    """A cell: thousands are separated, other values stand as they are.

    >>> cell(255275), cell(0.5), cell("CNN")
    ('255,275', '0.5', 'CNN')
    """
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)


def without_result(kept: list[dict[str, Any]]) -> str:
    """The benchmarks that have no kept result, with their first sentence."""
    known = {result["benchmark"] for result in kept} | set(HELPERS)
    lines = []
    for file in sorted(HERE.glob("*.py")):
        if file.stem not in known:
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            first = " ".join(text.split("\n\n")[0].split()).removesuffix(":")
            lines.append(f"- `python benchmarks/{file.name}`: {first}")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    kept = results()
    more = ["## Without a kept result", without_result(kept)]
    return "\n\n".join([HEAD, *map(section, kept), *more]) + "\n"


if __name__ == "__main__":
    (HERE / "RESULTS.md").write_text(page(), encoding="utf-8")
