"""Explanations of claims: whole for every id, with verdicts where runs have them."""

import json

import pytest

from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.report.explanation import explain
from separatrix.studies.registry import all_claims, find_claim


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "evidence" / "pattern-readout"
    (folder / "figures").mkdir(parents=True)
    (folder / "figures" / "pattern-readout-norms.svg").write_text("<svg/>")
    entry = {
        "id": "malach.lemma6.exact",
        "paper": "malach",
        "statement": "h = f",
        "verdict": "undecided",
        "reason": "nothing ran",
        "conditions_met": None,
        "settle": "a run",
        "scale": "quick",
        "seed": 3,
        "evidence": [{"name": "error", "estimate": 0.5, "low": 0.25, "high": 1.0, "count": 3}],
    }
    (folder / "claims.json").write_text(json.dumps([entry]))
    return folder


def test_every_claim_is_explained():
    for name, (study, claim) in all_claims().items():
        text = str(explain(name, evidence="no-such-folder"))
        assert text.startswith(f"{name}\n")
        assert f"separatrix run {study.name} --scale full" in text
        assert claim.statement.split()[0] in text


def test_verdicts_of_a_run_and_of_kept_evidence(run_folder):
    explanation = explain("malach.lemma6.exact", run_folder, run_folder.parent)
    # Lines are wrapped, and where depends on the length of the folder's name.
    text = " ".join(str(explanation).split())
    assert text.count("undecided: nothing ran") == 2
    old_rule = find_claim("malach.lemma6.exact")[1].kind is not None
    assert [each["present_rule"] for each in explanation.plain()["verdicts"]] == [not old_rule] * 2
    assert ("by an earlier rule" in text) == old_rule
    assert "error: 0.50" in text
    assert "to settle it" in text
    assert "norms.svg" in text
    assert len(explanation.plain()["verdicts"]) == 2


@pytest.mark.parametrize(
    "commands, shown",
    [
        (["separatrix run x --set a=1,2 --out r/y"], "separatrix run x --set a=1,2 --out r/y"),
        (["separatrix run x", "separatrix run x --set a=1"], None),  # one changed nothing
        (["separatrix run x --set a=1; rm -r ."], None),  # nobody's command but a stranger's
    ],
)
def test_a_claim_that_only_changed_settings_measured_names_them(tmp_path, commands, shown):
    for place, command in enumerate(commands):
        folder = tmp_path / str(place)
        folder.mkdir()
        entry = {
            "id": "malach.lemma6.exact",
            "verdict": "supported",
            "reason": "so",
            "scale": "full",
        }
        entry |= {"statement": "h = f", "paper": "malach", "evidence": [], "command": command}
        (folder / "claims.json").write_text(json.dumps([entry]))
    found = explain("malach.lemma6.exact", tmp_path / "0", tmp_path)
    assert found.command == (shown or "separatrix run pattern-readout --scale full")


def test_the_newest_results_folder_that_has_the_claim_counts(run_folder, tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    run_folder.rename(tmp_path / "results" / "mine")
    damaged = tmp_path / "results" / "damaged"
    damaged.mkdir()
    (damaged / "claims.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    assert [each.where for each in explain("malach.lemma6.exact").verdicts] == ["results/mine"]
    assert not explain("malach.lemma6.norm").verdicts


def test_an_unknown_claim_gets_the_nearest_ids():
    with pytest.raises(UnknownNameError, match=r"did you mean `malach\.lemma6\.exact`"):
        find_claim("malach.lemma6.exakt")


def test_a_claim_of_an_earlier_epoch_says_so(tmp_path):
    (tmp_path / "history" / "0").mkdir(parents=True)
    old = {"id": "lahoti.gone", "verdict": "refuted", "study": "signal"}
    (tmp_path / "history" / "0" / "signal.json").write_text(json.dumps([old]))
    with pytest.raises(
        SeparatrixError, match=r"`lahoti\.gone` was a claim of epoch 0, refuted then"
    ):
        explain("lahoti.gone", evidence=tmp_path)
    with pytest.raises(UnknownNameError):
        explain("lahoti.never", evidence=tmp_path)
