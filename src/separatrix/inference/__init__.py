"""From outcomes to conclusions: thresholds with intervals, where to place trials, exponents, and
which law holds.
"""

from separatrix.inference.censored_regression import Cell, cell_of
from separatrix.inference.exponents import PowerLaw, fit_exponents
from separatrix.inference.intervals import (
    Interval,
    difference,
    mean_interval,
    median_interval,
    ratio,
    wilson,
)
from separatrix.inference.laws import (
    CANNOT_TELL,
    NONE_FITS,
    Law,
    LawScore,
    Ranking,
    rank_laws,
    standard_laws,
)
from separatrix.inference.placement import (
    CellProposal,
    Proposal,
    SearchPlan,
    propose,
    propose_batch,
    stop_reason,
)
from separatrix.inference.psychometric import Tally, merge, success_probability, tally
from separatrix.inference.thresholds import (
    Threshold,
    binarize,
    estimate_threshold,
    threshold_from_metric,
    threshold_ratio,
)

__all__ = [
    "CANNOT_TELL",
    "NONE_FITS",
    "Cell",
    "CellProposal",
    "Interval",
    "Law",
    "LawScore",
    "PowerLaw",
    "Proposal",
    "Ranking",
    "SearchPlan",
    "Tally",
    "Threshold",
    "binarize",
    "cell_of",
    "difference",
    "estimate_threshold",
    "fit_exponents",
    "mean_interval",
    "median_interval",
    "merge",
    "propose",
    "propose_batch",
    "rank_laws",
    "ratio",
    "standard_laws",
    "stop_reason",
    "success_probability",
    "tally",
    "threshold_from_metric",
    "threshold_ratio",
    "wilson",
]
