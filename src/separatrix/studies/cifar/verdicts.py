"""The verdict of the study `cifar`: is the CNN ahead at every number of parameters?"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.inference.intervals import mean_over_seeds
from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.cifar.trials import Cell, Measured
from separatrix.studies.claims import Claim, Evidence, Finding, all_of, decide_above

CNN_AHEAD = Claim(
    "malach.cifar.cnn-ahead",
    "On CIFAR-10 convolutional networks are ahead of fully connected ones whatever the number of "
    "parameters.",
    "Figure 1, Section 1",
    "CIFAR-10; CNN and FCN of depth 2, 4 and 6 over several widths, 125 epochs, RMSprop",
)


def gaps(found: Mapping[Cell, Measured], depth: int) -> dict[int, np.ndarray]:
    """The CNN's accuracy less the FCN's of the same depth, seed by seed, at each CNN's number of
    parameters.

    The FCN's accuracy there is interpolated between its widths, linearly in the logarithm of the
    number of parameters; CNNs that have fewer or more parameters than every FCN are left out.

    >>> at = lambda n, a: Measured(n, 1, np.array(a), np.array(a), 1.0)
    >>> cells = {Cell("CNN", 2, 1): at(100, [0.9, 0.8]), Cell("FCN", 2, 1): at(10, [0.4, 0.4]), Cell("FCN", 2, 9): at(1000, [0.6, 0.6])}
    >>> {n: gap.round(3).tolist() for n, gap in gaps(cells, 2).items()}
    {100: [0.4, 0.3]}
    """
    full = sorted(
        (each.parameters, each.accuracy)
        for cell, each in found.items()
        if _plain(cell, "FCN", depth)
    )
    out = {}
    for cell, each in sorted(found.items(), key=lambda item: item[1].parameters):
        if (
            not _plain(cell, "CNN", depth)
            or not full
            or not full[0][0] <= each.parameters <= full[-1][0]
        ):
            continue
        seeds = min(len(each.accuracy), *(len(accuracy) for _, accuracy in full))
        counts = np.log([count for count, _ in full])
        beside = [
            np.interp(np.log(each.parameters), counts, [accuracy[seed] for _, accuracy in full])
            for seed in range(seeds)
        ]
        out[each.parameters] = each.accuracy[:seeds] - np.array(beside)
    return out


def widest(found: Mapping[Cell, Measured], depth: int) -> tuple[int, int, np.ndarray] | None:
    """The CNN and the FCN of a depth with the most parameters each: how many, and the CNN's
    accuracy less the FCN's, seed by seed.

    None where one of them is missing, or where the FCN has not more parameters than the CNN.

    >>> at = lambda n, a: Measured(n, 1, np.array(a), np.array(a), 1.0)
    >>> widest({Cell("CNN", 2, 1): at(100, [0.9, 0.8]), Cell("FCN", 2, 9): at(1000, [0.5, 0.5])}, 2)[:2]
    (100, 1000)
    """
    most = [
        max(
            (each for cell, each in found.items() if _plain(cell, name, depth)),
            key=_parameters,
            default=None,
        )
        for name in ("CNN", "FCN")
    ]
    cnn, fcn = most
    if cnn is None or fcn is None or fcn.parameters <= cnn.parameters:
        return None
    seeds = min(len(cnn.accuracy), len(fcn.accuracy))
    return cnn.parameters, fcn.parameters, cnn.accuracy[:seeds] - fcn.accuracy[:seeds]


def _parameters(each: Measured) -> int:
    return each.parameters


def _plain(cell: Cell, network: str, depth: int) -> bool:
    return (cell.network, cell.depth, cell.permuted) == (network, depth, False)


def cnn_ahead(s: CifarSettings, found: Mapping[Cell, Measured], chance: float) -> Finding:
    """Supported when the CNN is ahead at every depth and number of parameters at which both can be
    compared, and of the widest FCN too.

    >>> cnn_ahead(CifarSettings(source="embedded-digits"), {}, 0.1).verdict
    'undecided'
    """
    outside = s.outside()
    evidence: list[Any] = [
        Evidence.of(
            f"CNN's accuracy less the FCN's, depth {depth}, {count} parameters",
            mean_over_seeds(gap),
            0.0,
            constant=chance,
        )
        for depth in s.depths
        for count, gap in gaps(found, depth).items()
    ]
    for depth in s.depths if evidence else ():
        if (ends := widest(found, depth)) is not None:
            words = (
                f"CNN's accuracy with {ends[0]} parameters less the FCN's with {ends[1]}, depth "
                f"{depth}"
            )
            evidence.append(Evidence.of(words, mean_over_seeds(ends[2]), 0.0, constant=chance))
    if not evidence:
        reason = (
            "no CNN was measured whose number of parameters lies between those of two FCNs of "
            "its depth"
        )
        return Finding(CNN_AHEAD, "undecided", reason, not outside, (), outside)
    verdict = all_of(decide_above(each, 0.0) for each in evidence)
    reason = (
        "compared at equal depth and number of parameters, the FCN's accuracy interpolated "
        "between its widths, and the widest of both, to see whether parameters close the gap; "
        "paired by seed"
    )
    return Finding(CNN_AHEAD, verdict, reason, not outside, tuple(evidence), outside)
