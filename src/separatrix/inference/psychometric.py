"""The curve of success against resource, and its likelihood on a lattice.

The model: a trial with resource r succeeds with probability

    guess + (1 - guess - lapse) * F((log r - log threshold) / scale + offset)

where F is a logistic, Weibull or Gumbel curve (symmetric, or with a long foot or shoulder) and `offset` is such that the
success probability at the threshold is exactly the asked `probability`, lapses included. A lattice instead of an optimiser:
it cannot fail to converge, and the nuisance parameters (scale, lapse, shape) can be integrated out, which is what
makes intervals from a dozen trials honest.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from separatrix.errors import ParameterError, check_integer, check_number

# Weak priors. Scale: a logistic curve rises from 10 to 90 % within a factor exp(4.4 scale), so .3 is a factor 3.7. Two
# standard deviations reach from .01 (a step, whatever the grid) to 1.6 (a rise over three decades). Lapses are rare,
# a third is possible. The three shapes are equally likely.
_LOG_SCALE_CENTRE, _LOG_SCALE_SPREADS = np.log(0.5), (1.2, 0.8)
_LOG_SCALES = np.linspace(np.log(0.008), np.log(2.0), 13)
_LAPSES = np.array([0.0, 0.02, 0.06, 0.13, 0.22, 0.35])
_LAPSE_STRENGTH = 15.0
_SHAPES = ("logistic", "weibull", "gumbel")
# How far beyond the tested resources the lattice reaches, in log units: far enough for the likelihood to become flat.
_MARGIN = 8.0
# Curves are tabulated at this step of log resource (.3 %) up to this distance from the threshold, once per question.
_STEP, _REACH = 0.003, 10.0


@dataclasses.dataclass(frozen=True, order=True)
class Tally:
    """What is known at one resource: how many trials succeeded.

    >>> Tally(64, 3, 4).rate
    0.75
    """

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
    """Counts single trials by resource, in rising order.

    >>> tally([8, 16, 8], [False, True, True])
    (Tally(resource=8.0, successes=1, trials=2), Tally(resource=16.0, successes=1, trials=1))
    """
    if len(resources) != len(outcomes):
        raise ParameterError("tally", "outcomes", f"as long as the resources ({len(resources)})", len(outcomes))
    counts: dict[float, list[int]] = {}
    for resource, outcome in zip(resources, outcomes):
        if outcome not in (0, 1):
            raise ParameterError("tally", "outcomes", "true or false for each trial", outcome)
        entry = counts.setdefault(float(resource), [0, 0])
        entry[0] += int(outcome)
        entry[1] += 1
    return tuple(Tally(resource, *counts[resource]) for resource in sorted(counts))


def merge(tallies: Iterable[Tally]) -> tuple[Tally, ...]:
    """Adds up tallies of the same resource, in rising order.

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
class Surface:
    """Log likelihood plus log prior on a lattice of (log threshold, nuisance), and the question that it answers.

    `scale` and `lapse` belong to the second axis of `values`, which runs over all combinations of scale, lapse and shape.

    >>> surface = likelihood_surface((Tally(8.0, 0, 9), Tally(16.0, 9, 9)))
    >>> 8 < float(np.exp(surface.log_threshold[surface.marginal().argmax()])) < 16
    True
    """

    log_threshold: np.ndarray
    scale: np.ndarray
    lapse: np.ndarray
    values: np.ndarray
    probability: float
    guess: float

    def marginal(self) -> np.ndarray:
        """Log likelihood of the threshold alone, the nuisance parameters integrated out; its maximum is 0."""
        flat = special.logsumexp(self.values, axis=1)
        return flat - flat.max()

    def weights(self) -> np.ndarray:
        """Probability of each lattice point under a flat prior on the log threshold; they sum to 1."""
        values = self.values + np.log(np.gradient(self.log_threshold))[:, None]
        return np.exp(values - special.logsumexp(values))

    def log_outcomes(self, resource: float) -> tuple[np.ndarray, np.ndarray]:
        """Log probability of success and of failure of a trial with this resource at each lattice point."""
        log_hit, log_miss, _, _, _ = _table(self.probability, self.guess)
        rows = _rows(np.log(resource), self.log_threshold)
        return log_hit[rows], log_miss[rows]


