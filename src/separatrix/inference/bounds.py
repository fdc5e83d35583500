"""Does a measured quantity stay within a constant of a bound? Drift exponents and constants.

A theorem says quantity ≤ C·f(sizes), or ≥ c·f(sizes), and leaves the constant open. So nothing can
be compared with f itself; what can be measured is whether the ratio quantity/f *drifts* with a
size. The drift exponent of a size is the slope of log(quantity/f) in its logarithm, over cells, all
other sizes held fixed. An upper bound fails where the ratio grows, a lower bound where it falls.

Cells have their own errors; what they scatter beyond that, the lack of fit, is fitted; censored
cells count as the bounds that they are. All of this is averaged over, so that an exponent is a
mixture of normal distributions with Student's tails where few cells carry it.

At finite sizes more than growth can look like a drift. An additive constant does: (a + C·f)/f falls
towards C. So does a sum whose terms have constants of their own: d is at most k + d, yet d/(k + d)
grows with d until d is far above k. Each exponent is therefore worked out twice: against f as it
is, and against a + Σ C_j·f_j, the *finite-size* form, with an unknown additive constant and an
unknown constant for each term f_j of f.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from separatrix.errors import ParameterError, SeparatrixError, check_number
from separatrix.inference.censored_regression import (
    Cell,
    Fit,
    Observations,
    columns,
    fit_rows,
    observations_of,
)
from separatrix.inference.intervals import Interval
from separatrix.inference.laws import Law

# Lack of fit, in log units, that a regression allows for.
_SCATTERS = np.concatenate([[0.0], np.geomspace(0.015, 1.5, 15)])
# The additive constant, as the logarithm of (a + C·f)/(C·f) in the cell with the smallest f: from a
# ninth of it to ten times it, about normal around none.
_CONSTANTS = np.concatenate([np.linspace(-2.2, -0.15, 9), [0.0], np.linspace(0.15, 2.4, 11)])
_CONSTANT_SPREAD = 1.0
# The share of a term in a sum, as a log odds against its share in f; the last is all or none.
_ODDS = np.array([-30.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 30.0])
_ODDS_SPREAD = 2.0


@dataclasses.dataclass(frozen=True)
class Mixture:
    """A number that is known as a weighted mixture of normal distributions.

    >>> Mixture(np.array([1.0]), np.array([0.1]), np.array([1.0]), 9, "t").interval(0.95).low
    0.804...
    """

    mean: np.ndarray
    spread: np.ndarray
    weight: np.ndarray
    count: int
    method: str

    @property
    def estimate(self) -> float:
        """The mean of the mixture."""
        return float(self.weight @ self.mean)

    def interval(self, level: float) -> Interval:
        """The central interval of this level."""
        tail = (1 - level) / 2
        low, high = self._quantile(tail), self._quantile(1 - tail)
        return Interval(self.estimate, low, high, level, self.method, self.count)

    def _quantile(self, share: float) -> float:
        mean, weight, spread = self.mean, self.weight, np.maximum(self.spread, 1e-12)
        reach = special.ndtri(share)
        nodes = mean + reach * spread
        low, high = float(nodes.min()), float(nodes.max())
        while high - low > 1e-9 * (abs(low) + abs(high) + 1e-3):
            steps = np.linspace(low, high, 24)
            below = special.ndtr((steps[:, None] - mean) / spread) @ weight
            place = int(np.clip(np.searchsorted(below, share), 1, steps.size - 1))
            low, high = float(steps[place - 1]), float(steps[place])
        return (low + high) / 2

    def above(self, value: float) -> float:
        """The probability of lying above `value`."""
        return float(
            self.weight @ special.ndtr((self.mean - value) / np.maximum(self.spread, 1e-12))
        )


@dataclasses.dataclass(frozen=True)
class Drift:
    """How the ratio of a quantity to a law changes with each size.

    Attributes:
        plain: The drift exponent of each size, against the law as it is.
        corrected: The same against the law's finite-size form, a + Σ C_j·f_j, its constants as
            likely as the cells are without a drift.
        free: The mean, the spread and the weight of every exponent for every form and scatter, the
            constants as likely as the cells are with a drift; one column per size.
        finite_size: Whether the finite-size form explains the cells: it fits clearly better than
            the law as it is (a likelihood-ratio test at 1 %) and than a power of the law, and not
            clearly worse without a drift than with one (at 5 %).
        scatter: What cells scatter beyond their errors, in log units, around the plain power law.
        ranges: For each size the largest over the smallest value among cells that are not censored.
        cells: How many cells entered.
        censored: How many of them are censored.
    """

    plain: dict[str, Mixture]
    corrected: dict[str, Mixture]
    free: tuple[np.ndarray, np.ndarray, np.ndarray]
    finite_size: bool
    scatter: float
    ranges: dict[str, float]
    cells: int
    censored: int

    def no_drift(self, limit: float, side: float, least_range: float) -> float:
        """How likely it is that some finite-size form explains the cells while no size with a range
        of at least `least_range` drifts beyond `limit`, upwards (`side` 1) or downwards (-1).

        It is an upper bound: of several sizes the one that drifts most clearly counts.
        """
        wide = [span >= least_range * (1 - 1e-9) for span in self.ranges.values()]
        if not any(wide):
            return 1.0
        mean, spread, weight = self.free
        within = special.ndtr(side * (limit - mean[:, wide]) / spread[:, wide])
        return float(weight @ within.min(axis=1))


def fit_drift(
    cells: Iterable[Cell], law: Law, sizes: Sequence[str], group: str | None = None
) -> Drift:
    """The drift exponents of cells against a law.

    Args:
        cells: Log values with errors and a design that holds the law's columns.
        law: The bound without its constant.
        sizes: The design columns in whose logarithm the ratio is regressed.
        group: A design column; each of its values gets a constant of its own (a slope in n at
            several d, say). None for one constant.

    Returns:
        The exponents, without and with an additive constant.

    Raises:
        SeparatrixError: If the cells do not vary the sizes independently, or are too few.

    >>> from separatrix.inference.laws import standard_laws
    >>> pairs = [(k, d) for k in (4, 16) for d in (4, 16)]
    >>> cells = [Cell({"k": k, "d": d}, math.log(3 * (k + d)), 0.05) for k, d in pairs]
    >>> drift = fit_drift([*cells, *cells], standard_laws()[0], ("k", "d"))
    >>> abs(drift.plain["k"].estimate) < 0.01, drift.ranges["k"]
    (True, 4.0)
    """
    cells, sizes = list(cells), tuple(sizes)
    if not cells:
        raise SeparatrixError("a drift exponent needs cells, got none")
    design = columns(cells)
    values = np.log(law.values(design))
    rows = observations_of(cells)
    rows = Observations(rows.value - values, rows.error, rows.side)
    matrix = _matrix(design, sizes, group, len(cells))
    measured = rows.side == 0
    _check(matrix, measured, sizes)
    constants = matrix[:, len(sizes) :]
    forms, prior = _finite_sizes(law, design, rows, constants)
    fitted = _fit_forms(rows, matrix, np.concatenate([np.zeros((1, len(cells))), forms - values]))
    weight = _posterior(fitted, rows, np.concatenate([[0.0], prior])[:, None])
    # Of the forms that a power of a size turns into each other (k·(d/k) is d) the one that needs no
    # drift counts: a form is as likely as the cells are under it without one.
    still = _fit_forms(rows, constants, forms - values)
    likely = _posterior(still, rows, prior[:, None]).sum(axis=1, keepdims=True)
    inside = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    finite = _prefers_finite_size(
        fitted, still, rows, constants, values, len(sizes), len(law.terms)
    )
    every = weight[1:] / weight[1:].sum()
    own, others = _pick(fitted, slice(0, 1)), _pick(fitted, slice(1, None))
    spans = {name: float(np.ptp(np.log(design[name][measured]))) for name in sizes}
    return Drift(
        plain=_exponents(own, inside[:1], sizes, len(cells)),
        corrected=_exponents(others, inside[1:] * likely, sizes, len(cells)),
        free=_components(others, every, len(sizes)),
        finite_size=finite,
        scatter=float(inside[0] @ _SCATTERS),
        ranges={name: math.exp(span) for name, span in spans.items()},
        cells=len(cells),
        censored=int(np.sum(~measured)),
    )


def smallest_constant(cells: Iterable[Cell], law: Law, level: float = 0.95) -> Interval:
    """The smallest C with quantity ≤ C·f in every cell, with an interval that holds for all cells
    at once (Bonferroni).

    >>> law = Law("k", "k", lambda design: design["k"])
    >>> cells = [Cell({"k": k}, math.log(c * k), 0.1) for k, c in ((4, 2.0), (8, 3.0))]
    >>> print(smallest_constant(cells, law))
    3 [2.398, 3.754]
    """
    return _covering(cells, law, level, side=1.0)


def largest_constant(cells: Iterable[Cell], law: Law, level: float = 0.95) -> Interval:
    """The largest c with quantity ≥ c·f in every cell, with an interval that holds for all cells at
    once (Bonferroni).

    >>> law = Law("k", "k", lambda design: design["k"])
    >>> largest_constant([Cell({"k": 4}, math.log(8), 0.1, "right")], law).high
    inf
    """
    return _covering(cells, law, level, side=-1.0)


def bend_along(cells: Iterable[Cell], size: str, group: str | None = None) -> Mixture:
    """How far a quantity bends away from a straight line in one size.

    The bend is the height of the quantity above its chord, halfway between the smallest and the
    largest size, as a share of its rise over the range: 0 for an affine quantity a + b·size, -.25
    for a quantity in proportion to size² over a long range. Censored cells are left out.

    Args:
        cells: Log values with errors.
        size: The design column in which the quantity is asked to be straight.
        group: A design column; each of its values has a line of its own, and all share the bend.

    >>> cells = [Cell({"k": k}, math.log(5 + 2 * k), 0.02) for k in (10, 20, 40, 60, 80)]
    >>> abs(bend_along(cells, "k").estimate) < 1e-6
    True
    """
    cells = [cell for cell in cells if cell.censoring == "none"]
    if len({cell.design[size] for cell in cells}) < 4:
        raise SeparatrixError(
            f"a bend needs cells at four values of `{size}` or more, "
            f"got {len({cell.design[size] for cell in cells})}"
        )
    place = columns(cells, [size])[size]
    share = (place - place.min()) / np.ptp(place)
    heights = np.exp([cell.value for cell in cells])
    lines = np.zeros(len(cells)) if group is None else columns(cells, [group])[group]
    members = [(lines == value).astype(float) for value in np.unique(lines)]
    ends = np.column_stack([end * own for own in members for end in (1 - share, share)])
    # Each row is divided by its measured value, so that errors and scatter are relative.
    errors = np.array([cell.error for cell in cells])
    rows = Observations(np.ones(len(cells)), errors, np.zeros(len(cells)))
    straight = _average(fit_rows(rows, ends / heights[:, None], scatter=_SCATTERS), rows)
    rise = np.abs(straight[1::2] - straight[::2]) @ np.array(members)
    if len(cells) <= ends.shape[1] + 1 or np.any(rise <= 0):
        raise SeparatrixError(f"the cells show no rise with `{size}` from which to measure a bend")
    curve = 4 * share * (1 - share) * rise
    fit = fit_rows(rows, np.column_stack([curve, ends]) / heights[:, None], scatter=_SCATTERS)
    spread = np.sqrt(np.linalg.inv(fit.information)[:, 0, 0])
    weight = _posterior(fit, rows)
    return Mixture(fit.coefficients[:, 0], spread, weight, len(cells), "bend of a quadratic fit")


def _average(fit: Fit, rows: Observations) -> np.ndarray:
    return _posterior(fit, rows) @ fit.coefficients


def _prefers_finite_size(
    fitted: Fit,
    still: Fit,
    rows: Observations,
    constants: np.ndarray,
    law: np.ndarray,
    sizes: int,
    terms: int,
) -> bool:
    """Whether the cells ask for the finite-size form (see `Drift`).

    A power of the law is its rival: over a short range √f is nearly a + C·f.
    """
    best, own = fitted.log_likelihood[1:].max(), fitted.log_likelihood[0].max()
    power = _fit_forms(
        rows, np.column_stack([law - law.mean(), constants]), np.zeros((1, rows.value.size))
    )
    without = still.log_likelihood.max()
    return bool(
        2 * (best - own) > special.chdtri(max(terms, 1), 0.01)
        and without > power.log_likelihood.max() + 2.0
        and 2 * (best - without) < special.chdtri(sizes, 0.05)
    )


def _pick(fit: Fit, forms: slice) -> Fit:
    return Fit(
        fit.scatter[forms],
        fit.coefficients[forms],
        fit.log_likelihood[forms],
        fit.information[forms],
    )


def _exponents(
    fit: Fit, weight: np.ndarray, sizes: tuple[str, ...], cells: int
) -> dict[str, Mixture]:
    """The exponents as mixtures over forms and scatters."""
    mean, spread, flat = _components(fit, weight, len(sizes))
    return {
        name: Mixture(mean[:, i], spread[:, i], flat, cells, "drift over cells")
        for i, name in enumerate(sizes)
    }


def _components(
    fit: Fit, weight: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and spreads of the first `count` coefficients with their weights; parts of no weight
    are left out."""
    flat = weight.ravel()
    parts = flat > 1e-9
    width = fit.coefficients.shape[-1]
    covariance = np.linalg.inv(fit.information.reshape(-1, width, width)[parts])
    spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)[:, :count])
    return fit.coefficients.reshape(-1, width)[parts][:, :count], spread, flat[parts]


