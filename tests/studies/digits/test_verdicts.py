"""The verdicts of the study `digits`, from made-up accuracies."""

import numpy as np
import pytest

from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.trials import DigitsAccuracy, DigitsCell, DigitsResults
from separatrix.studies.digits.verdicts import findings


class Inside(DigitsSettings, of="digits"):
    """Settings that claim to be the paper's."""

    def outside(self):
        return ""


S = Inside(source="embedded-digits")


# What the paper reports in words, as accuracies: network -> {n: accuracy}.
CENTRE = {
    "CNN": {3: 0.79, 5: 0.79, 19: 0.76},
    "LCN": {3: 0.79, 5: 0.8, 19: 0.78},
    "FCN": {3: 0.78, 5: 0.74, 19: 0.5},
}


ENDS = {"CNN": {5: 0.5, 19: 0.5}, "LCN": {5: 0.5, 19: 0.5}, "FCN": {5: 0.74, 19: 0.49}}


def results_with(centre=CENTRE, ends=ENDS, spread=0.004, seeds=5, variation=""):
    """Results with these means; seeds lie `spread` about them, alike for all networks."""
    noise = spread * np.linspace(-1, 1, seeds)
    found = {}
    for label, table in (("centre", centre), ("ends", ends)):
        for network, points in table.items():
            for n, mean in points.items():
                found[DigitsCell(label, network, n, variation)] = DigitsAccuracy(
                    mean + noise, np.array([0]), np.zeros((seeds, 1)), 1.0
                )
    return DigitsResults(found, 0.5, variation)


def verdicts(results):
    return {
        finding.claim.id.removeprefix("malach.digits."): finding.verdict
        for finding in findings(S, results)
    }


def changed(table, network, n, value):
    return table | {network: table[network] | {n: value}}


def test_the_papers_figures_support_every_claim():
    assert set(verdicts(results_with()).values()) == {"supported"}


@pytest.mark.parametrize(
    "centre, ends, claim, verdict",
    [
        (changed(CENTRE, "CNN", 19, 0.52), ENDS, "local-networks-hold", "refuted"),
        (changed(CENTRE, "LCN", 5, 0.52), ENDS, "local-networks-hold", "refuted"),
        (
            changed(CENTRE, "CNN", 19, 0.645),
            ENDS,
            "local-networks-hold",
            "undecided",
        ),  # half of .29 is .145
        (
            changed(CENTRE, "CNN", 3, 0.52),
            ENDS,
            "local-networks-hold",
            "refuted",
        ),  # nothing is learned at all
        (changed(CENTRE, "FCN", 19, 0.7), ENDS, "fcn-to-chance-by-19", "refuted"),
        (changed(CENTRE, "FCN", 19, 0.55), ENDS, "fcn-to-chance-by-19", "undecided"),
        (
            changed(changed(CENTRE, "LCN", 5, 0.7), "LCN", 19, 0.7),
            ENDS,
            "lcn-ahead-of-cnn",
            "refuted",
        ),
        (CENTRE, changed(ENDS, "LCN", 5, 0.8), "ends.fcn-wins-small-n", "refuted"),
        (CENTRE, changed(ENDS, "FCN", 19, 0.7), "ends.all-fail-large-n", "refuted"),
    ],
)
def test_each_verdict_follows_its_accuracies(centre, ends, claim, verdict):
    assert verdicts(results_with(centre, ends))[claim] == verdict


def test_noise_leaves_claims_undecided():
    loud = verdicts(results_with(spread=0.4))
    assert set(loud.values()) <= {"undecided", "supported"}
    assert (
        loud["local-networks-hold"]
        == loud["fcn-to-chance-by-19"]
        == loud["ends.all-fail-large-n"]
        == "undecided"
    )


def test_short_sequences_do_not_decide_what_the_paper_says_of_long_ones():
    short = {name: {n: a for n, a in points.items() if n < 19} for name, points in CENTRE.items()}
    found = verdicts(results_with(short, {name: {5: points[5]} for name, points in ENDS.items()}))
    assert found["fcn-to-chance-by-19"] == "undecided"
    assert found["ends.all-fail-large-n"] == "not measured"
    assert found["ends.fcn-wins-small-n"] == "supported"


def test_missing_cells_are_left_out():
    results = results_with()
    fewer = {
        cell: each
        for cell, each in results.cells.items()
        if not (cell.network == "LCN" and cell.digits == 19)
    }
    found = verdicts(DigitsResults(fewer, 0.5))
    assert found["fcn-to-chance-by-19"] == "undecided"  # n = 19 is not complete
    assert found["ends.fcn-wins-small-n"] == "supported"
