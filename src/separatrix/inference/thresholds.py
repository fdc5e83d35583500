"""Thresholds: the smallest resource at which a trial succeeds with a given probability, with
interval and censoring.

The interval is a likelihood-ratio interval of the threshold, with all other parameters integrated
out (see `psychometric`) and Student's quantile for the few informative trials. Simulations show
that it is calibrated (`separatrix calibrate`), and the likelihood does not depend on how trials
were placed, so that adaptive placement does not bias it. A side on which the likelihood never falls
is censored: the grid ended before the threshold, and no number is made up for it.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import special
from scipy.optimize import isotonic_regression

from separatrix.errors import check_choice, check_number
from separatrix.inference.intervals import Interval
from separatrix.inference.psychometric import Surface, Tally, likelihood_surface, merge, tally
from separatrix.notes import Note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Censoring = Literal["none", "left", "right", "both"]

# Log likelihood relative to the peak at which a censored side's soft edge has its half and its
# one-sigma point.
_HALF, _SIGMA = float(np.log(0.5)), float(special.log_ndtr(-1.0))
_FEW_TRIALS = 8
_FAR = math.log(4)
_HIGH_LAPSE = 0.12


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A threshold with its interval, its censoring, and the evidence.

    `estimate` is nan if the threshold is censored: `left` means that it is at most `high` (`low` is
    0), `right` that it is at least `low` (`high` is inf), `both` that nothing is known. `log_error`
    is the standard error of the log threshold. If one side is censored, `log_bound` is where the
    likelihood falls to half on the other side (otherwise nan) and `log_error` is how softly it
    falls; a regression needs both. `scale` and `lapse` describe the fitted curve.
    """

    estimate: float
    low: float
    high: float
    level: float
    probability: float
    censoring: Censoring
    log_error: float
    log_bound: float
    scale: float
    lapse: float
    evidence: tuple[Tally, ...]
    trials: int
    notes: tuple[Note, ...]

    @property
    def log_width(self) -> float:
        """Width of the interval in natural log units; infinite when censored."""
        return math.log(self.high / self.low) if self.censoring == "none" else math.inf

    def __repr__(self) -> str:
        head = f"Threshold {self} ({self.level:.0%} interval, {self.trials} trials)"
        tried = [f"  {t.resource:g}: {t.successes} of {t.trials} succeed" for t in self.evidence]
        if len(tried) > 7:
            tried = [*tried[:3], f"  … {len(tried) - 6} more", *tried[-3:]]
        return "\n".join([head, *tried, *(f"  {note.message}" for note in self.notes[:2])])

    def _repr_html_(self) -> str:
        head = f"<b>Threshold {escape(str(self))}</b> ({self.level:.0%} interval)"
        return head + self.to_frame().to_html(index=False)

    def to_frame(self) -> "pd.DataFrame":
        """The resources that were tried, with trials, successes and their share.

        >>> estimate_threshold([Tally(64, 9, 12), Tally(128, 12, 12)]).to_frame()["share"].tolist()
        [0.75, 1.0]
        """
        import pandas as pd

        frame = pd.DataFrame(
            [(t.resource, t.successes, t.trials) for t in self.evidence],
            columns=["resource", "successes", "trials"],
        )
        return frame.assign(share=frame["successes"] / frame["trials"])

    def plot(self) -> "Axes":
        """Draw the share of trials that succeed at each resource, and the threshold.

        A censored threshold is drawn as an open interval.

        Returns:
            Axes of matplotlib, which a notebook shows.
        """
        from separatrix.plots import new_axes

        axes = new_axes()
        frame = self.to_frame()
        axes.plot(frame["resource"], frame["share"], "o", label="share of trials")
        axes.axhline(self.probability, color="grey", linewidth=0.8)
        tried = [entry.resource for entry in self.evidence]
        low = self.low if self.low > 0 else min(tried)
        high = self.high if math.isfinite(self.high) else max(tried)
        axes.axvspan(min(low, high), max(low, high), alpha=0.2, label=f"threshold {self}")
        axes.set(xlabel="resource", ylabel="share that succeeds", xscale="log", ylim=(-0.05, 1.05))
        axes.legend()
        return axes

    def __str__(self) -> str:
        match self.censoring:
            case "none":
                return f"{self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}]"
            case "left":
                return f"<= {self.high:.4g}"
            case "right":
                return f">= {self.low:.4g}"
        return "unknown"


