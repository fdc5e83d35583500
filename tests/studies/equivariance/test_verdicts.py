"""The claims of the audit follow its gaps."""

from separatrix.studies.equivariance import verdicts as c
from separatrix.studies.equivariance.figures import gap_figure, gap_table
from separatrix.studies.equivariance.trials import PAIRS
from separatrix.studies.symmetry import ACTS, GROUPS

CONNECTIVITY = {"FCN": "full", "LCN": "local", "CNN": "shared"}


def expected_gaps():
    """Rounding where the group acts on the network and the optimizer respects it, else one half."""

    def equivariant(network, optimizer, group):
        if group not in ACTS[CONNECTIVITY[network]]:
            return False
        return optimizer == "sgd" or group == "permutation"

    return {
        (network, optimizer): {
            group: [1e-7, 2e-7] if equivariant(network, optimizer, group) else [0.5, 0.6]
            for group in GROUPS
        }
        for network, optimizer in PAIRS
    }


def test_the_expected_gaps_support_every_claim_and_one_broken_symmetry_refutes_its_own():
    gaps = expected_gaps()
    assert {finding.verdict for finding in c.judge_all(gaps)} == {"supported"}
    gaps["CNN", "sgd"]["shared"] = [0.5, 0.6]
    refuted = [finding.claim for finding in c.judge_all(gaps) if finding.verdict == "refuted"]
    assert refuted == [c.CNN_GD]
    gaps["CNN", "sgd"]["shared"] = [1e-7, 0.6]
    by_claim = {finding.claim: finding.verdict for finding in c.judge_all(gaps)}
    assert by_claim[c.CNN_GD] == "undecided"


def test_every_gap_is_in_the_table_and_the_figure():
    gaps = expected_gaps()
    table = gap_table(gaps)
    assert len(table.rows) == len(PAIRS) * len(GROUPS)
    assert ("FCN", "sgd", "orthogonal", 1.5e-7, 1e-7, 2e-7, "yes") in table.rows
    figure = gap_figure(gaps)
    assert [series.label for series in figure.series][:-1] == list(GROUPS)
    assert figure.series[0].x == tuple(" ".join(pair) for pair in PAIRS)
