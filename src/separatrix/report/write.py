"""Writing a report: everything is made first, then each file is put in place whole."""

import os
from pathlib import Path

from separatrix.engine.ledger import explained, write_whole
from separatrix.report.content import compose
from separatrix.report.figures import draw_twice
from separatrix.report.markdown import markdown_page
from separatrix.report.page import html_page
from separatrix.report.reading import read_run


def write_report(folder: str | os.PathLike[str]) -> Path:
    """Write `report/index.html` and `report/report.md` into a run folder; the path of the page.

    The same claims, outcomes and manifest give the same bytes.

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> write_report(folder).relative_to(folder).as_posix()
    'report/index.html'
    """
    report = compose(read_run(folder))
    views = [view for study in report.studies for view in study.figures]
    drawn = [draw_twice(view.figure, f"f{index}-") for index, view in enumerate(views)]
    page = html_page(report, {view.anchor: inline for view, (inline, _) in zip(views, drawn)})
    target = Path(folder) / "report"
    files = {target / "figures" / view.file: alone.encode() for view, (_, alone) in zip(views, drawn)}
    # The page last: who sees it finds all that it stands for.
    files |= {target / "report.md": markdown_page(report).encode(), target / "index.html": page.encode()}
    with explained(f"make the folder {target}"):
        target.mkdir(exist_ok=True)
        if views:
            (target / "figures").mkdir(exist_ok=True)
    for path, data in files.items():
        _write(path, data)
    return target / "index.html"


def _write(path: Path, data: bytes) -> None:
    write_whole(path, lambda temporary: temporary.write_bytes(data) and None)
