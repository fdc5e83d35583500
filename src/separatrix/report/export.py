"""Files for papers: every figure as PDF, SVG or PNG, its data as CSV, and the claims as a LaTeX
table.
"""

import os
from pathlib import Path

from separatrix.errors import ParameterError
from separatrix.files import explain_os_errors
from separatrix.report.content import compose
from separatrix.report.figure.draw import FORMATS, save
from separatrix.report.latex import claims_table
from separatrix.report.read import read_run
from separatrix.report.write import data_files, write_file


def formats_from(text: str) -> tuple[str, ...]:
    """The formats that a list such as "pdf,svg" names, each once.

    >>> formats_from("pdf, png")
    ('.pdf', '.png')
    """
    names = tuple(
        dict.fromkeys(
            f".{part.strip().lower().removeprefix('.')}" for part in text.split(",") if part.strip()
        )
    )
    if not names or not set(names) <= set(FORMATS):
        raise ParameterError(
            "the report",
            "format",
            f"one or more of {', '.join(each[1:] for each in FORMATS)}, with commas",
            text,
        )
    return names


def write_figures(
    folder: str | os.PathLike[str], target: str | os.PathLike[str], formats: str = "pdf,svg,png"
) -> list[Path]:
    """Write the figures of a run into `target` in the given formats, with their data (CSV) and
    `claims.tex`; the paths written.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> [path.name for path in write_figures(folder, folder / "paper", "pdf")]
    ['claims.tex']
    """
    kinds = formats_from(formats)
    run = read_run(folder)
    report = compose(run)
    out = Path(target)
    with explain_os_errors(f"make the folder {out}"):
        out.mkdir(parents=True, exist_ok=True)
    texts = data_files(run, report) | {"claims.tex": claims_table(run.claims)}
    written = []
    for study in report.studies:
        for view in study.figures:
            written += [
                save(view.figure, out / f"{view.file.removesuffix('.svg')}{kind}") for kind in kinds
            ]
    for name, text in texts.items():
        write_file(out / name, text.encode())
        written.append(out / name)
    return written
