"""Kernels of networks with one hidden layer, for the three connectivities and three readouts.

In the parametrization of the neural tangent kernel every trained number is N(0, 1) and the network

    f(x) = (r / √width) Σ_q Σ_j a_{jq} φ( (s / √span) <w_{jq}, x_j> + b β_{jq} )

sees its input through windows x_j. A convolution has the same w_q at every window, a locally
connected network one w_{jq} per window, a fully connected network a single window. The readout is
"positions" (a_{jq} trained, scaled by 1/√windows), "pooled" (a_q trained, windows averaged) or
"sum" (all ones, not trained).

With a readout for every position the expectation over a_{jq} removes all products of different
windows, so **a convolution and a locally connected network have the same kernels**: sharing can
only show in a kernel with the pooled or the summed readout.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    check_choice,
    check_integer,
    check_number,
)
from separatrix.theory.kernels.dual import Dual, dual_of

LARGEST_MATRIX = 10**9  # entries: 4 gigabytes, minutes of a processor
BLOCK = 2**22  # entries of a block of the kernel matrix: tens of megabytes of intermediates
TILE = 1024  # rows and columns of a block of a symmetric matrix, of which one half is computed


@dataclasses.dataclass(frozen=True)
class KernelSpec:
    """Which kernel: the network's connectivity, windows, activation, readout and scales.

    Args:
      connectivity: "full", "local" or "shared".
      field: the length of a window along the input's only axis; None for "full".
      stride: the distance between windows.
      activation: "relu", "clipped", "lsa" or "tanh".
      numbers: the activation's own numbers, such as (("bias", 0.5),).
      readout: "positions", "pooled" or "sum".
      trained: "readout" for the conjugate kernel, "both" for the tangent kernel.
      weight_scale: s, the deviation of a window's response to an input of unit mean square.
      bias_scale: b, the deviation of the hidden biases.
      readout_scale: r, the deviation of the network's output per unit of hidden activity.

    >>> KernelSpec("shared", field=3).trained
    'both'
    """

    connectivity: str
    field: int | None = None
    stride: int = 1
    activation: str = "relu"
    numbers: tuple[tuple[str, float], ...] = ()
    readout: str = "positions"
    trained: str = "both"
    weight_scale: float = 1.4142135623730951
    bias_scale: float = 0.0
    readout_scale: float = 1.0

    def __post_init__(self):
        check_choice("KernelSpec", "connectivity", self.connectivity, ("full", "local", "shared"))
        check_choice("KernelSpec", "readout", self.readout, ("positions", "pooled", "sum"))
        check_choice("KernelSpec", "trained", self.trained, ("readout", "both"))
        if (self.connectivity == "full") != (self.field is None):
            allowed = "None for a full network and given for others"
            raise ParameterError("KernelSpec", "field", allowed, self.field)
        if self.field is not None:
            check_integer("KernelSpec", "field", self.field, low=1)
        check_integer("KernelSpec", "stride", self.stride, low=1)
        check_number("KernelSpec", "weight_scale", self.weight_scale, low=0, open_low=True)
        check_number("KernelSpec", "bias_scale", self.bias_scale, low=0)
        check_number("KernelSpec", "readout_scale", self.readout_scale, low=0, open_low=True)
        if self.readout == "sum" and self.trained == "readout":
            raise ParameterError(
                "KernelSpec",
                "trained",
                "'both' with the 'sum' readout, which is not trained",
                self.trained,
            )
        _ = self.dual

    @property
    def dual(self) -> Dual:
        """The activation's dual."""
        return dual_of(self.activation, **dict(self.numbers))

    def cut(
        self, x: Float[np.ndarray, "rows length channels"]
    ) -> Float[np.ndarray, "windows rows span"]:
        """The windows of every input."""
        rows, length, channels = x.shape
        if self.field is None:
            return x.reshape(1, rows, length * channels)
        if self.field > length:
            raise ParameterError(
                "KernelSpec", "field", f"at most the input's length {length}", self.field
            )
        starts = range(0, length - self.field + 1, self.stride)
        return np.stack([x[:, i : i + self.field].reshape(rows, -1) for i in starts])