def binarize(values: Iterable[float], target: float, direction: str = "below") -> tuple[bool, ...]:
    """Turn a metric into success or failure.

    Args:
        values: The metric of each trial; nan counts as a failure.
        target: The value to reach.
        direction: `below` if success means at most the target, `above` if it means at least.

    >>> binarize([0.02, 0.30, float("nan")], target=0.05)
    (True, False, False)
    """
    check_choice("binarize", "direction", direction, ["below", "above"])
    check_number("binarize", "target", target)
    if direction == "below":
        return tuple(bool(value <= target) for value in values)
    return tuple(bool(value >= target) for value in values)


def estimate_threshold(
    tallies: Iterable[Tally], probability: float = 0.5, level: float = 0.95, guess: float = 0.0
) -> Threshold:
    """The resource at which a trial succeeds with `probability`, from tallies of binary outcomes.

    Args:
        tallies: Successes and trials at each resource.
        probability: The success probability that defines the threshold.
        level: The level of the interval.
        guess: The success probability of a trial without any resource.

    If the grid starts above the threshold, the result is left-censored, not the first resource:

    >>> print(estimate_threshold([Tally(64, 12, 12), Tally(128, 12, 12)]))
    <= 64
    >>> print(estimate_threshold([Tally(16, 0, 12), Tally(32, 0, 12)]))
    >= 32
    """
    evidence = merge(tallies)
    return read_threshold(likelihood_surface(evidence, probability, guess), evidence, level)


def read_threshold(surface: Surface, evidence: tuple[Tally, ...], level: float = 0.95) -> Threshold:
    """The threshold from a likelihood that has already been computed, and the tallies behind it.

    >>> evidence = (Tally(8.0, 0, 8), Tally(16.0, 8, 8))
    >>> read_threshold(likelihood_surface(evidence), evidence).censoring
    'none'
    """
    check_number("estimate_threshold", "level", level, low=0.5, high=0.999999)
    nodes, marginal, probability = surface.log_threshold, surface.marginal(), surface.probability
    first, last = math.log(evidence[0].resource), math.log(evidence[-1].resource)
    # Where no size succeeds (or every one does) the likelihood is highest far outside of what was
    # tried, and the trials at the end of the range are those that speak of the bound.
    peak = min(max(float(nodes[marginal.argmax()]), first), last)
    near = trials_near(evidence, peak)
    quantile = _quantile(near, level)
    log_low, log_high = likelihood_bounds(nodes, marginal, near, level)
    # A bound far outside the tested resources comes from the assumed curves and not from trials:
    # it is discarded.
    log_low = -math.inf if log_low < first - _FAR else log_low
    log_high = math.inf if log_high > last + _FAR else log_high
    inside = (nodes >= log_low) & (nodes <= log_high)
    weight = np.exp(marginal[inside]) * np.gradient(nodes)[inside]
    centre = float(np.sum(weight * nodes[inside]) / np.sum(weight))
    # An estimate outside the tested range rests on the assumed shape of the curve alone: it is a
    # bound, not a value.
    left = log_low == -math.inf or (log_high < math.inf and centre < first - 1e-9)
    right = log_high == math.inf or (log_low > -math.inf and centre > last + 1e-9)
    censoring: Censoring = (
        "both" if left and right else "left" if left else "right" if right else "none"
    )
    # How far beyond the range a curve may begin to rise is assumed, not measured: a bound of a
    # censored threshold does not claim more than the range.
    log_low = min(log_low, last) if censoring == "right" else log_low
    log_high = max(log_high, first) if censoring == "left" else log_high
    if censoring == "none":
        bound, error = math.nan, (log_high - log_low) / (2 * quantile)
    else:
        bound, error = _soft_edge(nodes, marginal, censoring)
    scale, lapse = _fitted_curve(surface)
    return Threshold(
        estimate=math.exp(centre) if censoring == "none" else math.nan,
        low=0.0 if left else math.exp(log_low),
        high=math.inf if right else math.exp(log_high),
        level=level,
        probability=probability,
        censoring=censoring,
        log_error=error,
        log_bound=bound,
        scale=scale,
        lapse=lapse,
        evidence=evidence,
        trials=sum(entry.trials for entry in evidence),
        notes=_notes(
            evidence, censoring, probability, near, lapse, (log_low, log_high), (first, last)
        ),
    )


