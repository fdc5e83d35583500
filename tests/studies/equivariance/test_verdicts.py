"""The claims of the audit follow its gaps."""

import numpy as np
import pytest

from separatrix.studies.equivariance import verdicts as c
from separatrix.studies.equivariance.figures import gap_figure, gap_table
from separatrix.studies.equivariance.trials import PAIRS
from separatrix.studies.symmetry import ACTS, GROUPS

SMALL = 1e-7 * np.array([1.0, 2.0, 1.5, 1.2, 1.8, 1.6])  # six draws, as the quick scale has
LARGE = 0.5 + np.array([0.0, 0.1, 0.05, -0.05, 0.02, 0.08])
CONNECTIVITY = {"FCN": "full", "LCN": "local", "CNN": "shared"}


def expected_gaps():
    """Rounding where the group acts on the network and the optimizer respects it, else one half."""

    def equivariant(network, optimizer, group):
        if group not in ACTS[CONNECTIVITY[network]]:
            return False
        return optimizer == "sgd" or group == "permutation"

    return {
        (network, optimizer): {
            group: list(SMALL if equivariant(network, optimizer, group) else LARGE)
            for group in GROUPS
        }
        for network, optimizer in PAIRS
    }


def verdicts(gaps):
    return {finding.claim: finding.verdict for finding in c.judge_all(gaps)}


def test_the_expected_gaps_support_every_claim():
    assert set(verdicts(expected_gaps()).values()) == {"supported"}


@pytest.mark.parametrize(
    ("pair", "group", "claim"),
    [
        (("FCN", "sgd"), "orthogonal", c.FCN_GD),
        (("LCN", "sgd"), "patchwise", c.LCN_GD),
        (("CNN", "sgd"), "shared", c.CNN_GD),
        (("FCN", "rmsprop"), "permutation", c.FCN_ADAPTIVE),
    ],
)
def test_one_broken_symmetry_refutes_its_own_claim(pair, group, claim):
    gaps = expected_gaps()
    gaps[pair][group][3] = 0.6
    assert [key for key, verdict in verdicts(gaps).items() if verdict == "refuted"] == [claim]


@pytest.mark.parametrize(
    ("pair", "claim"), [(("FCN", "adam"), c.FCN_ADAPTIVE), (("LCN", "sgd"), c.SMALLER)]
)
def test_that_a_symmetry_is_broken_can_be_refuted_and_left_open(pair, claim):
    gaps = expected_gaps()
    gaps[pair]["orthogonal"] = list(SMALL)
    assert verdicts(gaps)[claim] == "refuted"
    gaps[pair]["orthogonal"] = [1e-7, 0.6, 1e-7, 1e-7, 1e-7, 1e-7]
    assert verdicts(gaps)[claim] == "undecided"
    gaps[pair]["orthogonal"] = [0.6]
    expected = "undecided"  # the other networks or optimizers were measured
    assert verdicts(gaps)[claim] == expected


def test_without_draws_nothing_is_measured():
    gaps = {pair: {group: [] for group in GROUPS} for pair in PAIRS}
    assert set(verdicts(gaps).values()) == {"not measured"}


def test_every_gap_is_in_the_table_and_the_figure():
    gaps = expected_gaps()
    table = gap_table(gaps)
    assert len(table.rows) == len(PAIRS) * len(GROUPS)
    row = next(row for row in table.rows if row[:3] == ("FCN", "sgd", "orthogonal"))
    assert row[3:6] == pytest.approx((1.55e-7, 1e-7, 2e-7), rel=1e-12)
    assert row[6] == "yes"
    figure = gap_figure(gaps)
    assert [series.label for series in figure.series][:-1] == list(GROUPS)
    assert figure.series[0].x == tuple(" ".join(pair) for pair in PAIRS)