def likelihood_surface(tallies: Iterable[Tally], probability: float = 0.5, guess: float = 0.0) -> Surface:
    """The likelihood of the curve's parameters on a lattice that is fine where the likelihood is high.

    >>> surface = likelihood_surface([Tally(8.0, 0, 4), Tally(16.0, 4, 4)])
    >>> surface.values.shape == (surface.log_threshold.size, surface.scale.size)
    True
    """
    check_number("likelihood_surface", "guess", guess, low=0, high=0.9)
    check_number("likelihood_surface", "probability", probability, low=guess + 0.01, high=0.99)
    tallies = merge(tallies)
    if not tallies:
        raise ParameterError("likelihood_surface", "tallies", "a non-empty list of tallies", ())
    first, last = np.log(tallies[0].resource), np.log(tallies[-1].resource)
    reach = last - first + 2 * _MARGIN
    coarse = np.linspace(first - _MARGIN, last + _MARGIN, 2 + int(np.ceil(reach / 0.25)))
    marginal = _surface(coarse, tallies, probability, guess).marginal()
    # Drop of 8 in log likelihood: beyond it nothing contributes to an interval at any level that is allowed.
    inside = np.flatnonzero(marginal > -8.0)
    low, high = coarse[max(inside[0] - 1, 0)], coarse[min(inside[-1] + 1, coarse.size - 1)]
    fine_low, fine_high = max(low, first - 1.5), min(high, last + 1.5)
    fine = np.linspace(fine_low, fine_high, int(np.clip(np.ceil((fine_high - fine_low) / 0.015), 40, 200)))
    outside = coarse[(coarse >= low) & (coarse <= high) & ((coarse < fine_low - 1e-9) | (coarse > fine_high + 1e-9))]
    return _surface(np.sort(np.concatenate([fine, outside])), tallies, probability, guess)


def _shape(name: str, value: np.ndarray) -> np.ndarray:
    if name == "logistic":
        return special.expit(value)
    foot = np.exp(np.clip(value if name == "weibull" else -value, -700.0, 700.0))
    return -np.expm1(-foot) if name == "weibull" else np.exp(-foot)


def _inverse_shape(name: str, chance: np.ndarray) -> np.ndarray:
    if name == "logistic":
        return special.logit(chance)
    return np.log(-np.log1p(-chance)) if name == "weibull" else -np.log(-np.log(chance))


@functools.lru_cache(maxsize=8)
def _table(probability: float, guess: float) -> tuple[np.ndarray, ...]:
    """Log success and log failure over (distance, nuisance); the scale, lapse and log prior of each nuisance entry."""
    # A lapse rate of 1 - probability or more would mean that no resource suffices; the prior ends before.
    lapses = _LAPSES * min(1.0, (1 - probability) / 0.5)
    distance = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    blocks = []
    for name in _SHAPES:
        offset = _inverse_shape(name, (probability - guess) / (1 - guess - lapses))
        rise = _shape(name, distance[:, None, None] / np.exp(_LOG_SCALES)[:, None] + offset)
        blocks.append(guess + (1 - guess - lapses) * rise)
    # Never exactly 0 or 1: a single odd trial must make a curve improbable, not impossible.
    chance = np.clip(np.stack(blocks, axis=1), 1e-9, 1 - 1e-9).reshape(distance.size, -1)
    spread = np.where(_LOG_SCALES < _LOG_SCALE_CENTRE, *_LOG_SCALE_SPREADS)
    prior_scale = -0.5 * ((_LOG_SCALES - _LOG_SCALE_CENTRE) / spread) ** 2
    prior_lapse = _LAPSE_STRENGTH * np.log1p(-lapses) + np.log(np.gradient(lapses))
    layout = (len(_SHAPES), _LOG_SCALES.size, lapses.size)
    prior = np.broadcast_to(prior_scale[:, None] + prior_lapse, layout).ravel()
    scale = np.broadcast_to(np.exp(_LOG_SCALES)[:, None], layout).ravel()
    return np.log(chance), np.log1p(-chance), scale, np.broadcast_to(lapses, layout).ravel(), prior


def _rows(log_resource: float, log_threshold: np.ndarray) -> np.ndarray:
    distance = np.clip(log_resource - log_threshold, -_REACH, _REACH)
    return np.rint((distance + _REACH) / _STEP).astype(int)


def _surface(log_threshold: np.ndarray, tallies: Sequence[Tally], probability: float, guess: float) -> Surface:
    log_hit, log_miss, scale, lapse, prior = _table(float(probability), float(guess))
    values = np.tile(prior, (log_threshold.size, 1))
    for entry in tallies:
        rows = _rows(np.log(entry.resource), log_threshold)
        if entry.successes:
            values += entry.successes * log_hit[rows]
        if entry.successes < entry.trials:
            values += (entry.trials - entry.successes) * log_miss[rows]
    return Surface(log_threshold, scale, lapse, values, probability, guess)