def threshold_from_metric(
    resources: Sequence[float],
    values: Sequence[float],
    target: float,
    direction: str = "below",
    probability: float = 0.5,
    level: float = 0.95,
) -> Threshold:
    """The threshold of a continuous outcome: the resource at which it meets the target with
    `probability`.

    Args:
        resources: The resource of each trial.
        values: The metric of each trial.
        target: The value to reach.
        direction: `below` if success means at most the target, `above` if it means at least.
        probability: The success probability that defines the threshold.
        level: The level of the interval.

    >>> sizes = [8, 8, 8, 16, 16, 16, 32, 32, 32]
    >>> errors = [0.5, 0.4, 0.3, 0.2, 0.3, 0.04, 0.01, 0.02, 0.03]
    >>> threshold_from_metric(sizes, errors, target=0.05).trials
    9
    """
    return estimate_threshold(
        tally(resources, binarize(values, target, direction)), probability, level
    )


def threshold_ratio(first: Threshold, second: Threshold) -> Interval:
    """The ratio of the first threshold to the second, with an interval; one-sided if a threshold is
    censored.

    The bounds combine the distances from estimate to bound of both intervals on the log scale (the
    MOVER method), which preserves skew.

    >>> small = estimate_threshold([Tally(8, 0, 8), Tally(16, 8, 8)])
    >>> large = estimate_threshold([Tally(64, 0, 8), Tally(128, 0, 8)])
    >>> ratio = threshold_ratio(large, small)
    >>> ratio.low > 7, ratio.high
    (True, inf)
    """
    below = _distance(first, "low"), _distance(second, "high")
    above = _distance(first, "high"), _distance(second, "low")
    centre = [math.log(t.estimate) if t.censoring == "none" else math.nan for t in (first, second)]
    middle = centre[0] - centre[1]
    if not math.isnan(middle):
        low, high = middle - math.hypot(*below), middle + math.hypot(*above)
    else:
        # A censored side has no centre to combine distances around: fall back on the outermost
        # bounds.
        low = (
            math.log(first.low / second.high)
            if first.low > 0 and second.high < math.inf
            else -math.inf
        )
        high = (
            math.log(first.high / second.low)
            if first.high < math.inf and second.low > 0
            else math.inf
        )
    ends = [0.0 if value == -math.inf else math.exp(value) for value in (middle, low, high)]
    return Interval(
        ends[0], ends[1], ends[2], first.level, "ratio of thresholds", first.trials + second.trials
    )


def _distance(threshold: Threshold, side: str) -> float:
    if threshold.censoring != "none":
        return math.inf
    return abs(math.log(getattr(threshold, side) / threshold.estimate))


def likelihood_bounds(
    nodes: np.ndarray, marginal: np.ndarray, near: int, level: float
) -> tuple[float, float]:
    """The points below and above the peak where the log likelihood has fallen too far for `level`;
    infinite on a side where it does not fall.

    >>> nodes = np.linspace(-5, 5, 1001)
    >>> bounds = likelihood_bounds(nodes, -0.5 * nodes**2, near=10**6, level=0.95)
    >>> [round(bound, 2) for bound in bounds]
    [-1.96, 1.96]
    """
    cut = -0.5 * _quantile(near, level) ** 2
    return _falls_to(nodes, marginal, cut, side=-1), _falls_to(nodes, marginal, cut, side=+1)


def _quantile(near: int, level: float) -> float:
    # Student's: with a dozen informative trials the likelihood ratio is not yet chi-squared.
    return float(special.stdtrit(max(near, 3), 0.5 + level / 2))


def trials_near(evidence: Sequence[Tally], log_threshold: float) -> int:
    """The number of trials within a factor of two of the threshold, which carry the information
    about it.

    >>> trials_near([Tally(8, 0, 4), Tally(32, 3, 4)], log_threshold=math.log(20))
    4
    """
    return sum(
        t.trials
        for t in evidence
        if abs(math.log(t.resource) - log_threshold) <= math.log(2) + 1e-9
    )


def _falls_to(nodes: np.ndarray, marginal: np.ndarray, cut: float, side: int) -> float:
    """Where the log likelihood, going outwards, falls below `cut` for the last time; infinite if it
    never does.
    """
    above = np.flatnonzero(marginal >= cut)
    edge = above[0] if side < 0 else above[-1]
    beyond = edge + side
    if not 0 <= beyond < nodes.size:
        return side * math.inf
    share = (marginal[edge] - cut) / (marginal[edge] - marginal[beyond])
    return float(nodes[edge] + share * (nodes[beyond] - nodes[edge]))


