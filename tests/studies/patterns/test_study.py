"""Tiny runs of the study `patterns`."""

import json

import pytest

from separatrix.engine import Lab
from separatrix.studies.patterns import Patterns, PatternsSettings

TINY = PatternsSettings().replace(
    certificate={"bits": (4,), "windows": (2,), "filters": (8192,), "steps": (60,), "seeds": 2},
    gradient={"sizes": (8, 16, 128, 256), "draws": 2},
    learning={
        "sizes": (8,),
        "full_steps": (6,),
        "window_steps": (6,),
        "seeds": 2,
        "tuning_seeds": 1,
        "filters": 4,
        "batch": 8,
        "test": 64,
        "times": 3,
        "adam_rates": (0.03,),
        "variants": ("hidden",),
        "variant_sizes": (8,),
    },
)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("patterns"), workers=0)
    return Patterns().conclude(lab, TINY)


def test_every_claim_is_found_once(outcome):
    assert [finding.claim for finding in outcome.findings] == list(Patterns.claims)
    verdicts = {finding.claim.id: finding.verdict for finding in outcome.findings}
    assert (
        verdicts["malach.lemma8.readout"] == verdicts["malach.theorem12.first-layer"] == "supported"
    )
    # 60 steps leave the bound above 1
    assert verdicts["malach.theorem4.holds"] == "not measured"
    assert verdicts["malach.separation.steps-grow"] == "not measured"  # there is one size
    assert all(finding.reason for finding in outcome.findings)


def test_the_outcome_is_plain_and_drawable(outcome):
    plain = outcome.plain()
    json.dumps(plain, allow_nan=False)
    names = [figure["name"] for figure in plain["figures"]]
    assert len(set(names)) == len(names)
    assert {"gradient-tanh-gaussian", "steps-adam", "certificate-moved"} <= set(names)
    for figure in plain["figures"]:
        for series in figure["series"]:
            assert len(series["x"]) == len(series["y"]), (figure["name"], series["label"])
    for table in plain["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["name"]
    codes = {note["code"] for note in plain["notes"]}
    assert {"recipe", "crossing", "tuning", "expressivity"} <= codes


def test_a_spent_budget_leaves_learning_undecided_and_says_so(tmp_path):
    found = Patterns().conclude(Lab(tmp_path, workers=0, budget=1e-9), TINY)
    verdicts = {finding.claim.id: finding for finding in found.findings}
    assert verdicts["malach.permutation.cnn-loses"].verdict == "not measured"
    assert "variant `hidden`" in verdicts["malach.permutation.cnn-loses"].reason
    assert verdicts["ours.theorem12-identity"].verdict == "supported"
    assert verdicts["ours.permutation.fcn-indifferent"].verdict == "supported"
    assert verdicts["malach.fcn-expresses-cnn"].verdict == "supported"
