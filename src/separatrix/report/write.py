"""Files of a report: the page, the evidence kept of a run, and figures and tables for a paper.

Every file is composed before the first one is written, and each file is written atomically.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from separatrix.engine.store.compaction import pack
from separatrix.errors import ParameterError
from separatrix.files import explain_os_errors, is_regular, read_regular, write_bytes
from separatrix.report.content import FigureView, Report, compose
from separatrix.report.figure.cache import drawings_of
from separatrix.report.figure.data import csv_of, data_of, table_csv
from separatrix.report.figure.draw import FORMATS, Drawing, save
from separatrix.report.html import html_pages
from separatrix.report.kept import NOTHING_KEPT
from separatrix.report.latex import claims_table
from separatrix.report.markdown import markdown_page
from separatrix.report.read import RunFiles, read_run
from separatrix.studies.kept_rows import columns_to_keep, kept_runs
from separatrix.units import human_bytes

MOST_ROWS = 20_000_000  # bytes of rows that are kept with the evidence of one run


def write_report(folder: str | os.PathLike[str]) -> Path:
    """Write the report of a run into the folder `report/` of the run.

    `index.html` has the answers; each study has a page `study-NAME.html` with its evidence. Beside
    them are `report.md`, the figures as SVG in `figures/`, and the data of figures and tables as
    CSV in `data/`. The same claims, outcomes and manifest give the same bytes.

    Args:
      folder: the folder of a run, as `Lab` or `separatrix run --out` makes it.

    Returns:
      The path of `index.html`.

    Raises:
      SeparatrixError: where the folder holds no run or a damaged one, or cannot be written.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> write_report(folder).relative_to(folder).as_posix()
    'report/index.html'
    """
    run = read_run(folder)
    report = compose(run)
    drawings = _drawings(report)
    target = Path(folder) / "report"
    files: dict[Path, str] = {
        target / "figures" / view.file: drawings[view.anchor].alone for view in _figures(report)
    }
    files |= {target / "data" / name: text for name, text in data_files(run, report).items()}
    # The index comes last, so that a reader who sees it finds everything that it refers to.
    files[target / "report.md"] = markdown_page(report)
    files |= {target / name: text for name, text in html_pages(report, drawings).items()}
    _write_files(target, files)
    for file in set(target.glob("study-*.html")) - set(files):
        file.unlink(missing_ok=True)  # the page of a study that an earlier run had
    return target / "index.html"


def write_evidence(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Write the small part of a run that is worth keeping under version control.

    `claims.json` and `manifest.json` are copies, `README.md` is the report as Markdown, `figures/`
    holds SVG files and `tables/` CSV files, and `headline.json` names the headline figures. No part
    of it needs this package to be read. `evidence/pack.py` then makes it part of the package. The
    rows of trials, from which `separatrix verify --from` recomputes the verdicts, are kept as
    Parquet where they are small; the page says whether they are.

    Args:
      folder: the folder of a run.
      target: the folder to write; it is made if needed.

    Returns:
      The path of `README.md`.

    Raises:
      SeparatrixError: where the folder holds no run or a damaged one, or `target` cannot be
        written.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> write_evidence(folder, folder / "kept").name
    'README.md'
    """
    source, target = Path(folder), Path(target)
    run = read_run(source)
    report = compose(run, NOTHING_KEPT)
    drawings = _drawings(report)
    files: dict[Path, bytes | str] = {
        target / name: read_regular(source / name)
        for name in ("claims.json", "manifest.json")
        if (source / name).exists()
    }
    for view in _figures(report):
        files[target / "figures" / view.file] = drawings[view.anchor].alone
    for study, outcome in run.outcomes.items():
        for table in outcome.get("tables", []):
            files[target / "tables" / f"{study}-{table['name']}.csv"] = table_csv(table)
    named = {
        study.name: {
            "file": view.file,
            "title": view.figure.title,
            "caption": view.figure.caption,
        }
        for study in report.studies
        for view in study.figures
        if view.figure.headline
    }
    files[target / "headline.json"] = json.dumps(named, ensure_ascii=False, indent=1) + "\n"
    rows, words = _rows_to_keep(source)
    for place in {target / path.parts[0] for path in rows}:
        shutil.rmtree(place, ignore_errors=True)  # rows of an earlier run
    files |= {target / path: data for path, data in rows.items()}
    files[target / "README.md"] = f"{markdown_page(report)}\n{words}"
    _write_files(target, files, sync=True)
    return target / "README.md"


