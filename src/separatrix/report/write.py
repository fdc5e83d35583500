"""Writing a report: everything is made first, then each file is put in place whole."""

import os
from pathlib import Path
from typing import Any

from separatrix.files import explain_os_errors, write_bytes
from separatrix.report.content import Report, compose
from separatrix.report.figure.cache import drawings_of
from separatrix.report.figure.data import csv_of, data_of, table_csv
from separatrix.report.html import html_page
from separatrix.report.markdown import markdown_page
from separatrix.report.read import RunFiles, read_run


def write_report(folder: str | os.PathLike[str]) -> Path:
    """Write `report/index.html` and `report/report.md` into a run folder; the path of the page.

    The page is whole by itself; beside it lie its figures as SVG and the data of figures and tables
    as CSV. The same claims, outcomes and manifest give the same bytes.

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> write_report(folder).relative_to(folder).as_posix()
    'report/index.html'
    """
    run = read_run(folder)
    report = compose(run)
    views = [view for study in report.studies for view in study.figures]
    drawn = drawings_of(
        {view.anchor: (view.figure, f"f{index}-") for index, view in enumerate(views)}
    )
    page = html_page(report, drawn)
    target = Path(folder) / "report"
    files = {target / "figures" / view.file: drawn[view.anchor].alone.encode() for view in views}
    files |= {
        target / "data" / name: text.encode() for name, text in data_files(run, report).items()
    }
    # The page last: who sees it finds all that it stands for.
    files |= {
        target / "report.md": markdown_page(report).encode(),
        target / "index.html": page.encode(),
    }
    with explain_os_errors(f"make the folder {target}"):
        for parent in sorted({path.parent for path in files}):
            parent.mkdir(exist_ok=True)
    for path, data in files.items():
        write_file(path, data)
    return target / "index.html"


def data_files(run: RunFiles, report: Report) -> dict[str, str]:
    """The data of all figures and tables as CSV, by file name.

    >>> data_files(RunFiles([], {}, {}, []), compose(RunFiles([], {}, {}, [])))
    {}
    """
    files = {
        view.data_file: csv_of(data_of(view.figure))
        for study in report.studies
        for view in study.figures
    }
    for study in report.studies:
        tables: list[dict[str, Any]] = run.outcomes[study.name]["tables"]
        files |= {view.file: table_csv(plain) for view, plain in zip(study.tables, tables)}
    return files


def write_file(path: Path, data: bytes) -> None:
    """Put a file in place whole.

    >>> import tempfile
    >>> write_file(Path(tempfile.mkdtemp()) / "a.txt", b"hello")
    """
    write_bytes(path, data)
