"""Pooling over seeds, verdicts from kept rows, epochs."""

import json
import shutil

import pytest

from separatrix.data import assume_available, available
from separatrix.engine import Lab
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.report import write_evidence
from separatrix.report.kept_files import files_of, rebuild
from separatrix.studies import find_study
from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.kept_rows import kept_runs, recompute
from separatrix.studies.replication import pool_claims, pool_studies, read_seeds, run_seeds
from separatrix.studies.runner import jobs, run_jobs

SMALL = ["seeds=3", "steps=20", "samples=40", "tune.moves=0"]


def entry(verdict, estimate=1.0, **more):
    number = {
        "name": "ratio",
        "estimate": estimate,
        "low": estimate - 0.3,
        "high": estimate + 0.4,
        "count": 5,
        "method": "Student's t",
    }
    return {
        "id": "lahoti.order",
        "verdict": verdict,
        "reason": f"it is {verdict}",
        "conditions_met": True,
        "outside": "",
        "settle": "" if verdict == "supported" else "more trials",
        "evidence": [number],
        **more,
    }


@pytest.mark.parametrize(
    ("verdicts", "pooled", "words"),
    [
        (["supported"] * 3, "supported", "all 3 seeds"),
        (["supported", "supported", "undecided"], "undecided", "2 of 3 seeds"),
        (["supported", "refuted", "supported"], "undecided", "2 of 3 seeds"),
        (["refuted"] * 3, "refuted", "all 3 seeds"),
        (["not measured"] * 3, "not measured", "all 3 seeds"),
    ],
)
def test_verdicts_are_unanimous_or_undecided(verdicts, pooled, words):
    claim = pool_claims({100 + i: [entry(verdict)] for i, verdict in enumerate(verdicts)})[0]
    assert claim["verdict"] == pooled
    assert words in claim["reason"]
    assert claim["seeds"] == {str(100 + i): verdict for i, verdict in enumerate(verdicts)}
    if pooled == "undecided":
        assert claim["settle"]


def test_effects_are_pooled_with_their_spread():
    claims = {seed: [entry("supported", estimate)] for seed, estimate in ((1, 1.0), (2, 1.4))}
    number = pool_claims(claims)[0]["evidence"][0]
    assert number["estimate"] == pytest.approx(1.2)
    assert number["low"] == pytest.approx(1.2 - 0.3 / 2**0.5)
    assert number["high"] == pytest.approx(1.2 + 0.4 / 2**0.5)
    assert number["spread"] == [1.0, 1.4]
    assert number["count"] == 10


def test_open_ends_stay_open():
    censored = entry("supported")
    censored["evidence"][0] |= {"estimate": None, "high": None}
    number = pool_claims({1: [censored], 2: [entry("supported")]})[0]["evidence"][0]
    assert number["estimate"] is None
    assert number["low"] == pytest.approx(0.7)
    assert number["high"] is None


def test_conditions_hold_when_they_hold_in_every_seed():
    outside = entry("supported", conditions_met=False, outside="σ is too large")
    claim = pool_claims({1: [entry("supported")], 2: [outside]})[0]
    assert claim["conditions_met"] is False
    assert claim["outside"] == "σ is too large"


def test_a_study_that_some_seeds_did_not_run_says_so():
    both, one = entry("supported", study="signal"), entry("refuted", study="cifar", id="ours.x")
    pooled = {c["id"]: c for c in pool_studies({1: [both, one], 2: [both], 3: [both]})}
    assert pooled["lahoti.order"]["seeds"] == dict.fromkeys("123", "supported")
    assert pooled["ours.x"]["seeds"] == {"1": "refuted", "2": "not run", "3": "not run"}
    assert pooled["ours.x"]["verdict"] == "refuted"
    assert pooled["ours.x"]["reason"].startswith("1 of 3 seeds were run; ")
    two = pool_studies({1: [one], 2: [one | {"verdict": "supported"}], 3: []})[0]
    assert two["verdict"] == "undecided"
    assert two["seeds"]["3"] == "not run"


def test_figures_of_a_pooled_run_say_which_seed_they_show(replicated):
    folder, _ = replicated
    outcome = json.loads((folder / "outcomes" / "signal-first.json").read_text())
    assert all(f["caption"].endswith("Shown is seed 7.") for f in outcome["figures"])
    assert all(table["title"].endswith("(seed 7)") for table in outcome["tables"])


def test_runs_with_different_claims_are_refused():
    with pytest.raises(SeparatrixError, match="have different claims, such as `lahoti"):
        pool_claims({1: [entry("supported")], 2: [entry("supported", id="lahoti.x")]})


@pytest.mark.parametrize("text", ["", "1,1", "one", "-3"])
def test_seeds_that_are_none(text):
    with pytest.raises(ParameterError, match="different integers such as 101,102"):
        read_seeds(text)


@pytest.fixture(scope="module")
def replicated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replicated")

    def run_one(place, seed):
        settings = {"scale": "quick", "seed": seed, "changes": SMALL}
        with Lab(place, workers=0, settings=settings) as lab:
            run = jobs(["signal-first"], "quick", seed, SMALL)
            return run_jobs(run, lab, "quick", seed, "a test")

    return folder, run_seeds((7, 8), folder, run_one)