def _rows_to_keep(folder: Path) -> tuple[dict[Path, bytes], str]:
    """The files of rows to keep of a results folder, relative to it, and what a page says of them.

    The parts of a ledger are packed into few, without the traces that no conclusion reads.
    """
    rows: dict[Path, bytes] = {}
    for run in kept_runs(folder):
        place = run.relative_to(folder)
        with tempfile.TemporaryDirectory() as scratch:
            parts = [p for p in (run / "ledger").glob("part-*.parquet") if is_regular(p)]
            for file in pack(parts, Path(scratch), columns_to_keep):
                rows[place / "ledger" / file.name] = file.read_bytes()
        others = [run / "separatrix.json", *sorted((run / "calculations").glob("*.json"))]
        if (
            run != folder
        ):  # a seed of a pooled run, whose own claims and manifest are not copied yet
            others += [run / "claims.json", run / "manifest.json"]
        rows |= {file.relative_to(folder): file.read_bytes() for file in others if is_regular(file)}
    size = sum(map(len, rows.values()))
    if not rows:
        return {}, "## Rows\n\nThe run has no rows of trials.\n"
    if size > MOST_ROWS:
        return {}, (
            f"## Rows\n\nThe rows of trials are not kept: {human_bytes(size)} are more than "
            f"{human_bytes(MOST_ROWS)}.\n"
        )
    return rows, (
        f"## Rows\n\n`separatrix verify --from` this folder recomputes the verdicts from "
        f"{human_bytes(size)} of rows, without training anything.\n"
    )


def write_figures(
    folder: str | os.PathLike[str], target: str | os.PathLike[str], formats: str = "pdf,svg,png"
) -> list[Path]:
    """Write the figures of a run, their data as CSV, and `claims.tex` for a paper.

    Args:
      folder: the folder of a run.
      target: the folder to write; it is made if needed.
      formats: one or more of pdf, svg and png, separated by commas.

    Returns:
      The paths of all files that were written.

    Raises:
      ParameterError: for an unknown format.
      SeparatrixError: where the folder holds no run or a damaged one, or `target` cannot be
        written.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> [path.name for path in write_figures(folder, folder / "paper", "pdf")]
    ['claims.tex']
    """
    suffixes = suffixes_from(formats)
    run = read_run(folder)
    report = compose(run)
    target = Path(target)
    texts = data_files(run, report) | {"claims.tex": claims_table(run.claims)}
    with explain_os_errors(f"make the folder {target}"):
        target.mkdir(parents=True, exist_ok=True)
    written = [
        save(view.figure, target / f"{view.file.removesuffix('.svg')}{suffix}")
        for view in _figures(report)
        for suffix in suffixes
    ]
    for name, text in texts.items():
        write_bytes(target / name, text)
        written.append(target / name)
    return written


def suffixes_from(formats: str) -> tuple[str, ...]:
    """The endings of the formats that a list such as "pdf,svg" names, each once.

    >>> suffixes_from("pdf, png")
    ('.pdf', '.png')
    """
    names = [part.strip().lower().removeprefix(".") for part in formats.split(",")]
    suffixes = tuple(dict.fromkeys(f".{name}" for name in names if name))
    if not suffixes or not set(suffixes) <= set(FORMATS):
        known = ", ".join(suffix[1:] for suffix in FORMATS)
        raise ParameterError(
            "the report", "format", f"one or more of {known}, separated by commas", formats
        )
    return suffixes


def data_files(run: RunFiles, report: Report) -> dict[str, str]:
    """The data of all figures and tables as CSV, by file name.

    >>> run = RunFiles([], {}, {}, [])
    >>> data_files(run, compose(run))
    {}
    """
    files = {view.data_file: csv_of(data_of(view.figure)) for view in _figures(report)}
    for study in report.studies:
        tables: list[dict[str, Any]] = run.outcomes[study.name]["tables"]
        files |= {view.file: table_csv(table) for view, table in zip(study.tables, tables)}
    return files


def _figures(report: Report) -> list[FigureView]:
    return [view for study in report.studies for view in study.figures]


def _drawings(report: Report) -> dict[str, Drawing]:
    """The drawing of each figure by its anchor, with names that differ between figures."""
    views = enumerate(_figures(report))
    return drawings_of({view.anchor: (view.figure, f"f{index}-") for index, view in views})


def _write_files(folder: Path, files: Mapping[Path, bytes | str], sync: bool = False) -> None:
    """Write files; a report can be written again and need not wait for the disk."""
    with explain_os_errors(f"make the folder {folder}"):
        for parent in sorted({path.parent for path in files}):
            parent.mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        write_bytes(path, data, sync)