def shallow_kernel(
    spec: KernelSpec,
    x: Float[np.ndarray, "rows length channels"],
    others: Float[np.ndarray, "columns length channels"] | None = None,
) -> Float[np.ndarray, "rows columns"]:
    """The kernel matrix of a network of one hidden layer between two sets of inputs.

    The matrix is computed in blocks on the default device, in its default precision.

    Args:
      spec: which network, and whether both layers are trained.
      x: inputs, (rows, length, channels), or (rows, length) for one channel.
      others: further inputs; None for `x` itself.

    Returns:
      The matrix K[i, j] = k(x_i, others_j) as a NumPy array.

    Raises:
      ParameterError: if the inputs have other shapes, or a window does not fit.
      SeparatrixError: if the matrix has more than `LARGEST_MATRIX` entries.

    >>> x = np.array([[1.0, 1.0, -1.0], [1.0, 1.0, 1.0]])
    >>> shallow_kernel(KernelSpec("full", trained="readout"), x).round(3).astype(str).tolist()
    [['1.0', '0.503'], ['0.503', '1.0']]
    """
    left, right = _inputs(x), None if others is None else _inputs(others)
    if right is not None and right.shape[1:] != left.shape[1:]:
        raise ParameterError(
            "shallow_kernel", "others", f"of inputs of shape {left.shape[1:]}", right.shape[1:]
        )
    windows = spec.cut(left)
    beside = windows if right is None else spec.cut(right)
    rows, columns = windows.shape[1], beside.shape[1]
    if rows * columns > LARGEST_MATRIX:
        raise SeparatrixError(
            f"a kernel matrix of {rows} x {columns} numbers is too large (at most "
            f"{LARGEST_MATRIX:.0e}); take fewer rows, or ask for blocks of it with `others`"
        )
    out = np.empty((rows, columns), np.result_type(jnp.result_type(float)))
    for mine, theirs in _blocks(rows, columns, symmetric=right is None):
        left_part, right_part = windows[:, mine], beside[:, theirs]
        block = np.asarray(_block(spec, jnp.asarray(left_part), jnp.asarray(right_part)))
        out[mine, theirs] = block
        if right is None:
            out[theirs, mine] = block.T
    return out


def _blocks(rows: int, columns: int, symmetric: bool) -> Iterator[tuple[slice, slice]]:
    """Blocks of one size that cover a matrix, or one half of a symmetric one.

    The last blocks overlap the ones before, so that one program serves all.
    """
    if symmetric and rows > TILE:
        starts = [min(start, rows - TILE) for start in range(0, rows, TILE)]
        for place, first in enumerate(starts):
            for second in starts[place:]:
                yield slice(first, first + TILE), slice(second, second + TILE)
        return
    step = max(1, BLOCK // max(columns, 1))
    for start in range(0, rows, step):
        first = max(0, min(start, rows - step))
        yield slice(first, first + step), slice(0, columns)


@functools.partial(jax.jit, static_argnums=0)
def _block(
    spec: KernelSpec,
    left: Float[Array, "windows rows span"],
    right: Float[Array, "windows columns span"],
) -> Float[Array, "rows columns"]:
    dual, (count, _, span) = spec.dual, left.shape
    both = spec.trained == "both"

    def deviations(windows: Array) -> Array:
        scale = spec.weight_scale**2 / span
        return jnp.sqrt(scale * jnp.sum(windows**2, -1) + spec.bias_scale**2)

    def pair(one: Array, two: Array, values: bool) -> Array:
        """The kernel of one window beside one other."""
        inner = spec.weight_scale**2 / span * jnp.matmul(one, two.T, precision="highest")
        covariance = inner + spec.bias_scale**2
        sizes = deviations(one)[:, None], deviations(two)[None, :]
        total = jnp.zeros_like(covariance)
        if values:
            total = total + dual.values(*sizes, covariance)
        if both:
            total = total + covariance * dual.slopes(*sizes, covariance)
        return total

    def same(total: Array, windows: Any) -> Any:
        return total + pair(*windows, values=spec.readout != "sum"), None

    nothing = jnp.zeros((left.shape[1], right.shape[1]), left.dtype)
    diagonal = jax.lax.scan(same, nothing, (left, right))[0]
    r2 = spec.readout_scale**2
    if spec.readout == "positions" or count == 1:
        return r2 * diagonal / count
    norm = r2 / count**2 if spec.readout == "pooled" else r2
    if spec.connectivity == "local":
        if spec.readout == "sum":  # only weights are trained, and none is shared
            return norm * diagonal
        means = dual.mean(deviations(left)), dual.mean(deviations(right))
        cross = jnp.einsum("pi,qj->ij", *means) - jnp.einsum("pi,pj->ij", *means)
        return norm * (diagonal + cross)

    def every(total: Array, one: Array) -> Any:
        def beside(inner: Array, two: Array) -> Any:
            return inner + pair(one, two, values=spec.readout != "sum"), None

        return jax.lax.scan(beside, total, right)[0], None

    return norm * jax.lax.scan(every, nothing, left)[0]


def _inputs(x: Any) -> np.ndarray:
    array = np.asarray(x, np.result_type(jnp.result_type(float)))
    array = array[:, :, None] if array.ndim == 2 else array
    if array.ndim != 3 or not array.size:
        allowed = "of shape (rows, length) or (rows, length, channels)"
        raise ParameterError("shallow_kernel", "x", allowed, np.shape(x))
    if not np.isfinite(array).all():
        raise ParameterError("shallow_kernel", "x", "finite", "NaN or infinity")
    return array
