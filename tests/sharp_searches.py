"""Searches with a known result, for tests of verdicts and figures."""

import pandas as pd

from separatrix.inference import Tally, estimate_threshold
from separatrix.studies.search import SearchResult


def sharp_search(size: float, censored: str = "") -> SearchResult:
    """A sharp threshold: every trial below `size` fails and every trial above succeeds.

    `censored` is "left" where every size that was tried is above the threshold, "right" where every
    size is below.
    """
    below, above = Tally(0.8 * size, 0, 40), Tally(1.25 * size, 40, 40)
    tallies = {"": [below, above], "left": [above], "right": [below]}[censored]
    return SearchResult(estimate_threshold(tallies), pd.DataFrame())
