"""The backward kernel for units that are not rectifiers, in short windows: it computes the units
again.

A warp holds a tile of rows of one window in its registers and loops over units. It waits for what
it reads, and few warps fit on a processor with so many registers each. So the threads read a unit's
weights together, one number per thread, while the previous unit is computed, and hand them around.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from separatrix.networks.kernels.warps import WARP, divisor, multiply_add, of_thread, sums, threads

# The most numbers per window: their sums and those of bias and coefficient are a warp's 32.
SPAN = 30


class RecomputingTiling(NamedTuple):
    """How the work is divided among programs: a program's rows and units, and the true sizes."""

    positions: int
    width: int
    span: int
    rows: int
    tile: int
    units: int
    own: bool  # whether every position has its own weights
    interpret: bool

    def load(self, ref: Any, *at: Any) -> list[Any]:
        """The numbers of a program's rows, one per thread at a time; 0 beyond the last row."""
        from jax.experimental import pallas as pl
        from jax.experimental.pallas import triton

        pieces = []
        for at_row in range(0, self.tile, WARP):
            left = self.rows - pl.program_id(1) * self.tile - at_row
            mask = None if self.rows % self.tile == 0 else jnp.arange(WARP) < left
            pieces.append(
                triton.load(
                    ref.at[*at, pl.ds(at_row, WARP)], mask=mask, other=None if mask is None else 0
                )
            )
        return pieces


def tiling_of(weights: Any, patches: Any, interpret: bool, tile: int = 0) -> RecomputingTiling:
    """The tiling for arrays of these shapes.

    `tile` is the number of rows per program; 0 takes what was fastest on an H200 with windows of
    10, 20 and 27 numbers.

    >>> tiling_of(jnp.ones((1, 64, 10)), jnp.ones((3, 10, 100)), True)[4:6]
    (128, 32)
    """
    (positions, span, rows), width = patches.shape, weights.shape[1]
    fastest = 128 if 10 < span <= 20 else 256
    return RecomputingTiling(
        positions=positions,
        width=width,
        span=span,
        rows=rows,
        tile=tile or min(fastest, max(WARP, 1 << (rows - 1).bit_length())),
        units=divisor(width, WARP),
        own=len(weights) > 1,
        interpret=interpret,
    )


# A program calls a kernel at several places; under `jit` it is traced and lowered once.


@functools.partial(jax.jit, static_argnums=(0,))
def backward(
    tiling: RecomputingTiling,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    cotangent: Any,
) -> Any:
    """Gradients of each unit's weights, its bias if there are biases, and its coefficient.

    They come by blocks of rows and positions.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    group = (lambda p: p) if tiling.own else (lambda p: 0)
    blocks, many = -(-tiling.rows // tiling.tile), tiling.span + 1 + (bias is not None)
    units, span, tile = tiling.units, tiling.span, tiling.tile
    operands = [
        (weights, pl.BlockSpec((None, units, span), lambda u, r, p: (group(p), u, 0))),
        (bias, pl.BlockSpec((None, units), lambda u, r, p: (group(p), u))),
        (coefficients, pl.BlockSpec((None, units), lambda u, r, p: (p, u))),
        (patches, pl.BlockSpec((None, span, tile), lambda u, r, p: (p, 0, r))),
        (cotangent, pl.BlockSpec((tile,), lambda u, r, p: (r,))),
    ]
    numbers, tree = jax.tree.flatten(activation)
    numbers = [jnp.asarray(number, jnp.float32).reshape(1) for number in numbers]

    def kernel(*refs: Any) -> None:
        first, rest = refs[: len(numbers)], iter(refs[len(numbers) :])
        function = jax.tree.unflatten(tree, [ref[0] for ref in first])
        arrays = [None if operand is None else next(rest) for operand, _ in operands]
        _backward(tiling, function, *arrays, *rest)

    # Blocks of units first, so that programs which read the same rows run at about the same time.
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(
            (blocks, tiling.positions, tiling.width, many), patches.dtype
        ),
        grid=(tiling.width // units, blocks, tiling.positions),
        in_specs=[pl.BlockSpec((1,), lambda u, r, p: (0,)) for _ in numbers]
        + [spec for operand, spec in operands if operand is not None],
        out_specs=pl.BlockSpec((None, None, units, many), lambda u, r, p: (r, p, u, 0)),
        interpret=tiling.interpret,
        compiler_params=(
            None if tiling.interpret else triton.CompilerParams(num_warps=1, num_stages=1)
        ),
        name="units_backward_recomputing",
    )(*numbers, *(operand for operand, _ in operands if operand is not None))


def _backward(
    tiling: RecomputingTiling,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    cotangents: Any,
    out: Any,
) -> None:
    from jax.experimental.pallas import triton

    interpret = tiling.interpret
    lane = threads(interpret)
    window = [tiling.load(patches, np.int32(i)) for i in range(tiling.span)]
    cotangent = tiling.load(cotangents)

    def fetch(unit: Any) -> Any:
        """A unit's weights, one per thread; its coefficient; its bias, if there are biases."""
        row = triton.load(weights.at[unit, lane], mask=lane < tiling.span, other=0.0)
        return row, coefficients[unit], *([] if bias is None else [bias[unit]])

    def one_unit(unit: Any, fetched: Any) -> Any:
        coming = fetch(jnp.minimum(unit + 1, tiling.units - 1))
        row, coefficient, *shift = fetched
        zs = [
            jnp.broadcast_to(shift[0], (WARP,)) if shift else jnp.zeros((WARP,), jnp.float32)
            for _ in cotangent
        ]
        for i, numbers in enumerate(window):
            weight = of_thread(interpret, row, i)
            zs = [multiply_add(interpret, weight, x, z) for x, z in zip(numbers, zs)]
        both = [jax.jvp(activation, (z,), (c,)) for z, c in zip(zs, cotangent)]
        # Cotangents of the unit without its coefficient, by which the sums are multiplied.
        of_unit = [tangent for _, tangent in both]
        gradients = [_inner(interpret, of_unit, x) for x in window]
        if bias is not None:
            gradients.append(functools.reduce(jnp.add, of_unit))
        values = [value for value, _ in both]
        total, place = sums(interpret, lane, [*gradients, _inner(interpret, cotangent, values)])
        scaled = jnp.where(place < len(gradients), coefficient * total, total)
        triton.store(out.at[unit, place], scaled)
        return coming

    jax.lax.fori_loop(0, tiling.units, one_unit, fetch(0))


def _inner(interpret: bool, left: Any, right: Any) -> Any:
    so_far = left[0] * right[0]
    for one, other in zip(left[1:], right[1:]):
        so_far = multiply_add(interpret, one, other, so_far)
    return so_far
