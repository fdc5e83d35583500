"""Adaptive placement: which trials to run next, as a pure function of the observations.

Cost grows with the resource, so the search starts low and climbs by factors of two until trials
succeed. Then it spends each further batch where the variance of the log threshold is expected to
shrink most for its cost. The caller runs the trials that `propose` returns, adds their outcomes,
and calls it again until it returns an empty list. The same observations always give the same
proposal.
"""

import dataclasses
import functools
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from separatrix.errors import check_integer, check_number
from separatrix.inference.psychometric import Surface, Tally, likelihood_surface, merge
from separatrix.inference.thresholds import likelihood_bounds, read_threshold, trials_near

StopReason = Literal["width", "trials", "left-censored", "right-censored"]
CellName = TypeVar("CellName", bound=Hashable)

# No interval is believed before this many trials within a factor of two of the threshold.
_NEAR_TRIALS = 30
# Predicted success rates of the levels that count as the rise of the curve.
_RISE = (0.15, 0.85)


class Proposal(NamedTuple):
    """Trials to run at one resource."""

    resource: float
    repetitions: int


class CellProposal(NamedTuple):
    """Trials to run at one resource of one cell."""

    cell: Hashable
    resource: float
    repetitions: int


@dataclasses.dataclass(frozen=True)
class SearchPlan:
    """The range, the precision and the budget of a search for a threshold.

    Args:
        minimum: The smallest resource to try.
        maximum: The largest resource to try.
        width: The largest ratio high/low of the interval, in natural log units (0.7 is a factor of
            two). It is judged pessimistically; the final interval usually has about two thirds of
            it.
        max_trials: The largest number of trials.
        start: The resource at which bracketing begins; `minimum` if None.
        repetitions: The number of trials per level while bracketing.
        lookahead: The number of levels climbed at once; more fills an accelerator, fewer saves
            work.
        censor_trials: The number of trials at an end of the grid that make the threshold censored.
        probability: The success probability that defines the threshold.
        level: The level of the interval.
        guess: The success probability of a trial without any resource.
        ratio: The ratio of neighbouring resources.
        integer: Whether resources are integers.
        cost_power: The power of the resource that the cost of a trial grows with.

    >>> SearchPlan(minimum=8, maximum=64).grid()
    (8, 11, 16, 23, 32, 45, 64)
    """

    minimum: float
    maximum: float
    width: float = 0.7
    max_trials: int = 400
    start: float | None = None
    repetitions: int = 4
    lookahead: int = 1
    censor_trials: int = 8
    probability: float = 0.5
    level: float = 0.95
    guess: float = 0.0
    ratio: float = math.sqrt(2)
    integer: bool = True
    cost_power: float = 1.0

    def __post_init__(self):
        check_number("SearchPlan", "minimum", self.minimum, low=0, open_low=True)
        check_number("SearchPlan", "maximum", self.maximum, low=self.minimum)
        check_number("SearchPlan", "width", self.width, low=0, open_low=True)
        check_integer("SearchPlan", "max_trials", self.max_trials, low=1)
        if self.start is not None:
            check_number("SearchPlan", "start", self.start, low=self.minimum, high=self.maximum)
        for name in ("repetitions", "lookahead", "censor_trials"):
            check_integer("SearchPlan", name, getattr(self, name), low=1)
        check_number("SearchPlan", "guess", self.guess, low=0, high=0.9)
        check_number(
            "SearchPlan", "probability", self.probability, low=self.guess + 0.01, high=0.99
        )
        check_number("SearchPlan", "level", self.level, low=0.5, high=0.999)
        check_number("SearchPlan", "ratio", self.ratio, low=1.01)
        check_number("SearchPlan", "cost_power", self.cost_power, low=0)

    def grid(self) -> tuple[float, ...]:
        """The resources that may be proposed, rising by `ratio` from minimum to maximum.

        >>> SearchPlan(minimum=1, maximum=4, integer=False, ratio=2.0).grid()
        (1.0, 2.0, 4.0)
        """
        count = math.floor(math.log(self.maximum / self.minimum) / math.log(self.ratio) + 1e-9) + 1
        levels = [self.minimum * self.ratio**index for index in range(count)]
        if self.integer:
            return tuple(sorted({round(level) for level in levels}))
        return tuple(float(level) for level in levels)