def test_seeds_run_apart_and_are_pooled(replicated):
    folder, claims = replicated
    assert {claim["study"] for claim in claims} == {"signal-first"}
    assert all(set(claim["seeds"]) == {"7", "8"} for claim in claims)
    assert json.loads((folder / "claims.json").read_text()) == claims
    assert (folder / "outcomes" / "signal-first.json").exists()
    assert [run.name for run in kept_runs(folder)] == ["seed-7", "seed-8"]


def test_verdicts_are_recomputed_from_kept_rows_without_training(replicated):
    folder, claims = replicated
    again = recompute(folder)
    assert not again.missing
    assert not again.changed
    assert [claim["verdict"] for claim in again.claims] == [claim["verdict"] for claim in claims]
    assert [claim["evidence"] for claim in again.claims] == [claim["evidence"] for claim in claims]


def test_evidence_keeps_small_rows_and_says_where_they_are_too_many(
    replicated, tmp_path, monkeypatch
):
    folder, claims = replicated
    (tmp_path / "kept" / "seed-7" / "ledger").mkdir(parents=True)
    (tmp_path / "kept" / "seed-7" / "ledger" / "part-of-an-earlier-run.parquet").write_text("old")
    page = write_evidence(folder, tmp_path / "kept").read_text()
    assert "recomputes the verdicts from" in page
    again = recompute(tmp_path / "kept")
    assert not again.missing
    assert [claim["verdict"] for claim in again.claims] == [claim["verdict"] for claim in claims]
    manifest = json.loads((tmp_path / "kept" / "manifest.json").read_text())
    assert [run["settings"]["seed"] for run in manifest["runs"]] == [7, 8]
    monkeypatch.setattr("separatrix.report.write.MOST_ROWS", 10)
    page = write_evidence(folder, tmp_path / "less").read_text()
    assert "rows of trials are not kept" in page
    with pytest.raises(SeparatrixError, match="keeps no rows of trials"):
        recompute(tmp_path / "less")


def test_rows_that_are_missing_are_named(replicated, tmp_path):
    folder, _ = replicated
    shutil.copytree(folder / "seed-7", tmp_path / "kept")
    for part in (tmp_path / "kept" / "ledger").glob("*.parquet"):
        part.unlink()
    again = recompute(tmp_path / "kept")
    assert "rows of `" in again.missing["signal-first, seed 7"]
    assert {claim["verdict"] for claim in again.claims} == {"not measured"}
    with pytest.raises(SeparatrixError, match="keeps no rows of trials"):
        recompute(tmp_path / "nothing")


def test_seeds_are_read_from_a_file(tmp_path):
    (tmp_path / "seeds").write_text("# why these\n101, 102\n103\n")
    assert read_seeds(str(tmp_path / "seeds")) == (101, 102, 103)


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '[{"id": "lahoti.order"}]', "not JSON"])
def test_a_foreign_claims_file_is_refused_in_one_sentence(replicated, tmp_path, text):
    shutil.copytree(replicated[0] / "seed-7", tmp_path / "kept")
    (tmp_path / "kept" / "claims.json").write_text(text)
    with pytest.raises(SeparatrixError) as error:
        recompute(tmp_path / "kept")
    assert "claims.json" in str(error.value)
    assert "\n" not in str(error.value)


def test_kept_tables_and_figures_come_out_the_same_byte_for_byte(replicated, tmp_path):
    folder, _ = replicated
    kept = tmp_path / "evidence" / "epoch"
    write_evidence(folder, kept)
    rebuilt = rebuild(tmp_path / "evidence")
    assert rebuilt.different == ()
    assert rebuilt.same == len(files_of(kept)) > 4
    some = rebuild(tmp_path / "evidence", ["signal-first"])
    assert (some.same, some.different) == (rebuilt.same - 1, ())  # not the list of all headlines
    with pytest.raises(SeparatrixError, match=r"keeps no rows of stability or signal$"):
        rebuild(tmp_path / "evidence", ["stability", "signal"])
    table = kept / "tables" / "signal-first-networks.csv"
    table.write_text(table.read_text().replace("CNN", "RNN"))
    (kept / "figures" / "signal-first-risk.svg").unlink()
    names = ("figures/signal-first-risk.svg", "tables/signal-first-networks.csv")
    assert rebuild(tmp_path / "evidence").different == tuple(f"epoch/{name}" for name in names)


def test_rows_of_data_that_are_not_here_suffice():
    """Verdicts on rows of CIFAR-10 need its name and its size, not its images."""
    s = CifarSettings(cnn_widths=(2,), fcn_widths=(4,), depths=(2,), seeds=2)
    with assume_available(["cifar10", "embedded-digits"]):
        trials = [one for sweep in find_study("cifar").sweeps(s).values() for one in sweep]
        assert {one.task.source.partition("@")[0] for one in trials} == {"cifar10"}
        assert s.steps() == min(500, 24 * 50_000 // 64)
    assert "cifar10" not in available()


def test_a_folder_that_separatrix_did_not_make_is_named(replicated, tmp_path):
    folder, _ = replicated
    shutil.copytree(folder / "seed-7", tmp_path / "kept")
    (tmp_path / "kept" / "separatrix.json").unlink()
    with pytest.raises(SeparatrixError, match=r"kept was not made by separatrix"):
        recompute(tmp_path / "kept")
