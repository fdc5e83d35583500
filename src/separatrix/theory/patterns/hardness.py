"""Theorem 12: the gradient of a fully connected network at initialisation, when the label is the
parity of k bits; its bounds, and its size beside that of networks that see windows.

The paper bounds E||∂L/∂W||² by q·n·min{1/C(n-1,k), 1/C(n-1,k-1)}. Averaging over the supports
exactly gives more: with A and B the Fourier mass of σ'(<w,x>+b) on sets of k-1 and k+1 bits, the
average of a unit is u²·[A(n-k+1) + B(k+1)]/C(n,k).

`separation_row` averages fully connected units over all supports exactly (`degree_mass`). By
permutation invariance this has the same expectation as one fixed window, without the heavy tails:
plain draws at k = 12 almost never see the mean.
"""

import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix.errors import check_choice, check_integer, check_number
from separatrix.theory.common import (
    Condition,
    Values,
    exponential,
    flags,
    grid,
    log_binomial,
    plain,
)
from separatrix.theory.patterns.enumeration import cube_gradient, degree_profile
from separatrix.theory.patterns.gradients import (
    lattice_degree_mass,
    population_gradient,
    window_gradient,
)
from separatrix.theory.patterns.masses import degree_mass
from separatrix.theory.patterns.units import UnitActivation


@dataclasses.dataclass(frozen=True)
class Theorem12Bound:
    """Theorem 12 for `filters` units: bounds on the expected squared norms of both layers'
    gradients at initialisation.

    `first_layer` and `readout` are the paper's; `sharper` follows from the identity. The logarithms
    stay finite where the bounds underflow. `vacuous` says that the paper's first-layer bound is no
    better than q, which Parseval gives for free (`sharper` is vacuous where `sharper_vacuous`).

    >>> bound = theorem12(bits=[4, 64], window=2)
    >>> bound.vacuous.tolist(), bound.sharper_vacuous.tolist()
    ([True, False], [False, False])
    """

    first_layer: Values
    readout: Values
    sharper: Values
    log_first_layer: Values
    log_readout: Values
    log_sharper: Values
    vacuous: bool | np.ndarray
    sharper_vacuous: bool | np.ndarray
    conditions: tuple[Condition, ...]


def theorem12(
    bits: ArrayLike,
    window: ArrayLike,
    filters: ArrayLike = 1,
    ceiling: ArrayLike = 1.0,
    readout_size: ArrayLike = 1.0,
) -> Theorem12Bound:
    """Theorem 12's two bounds, and the sharper max(n-k+1, k+1)/C(n,k) per unit (`readout_size` is
    the bound on |u_i|).

    >>> bound = theorem12(bits=16, window=4)
    >>> f"{bound.first_layer:.4g} {bound.sharper:.4g} {bound.readout:.4g}"
    '0.01172 0.007143 0.0005495'
    >>> theorem12(bits=4096, window=12).log_sharper < -70
    True
    """
    n = grid("theorem12", "bits", bits, 1, whole=True)
    k = grid("theorem12", "window", window, 1, n, whole=True)
    q = grid("theorem12", "filters", filters, 1, whole=True)
    c = grid("theorem12", "ceiling", ceiling, 0, open_low=True)
    u = grid("theorem12", "readout_size", readout_size, 0, 1, open_low=True)
    free = np.log(q) + 2 * np.log(u)
    largest = np.maximum(log_binomial(n - 1, k), log_binomial(n - 1, k - 1))
    # At k = n no set has k+1 bits, so only A(n-k+1) is left.
    factor = np.where(k == n, n - k + 1, np.maximum(n - k + 1, k + 1))
    logs = np.broadcast_arrays(
        free + np.log(n) - largest,
        np.log(q) + 2 * np.log(c) - log_binomial(n, k),
        free + np.log(factor) - log_binomial(n, k),
    )
    conditions = (
        Condition(
            "the weights' distribution is invariant under permutations of the coordinates",
            "by the caller",
        ),
        Condition("|u_i| <= 1 and |h(x)| <= 1 for every x", "by the caller"),
        Condition(
            "|sigma| <= ceiling (readout only; ReLU has no ceiling) and |sigma'| <= 1",
            "by the caller",
        ),
    )
    first, readout, sharper = (plain(exponential(log)) for log in logs)
    return Theorem12Bound(
        first,
        readout,
        sharper,
        plain(logs[0]),
        plain(logs[1]),
        plain(logs[2]),
        flags(logs[0] >= free),
        flags(logs[2] >= free),
        conditions,
    )


