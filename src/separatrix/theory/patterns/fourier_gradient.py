"""Population gradients against a parity for any number of bits, as one-dimensional Fourier sums:
O(n) per node.
"""

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import check_integer, check_number
from separatrix.theory.patterns.fourier_series import Waves, build_waves
from separatrix.theory.patterns.parity_gradient import ParityGradient, check_units, symmetric_zeros
from separatrix.theory.patterns.units import UnitActivation

_NODES = 16  # nodes of a block: with n = 4096 a block of waves takes 1 MiB and stays in cache
_TINY = 1e-150


def turned(amplitude: np.ndarray, power: int) -> np.ndarray:
    """Re(amplitude · i^power), exact: a zero that symmetry demands stays 0.

    >>> turned(np.array([2.0 + 3.0j]), 1).tolist()
    [-3.0]
    """
    real, imaginary = np.real(amplitude), np.imag(amplitude)
    return (real, -imaginary, -real, imaginary)[power % 4]


def wave_blocks(weights: np.ndarray, step: float, count: int):
    """Blocks of nodes with cos and tan of s_m·w_i for nodes s_m = (2m+1)·step: yields (slice,
    cosines, tangents).

    Waves come from each other by rotation (one complex product each); every block starts from a
    directly computed angle, so errors do not pile up. A cosine of exactly 0 is moved to 1e-150, so
    that cosine times tangent is still the sine.

    >>> _, cosines, tangents = next(wave_blocks(np.array([0.5]), step=0.1, count=2))
    >>> bool(np.allclose(tangents[:, 0], np.tan([0.05, 0.15])))
    True
    """

    def wave(multiple: int) -> np.ndarray:
        angle = (multiple * step) * weights
        out = np.empty(len(weights), complex)
        np.cos(angle, out=np.real(out))
        np.sin(angle, out=np.imag(out))
        return out

    base = np.empty((min(_NODES, count), len(weights)), complex)
    base[0], filled = wave(1), 1
    while filled < len(base):
        more = min(filled, len(base) - filled)
        np.multiply(base[:more], wave(2 * filled), out=base[filled : filled + more])
        filled += more
    for first in range(0, count, _NODES):
        size = min(_NODES, count - first)
        block = base[:size] * wave(2 * first) if first else base[:size]
        cosines = np.ascontiguousarray(np.real(block))
        cosines[cosines == 0.0] = _TINY
        yield slice(first, first + size), cosines, np.imag(block) / cosines


def leave_one_out(values: np.ndarray) -> np.ndarray:
    """Along the last axis, the sum of all entries but each one, without subtracting (entries may be
    -inf).

    >>> leave_one_out(np.array([1.0, -np.inf, 3.0])).tolist()
    [-inf, 4.0, -inf]
    """
    before = np.zeros_like(values)
    after = np.zeros_like(values)
    np.cumsum(values[..., :-1], axis=-1, out=before[..., 1:])
    after[..., :-1] = np.cumsum(values[..., :0:-1], axis=-1)[..., ::-1]
    return before + after


def _unit(
    w: np.ndarray, inside: np.ndarray, outside: np.ndarray, waves: Waves
) -> tuple[np.ndarray, float, float, float]:
    """E[χ_{I△j} σ'] for all j, E[χ_I σ], the logarithm of their common scale, and the sum of all
    terms' sizes.
    """
    k, count = len(inside), len(waves.nodes)
    angles = waves.nodes[:, None] * w[inside]
    sines, cosines_inside = np.sin(angles), np.cos(angles)
    negative = sines < 0
    odd = 1.0 - 2.0 * (negative.sum(1) & 1)
    signs = odd[:, None] * np.where(
        negative, -1.0, 1.0
    )  # the sign of the product of all other sines
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(sines))
    products = np.ones(count)
    below, above, at = (
        turned(waves.slope, k - 1),
        turned(waves.slope, k + 1),
        turned(waves.value, k),
    )

    others = leave_one_out(logs)
    peak = float(others.max())
    scale = peak if np.isfinite(peak) else 0.0
    whole = odd * np.exp(logs.sum(1) - scale)
    entries = np.zeros(len(w))
    spread = np.zeros(count)
    for nodes, cosines, tangents in wave_blocks(w[outside], waves.step, count):
        products[nodes] = np.multiply.reduce(cosines, axis=1)
        entries[outside] += (above[nodes] * whole[nodes] * products[nodes]) @ tangents
        spread[nodes] = np.abs(tangents).max(1, initial=0.0)
    entries[inside] = (below * products) @ (cosines_inside * signs * np.exp(others - scale))
    value = float((at * products) @ whole)
    if k == 1:
        entries[inside] += waves.slope_constant * np.exp(-scale)
        value += waves.value_linear * float(w[inside[0]]) * np.exp(-scale)
    reference = np.abs(products) * np.maximum(
        np.exp(others.max(1) - scale), np.abs(whole) * np.maximum(1.0, spread)
    )
    size = float((np.maximum(np.abs(waves.slope), np.abs(waves.value)) * reference).sum())
    return entries, value, scale, size


