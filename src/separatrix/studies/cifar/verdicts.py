"""The claims of the study `cifar` on Figure 1, and the accuracies that are their evidence."""

from collections.abc import Mapping

import numpy as np

from separatrix.inference.estimates import Estimate, MeanOf
from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.cifar.trials import CifarAccuracy, CifarCell
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Comparison

_CONDITIONS = "CIFAR-10; CNN and FCN of depth 2, 4 and 6 over several widths, 125 epochs, RMSprop"
CNN_AHEAD = Claim(
    "malach.cifar.cnn-ahead",
    "On CIFAR-10 convolutional networks are ahead of fully connected ones of the same depth and "
    "the same number of parameters.",
    "Figure 1, Section 1",
    _CONDITIONS,
    Comparison("accuracy, CNN minus FCN with as many parameters", "above", 0.0),
)
PARAMETERS = Claim(
    "malach.cifar.parameters-do-not-explain",
    "On CIFAR-10 the number of parameters does not explain the advantage of convolutional "
    "networks: the widest fully connected network of a depth, with more parameters than the "
    "widest convolutional one, is still behind it.",
    "Figure 1, Section 1",
    _CONDITIONS,
    Comparison("accuracy, widest CNN minus widest FCN, which has more parameters", "above", 0.0),
)
CLAIMS = (CNN_AHEAD, PARAMETERS)


def gaps(accuracies: Mapping[CifarCell, CifarAccuracy], depth: int) -> dict[int, np.ndarray]:
    """The CNN's accuracy less the FCN's of the same depth, seed by seed, at each CNN's number of
    parameters.

    The FCN's accuracy there is interpolated between its widths, linearly in the logarithm of the
    number of parameters. CNNs with fewer or more parameters than every FCN are left out.

    >>> def at(parameters, *accuracy):
    ...     return CifarAccuracy(parameters, 1, np.array(accuracy), np.array(accuracy), 1.0)
    >>> accuracies = {
    ...     CifarCell("CNN", 2, 1): at(100, 0.9, 0.8),
    ...     CifarCell("FCN", 2, 1): at(10, 0.4, 0.4),
    ...     CifarCell("FCN", 2, 9): at(1000, 0.6, 0.6),
    ... }
    >>> {parameters: gap.round(3).tolist() for parameters, gap in gaps(accuracies, 2).items()}
    {100: [0.4, 0.3]}
    """
    full = sorted(_plain(accuracies, "FCN", depth), key=_parameters)
    gap_at: dict[int, np.ndarray] = {}
    for cnn in sorted(_plain(accuracies, "CNN", depth), key=_parameters):
        if not full or not full[0].parameters <= cnn.parameters <= full[-1].parameters:
            continue
        seeds = min(len(cnn.accuracy), *(len(fcn.accuracy) for fcn in full))
        counts = np.log([fcn.parameters for fcn in full])
        interpolated = [
            np.interp(np.log(cnn.parameters), counts, [fcn.accuracy[seed] for fcn in full])
            for seed in range(seeds)
        ]
        gap_at[cnn.parameters] = cnn.accuracy[:seeds] - np.array(interpolated)
    return gap_at


def widest(
    accuracies: Mapping[CifarCell, CifarAccuracy], depth: int
) -> tuple[int, int, np.ndarray] | None:
    """The CNN and the FCN of a depth with the most parameters each: how many, and the CNN's
    accuracy less the FCN's, seed by seed.

    None where one of them is missing, or where the FCN does not have more parameters than the CNN.

    >>> def at(parameters, *accuracy):
    ...     return CifarAccuracy(parameters, 1, np.array(accuracy), np.array(accuracy), 1.0)
    >>> cnn, fcn = CifarCell("CNN", 2, 1), CifarCell("FCN", 2, 9)
    >>> widest({cnn: at(100, 0.9, 0.8), fcn: at(1000, 0.5, 0.5)}, 2)[:2]
    (100, 1000)
    """
    cnn, fcn = (
        max(_plain(accuracies, name, depth), key=_parameters, default=None)
        for name in ("CNN", "FCN")
    )
    if cnn is None or fcn is None or fcn.parameters <= cnn.parameters:
        return None
    seeds = min(len(cnn.accuracy), len(fcn.accuracy))
    return cnn.parameters, fcn.parameters, cnn.accuracy[:seeds] - fcn.accuracy[:seeds]


def _parameters(accuracy: CifarAccuracy) -> int:
    return accuracy.parameters


def _plain(
    accuracies: Mapping[CifarCell, CifarAccuracy], network: str, depth: int
) -> list[CifarAccuracy]:
    """The networks of a kind and depth on images whose pixels are in order."""
    return [
        accuracy
        for cell, accuracy in accuracies.items()
        if (cell.network, cell.depth, cell.permuted) == (network, depth, False)
    ]


def findings(
    s: CifarSettings, accuracies: Mapping[CifarCell, CifarAccuracy], chance: float
) -> tuple[Finding, ...]:
    """The verdict on both claims.

    >>> both = findings(CifarSettings(source="embedded-digits"), {}, 0.1)
    >>> [finding.verdict for finding in both]
    ['not measured', 'not measured']
    """
    outside = s.outside()
    leads: dict[str, Estimate | None] = {
        f"depth {depth}, {count} parameters": MeanOf(tuple(gap))
        for depth in s.depths
        for count, gap in gaps(accuracies, depth).items()
    }
    ends: dict[str, Estimate | None] = {}
    for depth in s.depths:
        if (pair := widest(accuracies, depth)) is not None:
            name = f"depth {depth}, {pair[0]} against {pair[1]} parameters"
            ends[name] = MeanOf(tuple(pair[2]))
    matched = (
        "the FCN's accuracy is interpolated between its widths; paired by seed; the best constant "
        f"answer has {chance:.3g}"
        if leads
        else "no CNN was measured whose number of parameters lies between those of two FCNs of its "
        "depth"
    )
    wide = "paired by seed" if ends else "no FCN was measured with more parameters than every CNN"
    return (
        judge(CNN_AHEAD, leads, outside, matched),
        judge(PARAMETERS, ends, outside, wide),
    )
