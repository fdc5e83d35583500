"""Kept evidence: the package has what evidence/ has, and contradictions are found."""

import importlib.util
import json
from pathlib import Path

from separatrix.report.kept import KeptVerdict, contradict, kept_evidence, with_kept

ROOT = Path(__file__).parents[2]


def packer():
    spec = importlib.util.spec_from_file_location("pack", ROOT / "evidence" / "pack.py")
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    return pack


def test_equally_good_runs_that_contradict_each_other_leave_a_claim_undecided():
    def entry(folder, verdict, scale, day):
        kept = {"folder": folder, "verdict": verdict, "reason": "r"}
        return (True, True, scale, day), folder, kept

    agreed = packer().agreed
    one, other = entry("a", "refuted", 1, "2"), entry("b", "supported", 1, "1")
    for both in ([one, other], [other, one]):
        found = agreed(both)
        assert found["verdict"] == "undecided"
        assert found["reason"] == "kept runs disagree: refuted in a; supported in b"
    # A larger scale decides, and an open verdict contradicts nothing.
    assert agreed([one, entry("c", "supported", 2, "0")])["verdict"] == "supported"
    assert agreed([one, entry("c", "undecided", 1, "0")])["verdict"] == "refuted"


def test_the_package_has_the_verdicts_and_figures_of_evidence():
    pack = packer()
    kept = json.loads(pack.TARGET.read_text(encoding="utf-8"))
    assert kept == pack.pack(ROOT / "evidence"), "run `python evidence/pack.py`"


def test_a_verdict_on_another_sentence_is_not_shown():
    name, kept = next(iter(kept_evidence().verdicts.items()))
    claim = {"id": name, "statement": kept.statement, "verdict": kept.verdict}
    claim |= {"kind": kept.kind, "formula": kept.formula}
    assert with_kept([claim])[0]["kept"]["verdict"] == kept.verdict
    assert not with_kept([claim])[0]["kept"]["contradicts"]
    assert with_kept([claim])[0]["kept"]["current"]
    assert with_kept([claim | {"statement": "Another one."}])[0]["kept"] is None


def test_a_verdict_by_an_earlier_rule_is_shown_and_contradicts_nothing():
    name, kept = next(
        (name, kept)
        for name, kept in kept_evidence().verdicts.items()
        if kept.verdict == "supported"
    )
    claim = {"id": name, "statement": kept.statement, "verdict": "refuted"}
    claim |= {"kind": kept.kind, "formula": kept.formula}
    assert with_kept([claim])[0]["kept"]["contradicts"]
    later = with_kept([claim | {"formula": "another rule"}])[0]["kept"]
    assert (later["current"], later["contradicts"]) == (False, False)


def test_only_decided_verdicts_contradict():
    about = dict.fromkeys(
        (
            "statement",
            "reason",
            "effect",
            "kind",
            "formula",
            "study",
            "folder",
            "command",
            "commit",
            "started",
            "device",
            "scale",
        ),
        "",
    )
    verdicts = ("supported", "refuted", "undecided", "not measured")
    pairs = {
        (here, there)
        for here in verdicts
        for there in verdicts
        if contradict(here, KeptVerdict(verdict=there, **about))
    }
    assert pairs == {("supported", "refuted"), ("refuted", "supported")}
