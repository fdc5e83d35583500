"""Regression of log thresholds with known errors, a fitted extra scatter, and censored rows.

A measured row contributes a normal density with variance error² + scatter²; a censored row the
probability of lying beyond its bound, with the same variance. Given the scatter the problem is
concave, so Newton's method solves it for a whole lattice of scatters, and for many reweightings of
the rows, at once.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from separatrix.errors import ParameterError, SeparatrixError, check_choice, check_number
from separatrix.inference.thresholds import Threshold

# Scatter in log units: from far below any measurement error to a factor of ten between neighbouring
# cells.
_SCATTERS = np.concatenate([[0.0], np.geomspace(0.01, 2.5, 39)])
# A bound is never perfectly sharp: keeps the variance positive for rows without error.
_FLOOR = 1e-4


@dataclasses.dataclass(frozen=True)
class Cell:
    """One measured threshold: its point of the design, its log value and its error.

    `value` is the log threshold, or the log bound if `censoring` is left (at most) or right (at
    least). Cells with the same `cluster` are resampled and held out together; by default each cell
    is its own cluster.
    """

    design: Mapping[str, float]
    value: float
    error: float
    censoring: str = "none"
    cluster: Any = None

    def __post_init__(self):
        check_number("Cell", "value", self.value)
        check_number("Cell", "error", self.error, low=0)
        check_choice("Cell", "censoring", self.censoring, ["none", "left", "right"])


def cell_of(design: Mapping[str, float], threshold: Threshold, cluster: Any = None) -> Cell | None:
    """A threshold as an observation for regression; None if it is censored on both sides and
    carries no information.

    >>> from separatrix.inference.thresholds import Tally, estimate_threshold
    >>> cell_of({"k": 8, "d": 8}, estimate_threshold([Tally(64, 8, 8)])).censoring
    'left'
    """
    if threshold.censoring == "both":
        return None
    if threshold.censoring == "none":
        return Cell(
            dict(design), math.log(threshold.estimate), threshold.log_error, "none", cluster
        )
    return Cell(
        dict(design), threshold.log_bound, threshold.log_error, threshold.censoring, cluster
    )


def columns(cells: Sequence[Cell], names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The design of many cells as named columns, one number per cell.

    >>> columns([Cell({"k": 8}, 1.0, 0.1), Cell({"k": 16}, 2.0, 0.1)])["k"].tolist()
    [8.0, 16.0]
    """
    if not cells:
        raise ParameterError("columns", "cells", "a non-empty list of cells", [])
    names = list(cells[0].design) if names is None else list(names)
    for cell in cells:
        for name in names:
            if name not in cell.design:
                raise SeparatrixError(
                    f"a cell lacks the design variable `{name}`; it has {sorted(cell.design)}"
                )
    return {name: np.array([cell.design[name] for cell in cells], dtype=float) for name in names}


def cluster_index(cells: Sequence[Cell]) -> np.ndarray:
    """The number of each cell's cluster; a cell without a cluster is one of its own.

    >>> cells = [Cell({}, 0, 1, cluster="a"), Cell({}, 0, 1), Cell({}, 0, 1, cluster="a")]
    >>> cluster_index(cells).tolist()
    [0, 1, 0]
    """
    known: dict[object, int] = {}
    names = [
        ("alone", place) if cell.cluster is None else ("named", cell.cluster)
        for place, cell in enumerate(cells)
    ]
    return np.array([known.setdefault(name, len(known)) for name in names])


@dataclasses.dataclass(frozen=True)
class Observations:
    """The data of a regression as arrays: log values, errors, and +1/-1/0 for left/right/not
    censored.

    >>> observations_of([Cell({"k": 8}, 1.0, 0.1), Cell({"k": 9}, 2.0, 0.1, "left")]).side.tolist()
    [0.0, 1.0]
    """

    value: np.ndarray
    error: np.ndarray
    side: np.ndarray

    def pick(self, index: np.ndarray) -> "Observations":
        """The rows at `index`, in that order."""
        return Observations(self.value[index], self.error[index], self.side[index])


def observations_of(cells: Sequence[Cell]) -> Observations:
    """Cells as arrays.

    >>> observations_of([Cell({"k": 8}, 1.0, 0.1)]).value.tolist()
    [1.0]
    """
    side = {"none": 0.0, "left": 1.0, "right": -1.0}
    return Observations(
        np.array([cell.value for cell in cells], dtype=float),
        np.array([cell.error for cell in cells], dtype=float),
        np.array([side[cell.censoring] for cell in cells]),
    )


