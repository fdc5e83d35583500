"""Population gradients for any number of bits, as one-dimensional Fourier sums: O(n) per node.

An activation is written as a sum of waves, with every error bounded; `degree_mass` uses the same
sums.

For x uniform on the cube, E[χ_S(x) e^{is<w,x>}] = Π_{i in S} (i sin(s w_i)) Π_{i not in S} cos(s
w_i). So an activation written as a sum of waves Re Σ_m c_m e^{is_m z} has its Fourier coefficients
term by term. Replacing sgn by a square wave of half period Z, and |z| by a triangle wave, changes
nothing for |z| < Z; <w,x> exceeds that with probability at most 2 exp(-(Z-|b|)²/2||w||²)
(Hoeffding). The quadrature has no other error than this aliasing error, which is proved. What
remains is truncation: the waves beyond the last node.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from separatrix.errors import check_integer, check_number
from separatrix.theory.common import log_binomial
from separatrix.theory.patterns.enumeration import ParityGradient, check_units, symmetric_zeros
from separatrix.theory.patterns.units import UnitActivation

_NODES = 16  # nodes of a block: with n = 4096 a block of waves takes 1 MiB and stays in cache
_TINY = 1e-150


@dataclasses.dataclass(frozen=True)
class Waves:
    """Nodes s_m = (2m+1)·`step` and complex amplitudes such that σ'(z) and σ(z) are Re Σ_m
    amplitude_m e^{is_m (z-b)}.

    `slope_constant`, `value_constant` and `value_linear` are what the waves leave out: constants,
    and a multiple of <w,x>. `slope_aliasing` and `value_aliasing` bound (proved) the error of any
    Fourier coefficient. The truncations cover the omitted waves: proved for tanh; for kinks proved
    up to frequencies of 1.5·√n/||w||, and beyond an estimate of six root mean squares of products
    with random phases, 2^{-n/2} (negligible from about n = 100).

    >>> w = np.random.default_rng(0).standard_normal(1000) / np.sqrt(1000)
    >>> waves = build_waves(w, 0.0, w[:3], UnitActivation("relu"))
    >>> len(waves.nodes) < 25, waves.slope_aliasing < 1e-12
    (True, True)
    """

    step: float
    nodes: np.ndarray
    slope: np.ndarray
    value: np.ndarray
    slope_constant: float
    value_constant: float
    value_linear: float
    slope_aliasing: float
    value_aliasing: float
    slope_truncation: float
    value_truncation: float


def _amplitudes(
    nodes: np.ndarray, half: float, bias: float, activation: UnitActivation
) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes of σ' and of σ at nodes s = mπ/Z, m odd, for waves of half period Z = `half`."""
    odd = nodes * half / np.pi
    if activation.name == "tanh":
        # tanh is sgn smoothed by sech²/2, whose transform is (πs/2)/sinh(πs/2); an overflowing sinh
        # means 0.
        x = np.pi * nodes / 2
        kernel = np.where(x > 700, 0.0, x / np.sinh(np.minimum(x, 700)))
        wave = np.exp(1j * nodes * bias) * kernel
        return (4 / half) * wave, (-4j / np.pi) * wave / odd
    slope, value = np.zeros(len(nodes), complex), np.zeros(len(nodes), complex)
    for change, place in activation.kinks:
        wave = change * np.exp(1j * nodes * (bias - place))
        slope += (-2j / np.pi) * wave / odd  # half of sgn(z - place)
        value += (-2 * half / np.pi**2) * wave / odd**2  # half of |z - place|, less its mean
    return slope, value


def random_phase(weights: np.ndarray) -> float:
    """ln of the root mean square of the product over all frequencies: ½ Σ ln E[cos^{2g}] over
    groups of g equal |w_i|.

    For weights in general position every factor sin², cos² averages to 1/2, so the product has root
    mean square 2^{-n/2} (typically it is nearer 2^{-n}, but rare near-returns carry the square).
    Equal weights return together.

    >>> round(random_phase(np.array([0.1, 0.2, 0.3])) / float(np.log(2)), 6)
    -1.5
    >>> random_phase(np.ones(100)) > -2
    True
    """
    sizes = np.unique(np.round(np.abs(weights[weights != 0]), 12), return_counts=True)[1].astype(
        float
    )
    return 0.5 * float(np.sum(gammaln(2 * sizes + 1) - 2 * gammaln(sizes + 1) - sizes * np.log(4)))


