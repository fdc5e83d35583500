"""The commands `separatrix report` and `separatrix compare`."""

import json

from command_line import one_sentence
from sample_run import write_run
from typer.testing import CliRunner

from separatrix.cli.main import app


def test_report_writes_the_report_anew(cli, finished):
    page = finished / "report" / "index.html"
    page.write_text("old")
    code, out, err = cli("report", str(finished))
    assert (code, err) == (0, "")
    before = page.read_bytes()
    assert before.startswith(b"<!DOCTYPE html>")
    assert out.endswith(f"report: {page}\n")
    assert "supported, " in out
    assert "lahoti.first.cnn-aligned" in cli("report", str(finished), "--all")[1]
    code, out, _ = cli("report", str(finished), "--quiet")
    assert (code, out) == (0, f"report: {page}\n")
    code, out, _ = cli("report", str(finished), "--json")
    assert json.loads(out)["report"] == str(page)
    assert len(json.loads(out)["claims"]) == 5
    assert page.read_bytes() == before


def test_report_on_what_is_not_a_run_is_one_sentence(cli, tmp_path, finished):
    one_sentence(cli("report", "missing"), "there is no folder missing")
    (tmp_path / "foreign").mkdir()
    one_sentence(cli("report", "foreign"), "holds no claims.json")
    (tmp_path / "file").write_text("")
    one_sentence(cli("report", "file"), "there is no folder file")
    for number, text in enumerate(["", "{", "{}", "[1]", '[{"id": "x"}]', "\xff", "[" * 100_000]):
        corrupt = tmp_path / f"corrupt-{number}"
        corrupt.mkdir()
        (corrupt / "claims.json").write_bytes(text.encode("latin-1"))
        one_sentence(cli("report", corrupt.name), "damaged")
        assert not (corrupt / "report").exists()


def test_the_command_writes_them_beside_the_report(tmp_path):
    run = write_run(tmp_path / "run")
    result = CliRunner().invoke(
        app,
        ["report", str(run), "--figures", str(tmp_path / "paper"), "--format", "png", "--quiet"],
    )
    assert result.exit_code == 0, result.output
    assert sorted(file.suffix for file in (tmp_path / "paper").iterdir()) == [".csv"] * 5 + [
        ".png"
    ] * 4 + [".tex"]
    assert (run / "report" / "index.html").exists()


def shift(by):
    def change(claims, outcome):
        claims[0]["verdict"] = "refuted" if by else "supported"
        for key in ("estimate", "low", "high"):
            claims[0]["evidence"][0][key] += by
        series = outcome["figures"][0]["series"][0]
        for key in ("y", "low", "high"):
            series[key][1] += by
        outcome["settings"]["task"]["noise"] += by

    return change


def test_the_command_says_it_in_words_and_as_json(tmp_path):
    a, b = (
        str(write_run(tmp_path / name, change=shift(by))) for name, by in (("a", 0.0), ("b", 0.5))
    )
    said = CliRunner().invoke(app, ["compare", a, b])
    assert said.exit_code == 0
    for part in (
        "lahoti.first",
        "refuted",
        "0.122 [0.105, 0.143]",
        "2 of 10 apart: the two intervals do not overlap",
        "1 settings differ",
    ):
        assert part in said.output
    plain = json.loads(CliRunner().invoke(app, ["compare", a, b, "--json"]).output)
    assert plain["verdicts"] == [{"id": "lahoti.first", "a": "supported", "b": "refuted"}]
    assert [move["rule"] for move in plain["moved"]] == ["apart", "apart"]
    same = CliRunner().invoke(app, ["compare", a, a])
    assert "No verdict changed." in same.output