def fourier_gradient(
    weights: ArrayLike,
    bias: ArrayLike,
    support: ArrayLike,
    activation: UnitActivation,
    readout: ArrayLike = 1.0,
    *,
    tolerance: float = 1e-10,
    node_limit: int = 1024,
) -> ParityGradient:
    """All gradient entries of many units against the parity of the bits in `support`, for n in the
    thousands.

    `weights` is (units, n), `bias` and `readout` numbers or (units,). Every unit gets its own
    nodes, about 25 for ReLU and 90 for tanh at n = 4096. The errors have three sources (see
    `Waves`): aliasing (proved), truncation (proved for tanh, in part an estimate for kinked
    activations, and large for them below n = 40, where `split_gradient` is exact) and rounding.

    >>> rng = np.random.default_rng(0)
    >>> w = rng.standard_normal((4, 1000)) / np.sqrt(1000)
    >>> gradient = fourier_gradient(w, 0.3, np.arange(6), UnitActivation("relu"))
    >>> bool((gradient.first_layer_error < 1e-6 * np.sqrt(gradient.squared)).all())
    True
    >>> bool(fourier_gradient(w, 0.0, np.arange(5), UnitActivation("relu")).exact_zero.all())
    True
    """
    rows, offsets, chosen, sizes = check_units("fourier_gradient", weights, bias, support, readout)
    check_number("fourier_gradient", "tolerance", tolerance, 0, 1, open_low=True)
    check_integer("fourier_gradient", "node_limit", node_limit, 1)
    units, bits = rows.shape
    outside = np.setdiff1d(np.arange(bits), chosen)
    first, last, scales = np.zeros((units, bits)), np.zeros(units), np.zeros(units)
    errors = np.zeros((5, units))
    zero, zero_last = symmetric_zeros(bits, len(chosen), offsets, activation)
    most = 0
    for i, (w, b) in enumerate(zip(rows, offsets)):
        if zero[i] and zero_last[i]:
            continue
        waves = build_waves(
            w, float(b), w[chosen], activation, tolerance=tolerance, node_limit=node_limit
        )
        entries, value, scales[i], size = _unit(w, chosen, outside, waves)
        first[i], last[i] = -sizes[i] * entries, -value
        most = max(most, len(waves.nodes))
        rounding = 2 * (bits + 64) * np.finfo(np.float64).eps * size * np.exp(scales[i])
        errors[:, i] = (
            waves.slope_aliasing,
            waves.value_aliasing,
            waves.slope_truncation,
            waves.value_truncation,
            rounding,
        )
    first[zero], last[zero_last] = 0.0, 0.0
    slope_error = np.where(zero, 0.0, np.abs(sizes) * (errors[0] + errors[2] + errors[4]))
    value_error = np.where(zero_last, 0.0, errors[1] + errors[3] + errors[4])
    parts = (("aliasing", errors[0]), ("truncation", errors[2]), ("rounding", errors[4]))
    return ParityGradient(
        first, last, scales, slope_error, value_error, zero, zero_last, "fourier", most, parts
    )
