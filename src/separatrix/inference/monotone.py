"""Does success grow with the resource? Isotonic regression and a test against it."""

from collections.abc import Sequence

import numpy as np
from scipy import special

from separatrix.inference.psychometric import Tally


def isotonic_rates(tallies: Sequence[Tally]) -> np.ndarray:
    """The non-decreasing success rates nearest to the data (pool adjacent violators), one for each
    tally.

    >>> isotonic_rates([Tally(8, 1, 4), Tally(16, 0, 4), Tally(32, 4, 4)]).tolist()
    [0.125, 0.125, 1.0]
    """
    blocks: list[list[float]] = []  # successes, trials, members
    for entry in tallies:
        blocks.append([entry.successes, entry.trials, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last)]
    return np.concatenate(
        [np.full(int(members), hits / trials) for hits, trials, members in blocks]
    )


def monotone_violation(tallies: Sequence[Tally]) -> float:
    """P value of the data under the best non-decreasing curve: small means that success falls
    somewhere.

    The deviance from the isotonic fit is compared with chi-squared on as many degrees as levels
    were pooled away. This is conservative for rates near 0 and 1, where a level can hardly deviate.

    >>> monotone_violation([Tally(8, 0, 9), Tally(16, 9, 9), Tally(32, 0, 9)]) < 0.001
    True
    >>> monotone_violation([Tally(8, 0, 9), Tally(16, 5, 9), Tally(32, 4, 9)]) > 0.1
    True
    """
    rates = isotonic_rates(tallies)
    hits = np.array([entry.successes for entry in tallies], dtype=float)
    trials = np.array([entry.trials for entry in tallies], dtype=float)
    own = hits / trials
    deviance = 2 * np.sum(
        special.xlogy(hits, own)
        + special.xlogy(trials - hits, 1 - own)
        - special.xlogy(hits, rates)
        - special.xlogy(trials - hits, 1 - rates)
    )
    pooled = len(tallies) - np.unique(rates).size
    return float(special.chdtrc(pooled, deviance)) if pooled else 1.0