@dataclasses.dataclass(frozen=True)
class SupportAverage:
    """A unit's squared gradient averaged over every support of k bits, exactly: the identity behind
    Theorem 12.

    >>> round(support_average(bits=8, window=3, mass_below=0.1, mass_above=0.0).log_first_layer, 4)
    -4.5362
    """

    first_layer: Values
    readout: Values
    log_first_layer: Values
    log_readout: Values


def support_average(
    bits: int,
    window: ArrayLike,
    mass_below: ArrayLike,
    mass_above: ArrayLike,
    mass_value: ArrayLike = 0.0,
    readout_size: ArrayLike = 1.0,
) -> SupportAverage:
    """u²·[A(n-k+1) + B(k+1)]/C(n,k) for the first layer and M/C(n,k) for the readout.

    A = `mass_below` and B = `mass_above` are the Fourier masses of σ' at degrees k-1 and k+1, M =
    `mass_value` that of σ at degree k (see `degree_profile` and `degree_mass`).

    >>> round(support_average(bits=4, window=2, mass_below=1.0, mass_above=0.0).first_layer, 12)
    0.5
    """
    n = grid("support_average", "bits", bits, 1, whole=True)
    k = grid("support_average", "window", window, 1, n, whole=True)
    below = grid("support_average", "mass_below", mass_below, 0)
    above = grid("support_average", "mass_above", mass_above, 0)
    value = grid("support_average", "mass_value", mass_value, 0)
    u = grid("support_average", "readout_size", readout_size, 0)
    with np.errstate(divide="ignore"):
        first = np.log(u**2 * (below * (n - k + 1) + above * (k + 1))) - log_binomial(n, k)
        readout = np.log(value) - log_binomial(n, k)
    return SupportAverage(
        plain(exponential(first)), plain(exponential(readout)), plain(first), plain(readout)
    )


INITIALISATIONS = ("gaussian", "sign", "theorem4")
_ENUMERATED = 16


@dataclasses.dataclass(frozen=True)
class DrawMean:
    """A mean over independent draws with Student's interval at level .95.

    A single draw gives an interval of no width; it is used where all draws agree.

    >>> mean = DrawMean.of(np.array([1.0, 2.0, 3.0]))
    >>> mean.mean, round(mean.low, 3), round(mean.high, 3)
    (2.0, -0.484, 4.484)
    """

    mean: float
    low: float
    high: float
    median: float
    draws: int

    @classmethod
    def of(cls, values: np.ndarray) -> "DrawMean":
        """The mean of `values` with its interval."""
        mean, count = float(values.mean()), len(values)
        half = 0.0
        if count > 1:
            half = float(special.stdtrit(count - 1, 0.975) * values.std(ddof=1) / np.sqrt(count))
        return cls(mean, mean - half, mean + half, float(np.median(values)), count)


@dataclasses.dataclass(frozen=True)
class SeparationRow:
    """Expected squared gradients per unit at initialisation, with u = 1, for one (n, k).

    `full` and `full_readout` are the fully connected unit's (support-averaged), `plain` the same
    from plain draws at one window: its median shows how far typical draws lie below the mean.
    `shared` is a convolutional filter's, `local` the mean over all units of a locally connected
    network, (n-k+1) times smaller because only the matching window has a gradient. `paper` and
    `sharper` bound `full`, `paper_readout` (inf for ReLU) bounds `full_readout`. `full_error` is
    the numerical error of `full`.

    >>> row = separation_row(16, 4, UnitActivation("tanh"))
    >>> row.full.low < row.full.mean < row.sharper < row.paper
    True
    """

    bits: int
    window: int
    full: DrawMean
    full_error: float
    full_readout: DrawMean
    plain: DrawMean
    shared: DrawMean
    shared_readout: DrawMean
    local: DrawMean
    paper: float
    sharper: float
    paper_readout: float

    @property
    def ratio(self) -> float:
        """The signal of the fully connected unit over that of the convolutional filter, with u = 1
        in both; nan if the latter is 0.
        """
        return self.full.mean / self.shared.mean if self.shared.mean else float("nan")

    @property
    def bounded_ratio(self) -> float:
        """The ratio with readouts that keep |h| <= 1, as Theorem 12 asks: u = 1/q, against
        1/(q(n-k+1)) for windows.

        >>> row = separation_row(16, 4, UnitActivation("tanh"))
        >>> round(row.bounded_ratio / row.ratio)
        169
        """
        return self.ratio * (self.bits - self.window + 1) ** 2

    def network(self, filters: int, *, bounded: bool = False) -> dict[str, float]:
        """Squared first-layer gradients of whole networks with `filters` hidden units, or filters
        per window.

        With `bounded` the readouts are one over the number of hidden features (|h| <= 1 when |σ| <=
        1), else 1. A locally connected network's total equals the convolutional one's: other
        windows add nothing.

        >>> network = separation_row(16, 4, UnitActivation("tanh")).network(filters=10)
        >>> network["shared"] == network["local"] > network["full"]
        True
        """
        check_integer("SeparationRow", "filters", filters, 1)
        full, windows = (
            (1 / filters**2, 1 / (filters * (self.bits - self.window + 1)) ** 2)
            if bounded
            else (1.0, 1.0)
        )
        total = filters * self.shared.mean * windows
        return {"full": filters * self.full.mean * full, "shared": total, "local": total}


