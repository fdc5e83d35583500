"""The kernel of the way back for units that are no rectifiers, in short windows: it computes them
again.

A warp holds a tile of rows of one window in its registers and loops over units. It waits for what
it reads, and few warps fit on a processor with so many registers each. So a unit's weights are read
in one piece, a number a thread, while the unit before is computed, and handed around from there.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from separatrix.networks.kernels.warps import WARP, divisor, multiply_add, of_thread, sums, threads

SPAN = (
    30  # the most numbers of a window: its sums and those of bias and coefficient are a warp's 32
)


class Cut(NamedTuple):
    """How the work is cut into programs: a program's rows and units, and the true sizes."""

    positions: int
    width: int
    span: int
    rows: int
    tile: int
    units: int
    own: bool  # whether every position has weights of its own
    interpret: bool

    def load(self, ref: Any, *at: Any) -> list[Any]:
        """Numbers of a program's rows, one a thread at a time; those beyond the last row are 0."""
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


def cut_of(weights: Any, patches: Any, interpret: bool, rows: int = 0) -> Cut:
    """The cut for arrays of these shapes: so many rows a program, or (0) those that were fastest on
    an H200 with windows of 10, 20 and 27 numbers.

    >>> cut_of(jnp.ones((1, 64, 10)), jnp.ones((3, 10, 100)), True)[4:6]
    (128, 32)
    """
    (positions, span, many), width = patches.shape, weights.shape[1]
    fastest = 128 if 10 < span <= 20 else 256
    return Cut(
        positions,
        width,
        span,
        many,
        rows or min(fastest, max(WARP, 1 << (many - 1).bit_length())),
        divisor(width, WARP),
        len(weights) > 1,
        interpret,
    )


# A program calls a kernel at several places: traced and lowered once.


@functools.partial(jax.jit, static_argnums=(0,))
def back(
    cut: Cut, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any
) -> Any:
    """Gradients of a unit's weights, its bias if there are biases, and its coefficient, by blocks
    of rows and positions.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    group = (lambda p: p) if cut.own else (lambda p: 0)
    blocks, many = -(-cut.rows // cut.tile), cut.span + 1 + (bias is not None)
    given = [
        (weights, pl.BlockSpec((None, cut.units, cut.span), lambda u, r, p: (group(p), u, 0))),
        (bias, pl.BlockSpec((None, cut.units), lambda u, r, p: (group(p), u))),
        (coefficients, pl.BlockSpec((None, cut.units), lambda u, r, p: (p, u))),
        (patches, pl.BlockSpec((None, cut.span, cut.tile), lambda u, r, p: (p, 0, r))),
        (slope, pl.BlockSpec((cut.tile,), lambda u, r, p: (r,))),
    ]
    numbers, tree = jax.tree.flatten(activation)
    numbers = [jnp.asarray(number, jnp.float32).reshape(1) for number in numbers]

    def kernel(*refs: Any) -> None:
        held, rest = refs[: len(numbers)], iter(refs[len(numbers) :])
        function = jax.tree.unflatten(tree, [ref[0] for ref in held])
        _back(cut, function, *[None if each is None else next(rest) for each, _ in given], *rest)

    # Blocks of units first, so that programs which read the same rows run at about the same time.
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((blocks, cut.positions, cut.width, many), patches.dtype),
        grid=(cut.width // cut.units, blocks, cut.positions),
        in_specs=[pl.BlockSpec((1,), lambda u, r, p: (0,)) for _ in numbers]
        + [spec for each, spec in given if each is not None],
        out_specs=pl.BlockSpec((None, None, cut.units, many), lambda u, r, p: (r, p, u, 0)),
        interpret=cut.interpret,
        compiler_params=None if cut.interpret else triton.CompilerParams(num_warps=1, num_stages=1),
        name="units_again",
    )(*numbers, *(each for each, _ in given if each is not None))


def _back(
    cut: Cut,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    slopes: Any,
    out: Any,
) -> None:
    from jax.experimental.pallas import triton

    lane = threads(cut.interpret)
    kept, slope = [cut.load(patches, np.int32(i)) for i in range(cut.span)], cut.load(slopes)

    def fetch(unit: Any) -> Any:
        """A unit's weights, one a thread; its coefficient; its bias, if there are biases."""
        row = triton.load(weights.at[unit, lane], mask=lane < cut.span, other=0.0)
        return row, coefficients[unit], *([] if bias is None else [bias[unit]])

    def one(unit: Any, held: Any) -> Any:
        coming = fetch(jnp.minimum(unit + 1, cut.units - 1))
        row, coefficient, *shift = held
        zs = [
            jnp.broadcast_to(shift[0], (WARP,)) if shift else jnp.zeros((WARP,), jnp.float32)
            for _ in slope
        ]
        for i, numbers in enumerate(kept):
            weight = of_thread(cut.interpret, row, i)
            zs = [multiply_add(cut.interpret, weight, x, z) for x, z in zip(numbers, zs)]
        both = [jax.jvp(activation, (z,), (s,)) for z, s in zip(zs, slope)]
        steep = [
            each for _, each in both
        ]  # without the coefficient, by which the sums are multiplied
        found = [_inner(cut, steep, x) for x in kept] + (
            [] if bias is None else [functools.reduce(jnp.add, steep)]
        )
        total, place = sums(
            cut.interpret, lane, [*found, _inner(cut, slope, [value for value, _ in both])]
        )
        triton.store(out.at[unit, place], jnp.where(place < len(found), coefficient * total, total))
        return coming

    jax.lax.fori_loop(0, cut.units, one, fetch(0))


def _inner(cut: Cut, left: Any, right: Any) -> Any:
    so_far = left[0] * right[0]
    for one, other in zip(left[1:], right[1:]):
        so_far = multiply_add(cut.interpret, one, other, so_far)
    return so_far
