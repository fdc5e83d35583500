"""The verdict of the study `cifar`, from made-up accuracies."""

import numpy as np
import pytest

from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.cifar.trials import CifarAccuracy, CifarCell
from separatrix.studies.cifar.verdicts import findings, gaps, widest

S = CifarSettings(source="embedded-digits", depths=(2,))


class Inside(CifarSettings, of="cifar"):
    """Settings that claim to be the paper's."""

    def outside(self):
        return ""


INSIDE = Inside(source="embedded-digits", depths=(2,))


def accuracies_with(cnn, fcn, spread=0.005, seeds=4):
    """Cells with these mean accuracies by number of parameters."""
    noise = spread * np.linspace(-1, 1, seeds)
    out = {}
    for name, points in (("CNN", cnn), ("FCN", fcn)):
        for width, (count, mean) in enumerate(points.items(), 1):
            out[CifarCell(name, 2, width)] = CifarAccuracy(
                count, 1, mean + noise * (1 if name == "CNN" else -1), mean + noise, 1.0
            )
    return out


@pytest.mark.parametrize(
    "cnn, verdict",
    [
        ({100: 0.6, 1000: 0.7, 10000: 0.8}, "supported"),
        ({100: 0.6, 1000: 0.4, 10000: 0.8}, "refuted"),
        ({100: 0.6, 1000: 0.501, 10000: 0.8}, "undecided"),
        ({10: 0.9, 100_000: 0.9}, "not measured"),  # nowhere comparable
    ],
)
def test_the_cnn_must_be_ahead_everywhere(cnn, verdict):
    accuracies = accuracies_with(cnn, {100: 0.4, 10000: 0.6})
    assert findings(INSIDE, accuracies, 0.1)[0].verdict == verdict
    # Other images than CIFAR-10 refute nothing that the paper says.
    other = findings(S, accuracies, 0.1)[0].verdict
    assert other == ("undecided" if verdict == "refuted" else verdict)


@pytest.mark.parametrize(
    "most, verdict", [(0.6, "supported"), (0.8, "refuted"), (0.7, "undecided")]
)
def test_the_cnn_must_be_ahead_of_the_fcn_with_the_most_parameters_too(most, verdict):
    # At 1000 parameters, between 100 and 10000, the CNN is ahead of the FCN in all three.
    accuracies = accuracies_with({100: 0.6, 1000: 0.7}, {100: 0.2, 10000: 0.3, 1000000: most})
    result = findings(INSIDE, accuracies, 0.1)[1]
    assert result.verdict == verdict
    assert "1000 against 1000000 parameters" in result.evidence[-1].name
    # A control on permuted pixels is not the widest, and an FCN with fewer parameters says nothing
    # of more.
    control = {CifarCell("FCN", 2, 9, True): CifarAccuracy(10**7, 1, np.ones(4), np.ones(4), 1.0)}
    assert widest(accuracies | control, 2)[:2] == (1000, 10**6)
    assert widest(accuracies_with({1000: 0.7}, {100: 0.4}), 2) is None


def test_gaps_interpolate_in_the_logarithm_of_parameters():
    gap_at = gaps(accuracies_with({1000: 0.7}, {100: 0.4, 10000: 0.6}, spread=0.0), 2)
    np.testing.assert_allclose(gap_at[1000], 0.2)
    assert gaps(accuracies_with({1000: 0.7}, {}), 2) == {}
    # Controls on permuted pixels are no part of the comparison.
    control = {CifarCell("CNN", 2, 9, True): CifarAccuracy(1000, 1, np.zeros(4), np.zeros(4), 1.0)}
    assert list(gaps(accuracies_with({500: 0.7}, {100: 0.4, 10000: 0.6}) | control, 2)) == [500]