def log_window(bits: int) -> int:
    """k = ⌈log2 n⌉.

    >>> log_window(4096), log_window(9)
    (12, 4)
    """
    check_integer("log_window", "bits", bits, 2)
    return (bits - 1).bit_length()


def draw_units(
    initialisation: str, units: int, inputs: int, window: int, rng: np.random.Generator
) -> np.ndarray:
    """Weights (units, inputs): N(0, 1/inputs), ±1/√inputs, or Theorem 4's ±1/window.

    >>> draw_units("theorem4", 1, 2, 4, np.random.default_rng(0)).tolist()
    [[0.25, 0.25]]
    """
    check_choice("draw_units", "initialisation", initialisation, INITIALISATIONS)
    if initialisation == "gaussian":
        return rng.standard_normal((units, inputs)) / np.sqrt(inputs)
    size = 1 / np.sqrt(inputs) if initialisation == "sign" else 1 / window
    return rng.choice([-size, size], (units, inputs))


def _masses(
    w: np.ndarray, bias: float, k: int, activation: UnitActivation, lattice: bool
) -> tuple[np.ndarray, float]:
    """(A, B, M) of one unit, and the error of the first layer's average relative to it."""
    n = len(w)
    if lattice:
        size = float(abs(w[0]))
        wanted = ((k - 1, True), (k + 1, True), (k, False))
        return np.array(
            [
                lattice_degree_mass(n, size, bias, d, activation, derivative=s) if d <= n else 0.0
                for d, s in wanted
            ]
        ), 0.0
    if n <= _ENUMERATED:
        slope = degree_profile(w, bias, activation)
        above = slope[k + 1] if k < n else 0.0
        return np.array(
            [slope[k - 1], above, degree_profile(w, bias, activation, derivative=False)[k]]
        ), 0.0
    # Few bits have a longer tail of waves (2^{-n/2}) but cheap nodes, so they get more nodes.
    limit = 512 if n <= 64 else 128
    slope = degree_mass(w, bias, min(k + 1, n), activation, node_limit=limit)
    value = degree_mass(w, bias, k, activation, derivative=False, node_limit=limit)
    above, above_error = (slope.mass[k + 1], slope.error[k + 1]) if k < n else (0.0, 0.0)
    mass = np.array([slope.mass[k - 1], above, value.mass[k]])
    weight = mass[0] * (n - k + 1) + mass[1] * (k + 1)
    error = slope.error[k - 1] * (n - k + 1) + above_error * (k + 1)
    return mass, float(error / weight) if weight > 0 else 0.0