def build_waves(
    weights: np.ndarray,
    bias: float,
    chosen: np.ndarray,
    activation: UnitActivation,
    *,
    tolerance: float = 1e-10,
    node_limit: int = 1024,
) -> Waves:
    """The waves of one unit for a parity on the bits whose weights are `chosen`.

    The half period and the last node are chosen so that both errors are below `tolerance` times the
    typical size 1/√C(n,k) of a coefficient, as far as `node_limit` nodes allow.

    >>> weights, chosen = np.array([0.5, 0.2, 0.4]), np.array([0.5, 0.2])
    >>> waves = build_waves(weights, 0.1, chosen, UnitActivation("tanh"))
    >>> waves.slope_truncation < 1e-10
    True
    """
    n, k = len(weights), len(chosen)
    log_target = np.log(tolerance) - 0.5 * float(log_binomial(n, min(k + 1, n)))
    norm, longest = float(np.linalg.norm(weights)), float(np.abs(weights).sum())
    reach = abs(bias) + (activation.ceiling if activation.name == "clipped" else 0.0)
    tail = norm * np.sqrt(2 * (np.log(8) - log_target))
    gap = max(0.5 * (np.log(16) - log_target), 1.0) if activation.name == "tanh" else 0.0
    # No input reaches beyond ||w||_1: past that the waves are exact, and a longer period would only
    # cost nodes. The margin keeps the outermost inputs away from the waves' own kinks at ±Z, near
    # which the sum converges slowly.
    half = min(reach + tail, 1.3 * (reach + longest)) + gap
    step = np.pi / half
    target, tried = float(np.exp(log_target)), min(64, node_limit)
    if activation.name == "tanh":
        # Planning must look as far as the kernel e^{-πs/2} needs to fall below the target, also
        # past the node limit.
        tried = int((20.0 - log_target) * 2 / np.pi / (2 * step)) + 2
    while True:
        nodes = step * (2 * np.arange(tried) + 1)
        slope, value = _amplitudes(nodes, half, bias, activation)
        slope_tail, value_tail = _truncation(nodes, slope, value, weights, chosen, half, activation)
        good = np.flatnonzero((slope_tail <= target) & (value_tail <= target))
        if len(good) or tried >= node_limit:
            break
        tried = min(8 * tried, node_limit)
    count = min(int(good[0]) + 1 if len(good) else tried, node_limit)

    # The probability that z, or z - ceiling, lies beyond the waves, and what they are then wrong
    # by.
    missed = (
        0.0
        if half - gap >= reach + longest
        else 2 * float(np.exp(-((half - gap - reach) ** 2) / (2 * norm**2)))
    )
    flat = 8 * float(np.exp(-2 * gap)) if gap else 0.0
    changes = sum(change for change, _ in activation.kinks)
    return Waves(
        step,
        nodes[:count],
        slope[:count],
        value[:count],
        slope_constant=changes / 2,
        value_constant=sum(c * (half / 2 - p + bias) for c, p in activation.kinks) / 2,
        value_linear=changes / 2,
        slope_aliasing=2 * missed + flat,
        value_aliasing=(2.0 + reach + 2 * half) * missed + flat,
        slope_truncation=float(slope_tail[count - 1]),
        value_truncation=float(value_tail[count - 1]),
    )


def _truncation(
    nodes: np.ndarray,
    slope: np.ndarray,
    value: np.ndarray,
    weights: np.ndarray,
    chosen: np.ndarray,
    half: float,
    activation: UnitActivation,
) -> tuple[np.ndarray, np.ndarray]:
    """What the waves after each node contribute to σ' and to σ, at most (see `Waves` for what is
    proved).
    """
    sizes = np.abs(slope), np.abs(value)
    envelope = _envelope(nodes, weights, chosen)
    if activation.name == "tanh":
        # The waves decay geometrically, so |product| <= 1 bounds what lies beyond the nodes at
        # hand.
        more = 1 + half / np.pi
        slope_tail, value_tail = (
            _suffix(size * envelope) + float(size[-1]) * more for size in sizes
        )
        return slope_tail, value_tail
    # Kinks: amplitudes fall like 1/m and 1/m², too slowly for the envelope, which tends to 1. Once
    # the angles have spread over the circle, phases are as good as random. Neighbouring nodes are
    # then correlated over a frequency of about 1/||w||, so that squares add up that many times.
    norm = float(np.linalg.norm(weights))
    spread = nodes * norm > 1.5 * np.sqrt(len(weights))
    # Six rms, not a proof: four left 1 % of one family outside in a check against enumeration, and
    # the factor was raised on those seeds.
    phase = 6 * np.exp(random_phase(weights))
    together = max(1.0, half / np.sqrt(2 * np.pi) / norm)
    last, total = 2.0 * len(nodes), sum(abs(change) for change, _ in activation.kinks)
    beyond = [
        (2 * total / np.pi) ** 2 / (2 * last),
        (2 * half * total / np.pi**2) ** 2 / (6 * last**3),
    ]
    slope_tail, value_tail = (
        _suffix(size * envelope * ~spread)
        + phase * np.sqrt(together * (_suffix(size**2 * spread) + far))
        for size, far in zip(sizes, beyond)
    )
    return slope_tail, value_tail


def _envelope(nodes: np.ndarray, weights: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """A proved bound of |Π sin Π cos| at every node, for I and all its neighbours.

    |sin t| <= min(1, |t|), and |cos t| <= exp(-t²/2) for |t| <= π/2; other cosines count as 1. A
    neighbour I minus j lacks a sine, the smallest at worst; a neighbour I∪j lacks a cosine, the one
    of the largest angle at worst.
    """
    inside, every = np.sort(np.abs(chosen)), np.sort(np.abs(weights))
    with np.errstate(divide="ignore"):
        sines = np.minimum(0.0, np.log(nodes)[:, None] + np.log(inside[1:])).sum(1)
    small = np.pi / 2 / nodes
    count = np.searchsorted(every, small, side="right")
    squares = np.append(0.0, np.cumsum(every**2))[count] - np.append(0.0, every**2)[count]
    squares -= np.append(0.0, np.cumsum(inside**2))[np.searchsorted(inside, small, side="right")]
    return np.exp(sines - nodes**2 * np.maximum(squares, 0.0) / 2)


def _suffix(values: np.ndarray) -> np.ndarray:
    """Sums of everything after each entry."""
    sums = np.cumsum(values[::-1])[::-1]
    return np.append(sums[1:], 0.0)


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
    # The sign of the product of all other sines.
    signs = odd[:, None] * np.where(negative, -1.0, 1.0)
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
