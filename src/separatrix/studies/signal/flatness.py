"""Does more data still help where a threshold lies? If not, the threshold measures training and not
samples.
"""

import math

import numpy as np
import pandas as pd
from scipy import special

from separatrix.inference import Interval

SHARE = 0.2  # of the margin: a curve that falls by less with each doubling of the samples is flat
LEAST = 8  # trials below which nothing is said


def fall(rows: pd.DataFrame, level: float = 0.95) -> Interval | None:
    """By how much the risk falls with each doubling of the samples at the larger half (in
    logarithms) of the sizes tried.

    None where fewer than two sizes or too few trials lie there.

    >>> rows = pd.DataFrame({"samples": [2, 64, 128] * 8, "risk": [0.5, 0.2, 0.1] * 8})
    >>> round(fall(rows).estimate, 6)
    0.1
    """
    if rows.empty:
        return None
    doublings = np.log2(rows["samples"].to_numpy(float))
    late = doublings >= (doublings.min() + doublings.max()) / 2
    if late.sum() < LEAST or len(set(doublings[late])) < 2:
        return None
    x, y = doublings[late] - doublings[late].mean(), rows["risk"].to_numpy(float)[late]
    spread = float(x @ x)
    slope = -float(x @ y) / spread
    left = y - y.mean() + slope * x
    half = float(special.stdtrit(len(x) - 2, (1 + level) / 2)) * math.sqrt(
        float(left @ left) / (len(x) - 2) / spread
    )
    return Interval(slope, slope - half, slope + half, level, "least squares", len(x))


def is_flat(rows: pd.DataFrame, target: float, margin: float) -> bool:
    """Whether the risk has not got well below the target and is known to fall by less than a fifth
    of the margin with each doubling.

    >>> flat = pd.DataFrame({"samples": [2, 64, 128] * 8, "risk": [0.5, 0.11, 0.11] * 8})
    >>> is_flat(flat, target=0.1, margin=0.05), is_flat(flat, target=0.4, margin=0.05)
    (True, False)
    """
    change = fall(rows)
    if change is None or not math.isfinite(change.high):
        return False
    last = float(
        np.mean(rows["risk"].to_numpy(float)[rows["samples"].to_numpy() == rows["samples"].max()])
    )
    return bool(change.high < SHARE * margin and -margin / 4 < last - target < margin)