def separation_row(
    bits: int,
    window: int,
    activation: UnitActivation,
    initialisation: str = "gaussian",
    bias: float = 0.3,
    *,
    draws: int = 8,
    plain_draws: int = 16,
    filters: int = 512,
    seed: int = 0,
) -> SeparationRow:
    """Theorem 12's quantities for one (n, k): fully connected, convolutional and locally connected,
    with bounds.

    The initialisation of Theorem 4 has the bias 1/k - 1, whatever `bias` is. `draws` units are
    averaged over supports, `plain_draws` are used as drawn, and `filters` windows are enumerated.

    >>> row = separation_row(64, 6, UnitActivation("relu"))
    >>> row.full.mean < row.sharper < row.paper, row.ratio < 1
    (True, True)
    """
    check_integer("separation_row", "bits", bits, 2)
    check_integer("separation_row", "window", window, 1, min(bits, 20))
    check_number("separation_row", "bias", bias)
    for name, count in (("draws", draws), ("plain_draws", plain_draws), ("filters", filters)):
        check_integer("separation_row", name, count, 2)
    check_choice("separation_row", "initialisation", initialisation, INITIALISATIONS)
    rng = np.random.default_rng([seed, bits, window])
    offset = 1 / window - 1 if initialisation == "theorem4" else bias
    lattice = initialisation != "gaussian"
    # With weights of one size every draw has the same masses.
    units = draw_units(initialisation, 1 if lattice else draws, bits, window, rng)
    masses = [_masses(w, offset, window, activation, lattice) for w in units]
    averages = [support_average(bits, window, *mass) for mass, _ in masses]
    first = np.array([average.first_layer for average in averages], float)
    plain = population_gradient(
        draw_units(initialisation, plain_draws, bits, window, rng),
        offset,
        np.arange(window),
        activation,
    )
    seen = window_gradient(
        draw_units(initialisation, filters, window, window, rng), offset, activation
    )
    squared = seen.squared
    bound = theorem12(bits, window)
    readout_bound = activation.bound**2 * float(bound.readout)
    return SeparationRow(
        bits,
        window,
        DrawMean.of(first),
        float(np.mean([error for _, error in masses]) * first.mean()),
        DrawMean.of(np.array([average.readout for average in averages], float)),
        DrawMean.of(plain.squared),
        DrawMean.of(squared),
        DrawMean.of(seen.readout**2),
        DrawMean.of(squared / (bits - window + 1)),
        float(bound.first_layer),
        float(bound.sharper),
        readout_bound,
    )


def separation_table(
    sizes: Iterable[int],
    activation: UnitActivation,
    window: int | None = None,
    initialisation: str = "gaussian",
    bias: float = 0.3,
    **options: int,
) -> list[SeparationRow]:
    """A row for every n in `sizes`, at k = ⌈log2 n⌉ or at a fixed window.

    >>> [row.window for row in separation_table([8, 16], UnitActivation("tanh"))]
    [3, 4]
    """
    return [
        separation_row(
            n,
            log_window(n) if window is None else window,
            activation,
            initialisation,
            bias,
            **options,
        )
        for n in sizes
    ]


def crossing(rows: Iterable[SeparationRow], *, bounded: bool = True) -> int | None:
    """The smallest n from which on the signal of the fully connected unit stays below that of the
    filter; None if there is none.

    With `bounded`, both networks satisfy |h| <= 1 as Theorem 12 asks (see
    `SeparationRow.bounded_ratio`); otherwise all u are 1. Rows in which the signal of the filter is
    exactly 0 are skipped.

    >>> crossing(separation_table([8, 16, 32, 64], UnitActivation("tanh")))
    32
    """
    smallest = None
    for row in sorted(rows, key=lambda row: row.bits):
        ratio = row.bounded_ratio if bounded else row.ratio
        if not np.isnan(ratio):
            smallest = (smallest or row.bits) if ratio < 1 else None
    return smallest


IDENTITY_SIZES = ((8, 3), (9, 2), (10, 4), (12, 2))


def identity_errors(seed: int) -> list[dict[str, Any]]:
    """The relative errors of `support_average` against enumeration: gradients for every support one
    by one, beside the mass by degree.

    >>> max(row["first_layer"] for row in identity_errors(0)) < 1e-12
    True
    """
    out = []
    for bits, window in IDENTITY_SIZES:
        rng = np.random.default_rng([seed, bits, window])
        for name in ("relu", "tanh", "clipped"):
            activation = UnitActivation(name)
            weights, bias = rng.standard_normal(bits) / np.sqrt(bits), float(rng.normal() / 2)
            supports = list(itertools.combinations(range(bits), window))
            gradients = [
                cube_gradient(weights[None], bias, np.array(support), activation)
                for support in supports
            ]
            slope, value = (
                degree_profile(weights, bias, activation),
                degree_profile(weights, bias, activation, derivative=False),
            )
            average = support_average(
                bits, window, slope[window - 1], slope[window + 1], value[window]
            )
            first = float(np.mean([gradient.squared[0] for gradient in gradients]))
            readout = float(np.mean([gradient.readout[0] ** 2 for gradient in gradients]))
            out.append(
                {
                    "bits": bits,
                    "window": window,
                    "activation": name,
                    "supports": len(supports),
                    "first_layer": abs(first / float(average.first_layer) - 1),
                    "readout": abs(readout / float(average.readout) - 1),
                }
            )
    return out
