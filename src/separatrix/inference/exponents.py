"""Exponents of a power law: log threshold = constant + sum of exponent * log variable + scatter.

There are two kinds of interval. `bootstrap` (the default) reweights whole clusters of cells at
random and refits, so that it holds even if the cells of a cluster err together or measurement
errors are misstated. `likelihood` trusts the stated errors and averages over the unknown scatter,
which gives Student's tails where scatter dominates; it needs fewer cells.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    check_choice,
    check_integer,
    check_number,
)
from separatrix.inference.censored_regression import (
    Cell,
    Fit,
    Observations,
    cluster_index,
    columns,
    fit_rows,
    observations_of,
)
from separatrix.inference.intervals import Interval
from separatrix.notes import Note


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """Fitted exponents with intervals, the constant, and the scatter (in log units) that the
    measurement errors do not explain.

    >>> pairs = [(k, d) for k in (4, 8, 16) for d in (4, 8, 16)]
    >>> cells = [Cell({"k": k, "d": d}, 2 * np.log(k) + np.log(d), 0.05) for k, d in pairs]
    >>> fit_exponents(cells).exponents["k"].contains(2.0)
    True
    """

    constant: float
    exponents: dict[str, Interval]
    scatter: float
    cells: int
    censored: int
    notes: tuple[Note, ...]

    def __str__(self) -> str:
        return ", ".join(f"{name}: {interval}" for name, interval in self.exponents.items())


def fit_exponents(
    cells: Iterable[Cell],
    variables: Sequence[str] = ("k", "d"),
    level: float = 0.95,
    method: str = "bootstrap",
    replicates: int = 1000,
    seed: int = 0,
) -> PowerLaw:
    """Fit the exponents of `variables` by censored weighted regression over cells.

    Args:
        cells: The measured thresholds.
        variables: The names of the design variables.
        level: The level of the intervals.
        method: `bootstrap` or `likelihood` (see the module).
        replicates: The number of refits of the bootstrap.
        seed: The seed of the bootstrap.

    Raises:
        SeparatrixError: If the design does not vary the variables independently, or too few cells
            are uncensored.

    >>> cells = [Cell({"k": k}, 2 * np.log(k) + 0.05 * (-1) ** k, 0.05) for k in range(4, 14)]
    >>> fitted = fit_exponents(cells, ["k"])
    >>> 1.8 < fitted.exponents["k"].low < fitted.exponents["k"].high < 2.2
    True
    """
    cells = list(cells)
    check_number("fit_exponents", "level", level, low=0.5, high=0.999)
    check_choice("fit_exponents", "method", method, ["bootstrap", "likelihood"])
    check_integer("fit_exponents", "replicates", replicates, low=100)
    rows, matrix = observations_of(cells), _matrix(cells, variables)
    groups = cluster_index(cells)
    _check_enough(rows, matrix, variables, groups)
    fit = fit_rows(rows, matrix)
    weight = fit.weights(unit=max(float(np.median(rows.error)) / 2, 0.01))
    centre = weight @ fit.coefficients
    scatter = float(weight @ fit.scatter)
    if method == "likelihood":
        bounds = _mixture_bounds(fit, weight, level)
    else:
        bounds = _bootstrap_bounds(rows, matrix, groups, scatter, centre, level, replicates, seed)
    origin = np.array([np.mean(np.log(columns(cells, [name])[name])) for name in variables])
    exponents = {
        name: Interval(float(centre[place + 1]), *bounds[place], level, method, len(cells))
        for place, name in enumerate(variables)
    }
    censored = int(np.sum(rows.side != 0))
    notes = []
    if censored * 2 > len(cells):
        notes.append(
            Note("mostly-censored", "warning", f"{censored} of {len(cells)} cells are censored")
        )
    if scatter > 0.5:
        factor = f"{np.exp(scatter):.2g}"
        text = f"cells scatter around the power law by a factor of {factor} beyond their errors"
        notes.append(Note("large-scatter", "warning", text))
    constant = float(np.exp(centre[0] - origin @ centre[1:]))
    return PowerLaw(constant, exponents, scatter, len(cells), censored, tuple(notes))


def _matrix(cells: Sequence[Cell], variables: Sequence[str]) -> np.ndarray:
    design = columns(cells, variables)
    for name, column in design.items():
        if np.any(column <= 0):
            raise ParameterError("fit_exponents", name, "> 0 in every cell", float(column.min()))
    # Centred columns: the constant is then the level at the middle of the design, which keeps
    # Newton well conditioned.
    logs = [np.log(column) - np.mean(np.log(column)) for column in design.values()]
    return np.column_stack([np.ones(len(cells)), *logs])


def _check_enough(
    rows: Observations, matrix: np.ndarray, variables: Sequence[str], groups: np.ndarray
) -> None:
    measured = rows.side == 0
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise SeparatrixError(
            f"the design does not vary {' and '.join(variables)} independently over its cells"
        )
    if np.linalg.matrix_rank(matrix[measured]) < matrix.shape[1]:
        text = "too few cells are uncensored to fit"
        raise SeparatrixError(
            f"{text} exponents of {', '.join(variables)}: {measured.sum()} of {measured.size}"
        )
    if groups.max() + 1 <= matrix.shape[1]:
        text = f"{matrix.shape[1]} coefficients need more than {matrix.shape[1]} clusters of cells"
        raise SeparatrixError(f"{text}, got {groups.max() + 1}")


def _mixture_bounds(fit: Fit, weight: np.ndarray, level: float) -> list[tuple[float, float]]:
    """Quantiles of the mixture over scatters of normal distributions of each exponent."""
    covariance = np.linalg.inv(fit.information)
    bounds = []
    for place in range(1, fit.coefficients.shape[1]):
        mean, spread = fit.coefficients[:, place], np.sqrt(covariance[:, place, place])
        reach = 12 * float(np.sqrt(weight @ (spread**2 + (mean - weight @ mean) ** 2)))
        nodes = np.linspace(weight @ mean - reach, weight @ mean + reach, 2001)
        cumulative = weight @ special.ndtr((nodes - mean[:, None]) / spread[:, None])
        tail = (1 - level) / 2
        bounds.append(
            (
                float(np.interp(tail, cumulative, nodes)),
                float(np.interp(1 - tail, cumulative, nodes)),
            )
        )
    return bounds


def _bootstrap_bounds(
    rows, matrix, groups, scatter, centre, level, replicates, seed
) -> list[tuple[float, float]]:
    """Percentiles of refits with random cluster weights, stretched to the spread of the
    leave-one-cluster-out refits.

    A design has few cells and its ends have much leverage: there, reweighting alone understates the
    error, because a cell that pulls the fit towards itself leaves a small residual. Leaving it out
    shows the full pull (more than the full one; times the root of one minus its leverage it is
    unbiased: this is the CR2 estimator).
    """
    count = int(groups.max()) + 1
    generator = np.random.default_rng(seed)
    # Exponential weights (the Bayesian bootstrap): no cell ever vanishes, so a small design never
    # becomes degenerate.
    draws = generator.exponential(size=(replicates, count))
    draws *= count / draws.sum(axis=1, keepdims=True)
    without = 1.0 - np.eye(count)
    # A cell without which the design is degenerate cannot be left out.
    keep = [
        np.linalg.matrix_rank(matrix[(groups != g) & (rows.side == 0)]) == matrix.shape[1]
        for g in range(count)
    ]
    weights = np.concatenate([draws, without[keep]])[:, groups]
    refits = fit_rows(
        rows, matrix, scatter=np.array([scatter]), multiplicity=weights, iterations=15
    ).coefficients
    refits, jackknife = refits[:replicates], refits[replicates:]
    leverage, freedom = _leverage(rows, matrix, groups, scatter)
    spread = np.sqrt(np.sum((jackknife - centre) ** 2 * (1 - leverage[keep])[:, None], axis=0))
    quantiles = special.stdtrit(freedom, 0.5 + level / 2) / special.ndtri(0.5 + level / 2)
    stretch = quantiles * np.maximum(spread / np.std(refits, axis=0), 1.0)
    low, high = np.quantile(refits, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [
        (
            float(centre[i] - stretch[i] * (centre[i] - low[i])),
            float(centre[i] + stretch[i] * (high[i] - centre[i])),
        )
        for i in range(1, matrix.shape[1])
    ]


def _leverage(
    rows: Observations, matrix: np.ndarray, groups: np.ndarray, scatter: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean leverage of each cluster; degrees of freedom of each coefficient's spread (Bell and
    McCaffrey).

    An exponent is often carried by a few cells at the ends of the design; its spread then rests on
    as few.
    """
    weighted = matrix / np.sqrt(rows.error**2 + scatter**2 + 1e-8)[:, None]
    # A censored cell counts as half a measured one: a rough value, and only these corrections
    # depend on it.
    weighted = weighted * np.where(rows.side == 0, 1.0, np.sqrt(0.5))[:, None]
    inverse = np.linalg.inv(weighted.T @ weighted)
    residual = np.eye(len(matrix)) - weighted @ inverse @ weighted.T
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    left = np.array([max(float(np.mean(np.diag(residual)[cluster])), 1e-3) for cluster in members])
    freedom = np.empty(matrix.shape[1])
    for place in range(matrix.shape[1]):
        pulls = np.array(
            [
                residual[:, cluster] @ weighted[cluster] @ inverse[:, place] / np.sqrt(rest)
                for cluster, rest in zip(members, left)
            ]
        )
        gram = pulls @ pulls.T
        freedom[place] = np.trace(gram) ** 2 / np.sum(gram**2)
    return 1 - left, np.maximum(freedom, 1.0)
