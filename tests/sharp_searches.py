"""Searches with a known result, for tests of verdicts and figures."""

import pandas as pd

from separatrix.inference import Tally, estimate_threshold
from separatrix.studies.search import SearchResult


def sharp_search(size: float, censored: str = "", train_risk: float | None = None) -> SearchResult:
    """A sharp threshold: every trial below `size` fails and every trial above succeeds.

    `censored` is "left" where every size that was tried is above the threshold, "right" where every
    size is below; it has more trials, without which nothing bounds it at the level of a claim among
    many. The training risk at the largest size is `train_risk`, where one is given.
    """
    trials = 400 if censored else 40
    below, above = Tally(0.8 * size, 0, trials), Tally(1.25 * size, trials, trials)
    tallies = {"": [below, above], "left": [above], "right": [below]}[censored]
    rows = {} if train_risk is None else {"samples": [size] * 4, "train_risk": [train_risk] * 4}
    return SearchResult(estimate_threshold(tallies), pd.DataFrame(rows))
