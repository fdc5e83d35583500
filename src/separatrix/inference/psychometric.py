"""The curve of success against resource, and its likelihood on a lattice.

The model: a trial with resource r succeeds with probability

    guess + (1 - guess - lapse) * F((log r - log threshold) / scale + offset)

where F is a logistic, Weibull or Gumbel curve (symmetric, or with a long foot or shoulder) and
`offset` makes the success probability at the threshold exactly `probability`, lapses included. The
likelihood is evaluated on a lattice instead of by an optimiser: that cannot fail to converge, and
the nuisance parameters (scale, lapse, shape) can be integrated out, which calibrates intervals even
from a dozen trials.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from separatrix.errors import ParameterError, check_integer, check_number

# Weak priors. Scale: a logistic curve rises from 10 to 90 % within a factor exp(4.4 scale), so .3
# is a factor 3.7. Two standard deviations reach from .01 (a step, whatever the grid) to 1.6 (a rise
# over three decades). Lapses are rare, a third is possible. The three shapes are equally likely.
_LOG_SCALE_CENTRE, _LOG_SCALE_SPREADS = np.log(0.5), (1.2, 0.8)
_LOG_SCALES = np.linspace(np.log(0.008), np.log(2.0), 13)
_LAPSES = np.array([0.0, 0.02, 0.06, 0.13, 0.22, 0.35])
_LAPSE_STRENGTH = 15.0
_SHAPES = ("logistic", "weibull", "gumbel")
# How far beyond the tested resources the lattice reaches, in log units: far enough for the
# likelihood to become flat.
_MARGIN = 8.0
# Curves are tabulated at this step of log resource (.3 %) up to this distance from the threshold,
# once per question.
_STEP, _REACH = 0.003, 10.0
# From this many trials on, the data determine scale and lapse more finely than the spacing of the
# lattice; the lattice is then refined around them.
_MANY_TRIALS = 500


@dataclasses.dataclass(frozen=True, order=True)
class Tally:
    """How many trials succeeded at one resource."""

    resource: float
    successes: int
    trials: int

    def __post_init__(self):
        check_number("Tally", "resource", self.resource, low=0, open_low=True)
        check_integer("Tally", "trials", self.trials, low=1)
        check_integer("Tally", "successes", self.successes, low=0, high=self.trials)

    @property
    def rate(self) -> float:
        """The share of trials that succeeded."""
        return self.successes / self.trials


def tally(resources: Sequence[float], outcomes: Sequence[bool]) -> tuple[Tally, ...]:
    """Count single trials by resource, in rising order.

    >>> tally([8, 16, 8], [False, True, True])
    (Tally(resource=8.0, successes=1, trials=2), Tally(resource=16.0, successes=1, trials=1))
    """
    if len(resources) != len(outcomes):
        raise ParameterError(
            "tally", "outcomes", f"as long as the resources ({len(resources)})", len(outcomes)
        )
    counts: dict[float, list[int]] = {}
    for resource, outcome in zip(resources, outcomes):
        if outcome not in (0, 1):
            raise ParameterError("tally", "outcomes", "true or false for each trial", outcome)
        entry = counts.setdefault(float(resource), [0, 0])
        entry[0] += int(outcome)
        entry[1] += 1
    return tuple(Tally(resource, *counts[resource]) for resource in sorted(counts))


def merge(tallies: Iterable[Tally]) -> tuple[Tally, ...]:
    """Add up tallies of the same resource, in rising order.

    >>> merge([Tally(8.0, 1, 2), Tally(8.0, 0, 2)])
    (Tally(resource=8.0, successes=1, trials=4),)
    """
    counts: dict[float, list[int]] = {}
    for entry in tallies:
        total = counts.setdefault(float(entry.resource), [0, 0])
        total[0] += int(entry.successes)
        total[1] += int(entry.trials)
    return tuple(Tally(resource, *counts[resource]) for resource in sorted(counts))


def success_probability(
    resource: np.ndarray | float,
    threshold: float,
    scale: float,
    lapse: float = 0.0,
    guess: float = 0.0,
    probability: float = 0.5,
) -> np.ndarray:
    """The model's probability that a trial with this resource succeeds.

    >>> round(float(success_probability(100.0, threshold=100.0, scale=0.2, lapse=0.1)), 6)
    0.5
    """
    offset = special.logit((probability - guess) / (1 - guess - lapse))
    rise = special.expit((np.log(resource) - np.log(threshold)) / scale + offset)
    return guess + (1 - guess - lapse) * rise


@dataclasses.dataclass(frozen=True)
class Curves:
    """The nuisance parameters of many candidate curves: scale, lapse and shape of each, and its log
    prior.

    >>> curves = Curves(np.array([0.2]), np.array([0.0]), np.array([0]), np.array([0.0]))
    >>> log_hit, log_miss = curves.log_outcomes(np.array([0.0]), probability=0.5, guess=0.0)
    >>> float(np.exp(log_hit[0, 0]).round(6))
    0.5
    """

    scale: np.ndarray
    lapse: np.ndarray
    shape: np.ndarray
    log_prior: np.ndarray

    def log_outcomes(
        self, distance: np.ndarray, probability: float, guess: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log probability of success and of failure at each distance (log resource - log
        threshold), for each curve.
        """
        share = (probability - guess) / (1 - guess - self.lapse)
        rise = np.empty((*distance.shape, self.scale.size))
        for place, name in enumerate(_SHAPES):
            this = self.shape == place
            rise[..., this] = _shape(
                name, distance[..., None] / self.scale[this] + _inverse_shape(name, share[this])
            )
        # Never exactly 0 or 1: a single odd trial must make a curve improbable, not impossible.
        chance = np.clip(guess + (1 - guess - self.lapse) * rise, 1e-9, 1 - 1e-9)
        return np.log(chance), np.log1p(-chance)