def stop_reason(observations: Iterable[Tally], plan: SearchPlan) -> StopReason | None:
    """Why the search needs no more trials; None while it does.

    Args:
        observations: The tallies so far.
        plan: The plan of the search.

    >>> stop_reason([Tally(8, 9, 9)], SearchPlan(minimum=8, maximum=64))
    'left-censored'
    """
    evidence = merge(observations)
    return _stop_reason(evidence, plan) if evidence else None


@functools.lru_cache(maxsize=4096)
def _stop_reason(evidence: tuple[Tally, ...], plan: SearchPlan) -> StopReason | None:
    """Cached, because a search over many cells asks again about every cell that has ended."""
    return _reason(evidence, plan, likelihood_surface(evidence, plan.probability, plan.guess))


def propose(observations: Iterable[Tally], batch: int, plan: SearchPlan) -> list[Proposal]:
    """The next trials to run; an empty list when the search is over.

    Args:
        observations: The tallies so far.
        batch: The largest number of trials to propose.
        plan: The plan of the search.

    >>> plan = SearchPlan(minimum=8, maximum=1024)
    >>> propose([], batch=16, plan=plan)
    [Proposal(resource=8, repetitions=4)]
    >>> propose([Tally(8, 0, 4)], batch=16, plan=plan)
    [Proposal(resource=16, repetitions=4)]
    >>> proposals = propose([Tally(8, 0, 4), Tally(16, 4, 4)], batch=16, plan=plan)
    >>> [proposal.resource for proposal in proposals]
    [11, 16]
    """
    check_integer("propose", "batch", batch, low=1)
    evidence = merge(observations)
    if not evidence:
        grid = plan.grid()
        start = plan.minimum if plan.start is None else plan.start
        first = min(range(len(grid)), key=lambda index: abs(math.log(grid[index] / start)))
        return _climb(grid, first, min(batch, plan.max_trials), plan)
    batch = min(batch, plan.max_trials - sum(entry.trials for entry in evidence))
    if batch < 1:
        return []
    bracketing = _bracket(evidence, batch, plan)
    if bracketing:
        return bracketing
    surface = likelihood_surface(evidence, plan.probability, plan.guess)
    return (
        []
        if _reason(evidence, plan, surface) is not None
        else _refine(surface, evidence, batch, plan)
    )


