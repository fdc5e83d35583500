"""The claims of the study `pattern-width`, and the thresholds and shares behind them."""

import dataclasses
import math

import numpy as np

from separatrix.inference.censored_regression import Cell, cell_of
from separatrix.inference.estimates import Estimate
from separatrix.inference.intervals import Interval, wilson
from separatrix.inference.laws import Design, Law
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Comparison, LowerBound, UpperBound
from separatrix.studies.pattern_width.settings import PatternWidthSettings
from separatrix.studies.pattern_width.trials import Results, WidthCell, boundary, gradients_of
from separatrix.theory.common import log_binomial

_CONDITIONS = "label = parity of k = ⌈log2 n⌉ neighbouring bits, uniform inputs"
_OUTSIDE = (
    "trained networks with Adam on fresh batches of finite size; the theorem speaks of the "
    "gradient at the start, and the corollary of Theorem 4's recipe"
)


def _subsets(design: Design) -> np.ndarray:
    """C(n-1, k-1)/n at k = ⌈log2 n⌉, up to a constant the width that Theorem 12 asks for."""
    n = np.asarray(design["n"], float)
    k = np.ceil(np.log2(n) - 1e-9)
    return np.exp(log_binomial(n - 1, k - 1)) / n


_NORMAL_95 = 1.96  # standard errors on each side of a 95 % interval
_LEAST_ERROR = 0.05  # of a logarithm of a width
SUBSETS = Law("subsets", "C(n-1, k-1)/n", _subsets)
CUBIC = Law("cubic", "n³ ln² n", lambda design: design["n"] ** 3 * np.log(design["n"]) ** 2)

FCN_STUCK = Claim(
    "malach.width.fcn-superpolynomial",
    "Gradient descent on a fully connected network stays at chance on the parity of log2 n bits "
    "unless its width q grows faster than every power of n: for a gradient above a fixed tolerance "
    "Theorem 12 asks for q ≥ c·C(n-1, k-1)/n.",
    "Section 4, after Theorem 12: stuck unless the network has size n^Ω(log n)",
    _CONDITIONS,
    LowerBound("width q* at which half of the seeds leave chance", SUBSETS, ("n",)),
)
CNN_POLYNOMIAL = Claim(
    "malach.width.cnn-polynomial",
    "A convolutional network of polynomial width learns the parity of log2 n neighbouring bits: "
    "q ≤ C·n³ log² n filters suffice.",
    "Corollary 5",
    _CONDITIONS,
    UpperBound("width q* at which half of the seeds leave chance", CUBIC, ("n",)),
)
LCN_POLYNOMIAL = Claim(
    "malach.width.lcn-polynomial",
    "A locally connected network of polynomial width learns the parity of log2 n neighbouring "
    "bits: q ≤ C·n³ log² n filters per window suffice.",
    "Section 3.1 with Corollary 5",
    _CONDITIONS,
    UpperBound("width q* at which half of the seeds leave chance", CUBIC, ("n",)),
)
AHEAD = Claim(
    "ours.width.cnn-ahead",
    "Over the same widths and within the same steps, more convolutional than fully connected "
    "networks leave chance on the parity of log2 n neighbouring bits, at every n.",
    "ours; the paper compares sizes asymptotically",
    _CONDITIONS,
    Comparison("share of runs of all widths that leave chance, CNN minus FCN", "above", 0.0),
)
NOISE = Claim(
    "ours.width.noise",
    "Whatever the precision of the gradient (float32, bfloat16, added noise), more convolutional "
    "than fully connected networks of one width leave chance at the largest n.",
    "ours; Section 4 argues with gradients of finite precision",
    _CONDITIONS,
    Comparison("share of seeds that leave chance, CNN minus FCN", "above", 0.0),
)
CLAIMS = (FCN_STUCK, CNN_POLYNOMIAL, LCN_POLYNOMIAL, AHEAD, NOISE)


@dataclasses.dataclass(frozen=True)
class ShareDifference:
    """The difference of two shares of independent trials, with Newcombe's interval.

    >>> print(ShareDifference((12, 12), (0, 12)).interval(0.95))
    1 [0.6571, 1]
    """

    first: tuple[int, int]
    second: tuple[int, int]

    def interval(self, level: float) -> Interval:
        """Newcombe's interval, from Wilson's intervals of both shares."""
        a, b = wilson(*self.first, level), wilson(*self.second, level)
        middle = a.estimate - b.estimate
        low = middle - math.hypot(a.estimate - a.low, b.high - b.estimate)
        high = middle + math.hypot(a.high - a.estimate, b.estimate - b.low)
        count = self.first[1] + self.second[1]
        return Interval(middle, low, min(high, 1.0), level, "Newcombe", count)


def findings(s: PatternWidthSettings, results: Results) -> tuple[Finding, ...]:
    """The verdict on every claim.

    >>> {finding.verdict for finding in findings(PatternWidthSettings(), {})}
    {'not measured'}
    """
    return (
        *(
            judge(claim, boundary_cells(s, results, network), _OUTSIDE)
            for claim, network in (
                (FCN_STUCK, "FCN"),
                (CNN_POLYNOMIAL, "CNN"),
                (LCN_POLYNOMIAL, "LCN"),
            )
        ),
        judge(AHEAD, _ahead(s, results)),
        judge(NOISE, _noise(s, results)),
    )


def boundary_cells(s: PatternWidthSettings, results: Results, network: str) -> list[Cell]:
    """The thresholds of a network as observations; those above the widths that were tried are
    censored.

    A network has at least one unit, so a threshold below the smallest width q that was tried lies
    between 1 and q: it is an observation in the middle of that range, on the scale of logarithms,
    with an error that makes the range a 95 % interval. Where a single unit suffices, it is 1.
    """
    found = ((n, boundary(s, results, network, n)) for n in s.sizes)
    cells = [cell_of({"n": float(n)}, each) for n, each in found if each is not None]
    return [_within_range(cell) for cell in cells if cell is not None]


def _within_range(cell: Cell) -> Cell:
    if cell.censoring != "left":
        return cell
    half = max(cell.value, 0.0) / 2
    error = max(half / _NORMAL_95, _LEAST_ERROR)
    return dataclasses.replace(cell, value=half, error=error, censoring="none")


def _ahead(s: PatternWidthSettings, results: Results) -> dict[str, Estimate | None]:
    """All widths together: Wilson's interval is too wide, never too narrow, for shares that differ
    between widths.
    """
    out: dict[str, Estimate | None] = {}
    for n in s.sizes:
        shares = []
        for name in ("CNN", "FCN"):
            cells = [results.get(WidthCell(name, n, q)) for q in s.widths]
            measured = [cell for cell in cells if cell is not None]
            left, seeds = sum(c.left for c in measured), sum(c.seeds for c in measured)
            shares.append((left, seeds))
        if all(seeds for _, seeds in shares):
            out[f"n = {n}"] = ShareDifference(*shares)
    return out


def _noise(s: PatternWidthSettings, results: Results) -> dict[str, Estimate | None]:
    out: dict[str, Estimate | None] = {}
    if not s.noisy_sizes:
        return out
    n = s.noisy_sizes[-1]
    for gradient in gradients_of(s):
        shared, full = (
            results.get(WidthCell(name, n, s.noisy_width, gradient)) for name in ("CNN", "FCN")
        )
        if shared is not None and full is not None:
            shares = (shared.left, shared.seeds), (full.left, full.seeds)
            out[f"n = {n}, q = {s.noisy_width}, {gradient}"] = ShareDifference(*shares)
    return out