@dataclasses.dataclass(frozen=True)
class Surface:
    """Log likelihood plus log prior on a lattice of (log threshold, curve), for one success
    probability and guess rate.

    >>> surface = likelihood_surface((Tally(8.0, 0, 9), Tally(16.0, 9, 9)))
    >>> 8 < float(np.exp(surface.log_threshold[surface.marginal().argmax()])) < 16
    True
    """

    log_threshold: np.ndarray
    curves: Curves
    values: np.ndarray
    probability: float
    guess: float

    def marginal(self) -> np.ndarray:
        """Log likelihood of the threshold alone, the curves averaged out; its maximum is 0."""
        flat = np.asarray(special.logsumexp(self.values, axis=1))
        return flat - flat.max()

    def weights(self) -> np.ndarray:
        """Probability of each lattice point under a flat prior on the log threshold."""
        values = self.values + np.log(np.gradient(self.log_threshold))[:, None]
        return np.exp(values - special.logsumexp(values))

    def log_outcomes(self, resource: float) -> tuple[np.ndarray, np.ndarray]:
        """Log probability of success and of failure of a trial with this resource at each lattice
        point.
        """
        distance = np.log(resource) - self.log_threshold
        curves, log_hit, log_miss = _table(self.probability, self.guess)
        if self.curves is not curves:
            return self.curves.log_outcomes(distance, self.probability, self.guess)
        rows = np.rint((np.clip(distance, -_REACH, _REACH) + _REACH) / _STEP).astype(int)
        return log_hit[rows], log_miss[rows]


def likelihood_surface(
    tallies: Iterable[Tally], probability: float = 0.5, guess: float = 0.0
) -> Surface:
    """The likelihood of the curve's parameters on a lattice that is fine where the likelihood is
    high.

    >>> surface = likelihood_surface([Tally(8.0, 0, 4), Tally(16.0, 4, 4)])
    >>> surface.values.shape == (surface.log_threshold.size, surface.curves.scale.size)
    True
    """
    check_number("likelihood_surface", "guess", guess, low=0, high=0.9)
    check_number("likelihood_surface", "probability", probability, low=guess + 0.01, high=0.99)
    probability, guess, tallies = float(probability), float(guess), merge(tallies)
    if not tallies:
        raise ParameterError("likelihood_surface", "tallies", "a non-empty list of tallies", ())
    tested = np.log(tallies[0].resource), np.log(tallies[-1].resource)
    reach = tested[1] - tested[0] + 2 * _MARGIN
    coarse = np.linspace(tested[0] - _MARGIN, tested[1] + _MARGIN, 2 + int(np.ceil(reach / 0.25)))
    curves, _, _ = _table(probability, guess)
    surface = _surface(
        _refined_nodes(coarse, _surface(coarse, tallies, curves, probability, guess), tested),
        tallies,
        curves,
        probability,
        guess,
    )
    if sum(entry.trials for entry in tallies) >= _MANY_TRIALS:
        for _ in range(3):
            curves = _zoomed(surface)
            nodes = _refined_nodes(
                surface.log_threshold,
                _surface(surface.log_threshold, tallies, curves, probability, guess),
                tested,
            )
            surface = _surface(nodes, tallies, curves, probability, guess)
    return surface