def _soft_edge(
    nodes: np.ndarray, marginal: np.ndarray, censoring: Censoring
) -> tuple[float, float]:
    """Centre and standard deviation of the normal edge that falls like the likelihood on the
    informative side.
    """
    if censoring == "both":
        return math.nan, math.inf
    side = 1 if censoring == "left" else -1
    half, sigma = (_falls_to(nodes, marginal, drop, side) for drop in (_HALF, _SIGMA))
    return half, abs(sigma - half)


def _fitted_curve(surface: Surface) -> tuple[float, float]:
    weight = surface.weights().sum(axis=0)
    return float(np.exp(weight @ np.log(surface.curves.scale))), float(
        weight @ surface.curves.lapse
    )


def _notes(evidence, censoring, probability, near, lapse, bounds, tested) -> tuple[Note, ...]:
    lowest, highest = evidence[0], evidence[-1]
    notes = []
    if censoring in ("left", "both"):
        text = (
            f"the smallest resource, {lowest.resource:g}, already has {lowest.successes} of "
            f"{lowest.trials} successes: "
        )
        notes.append(
            Note(
                "left-censored",
                "warning",
                text + "the threshold may lie anywhere below the upper bound",
            )
        )
    if censoring in ("right", "both"):
        text = (
            f"the largest resource, {highest.resource:g}, has {highest.successes} of "
            f"{highest.trials} successes: "
        )
        notes.append(
            Note(
                "right-censored",
                "warning",
                text + "the threshold may lie anywhere above the lower bound",
            )
        )
    if censoring == "none" and near < _FEW_TRIALS:
        notes.append(
            Note(
                "few-trials",
                "warning",
                f"only {near} trials lie within a factor of two of the threshold",
            )
        )
    if censoring == "none" and (bounds[0] < tested[0] or bounds[1] > tested[1]):
        notes.append(
            Note("extrapolated", "info", "the interval reaches beyond the tested resources")
        )
    if lapse > _HIGH_LAPSE:
        text = (
            f"about {lapse:.0%} of the trials fail however large the resource: the recipe, not "
            "the size, is at fault"
        )
        notes.append(Note("high-lapse", "warning", text))
    if monotone_violation(evidence) < 0.01:
        text = "success falls somewhere as the resource grows, by more than chance explains"
        notes.append(Note("non-monotone", "warning", text))
    below = [t for t in evidence if t.successes == 0]
    if (
        censoring == "none"
        and len(evidence) > 1
        and len(below) + sum(t.rate == 1 for t in evidence) == len(evidence)
    ):
        text = (
            "no tested resource has both successes and failures: the interval is set by the "
            "spacing of the grid"
        )
        notes.append(Note("steeper-than-grid", "info", text))
    return tuple(notes)


def isotonic_rates(tallies: Sequence[Tally]) -> np.ndarray:
    """The non-decreasing success rates nearest to the data (pool adjacent violators), one for each
    tally.

    >>> isotonic_rates([Tally(8, 1, 4), Tally(16, 0, 4), Tally(32, 4, 4)]).tolist()
    [0.125, 0.125, 1.0]
    """
    trials = np.array([entry.trials for entry in tallies], float)
    rates = np.array([entry.successes for entry in tallies]) / trials
    return isotonic_regression(rates, weights=trials).x


def monotone_violation(tallies: Sequence[Tally]) -> float:
    """P value of the data under the best non-decreasing curve; a small value means that success
    falls somewhere as the resource grows.

    The deviance from the isotonic fit is compared with chi-squared, with one degree of freedom per
    level that pooling removed. This is conservative for rates near 0 and 1.

    >>> monotone_violation([Tally(8, 0, 9), Tally(16, 9, 9), Tally(32, 0, 9)]) < 0.001
    True
    >>> monotone_violation([Tally(8, 0, 9), Tally(16, 5, 9), Tally(32, 4, 9)]) > 0.1
    True
    """
    rates = isotonic_rates(tallies)
    hits = np.array([entry.successes for entry in tallies], dtype=float)
    trials = np.array([entry.trials for entry in tallies], dtype=float)
    observed = hits / trials
    deviance = 2 * np.sum(
        special.xlogy(hits, observed)
        + special.xlogy(trials - hits, 1 - observed)
        - special.xlogy(hits, rates)
        - special.xlogy(trials - hits, 1 - rates)
    )
    pooled = len(tallies) - np.unique(rates).size
    return float(special.chdtrc(pooled, deviance)) if pooled else 1.0
