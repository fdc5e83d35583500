"""The commands: what they print where, and how they end."""

import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import separatrix as sx
from separatrix.cli import commands, main
from separatrix.engine import Programs, cost_model, lab
from separatrix.errors import SeparatrixError
from separatrix.studies import STUDIES

TINY = [
    "--set",
    "patches=3",
    "--set",
    "dimension=4",
    "--set",
    "samples=40",
    "--set",
    "steps=4",
    "--set",
    "seeds=2",
]
READOUT = [
    "--set",
    "bits=6",
    "--set",
    "windows=2,3",
    "--set",
    "draws=300",
    "--set",
    "exact_draws=2",
    "--set",
    "rules=2",
]
ESCAPE = "\x1b"


@pytest.fixture(scope="module", autouse=True)
def shared_programs():
    """All laboratories of this module share their compiled programs."""
    shared = Programs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lab, "Programs", lambda: shared)
        yield


@pytest.fixture
def cli(monkeypatch, tmp_path, capfd):
    """Run a command in this process, in an empty folder: exit status, standard output, standard
    error.
    """
    monkeypatch.chdir(tmp_path)
    return lambda *argv: call(monkeypatch, capfd, argv)


def call(monkeypatch, capfd, argv):
    monkeypatch.setattr(sys, "argv", ["separatrix", *argv])
    capfd.readouterr()
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert "internal error" not in err
    return end.value.code or 0, out, err