def _fit_forms(rows: Observations, matrix: np.ndarray, offsets: np.ndarray) -> Fit:
    each = np.ones((len(offsets), 1, rows.value.size))
    return fit_rows(rows, matrix, offsets[:, None, :], _SCATTERS, each, iterations=12)


def _finite_sizes(
    law: Law, design: dict[str, np.ndarray], rows: Observations, constants: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Finite-size forms of a law: their logarithms, one row per form, and their log prior weights.

    The parameters of a form are the additive constant and the odds of all terms but the first. A
    coarse lattice of them is refined where the cells are likeliest without a drift.
    """
    terms = np.log([term.values(design) for term in law.terms or (law,)])
    values = np.log(law.values(design))
    axes = [_CONSTANTS, *[_ODDS] * (len(terms) - 1)]
    lattice = np.array(list(itertools.product(*axes)))
    volume = np.zeros(len(lattice))
    newest, step = lattice, np.array([0.25, *[2.0] * (len(terms) - 1)])
    best, highest = lattice[0], -math.inf
    for depth in range(1, 6):
        still = _fit_forms(rows, constants, _forms(terms, newest) - values)
        scores = still.log_likelihood.max(axis=1)
        if scores.max() > highest:
            best, highest = np.clip(newest[scores.argmax()], -7.0, 7.0), scores.max()
        step = step / 2
        newest = best + step * np.array(list(itertools.product((-1, 0, 1), repeat=len(step))))
        newest[:, 0] = np.clip(newest[:, 0], _CONSTANTS[0], _CONSTANTS[-1])
        lattice = np.concatenate([lattice, newest])
        volume = np.concatenate([volume, np.full(len(newest), -depth * len(step) * math.log(2))])
    spreads = np.array([_CONSTANT_SPREAD, *[_ODDS_SPREAD] * (len(terms) - 1)])
    prior = -0.5 * ((np.clip(lattice, -5.0, 5.0) / spreads) ** 2).sum(axis=1)
    return _forms(terms, lattice), prior + volume


def _forms(terms: np.ndarray, lattice: np.ndarray) -> np.ndarray:
    """The logarithm of a + Σ C_j·f_j in every cell, up to a factor, one row per form."""
    odds = np.column_stack([np.zeros(len(lattice)), lattice[:, 1:]])
    sums = np.asarray(special.logsumexp(terms + odds[:, :, None], axis=1))
    # In units of the smallest f: a = (e^s - 1)·C·f_min, so a + C·f = C·f·(1 + (e^s - 1)·f_min/f).
    share = np.exp(sums.min(axis=1, keepdims=True) - sums)
    return sums + np.log1p(np.expm1(lattice[:, :1]) * share)


def _posterior(fit: Fit, rows: Observations, prior: np.ndarray | float = 0.0) -> np.ndarray:
    """Weights of scatters (last axis) and of forms (first axis, where there are any)."""
    unit = max(float(np.median(rows.error)) / 2, 0.01)
    scatter = _SCATTERS
    _, determinant = np.linalg.slogdet(fit.information)
    score = fit.log_likelihood - 0.5 * determinant - 0.5 * scatter**2 - np.log(unit + scatter)
    score = score + prior
    weight = np.exp(np.maximum(score - score.max(), -700.0)) * np.gradient(scatter)
    return weight / weight.sum()


def _matrix(
    design: dict[str, np.ndarray], sizes: tuple[str, ...], group: str | None, count: int
) -> np.ndarray:
    for name in sizes:
        if name not in design:
            raise SeparatrixError(f"the cells have no size `{name}`; they have {sorted(design)}")
        if np.any(design[name] <= 0):
            raise ParameterError("fit_drift", name, "> 0 in every cell", float(design[name].min()))
    logs = [np.log(design[name]) - np.mean(np.log(design[name])) for name in sizes]
    if group is None:
        own = [np.ones(count)]
    else:
        own = [(design[group] == value).astype(float) for value in np.unique(design[group])]
    return np.column_stack([*logs, *own])


def _check(matrix: np.ndarray, measured: np.ndarray, sizes: tuple[str, ...]) -> None:
    wanted = matrix.shape[1]
    if np.linalg.matrix_rank(matrix[measured]) < wanted:
        names = " and ".join(sizes)
        raise SeparatrixError(
            f"the {int(measured.sum())} uncensored cells do not vary {names} independently"
        )
    if measured.size <= wanted:
        raise SeparatrixError(
            f"{wanted} coefficients need more than {wanted} cells, got {measured.size}"
        )


def _covering(cells: Iterable[Cell], law: Law, level: float, side: float) -> Interval:
    cells = list(cells)
    check_number("a constant", "level", level, low=0.5, high=0.99999)
    if not cells:
        raise SeparatrixError("a constant needs cells, got none")
    rows = observations_of(cells)
    ratio = side * (rows.value - np.log(law.values(columns(cells))))
    # After turning a lower bound around, `at most` and `at least` change places.
    known_above = rows.side * side >= 0
    known_below = rows.side * side <= 0
    reach = special.ndtri(1 - (1 - level) / (2 * len(cells))) * rows.error
    low = np.where(known_below, ratio - reach, -np.inf).max()
    high = np.where(known_above, ratio + reach, np.inf).max()
    plain = ratio[rows.side == 0]
    middle = float(np.clip(plain.max(), low, high)) if plain.size else math.nan
    ends = [math.exp(side * end) if math.isfinite(end) else end for end in (middle, low, high)]
    if side < 0:
        ends = [
            ends[0],
            *(0.0 if e == math.inf else math.inf if e == -math.inf else e for e in ends[:0:-1]),
        ]
    else:
        ends[1] = 0.0 if ends[1] == -math.inf else ends[1]
    method = f"{'largest' if side > 0 else 'smallest'} ratio over cells, simultaneous"
    return Interval(ends[0], ends[1], ends[2], level, method, len(cells))