@dataclasses.dataclass(frozen=True)
class Fit:
    """Coefficients, log likelihood and information matrix at each scatter of the lattice.

    >>> rows = observations_of([Cell({}, value, 0.1) for value in (1.0, 2.0, 3.0)])
    >>> fit = fit_rows(rows, np.ones((3, 1)))
    >>> fit.coefficients[fit.likeliest].round(6).tolist()
    [2.0]
    """

    scatter: np.ndarray
    coefficients: np.ndarray
    log_likelihood: np.ndarray
    information: np.ndarray

    @property
    def likeliest(self) -> int:
        """Index of the scatter with the largest likelihood."""
        return int(self.log_likelihood.argmax())

    def weights(self, unit: float) -> np.ndarray:
        """Posterior weight of each scatter, the coefficients integrated out; `unit` is a typical
        measurement error.

        The prior 1/(unit + scatter) is the usual one for a scale where scatter dominates, which
        gives Student's tails, and flat where the measurement error does, so that no scatter at all
        remains possible.
        """
        _, determinant = np.linalg.slogdet(self.information)
        log_weight = (
            self.log_likelihood
            - 0.5 * determinant
            - 0.5 * self.scatter**2
            - np.log(unit + self.scatter)
        )
        weight = np.exp(log_weight - log_weight.max()) * np.gradient(self.scatter)
        return weight / weight.sum()


def log_density(rows: Observations, centre: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log likelihood of each row given its mean and total variance (arrays that broadcast over the
    last axis).

    >>> rows = observations_of([Cell({}, 0.0, 0.0, "left")])
    >>> log_density(rows, np.array([0.0]), np.array([1.0])).round(3).tolist()
    [-0.693]
    """
    spread = np.sqrt(variance)
    residual = (rows.value - centre) / spread
    measured = -0.5 * residual**2 - np.log(spread) - 0.5 * np.log(2 * np.pi)
    return np.where(rows.side == 0, measured, special.log_ndtr(rows.side * residual))


def fit_rows(
    rows: Observations,
    matrix: np.ndarray,
    offset: np.ndarray | float = 0.0,
    scatter: np.ndarray = _SCATTERS,
    multiplicity: np.ndarray | None = None,
    iterations: int = 30,
) -> Fit:
    """Fit value = offset + matrix @ coefficients at each scatter; `multiplicity` reweights rows
    (last axis).

    >>> rows = observations_of([Cell({}, value, 0.1) for value in (1.0, 3.0)])
    >>> float(fit_rows(rows, np.ones((2, 1)), scatter=np.array([0.0])).coefficients[0, 0].round(6))
    2.0
    """
    multiplicity = np.ones(rows.value.size) if multiplicity is None else multiplicity
    variance = rows.error**2 + scatter[..., None] ** 2 + _FLOOR**2
    batch = np.broadcast_shapes(variance.shape[:-1], multiplicity.shape[:-1])
    variance = np.broadcast_to(variance, (*batch, rows.value.size))
    spread = np.sqrt(variance)
    count = matrix.shape[1]
    ridge = 1e-10 * np.eye(count)

    def information_of(curvature: np.ndarray) -> np.ndarray:
        return np.einsum("ni,...n,nj->...ij", matrix, curvature, matrix) + ridge

    # Start from weighted least squares with bounds read as values; likelihood is concave, so
    # damping makes Newton safe.
    weight = multiplicity / variance
    start = np.einsum("ni,...n->...i", matrix, weight * (rows.value - offset))
    coefficients = np.linalg.solve(information_of(weight), start[..., None])[..., 0]

    def likelihood(guess: np.ndarray) -> np.ndarray:
        return (multiplicity * log_density(rows, offset + guess @ matrix.T, variance)).sum(axis=-1)

    censored = bool(np.any(rows.side != 0))
    current = likelihood(coefficients)
    curvature = weight
    for _ in range(iterations if censored else 1):
        slope, bend = _derivatives(rows, (rows.value - offset - coefficients @ matrix.T) / spread)
        gradient = np.einsum("ni,...n->...i", matrix, multiplicity * slope / spread)
        curvature = multiplicity * bend / variance
        step = np.linalg.solve(information_of(curvature), gradient[..., None])[..., 0]
        size = np.ones((*batch, 1))
        trial, value = coefficients + step, current
        for _ in range(12):
            trial = coefficients + size * step
            value = likelihood(trial)
            worse = value < current - 1e-12
            if not np.any(worse):
                break
            size = np.where(worse[..., None], size / 2, size)
        better = value >= current - 1e-12
        coefficients = np.where(better[..., None], trial, coefficients)
        done = np.max(np.abs(value - current)) < 1e-9
        current = np.where(better, value, current)
        if done:
            break
    return Fit(np.broadcast_to(scatter, batch), coefficients, current, information_of(curvature))


def _derivatives(rows: Observations, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope and negative curvature of each row's log likelihood in the mean, in units of the
    spread.
    """
    turned = np.clip(rows.side * residual, -35.0, 35.0)
    mills = np.exp(-0.5 * turned**2 - 0.5 * math.log(2 * math.pi) - special.log_ndtr(turned))
    slope = np.where(rows.side == 0, residual, -rows.side * mills)
    # For a far residual the curvature goes to 1 from below; rounding must not turn it negative.
    bend = np.where(rows.side == 0, 1.0, np.clip(mills * (mills + turned), 0.0, 1.0))
    return slope, bend