def _refined_nodes(nodes: np.ndarray, surface: Surface, tested: tuple[float, float]) -> np.ndarray:
    """Nodes for the threshold: fine where the likelihood is high, unchanged far outside the tested
    resources.
    """
    # Points more than 8 below the peak of the log likelihood contribute to no interval at any level
    # that is allowed.
    inside = np.flatnonzero(surface.marginal() > -8.0)
    low, high = nodes[max(inside[0] - 1, 0)], nodes[min(inside[-1] + 1, nodes.size - 1)]
    fine_low, fine_high = max(low, tested[0] - 1.5), min(high, tested[1] + 1.5)
    fine = np.linspace(
        fine_low, fine_high, int(np.clip(np.ceil((fine_high - fine_low) / 0.015), 40, 200))
    )
    outside = nodes[
        (nodes >= low) & (nodes <= high) & ((nodes < fine_low - 1e-9) | (nodes > fine_high + 1e-9))
    ]
    return np.sort(np.concatenate([fine, outside]))


def _shape(name: str, value: np.ndarray) -> np.ndarray:
    if name == "logistic":
        return special.expit(value)
    foot = np.exp(np.clip(value if name == "weibull" else -value, -700.0, 700.0))
    return -np.expm1(-foot) if name == "weibull" else np.exp(-foot)


def _inverse_shape(name: str, chance: np.ndarray) -> np.ndarray:
    if name == "logistic":
        return special.logit(chance)
    return np.log(-np.log1p(-chance)) if name == "weibull" else -np.log(-np.log(chance))


def _lattice(log_scales: np.ndarray, lapses: np.ndarray) -> Curves:
    """All combinations of scale, lapse and shape, with the weak prior."""
    shape, log_scale, lapse = (
        axis.ravel()
        for axis in np.meshgrid(np.arange(len(_SHAPES)), log_scales, lapses, indexing="ij")
    )
    spread = np.where(log_scale < _LOG_SCALE_CENTRE, *_LOG_SCALE_SPREADS)
    prior = -0.5 * ((log_scale - _LOG_SCALE_CENTRE) / spread) ** 2 + _LAPSE_STRENGTH * np.log1p(
        -lapse
    )
    # Lapses are not evenly spaced: each stands for the stretch around it.
    prior = prior + np.log(np.interp(lapse, lapses, np.gradient(lapses)))
    return Curves(np.exp(log_scale), lapse, shape, prior)


@functools.lru_cache(maxsize=8)
def _table(probability: float, guess: float) -> tuple[Curves, np.ndarray, np.ndarray]:
    """The standard lattice of curves, and its log success and log failure at each distance."""
    # A lapse rate of 1 - probability or more would mean that no resource suffices; the prior ends
    # before.
    curves = _lattice(_LOG_SCALES, _LAPSES * min(1.0, (1 - probability) / 0.5))
    return curves, *curves.log_outcomes(
        np.arange(-_REACH, _REACH + _STEP / 2, _STEP), probability, guess
    )


def _zoomed(surface: Surface) -> Curves:
    """A finer lattice of curves around those that the data allow, a spacing wider on both sides."""
    weight = surface.weights().sum(axis=0)

    def stretch(axis: np.ndarray, count: int) -> np.ndarray:
        nodes, place = np.unique(axis, return_inverse=True)
        likely = np.flatnonzero(np.bincount(place, weight) > 1e-4)
        return np.linspace(
            nodes[max(likely[0] - 1, 0)], nodes[min(likely[-1] + 1, nodes.size - 1)], count
        )

    return _lattice(stretch(np.log(surface.curves.scale), 9), stretch(surface.curves.lapse, 7))


def _surface(
    log_threshold: np.ndarray,
    tallies: Sequence[Tally],
    curves: Curves,
    probability: float,
    guess: float,
) -> Surface:
    empty = Surface(
        log_threshold,
        curves,
        np.tile(curves.log_prior, (log_threshold.size, 1)),
        probability,
        guess,
    )
    values = empty.values
    for entry in tallies:
        log_hit, log_miss = empty.log_outcomes(entry.resource)
        values = values + entry.successes * log_hit + (entry.trials - entry.successes) * log_miss
    return dataclasses.replace(empty, values=values)
