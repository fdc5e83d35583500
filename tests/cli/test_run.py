"""The commands `separatrix list`, `run` and `verify`."""

import json
import random
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from command_line import ESCAPE, READOUT, TINY, one_sentence

import separatrix as sx
from running import Driver
from separatrix.engine import Ledger
from separatrix.report import with_kept
from separatrix.studies import STUDIES, find_study


@pytest.fixture
def two_studies(monkeypatch):
    """`verify` has no more than two studies to run, however many there are."""
    monkeypatch.setattr(
        "separatrix.studies.STUDIES",
        {name: STUDIES[name] for name in ("signal-first", "pattern-readout")},
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


def test_run_prints_claims_on_stdout_and_chatter_on_stderr(cli, finished, no_report):
    # The folder is finished: the same command only reads.
    argv = ["run", "signal-first", "--out", str(finished), "--workers", "0", *TINY]
    code, out, err = cli(*argv)
    assert code == 0
    assert err == "0 trials run, 0 programs compiled\n"
    assert re.search(r"\d supported, \d refuted, \d undecided", out)
    every = cli(*argv, "--all")[1]
    assert all(claim.id in every for claim in STUDIES["signal-first"].claims)
    assert out.endswith(f"report: {finished}/report/index.html\n")
    assert ESCAPE not in out + err
    code, quiet, err = cli(*argv, "--quiet")
    assert (code, quiet, err) == (0, out, "")
    code, text, err = cli(*argv, "--json", "--quiet")
    assert (code, err) == (0, "")
    written = json.loads((finished / "claims.json").read_text())
    assert json.loads(text) == with_kept(written)
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
    "budget, verdicts",
    [("0.001s", {"not measured"}), ("1s", {"supported", "refuted", "undecided", "not measured"})],
)
def test_a_budget_ends_in_time(cli, no_report, budget, verdicts):
    code, out, err = cli(
        "run", "signal-first", "--out", "out", "--workers", "0", "--json", "--budget", budget, *TINY
    )
    assert code == 0
    claims = json.loads(out)
    assert len(claims) == len(find_study("signal-first").claims)
    assert {claim["verdict"] for claim in claims} <= verdicts
    complete = sx.engine.read_manifest("out")[0]["complete"]
    assert ("the budget ended first: run the same command again to resume" in err) == (not complete)
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


def test_dry_run_names_what_it_does_not_count(cli):
    code, out, _ = cli("run", "equivariance", "--dry-run")
    assert code == 0
    assert "count trials only, and not symmetry gaps (equivariance)" in out
    assert "count trials only" not in cli("run", "signal-first", "--dry-run", *TINY)[1]


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


def test_another_seed_is_another_run(cli, finished):
    _, out, _ = cli(
        "run", "signal-first", "--dry-run", "--json", "--seed", "1", "--out", str(finished), *TINY
    )
    assert json.loads(out)["signal-first"]["trials"] == 6


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


COMMAND = [
    *("run", "signal-first", "--scale", "quick", "--set", "seeds=4", "--set", "steps=4"),
    *("--set", "tune.moves=0", "--out", "out", "--workers", "2"),
]


TRIALS = 12


linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks for processes in /proc"
)


def parts(folder):
    return [file for file in (folder / "out" / "ledger").glob("part-*") if file.is_file()]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The folder of a run that nothing disturbed; it fills the cache of compiled programs, too."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    driver = Driver(COMMAND, folder)
    code, _, err = driver.finish(300)
    assert code == 0, err
    assert f"{TRIALS} trials run" in err
    driver.assert_alone()
    return folder


@linux_only
@pytest.mark.slow
def test_kill_9_at_any_moment_and_the_same_command_give_the_same_claims(uninterrupted, tmp_path):
    moments = random.Random(0)
    # Once before anything is finished and once after the first part, each with some time more.
    for needed in (0, 1):
        driver = Driver(COMMAND, tmp_path)
        reached = driver.wait_for(
            lambda needed=needed: (
                (tmp_path / "out" / "ledger").is_dir() and len(parts(tmp_path)) >= needed
            )
        )
        time.sleep(moments.uniform(0, 0.3))
        assert reached
        driver.process.kill()
        assert driver.finish()[0] in (-signal.SIGKILL, 0)  # 0 if it was faster than the moment
        driver.assert_alone()
        kept = Ledger(tmp_path / "out").done()
        assert len(kept) >= needed
    driver = Driver(COMMAND, tmp_path)
    code, _, err = driver.finish()
    assert code == 0, err
    # What was finished before was not computed again.
    assert f"{TRIALS - len(kept)} trials run" in err
    assert (tmp_path / "out" / "claims.json").read_bytes() == (
        uninterrupted / "out" / "claims.json"
    ).read_bytes()
    driver.assert_alone()


@linux_only
def test_ctrl_c_ends_with_one_sentence_and_keeps_what_is_done(uninterrupted, tmp_path):
    # On a busy machine a run may end before the signal comes: then it is tried again, with the
    # signal earlier.
    for attempt in range(5):
        # A folder with one part: there is something to keep, and something left to do.
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        shutil.copytree(uninterrupted / "out", tmp_path / "out")
        for file in parts(tmp_path)[1:]:
            file.unlink()
        (tmp_path / "out" / "claims.json").unlink()
        before = Ledger(tmp_path / "out").done()
        driver = Driver(COMMAND, tmp_path)
        started = driver.wait_for(
            lambda driver=driver, attempt=attempt: (
                len(driver.workers()) >= (2 if attempt < 2 else 1)
            )
        )
        driver.process.send_signal(signal.SIGINT)
        code, out, err = driver.finish()
        driver.assert_alone()
        if started and code == 1:
            break
    assert (code, out) == (1, "")
    assert err.startswith("separatrix: interrupted: ")
    assert err.count("\n") == 1
    assert Ledger.open(tmp_path / "out").done() >= before
    assert not (tmp_path / "out" / "claims.json").exists()
    assert sx.engine.read_manifest(tmp_path / "out")[0]["complete"] is False


def test_bad_input_about_claims_gets_one_sentence(cli, tmp_path):
    one_sentence(cli("explain", "malach.lema6.exact"), "did you mean `malach.lemma6.exact`")
    one_sentence(cli("list", "--paper", "malack"), "did you mean `malach`")
    one_sentence(cli("verify", "--seeds", "1,1"), "different integers such as 101,102")
    one_sentence(cli("verify", "--seeds", "no-such-file"), "different integers such as 101,102")
    one_sentence(cli("verify", "--from", "nowhere"), "nowhere keeps no rows of trials")


@pytest.mark.parametrize("text", ["{}", "[3]", '[{"id": "x"}]', "not JSON"])
def test_a_foreign_claims_file_gets_one_sentence(cli, tmp_path, text):
    (tmp_path / "foreign" / "ledger").mkdir(parents=True)
    (tmp_path / "foreign" / "manifest.json").write_text('{"runs": []}')
    (tmp_path / "foreign" / "claims.json").write_text(text)
    one_sentence(cli("report", "foreign"), "claims.json")
    one_sentence(cli("compare", "foreign", "foreign"), "claims.json")
    one_sentence(cli("verify", "--from", "foreign"), "foreign")
    one_sentence(cli("explain", "malach.lemma6.exact", "--out", "foreign"), "claims.json")
