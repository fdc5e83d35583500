"""Evidence: the small part of a run that is worth keeping under version control, readable without
this package.
"""

import os
from pathlib import Path

from separatrix.files import explain_os_errors, write_bytes
from separatrix.report.content import compose
from separatrix.report.figure.data import table_csv
from separatrix.report.figure.draw import draw_twice
from separatrix.report.markdown import markdown_page
from separatrix.report.read import read_run


def write_evidence(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Write a run's verdicts, tables, figures and manifest into `target`; the path of its README.

    claims.json and manifest.json are copies; README.md is the Markdown report; figures/ holds SVG,
    tables/ CSV.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> write_evidence(folder, folder / "kept").name
    'README.md'
    """
    source, kept = Path(folder), Path(target)
    run = read_run(source)
    report = compose(run)
    files = {
        kept / name: (source / name).read_bytes()
        for name in ("claims.json", "manifest.json")
        if (source / name).exists()
    }
    for index, view in enumerate(view for study in report.studies for view in study.figures):
        files[kept / "figures" / view.file] = draw_twice(view.figure, f"f{index}-")[1].encode()
    for study, outcome in run.outcomes.items():
        for table in outcome.get("tables", []):
            files[kept / "tables" / f"{study}-{table['name']}.csv"] = table_csv(table).encode()
    files[kept / "README.md"] = markdown_page(report).encode()
    with explain_os_errors(f"make the folder {kept}"):
        for parent in {path.parent for path in files}:
            parent.mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        write_bytes(path, data)
    return kept / "README.md"