def propose_batch(
    cells: Mapping[CellName, Iterable[Tally]],
    batch: int,
    plans: SearchPlan | Mapping[CellName, SearchPlan],
) -> list[CellProposal]:
    """One batch of trials over several cells; every unfinished cell gets a fair share.

    If the batch is too small for all, cells with the fewest trials come first. What a cell does not
    use of its share goes to the cells after it.

    Args:
        cells: The tallies of each cell so far.
        batch: The largest number of trials to propose over all cells.
        plans: One plan for all cells, or a plan per cell.

    >>> plan = SearchPlan(minimum=8, maximum=1024)
    >>> for proposal in propose_batch({"cnn": [], "fcn": [Tally(8, 0, 4)]}, batch=32, plans=plan):
    ...     print(proposal)
    CellProposal(cell='cnn', resource=8, repetitions=4)
    CellProposal(cell='fcn', resource=16, repetitions=4)
    """
    check_integer("propose_batch", "batch", batch, low=1)
    known = {name: merge(observations) for name, observations in cells.items()}
    plan_of = {name: plans if isinstance(plans, SearchPlan) else plans[name] for name in known}
    open_cells = [
        name for name in known if not known[name] or stop_reason(known[name], plan_of[name]) is None
    ]
    # Bracketing asks for few trials: serving young cells first leaves the rest to cells that can
    # use it.
    open_cells.sort(key=lambda name: sum(entry.trials for entry in known[name]))
    wanted: list[CellProposal] = []
    left = batch
    for position, name in enumerate(open_cells):
        share = max(left // (len(open_cells) - position), min(left, plan_of[name].repetitions))
        if share < 1:
            break
        proposals = propose(known[name], share, plan_of[name])
        wanted += [CellProposal(name, *proposal) for proposal in proposals]
        left -= sum(proposal.repetitions for proposal in proposals)
    return wanted


def _reason(evidence: tuple[Tally, ...], plan: SearchPlan, surface: Surface) -> StopReason | None:
    grid = plan.grid()
    threshold = read_threshold(surface, evidence, plan.level)
    if threshold.log_width <= plan.width and _cautiously_narrow(evidence, plan, surface):
        return "width"
    if threshold.trials >= plan.max_trials:
        return "trials"
    # Censoring ends a search only when the grid's own end has been tried often enough to say so.
    if threshold.censoring == "left" and _well_tried(evidence, grid[0], plan, above=True):
        return "left-censored"
    if threshold.censoring == "right" and _well_tried(evidence, grid[-1], plan, above=False):
        return "right-censored"
    return None


def _well_tried(
    evidence: tuple[Tally, ...], resource: float, plan: SearchPlan, above: bool
) -> bool:
    entry = next((t for t in evidence if t.resource == resource), None)
    if entry is None or entry.trials < plan.censor_trials:
        return False
    return entry.rate > plan.probability if above else entry.rate < plan.probability


def _climb(grid: tuple[float, ...], first: int, batch: int, plan: SearchPlan) -> list[Proposal]:
    """`lookahead` levels upwards from grid index `first`, a factor of two apart."""
    stride = max(1, round(math.log(2) / math.log(plan.ratio)))
    steps = range(max(1, min(plan.lookahead, batch // plan.repetitions)))
    levels = sorted({grid[min(first + stride * step, len(grid) - 1)] for step in steps})
    return [Proposal(level, min(plan.repetitions, batch)) for level in levels]


def _bracket(evidence: tuple[Tally, ...], batch: int, plan: SearchPlan) -> list[Proposal]:
    """The next level up while all levels fail, down while all succeed; nothing once there are both.

    If the success rate at the first level equals the wanted probability, both of its neighbours are
    tried. At an end of the grid it asks for enough trials to call the threshold censored.
    """
    grid = plan.grid()
    stride = max(1, round(math.log(2) / math.log(plan.ratio)))
    lowest, highest = evidence[0], evidence[-1]
    failing = all(entry.rate < plan.probability for entry in evidence)
    passing = all(entry.rate > plan.probability for entry in evidence)
    if failing and highest.resource < grid[-1]:
        # From the highest level tried: a level in between must not end the climb.
        reached = max(index for index, level in enumerate(grid) if level <= highest.resource)
        return _climb(grid, min(reached + stride, len(grid) - 1), batch, plan)
    if passing and lowest.resource > grid[0]:
        reached = min(index for index, level in enumerate(grid) if level >= lowest.resource)
        return [Proposal(grid[max(reached - stride, 0)], min(plan.repetitions, batch))]
    if len(evidence) == 1 and not (failing or passing):
        place = min(range(len(grid)), key=lambda index: abs(grid[index] - lowest.resource))
        beside = {grid[max(place - stride, 0)], grid[min(place + stride, len(grid) - 1)]} - {
            grid[place]
        }
        return [
            Proposal(level, plan.repetitions)
            for level in sorted(beside)[: max(1, batch // plan.repetitions)]
        ]
    end = highest if failing else lowest
    if (failing or passing) and end.trials < plan.censor_trials:
        return [
            Proposal(grid[-1] if failing else grid[0], min(plan.censor_trials - end.trials, batch))
        ]
    return []


def _cautiously_narrow(evidence: tuple[Tally, ...], plan: SearchPlan, surface: Surface) -> bool:
    """Whether the interval is narrow enough even for the shallowest plausible curves.

    A search that stops at the first narrow interval stops when the curve looks steep by chance, and
    such intervals cover too rarely. So the width is judged on the shallowest tenth of the curves
    that half of the data would allow.
    """
    prior = surface.curves.log_prior
    weight = (
        dataclasses.replace(surface, values=prior + (surface.values - prior) / 2)
        .weights()
        .sum(axis=0)
    )
    scale = surface.curves.scale
    order = np.argsort(scale, kind="stable")
    shallow = scale >= scale[order][np.searchsorted(np.cumsum(weight[order]), 0.9)]
    pessimistic = dataclasses.replace(surface, values=surface.values[:, shallow])
    marginal = pessimistic.marginal()
    near = trials_near(evidence, float(surface.log_threshold[marginal.argmax()]))
    low, high = likelihood_bounds(surface.log_threshold, marginal, near, plan.level)
    return near >= _NEAR_TRIALS and high - low <= plan.width


def _refine(
    surface: Surface, evidence: tuple[Tally, ...], batch: int, plan: SearchPlan
) -> list[Proposal]:
    """Half of the batch where the variance shrinks most for its cost, half on the least tried
    levels of the rise.

    The second half counters the slope bias of adaptive staircases: a search that only follows its
    own estimate abandons levels after bad luck and then overestimates the slope.
    """
    grid = plan.grid()
    # Levels far above the highest one tried cost much and tell little more than the next one up.
    levels = [level for level in grid if level <= 2.01 * evidence[-1].resource]
    weight = surface.weights()
    outcomes = [surface.log_outcomes(level) for level in levels]
    chances = [float((weight * np.exp(log_hit)).sum()) for log_hit, _ in outcomes]
    # Relative to the highest rate that is possible, so that lapses do not empty the rise.
    top = max(chances)
    rise = [
        place
        for place, chance in enumerate(chances)
        if _RISE[0] < (chance - plan.guess) / top < _RISE[1]
    ]
    if not rise:
        rise = [int(np.argmin(np.abs(np.array(chances) - plan.probability)))]
    tried = {entry.resource: entry.trials for entry in evidence}
    wanted = dict.fromkeys(range(len(levels)), 0)
    for _ in range(batch // 2):
        least = min(rise, key=lambda place: tried.get(levels[place], 0) + wanted[place])
        wanted[least] += 1
    values = surface.values + np.log(np.gradient(surface.log_threshold))[:, None]
    for place in rise:
        values = _foresee(values, outcomes[place], chances[place], wanted[place])
    left = batch - batch // 2
    chunk = max(1, math.ceil(left / 4))
    cost = np.array(levels, dtype=float) ** plan.cost_power
    window = range(max(rise[0] - 2, 0), min(rise[-1] + 3, len(levels)))
    while left > 0:
        size = min(chunk, left)
        best, chance = _best_level(
            surface.log_threshold, values, {place: outcomes[place] for place in window}, cost
        )
        wanted[best] += size
        values = _foresee(values, outcomes[best], chance, size)
        left -= size
    return [Proposal(levels[place], count) for place, count in wanted.items() if count]


def _foresee(
    values: np.ndarray, outcome: tuple[np.ndarray, np.ndarray], chance: float, size: int
) -> np.ndarray:
    """The likelihood after `size` trials with their expected outcome: a batch then spreads out."""
    return values + size * (chance * outcome[0] + (1 - chance) * outcome[1])


def _best_level(
    nodes: np.ndarray,
    values: np.ndarray,
    outcomes: dict[int, tuple[np.ndarray, np.ndarray]],
    cost: np.ndarray,
) -> tuple[int, float]:
    """The level with the largest expected fall in variance of the log threshold per cost, and its
    chance of success.
    """
    weight = np.exp(values - values.max())
    weight /= weight.sum()
    mean = float(weight.sum(axis=1) @ nodes)
    best, best_gain, best_chance = min(outcomes), -1.0, 0.5
    for place, (log_hit, _) in outcomes.items():
        hit = (weight * np.exp(log_hit)).sum(axis=1)
        chance = min(max(float(hit.sum()), 1e-9), 1 - 1e-9)
        # Law of total variance: what the outcome explains is the spread of its two conditional
        # means.
        shift = float(hit @ nodes) / chance - mean
        gain = shift**2 * chance / (1 - chance) / cost[place]
        if gain > best_gain:
            best, best_gain, best_chance = place, gain, chance
    return best, best_chance
