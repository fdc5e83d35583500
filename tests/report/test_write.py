"""Files of a report: the same each time, complete or absent."""

import pytest
from run_documents import documents, write
from sample_run import write_run

from separatrix.errors import SeparatrixError
from separatrix.report import write_figures, write_report
from separatrix.report.write import suffixes_from


def test_writing_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path):
    write(tmp_path, documents())

    def contents():
        return {
            file.relative_to(tmp_path).as_posix(): file.read_bytes()
            for file in (tmp_path / "report").rglob("*")
            if file.is_file()
        }

    assert write_report(tmp_path) == tmp_path / "report" / "index.html"
    first = contents()
    write_report(tmp_path)
    assert contents() == first
    names = {name.removeprefix("report/") for name in first}
    figures = {f"figures/signal-first-risk-{i}.svg" for i in (0, 1)}
    data = {f"data/signal-first-{name}.csv" for name in ("risk-0", "risk-1", "risks")}
    assert names == {"index.html", "study-signal-first.html", "report.md"} | figures | data


def test_a_folder_that_is_not_there_or_not_writable_is_told(tmp_path):
    with pytest.raises(SeparatrixError, match="there is no folder"):
        write_report(tmp_path / "missing")
    write(tmp_path, documents())
    (tmp_path / "report").write_text("a file")
    with pytest.raises(SeparatrixError, match="cannot make the folder"):
        write_report(tmp_path)


def test_every_figure_in_every_format_with_its_data(tmp_path):
    run = write_run(tmp_path / "run")
    written = write_figures(run, tmp_path / "paper", "pdf,svg")
    names = {path.name for path in written}
    assert names == {file.name for file in (tmp_path / "paper").iterdir()}
    figures = {f"sample-{name}" for name in ("curves", "bars", "map", "picture")}
    assert names == {f"{name}.{kind}" for name in figures for kind in ("pdf", "svg", "csv")} | {
        "sample-risks.csv",
        "claims.tex",
    }
    assert not (run / "report").exists(), "the run itself is left alone"
    before = {path: path.read_bytes() for path in written}
    write_figures(run, tmp_path / "paper", "pdf,svg")
    assert {path: path.read_bytes() for path in written} == before


@pytest.mark.parametrize("text", ["", "gif", "pdf,gif", ","])
def test_formats_that_are_not_known_are_named(text):
    with pytest.raises(
        SeparatrixError, match=r"must be one or more of pdf, svg, png, separated by commas, got"
    ):
        suffixes_from(text)


def test_formats_are_read_kindly():
    assert suffixes_from(" PDF, .svg,pdf") == (".pdf", ".svg")