def one_sentence(result, words, status=1):
    code, out, err = result
    assert code == status
    assert out == ""
    assert err.startswith("separatrix: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.fixture
def no_report(monkeypatch):
    """For runs whose report is not looked at."""
    monkeypatch.setattr(
        "separatrix.report.write_report", lambda folder: Path(folder) / "report" / "index.html"
    )


@pytest.fixture
def two_studies(monkeypatch):
    """`verify` has no more than two studies to run, however many there are."""
    monkeypatch.setattr(
        commands, "STUDIES", {name: STUDIES[name] for name in ("signal-first", "pattern-readout")}
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished tiny run of signal-first."""
    folder = tmp_path_factory.mktemp("finished") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys,
            "argv",
            [
                "separatrix",
                "run",
                "signal-first",
                "--out",
                str(folder),
                "--workers",
                "0",
                "--quiet",
                *TINY,
            ],
        )
        with pytest.raises(SystemExit) as end:
            main.main()
    assert not end.value.code
    return folder


# Light commands


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["verify", "--help"],
        ["report", "--help"],
        ["doctor", "--help"],
    ],
)
def test_help_and_version_load_nothing_heavy(argv):
    check = (
        "import sys\n"
        f"sys.argv = ['separatrix', *{argv!r}]\n"
        "from separatrix.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code or 0\n"
        "heavy = {'jax', 'numpy', 'pandas', 'pyarrow', 'matplotlib', 'scipy', 'equinox', 'optax'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ESCAPE not in done.stdout
    assert (
        sx.__version__ in done.stdout
        if argv == ["--version"]
        else "Usage: separatrix" in done.stdout
    )


def test_list_names_every_study(cli):
    code, out, err = cli("list")
    assert (code, err) == (0, "")
    for name in STUDIES:
        assert re.search(rf"^{name} ", out, re.M)
    code, out, err = cli("list", "--json")
    assert (code, err) == (0, "")
    listed = json.loads(out)
    assert [each["name"] for each in listed] == list(STUDIES)
    assert [claim["id"] for claim in listed[0]["claims"]] == [
        claim.id for claim in next(iter(STUDIES.values())).claims
    ]


def test_workers_without_calibrate_are_refused(cli):
    code, out, err = cli("doctor", "--workers", "2")
    assert code == 1
    assert "give --calibrate as well" in err
    assert not out


def test_doctor_finds_this_installation_sound(cli, monkeypatch):
    code, out, err = cli("doctor")
    assert (code, err) == (0, "")
    assert out.endswith("all is well\n")
    monkeypatch.setattr(
        "separatrix.cli.doctor.examine",
        lambda: {"separatrix": "0", "versions": {}, "problems": ["the disk is missing"]},
    )
    code, out, err = cli("doctor", "--json")
    assert (code, err) == (1, "separatrix: the disk is missing\n")
    assert json.loads(out)["problems"] == ["the disk is missing"]


# Running


def test_run_prints_claims_on_stdout_and_chatter_on_stderr(cli, finished, no_report):
    # The folder is finished: the same command only reads.
    argv = ["run", "signal-first", "--out", str(finished), "--workers", "0", *TINY]
    code, out, err = cli(*argv)
    assert code == 0
    assert err == "0 trials run, 0 programs compiled\n"
    for claim in STUDIES["signal-first"].claims:
        assert re.search(rf"^{re.escape(claim.id)} +(supported|refuted|undecided) ", out, re.M)
    assert out.endswith(f"report: {finished}/report/index.html\n")
    assert ESCAPE not in out + err
    code, quiet, err = cli(*argv, "--quiet")
    assert (code, quiet, err) == (0, out, "")
    code, text, err = cli(*argv, "--json", "--quiet")
    assert (code, err) == (0, "")
    assert json.loads(text) == json.loads((finished / "claims.json").read_text())
    code, text, err = cli(*argv, "--json")
    assert isinstance(json.loads(text), list)
    assert "trials run" in err


def test_the_command_line_is_kept_with_the_claims(finished):
    claims = json.loads((finished / "claims.json").read_text())
    assert {
        claim["command"].split()[:3] == ["separatrix", "run", "signal-first"] for claim in claims
    } == {True}
    assert sx.engine.read_manifest(finished)[0]["command"] == claims[0]["command"]


def test_the_default_folder_is_named_after_study_and_scale(cli, tmp_path):
    code, out, err = cli("run", "pattern-readout", "--quiet", *READOUT)
    assert (code, err) == (0, "")
    assert "report: results/pattern-readout-quick/report/index.html" in out
    assert (tmp_path / "results" / "pattern-readout-quick" / "report" / "report.md").exists()


def test_verify_runs_every_study(cli, finished, two_studies, no_report):
    shutil.copytree(finished, "out")
    changes = [f"signal-first.{text}" for text in TINY[1::2]] + [
        f"pattern-readout.{text}" for text in READOUT[1::2]
    ]
    argv = [
        "verify",
        "--out",
        "out",
        "--workers",
        "0",
        "--json",
        *(word for text in changes for word in ("--set", text)),
    ]
    for _ in range(2):
        code, out, err = cli(*argv)
        assert (code, err) == (0, "0 trials run, 0 programs compiled\n")
        assert {claim["study"] for claim in json.loads(out)} == {"signal-first", "pattern-readout"}


@pytest.mark.parametrize(
    "budget, verdicts", [("0.001s", {"undecided"}), ("1s", {"supported", "refuted", "undecided"})]
)
def test_a_budget_ends_in_time(cli, no_report, budget, verdicts):
    code, out, err = cli(
        "run", "signal-first", "--out", "out", "--workers", "0", "--json", "--budget", budget, *TINY
    )
    assert code == 0
    assert len(json.loads(out)) == 6
    assert {claim["verdict"] for claim in json.loads(out)} <= verdicts
    complete = sx.engine.read_manifest("out")[0]["complete"]
    assert (
        "the budget ended before all trials were run: the same command with more time goes on"
        in err
    ) == (not complete)
    assert budget == "1s" or not complete


def test_what_a_budget_left_out_follows_without_it(cli, finished, no_report):
    shutil.copytree(finished, "out")
    min(Path("out", "ledger").glob("*.parquet")).unlink()
    argv = ["run", "signal-first", "--out", "out", "--workers", "0", "--json", *TINY]
    code, out, err = cli(*argv, "--budget", "0.001s")
    assert code == 0
    assert "budget" in err
    code, out, err = cli(*argv)
    assert code == 0
    assert err == "1 trials run, 0 programs compiled\n"
    same = json.loads((finished / "claims.json").read_text())
    assert [(c["id"], c["verdict"], c["evidence"]) for c in json.loads(out)] == [
        (c["id"], c["verdict"], c["evidence"]) for c in same
    ]


def test_dry_run_prints_the_plan_and_writes_nothing(cli, tmp_path, finished, two_studies):
    code, out, err = cli("run", "signal-first", "--dry-run", *TINY)
    assert (code, err) == (0, "")
    for word in ("trials", "programs", "GFLOP", "MB", "time", "signal-first", "cpu"):
        assert word in out
    code, out, err = cli("run", "signal-first", "--dry-run", "--json", "--workers", "2", *TINY)
    plan = json.loads(out)["signal-first"]
    assert (plan["trials"], plan["workers"]) == (6, 2)
    assert all(plan[name] > 0 for name in ("programs", "flops", "bytes", "seconds"))
    assert list(tmp_path.iterdir()) == []
    # What is finished is not planned again.
    _, out, _ = cli("run", "signal-first", "--dry-run", "--json", "--out", str(finished), *TINY)
    assert json.loads(out)["signal-first"]["trials"] == 0
    code, out, _ = cli("verify", "--dry-run", "--json")
    assert list(json.loads(out)) == ["signal-first", "pattern-readout"]


def test_a_calibration_is_kept_shown_and_used(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))
    times = [cost_model.CaseTime(kind, 1e9, 100, 2.0, 0.1) for kind in cost_model.cases()]
    slow = dataclasses.replace(cost_model.ASSUMED["cpu"], per_run=1000.0, measured=True)
    monkeypatch.setattr(cost_model, "calibrate", lambda kind, workers: (slow, times))
    dry = ["run", "signal-first", "--dry-run", "--workers", "2", *TINY]
    _, out, _ = cli(*dry)
    assert "not calibrated: `separatrix doctor --calibrate`" in out
    code, out, err = cli("doctor", "--calibrate", "--workers", "2", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["machine"]["workers"] == 2
    assert facts["cost_model"]["per_run"] == 1000.0
    assert len(facts["times"]) == len(times)
    assert json.loads(Path(facts["file"]).read_text())["per_run"] == 1000.0
    _, out, _ = cli(*dry)
    assert "calibrated on this machine" in out
    assert "17 min" in out
    _, out, _ = cli(*dry, "--json")
    plan = json.loads(out)["signal-first"]
    assert plan["calibrated"] is True
    assert 1000.0 < plan["seconds"] < 1100.0
    code, out, err = cli("doctor", "--calibrate", "--workers", "1")
    assert (code, err) == (0, "")
    assert "CNN, images" in out
    assert "calibrated for 1 worker;" in out


def test_another_seed_is_another_run(cli, finished):
    _, out, _ = cli(
        "run", "signal-first", "--dry-run", "--json", "--seed", "1", "--out", str(finished), *TINY
    )
    assert json.loads(out)["signal-first"]["trials"] == 6


# Reports


def test_report_writes_the_report_anew(cli, finished):
    page = finished / "report" / "index.html"
    page.write_text("old")
    code, out, err = cli("report", str(finished))
    assert (code, err) == (0, "")
    before = page.read_bytes()
    assert before.startswith(b"<!DOCTYPE html>")
    assert out.endswith(f"report: {page}\n")
    assert "lahoti.first.cnn-aligned" in out
    code, out, _ = cli("report", str(finished), "--quiet")
    assert (code, out) == (0, f"report: {page}\n")
    code, out, _ = cli("report", str(finished), "--json")
    assert json.loads(out)["report"] == str(page)
    assert len(json.loads(out)["claims"]) == 6
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


# Mistakes


@pytest.mark.parametrize(
    "argv, words",
    [
        (["run", "signal-frist"], "there is no study `signal-frist`; did you mean `signal-first`"),
        (["run", ""], "there is no study ``"),
        (
            ["run", "signal-first", "--scale", "tiny"],
            "must be one of 'quick', 'laptop', 'full', got 'tiny'",
        ),
        (
            ["run", "signal-first", "--budget", "soon"],
            "a budget must be a positive time such as 90s, 2m or 1h, got 'soon'",
        ),
        (["run", "signal-first", "--budget", "0"], "a budget must be a positive time"),
        (["run", "signal-first", "--budget", "-5s"], "a budget must be a positive time"),
        (
            ["run", "signal-first", "--set", "seeds"],
            "a change must have the form study.setting=value, got 'seeds'",
        ),
        (["run", "signal-first", "--set", "seeds=many"], "must be an integer, got 'many'"),
        (["run", "signal-first", "--set", "seedz=1"], "did you mean `seed` or `seeds`?"),
        (
            ["run", "signal-first", "--set", "pattern-readout.bits=3"],
            "there is no study in this run `pattern-readout`",
        ),
        (
            ["run", "signal-first", "--set", "seeds=0"],
            "the `seeds` of a study must be an integer in [1, 500000], got 0",
        ),
        (
            ["run", "signal-first", "--set", "noise=-1"],
            "the `noise` of SignalTask must be a number > 0, got -1.0",
        ),
        (
            ["run", "signal-first", "--set", "steps=0"],
            "the `steps` of Learner must be an integer >= 1, got 0",
        ),
        (
            ["verify", "--set", "seeds=3"],
            "a change must name its study, as in signal-first.seeds=3",
        ),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_mistakes_are_one_sentence(cli, argv, words, dry):
    one_sentence(cli(*argv, *(["--dry-run"] if dry else [])), words)


@pytest.mark.parametrize(
    "argv",
    [
        ["fly"],
        ["run"],
        ["run", "signal-first", "extra"],
        ["run", "signal-first", "--fly"],
        ["run", "signal-first", "--seed", "x"],
        ["run", "signal-first", "--seed", "-1"],
        ["run", "signal-first", "--seed", "1000001"],
        ["run", "signal-first", "--workers", "-2"],
        ["run", "signal-first", "--scale"],
        ["report"],
        ["list", "--quietly"],
    ],
)
def test_usage_errors_end_with_status_2(cli, argv):
    code, out, err = cli(*argv)
    assert (code, out) == (2, "")
    assert "Error: " in err
    assert ESCAPE not in err


def test_without_arguments_the_help_is_shown(cli):
    code, out, err = cli()
    assert code in (0, 2)  # versions of typer differ
    assert "Usage: separatrix" in out + err


def test_output_folders_that_cannot_be_used_are_one_sentence(cli, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("important")
    (tmp_path / "file").write_text("")
    for out, words in [
        ("thesis", "is not empty and was not made by separatrix"),
        ("file", "is a file"),
        ("file/below", "Not a directory"),
        ("x" * 300, "File name too long"),
    ]:
        one_sentence(cli("run", "pattern-readout", "--out", out, *READOUT), words)
    assert {file.name for file in tmp_path.rglob("*")} == {"thesis", "thesis.tex", "file"}


def test_ctrl_c_before_any_trial_is_one_sentence(cli, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "jobs", interrupt)
    one_sentence(cli("run", "signal-first"), "interrupted")


def test_an_unforeseen_error_is_one_sentence_too(cli, monkeypatch, capfd):
    def fail(*_):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(commands, "jobs", fail)
    monkeypatch.setattr(sys, "argv", ["separatrix", "run", "signal-first"])
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capfd.readouterr()
    assert (end.value.code, out) == (1, "")
    assert (
        err
        == "separatrix: internal error, please report it: RuntimeError: first line (SEPARATRIX_DEBUG=1 shows where)\n"
    )
    monkeypatch.setenv("SEPARATRIX_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main.main()


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
values = st.one_of(
    texts,
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(["", "seeds=", "noise=1e400", "windows=()", "90s", "1e3m"]),
)
options = st.lists(
    st.tuples(
        st.sampled_from(
            ["--scale", "--seed", "--budget", "--set", "--workers", "--fly", "-q", "--json"]
        ),
        values,
    ).map(list),
    max_size=4,
)


@given(st.sampled_from(["signal-first", "pattern-readout"]), options, st.lists(texts, max_size=1))
@example("signal-first", [["--set", "seeds=99999999999999999999"]], [])
@example("signal-first", [["--set", "patches=99999999999999999999"]], [])
@example("signal-first", [["--set", "samples=2147483647"]], [])
@example("signal-first", [["--set", "bias=-1"]], [])
@example("pattern-readout", [["--set", "windows=9" * 3]], [])
@example("pattern-readout", [["--budget", "9" * 400]], [])
@example("pattern-readout", [["--budget", "٣s"]], [])
def test_any_arguments_end_with_a_status_and_no_traceback(study, options, more):
    words = [
        word
        for option in options
        for word in (option[:1] if option[0] in ("-q", "--json") else option)
    ]
    ends_well(["run", study, "--dry-run", *words, *more])


@given(st.lists(texts, max_size=4))
@example(["--", "run"])
@example(["run", "--out"])
def test_any_words_end_with_a_status_and_no_traceback(words):
    ends_well([*words, "--dry-run"] if words[:1] in (["run"], ["verify"]) else words)


def ends_well(argv):
    with pytest.MonkeyPatch.context() as patch, open(os.devnull, "w") as nowhere:
        patch.setattr(sys, "argv", ["separatrix", *argv])
        patch.setattr(sys, "stdout", nowhere)
        said = []
        patch.setattr(main, "_fail", lambda sentence: said.append(sentence) or sys.exit(1))
        patch.setattr(sys, "stderr", nowhere)
        with pytest.raises(SystemExit) as end:
            main.main()
    assert (end.value.code or 0) in (0, 1, 2)
    assert all("internal error" not in sentence and "\n" not in sentence for sentence in said)


@given(st.floats(1e-3, 1e6), st.sampled_from([("", 1), ("s", 1), ("m", 60), ("h", 3600)]))
def test_budgets_are_read_in_their_unit(number, unit):
    text = f"{number:.3f}"
    assert commands.seconds_from(text + unit[0]) == float(text) * unit[1]


@given(st.text())
def test_any_other_budget_is_refused_in_one_sentence(text):
    try:
        found = commands.seconds_from(text)
    except SeparatrixError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert (found is None and text == "") or found > 0


# Terminals


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colours_are_for_terminals_and_no_color_turns_them_off(finished, monkeypatch):
    claims = json.loads((finished / "claims.json").read_text())
    monkeypatch.setenv("TERM", "xterm-256color")

    def shown(file, *environment):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", file)
            for name in environment:
                patch.setenv(name, "1")
            commands.print_claims(claims)
        assert "lahoti.first.cnn-aligned" in file.getvalue()
        return file.getvalue()

    assert ESCAPE in shown(Terminal())
    assert ESCAPE not in shown(Terminal(), "NO_COLOR")
    assert ESCAPE not in shown(io.StringIO())
