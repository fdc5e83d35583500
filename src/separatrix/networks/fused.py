"""One hidden layer with windows as two kernels for a GPU, so that no unit's activation goes through memory.

The ordinary spelling writes and reads an array of the units' size several times a step. Here a program of the first kernel is a warp that
holds a tile of rows of one window in its registers, loops over units, and adds what they contribute to the output; one of the second
computes the units again and sums their gradients over its rows. Either may take several tiles of rows, and asks for the next one early.
What several programs contribute is written apart and summed afterwards, in a fixed order: there are no atomics. Kernels are written in
Pallas, for its Triton backend; on other devices they are interpreted, slowly.

On an H200 a bare step took .30 to .55 of the time (`benchmarks/fused_timing.py`, before a program could take several tiles), and compiling
2.3 to 5 times as long, so that the engine asks for them (`asked_for`) where a program has much to do.

Derivatives: backward by the kernels; what is differentiated further (the Hessian products of the sharpness probe, forward over reverse) in
the ordinary spelling, as are gradients of the inputs and of the activation's numbers, which training does not ask for. Forward-mode
derivatives of the outputs themselves are refused, as for every `jax.custom_vjp`; the package takes none.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

SPAN = 30  # the most numbers of a window that kernels can hold: its sums and those of bias and coefficient are a warp's 32
TIMED_SPAN = 20  # the most numbers of a window that `worth_it` finds kernels worth: longer ones have not been timed
WARP = 32  # threads
LEAST_UNITS = 8  # of a program: with fewer, reading rows is most of the work in either spelling


class Tiles(NamedTuple):
    """How the work is cut.

    >>> Tiles().rows
    128
    """

    rows: int = 128  # of a program, a power of two, at least a warp's
    units: int = 32  # of a program: at most so many, a divisor of the width
    together: int = 1  # units at a time
    sweep: int = 1  # tiles of rows that a program takes, one after the other; their gradients become one sum
    # Whether a tile's rows are asked for before the units of the tile before, in registers of their own, or by the last of these.
    ahead: bool = False
    back: "Tiles | None" = None  # how that of the second kernel is cut, where it is otherwise
    interpret: bool | None = None  # None: where there is no GPU


def tiles_for(span: int, rows: int) -> Tiles:
    """The tiles taken where none are given, the fastest seen on an H200 with windows of 10 and 20 numbers; smaller where there are few rows.

    Longer windows leave registers for one unit at a time.

    >>> tiles_for(10, 1024).rows, tiles_for(20, 1024).rows, tiles_for(20, 40).rows, tiles_for(27, 1024).together
    (256, 128, 64, 1)
    """
    enough = max(WARP, 1 << (rows - 1).bit_length())
    return Tiles(rows=min(256, enough)) if span <= 10 else Tiles(rows=min(128, enough), together=4 if span <= 20 else 1)


_ASKED: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar(
    "where fused kernels are told of, if they are asked for", default=None
)


@contextlib.contextmanager
def asked_for(kernels: bool) -> Iterator[list[str]]:
    """Within, networks that are traced use kernels or not; gives a list that then names those used.

    Compiled programs keep what they were traced with.

    >>> with asked_for(True) as used:
    ...     worth_it(width=256, span=10)
    True
    >>> worth_it(width=256, span=10), used
    (False, [])
    """
    used: list[str] = []
    token = _ASKED.set(used if kernels else None)
    try:
        yield used
    finally:
        _ASKED.reset(token)


def worth_it(width: int, span: int) -> bool:
    """Whether kernels are asked for, were timed with windows of so many numbers, and would save anything with so many units a window.

    >>> with asked_for(True):
    ...     [worth_it(20, 20), worth_it(20, 21), worth_it(1, 20), worth_it(37, 20)]  # 37 units would be a program each
    [True, False, False, False]
    """
    return _ASKED.get() is not None and span <= TIMED_SPAN and _divisor(width, Tiles().units) >= LEAST_UNITS


def outputs(
    weights: Float[Array, "groups width span"],
    bias: Float[Array, "groups width"] | None,
    coefficients: Float[Array, "positions width"],
    patches: Float[Array, "positions span rows"],
    activation: Any = jax.nn.relu,
    tiles: Tiles | None = None,
) -> Float[Array, " rows"]:
    """Outputs of all rows; `groups` is 1 (weights shared by all positions) or the number of positions. Windows have at most `SPAN` numbers.

    >>> outputs(jnp.ones((1, 2, 3)), None, jnp.ones((4, 2)), jnp.ones((4, 3, 5)), tiles=Tiles(rows=32)).tolist()
    [24.0, 24.0, 24.0, 24.0, 24.0]
    """
    if patches.shape[1] > SPAN:
        raise ValueError(f"kernels hold windows of at most {SPAN} numbers, got {patches.shape[1]}")
    if (told := _ASKED.get()) is not None:
        told.append("units")
    held = activation if isinstance(activation, eqx.Module) else jax.tree_util.Partial(activation)
    return _outputs(tiles or tiles_for(*patches.shape[1:]), held, weights, bias, coefficients, patches)


def plain(activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Float[Array, " rows"]:
    """The same in the ordinary spelling.

    >>> plain(jax.nn.relu, jnp.ones((1, 2, 3)), None, jnp.ones((4, 2)), jnp.ones((4, 3, 5))).tolist()
    [24.0, 24.0, 24.0, 24.0, 24.0]
    """
    z = jnp.broadcast_to(weights, (len(patches), *weights.shape[1:])) @ patches
    active = activation(z if bias is None else z + bias[:, :, None])
    return coefficients.reshape(-1) @ active.reshape(-1, patches.shape[2])


def _plain_gradients(activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any) -> Any:
    return jax.vjp(lambda w, b, c: plain(activation, w, b, c, patches), weights, bias, coefficients)[1](slope)


# Derivatives. `_outputs` has a backward pass; the two kernels have tangents of their own, so that the backward pass has derivatives too.


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _outputs(tiles: Tiles, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Float[Array, " rows"]:
    return _forward(tiles, activation, weights, bias, coefficients, patches)


def _outputs_there(tiles: Tiles, *given: Any) -> Any:
    return _forward(tiles, *given), given


def _outputs_back(tiles: Tiles, given: Any, slope: Any) -> Any:
    activation, weights, bias, coefficients, patches = given
    # Not computed where they are not asked for: the compiler drops them.
    of_activation, of_patches = jax.vjp(lambda f, x: plain(f, weights, bias, coefficients, x), activation, patches)[1](slope)
    return of_activation, *_gradients(tiles, *given, slope), of_patches


_outputs.defvjp(_outputs_there, _outputs_back)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _forward(tiles: Tiles, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Float[Array, " rows"]:
    """The first kernel."""
    return _call(tiles, False, activation, weights, bias, coefficients, patches).sum((0, 1))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _gradients(tiles: Tiles, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any) -> Any:
    """The second kernel: gradients of weights, biases and coefficients, given those of the outputs."""
    sums, span = _call(tiles, True, activation, weights, bias, coefficients, patches, slope), patches.shape[1]
    of_groups = sums[..., :-1].sum((0, 1) if len(weights) == 1 else (0,)).reshape(len(weights), weights.shape[1], -1)
    return of_groups[..., :span], None if bias is None else of_groups[..., span], sums[..., -1].sum(0)


def _tangents(kernel: Callable[..., Any], same: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for a kernel's tangents: those of the same function in the plain spelling, of what moves only."""

    def slope(tiles: Tiles, primals: Any, tangents: Any) -> Any:
        leaves, tree = jax.tree.flatten(primals)
        moved = {i: leaf for i, leaf in enumerate(jax.tree.leaves(tangents)) if not isinstance(leaf, SymbolicZero)}

        def of_moving(moving: dict[int, Any]) -> Any:
            return same(*jax.tree.unflatten(tree, [moving.get(i, leaf) for i, leaf in enumerate(leaves)]))

        out = kernel(tiles, *primals)
        if not moved:
            return out, jax.tree.map(jnp.zeros_like, out)
        return out, jax.jvp(of_moving, ({i: leaves[i] for i in moved},), (moved,))[1]

    return slope


_forward.defjvp(_tangents(_forward, plain), symbolic_zeros=True)
_gradients.defjvp(_tangents(_gradients, _plain_gradients), symbolic_zeros=True)


# Kernels.


class Cut(NamedTuple):
    """A program's part of the arrays: its tiles of rows, its units, how many of them at a time, and the true sizes."""

    positions: int
    width: int
    span: int
    rows: int
    tile: int
    sweep: int
    ahead: bool
    units: int
    together: int

    @property
    def block(self) -> int:
        """Rows of a program."""
        return self.tile * self.sweep

    @property
    def grid(self) -> tuple[int, int, int]:
        """Programs: blocks of units first, so that those which read the same rows run at about the same time."""
        return self.width // self.units, -(-self.rows // self.block), self.positions


def _cut(tiles: Tiles, positions: int, width: int, span: int, rows: int) -> Cut:
    units, sweep = _divisor(width, tiles.units), min(tiles.sweep, -(-rows // tiles.rows))
    return Cut(positions, width, span, rows, tiles.rows, sweep, tiles.ahead, units, _divisor(units, tiles.together))


def _divisor(number: int, most: int) -> int:
    return max(each for each in range(1, min(number, most) + 1) if number % each == 0)


@functools.partial(jax.jit, static_argnums=(0, 1))  # a program calls a kernel at several places: traced and lowered once
def _call(tiles: Tiles, back: bool, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, *slope: Any) -> Any:
    """One of the kernels: outputs (blocks of units, positions, rows), or gradients (blocks of rows, positions, ...)."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    tiles = tiles.back._replace(interpret=tiles.interpret) if back and tiles.back else tiles
    (positions, span, rows), width, own = patches.shape, weights.shape[1], len(weights) > 1
    interpret = jax.default_backend() != "gpu" if tiles.interpret is None else tiles.interpret
    cut = _cut(tiles, positions, width, span, rows)
    numbers, tree = jax.tree.flatten(activation)
    numbers = [jnp.asarray(number, patches.dtype).reshape(1) for number in numbers]
    given = [*numbers, weights, *([] if bias is None else [bias]), coefficients, patches, *slope]
    in_specs = [
        *[pl.BlockSpec((1,), lambda u, r, p: (0,)) for _ in numbers],
        pl.BlockSpec((None, cut.units, span), lambda u, r, p: (p if own else 0, u, 0)),
        *([] if bias is None else [pl.BlockSpec((None, cut.units), lambda u, r, p: (p if own else 0, u))]),
        pl.BlockSpec((None, cut.units), lambda u, r, p: (p, u)),
        pl.BlockSpec((None, span, cut.block), lambda u, r, p: (p, 0, r)),
        *[pl.BlockSpec((cut.block,), lambda u, r, p: (r,)) for _ in slope],
    ]
    blocks_of_units, blocks_of_rows, _ = cut.grid
    if back:  # a unit's weights, its bias if there are biases, its coefficient
        sums = span + 1 if bias is None else span + 2
        out_spec = pl.BlockSpec((None, None, cut.units, sums), lambda u, r, p: (r, p, u, 0))
        out_shape = jax.ShapeDtypeStruct((blocks_of_rows, positions, width, sums), patches.dtype)
    else:
        out_spec = pl.BlockSpec((None, None, cut.block), lambda u, r, p: (u, p, r))
        out_shape = jax.ShapeDtypeStruct((blocks_of_units, positions, rows), patches.dtype)

    def kernel(*refs: Any) -> None:
        held, rest = refs[: len(numbers)], list(refs[len(numbers) :])
        function = jax.tree.unflatten(tree, [ref[0] for ref in held])
        of_weights = rest.pop(0)
        of_bias = None if bias is None else rest.pop(0)
        _of_tiles(interpret, cut, function, of_weights, of_bias, *rest)

    return pl.pallas_call(
        kernel,
        out_shape=out_shape,
        grid=cut.grid,
        in_specs=in_specs,
        out_specs=out_spec,
        interpret=interpret,
        compiler_params=None if interpret else triton.CompilerParams(num_warps=1, num_stages=1),
        name=f"units_{'back' if back else 'there'}",
    )(*given)


def _of_tiles(interpret: bool, cut: Cut, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, *rest: Any) -> None:
    """Rows are vectors of one number a thread, weights are numbers. Nothing is padded; gradients are sums over threads.

    Tiles of rows follow each other without a loop, which would cost a mask and an address for every number asked for ahead.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    pieces, every, zero = range(cut.tile // WARP), jnp.arange(WARP), jnp.zeros((WARP,), patches.dtype)
    multiply_add = functools.partial(_multiply_add, interpret)
    *slopes_in, out = rest

    def rows_at(tile: int, k: int) -> tuple[Any, Any]:
        """Rows of a piece, and which of them there are: None where all are."""
        start = tile * cut.tile + k * WARP
        return pl.ds(start, WARP), None if cut.rows % cut.block == 0 else every + (pl.program_id(1) * cut.block + start) < cut.rows

    def load(ref: Any, tile: int, *at: Any) -> list[Any]:
        """A tile's rows, in pieces; those beyond the last are 0."""
        places = [rows_at(tile, k) for k in pieces]
        return [triton.load(ref.at[*at, rows], mask=mask, other=None if mask is None else 0.0) for rows, mask in places]

    def units_at(kept: Any, first: Any, used: Callable[[int], None]) -> list[list[Any]]:
        """Some units of every row, before the activation; `used` hears which number of the window they had."""
        many = [[zero if bias is None else zero + bias[first + j]] * len(pieces) for j in range(cut.together)]
        for i, numbers in enumerate(kept):
            many = [[multiply_add(weights[first + j, i], x, z) for x, z in zip(numbers, zs)] for j, zs in enumerate(many)]
            used(i)
        return many

    def there(kept: Any, used: Callable[[int], None], block: Any, so_far: Any) -> Any:
        for j, zs in enumerate(units_at(kept, first := block * cut.together, used)):
            scale = coefficients[first + j]
            so_far = [multiply_add(scale, activation(z), total) for z, total in zip(zs, so_far)]
        return so_far

    def back(kept: Any, slope: Any, before: bool, used: Callable[[int], None], block: Any) -> None:
        for j, zs in enumerate(units_at(kept, first := block * cut.together, _nothing)):
            both = [jax.jvp(activation, (z,), (s,)) for z, s in zip(zs, slope)]
            slopes = [steep for _, steep in both]  # without the coefficient, by which the sums are multiplied
            sums = []
            for i, x in enumerate(kept):
                sums.append(inner(slopes, x))
                (used if j == cut.together - 1 else _nothing)(i)
            sums += [] if bias is None else [functools.reduce(jnp.add, slopes)]
            sums += [inner(slope, [active for active, _ in both])]
            total, place = _sums(interpret, sums, every)
            total = jnp.where(place < len(sums) - 1, coefficients[first + j] * total, total)
            where, mask = out.at[first + j, place], place < len(sums)
            if before:  # the sums of the tiles before, which the same threads have stored
                total = total + triton.load(where, mask=mask, other=0.0)
            triton.store(where, total, mask=mask)

    def inner(left: Any, right: Any) -> Any:
        so_far = left[0] * right[0]
        for one, other in zip(left[1:], right[1:]):
            so_far = multiply_add(one, other, so_far)
        return so_far

    def window(tile: int) -> Any:
        return [load(patches, tile, np.int32(i)) for i in range(cut.span)]

    blocks, kept = cut.units // cut.together, window(0)
    for tile in range(cut.sweep):
        # Numbers of the next tile are asked for now, or each when this tile's was used for the last time: by a last block of units apart.
        apart = tile < cut.sweep - 1 and not cut.ahead
        coming: list[Any] = window(tile + 1) if tile < cut.sweep - 1 and cut.ahead else []
        used = lambda i, tile=tile, coming=coming: coming.append(load(patches, tile + 1, np.int32(i)))  # noqa: E731
        if slopes_in:
            each = functools.partial(back, kept, load(slopes_in[0], tile), tile > 0)
            jax.lax.fori_loop(0, blocks - apart, lambda block, _, each=each: each(_nothing, block) or 0, 0)
            if apart:
                each(used, blocks - 1)
        else:
            totals = jax.lax.fori_loop(0, blocks - apart, functools.partial(there, kept, _nothing), [zero for _ in pieces])
            totals = there(kept, used, blocks - 1, totals) if apart else totals
            for (rows, mask), total in zip([rows_at(tile, k) for k in pieces], totals):
                triton.store(out.at[rows], total, mask=mask)
        kept = coming


def _nothing(_: int) -> None:
    """Where nothing follows the use of a number."""


def _multiply_add(interpret: bool, one: Any, other: Any, more: Any) -> Any:
    """`one * other + more`, rounded once: Triton as XLA calls it makes two instructions of it otherwise."""
    if interpret:
        return one * other + more
    from jax.experimental.pallas import triton

    one = jnp.broadcast_to(one, more.shape)
    shape = [jax.ShapeDtypeStruct(more.shape, more.dtype)]
    return triton.elementwise_inline_asm(
        "fma.rn.f32 $0, $1, $2, $3;", args=[one, other, more], constraints="=f,f,f,f", pack=1, result_shape_dtypes=shape
    )[0]


def _exchange(interpret: bool, vector: Any, distance: int) -> Any:
    """Every thread's number from the thread whose place differs in one bit: needs a warp that holds one number a thread."""
    if interpret:
        return jnp.flip(vector.reshape(-1, 2, distance), 1).reshape(-1)
    from jax.experimental.pallas import triton

    asm = f"shfl.sync.bfly.b32 $0, $1, {distance}, 31, -1;"
    shape = [jax.ShapeDtypeStruct(vector.shape, vector.dtype)]
    return triton.elementwise_inline_asm(asm, args=[vector], constraints="=f,f", pack=1, result_shape_dtypes=shape)[0]


def _sums(interpret: bool, vectors: list[Any], every: Any) -> tuple[Any, Any]:
    """The sums of at most 32 vectors over the 32 threads, in about as many exchanges as there are vectors (one by one: five each).

    At each distance two vectors become one: half of the threads go on with the one, half with the other. In the end the thread at place l has
    the sum of the vector whose number is l with its bits reversed, which is given too.
    """
    place = jnp.zeros_like(every)
    for level, distance in enumerate((16, 8, 4, 2, 1)):
        upper = (every & distance) != 0
        place = place + jnp.where(upper, 1 << level, 0)
        pairs = [vectors[i : i + 2] for i in range(0, len(vectors), 2)]
        vectors = []
        for pair in pairs:
            keep, give = (pair[0], pair[0]) if len(pair) == 1 else (jnp.where(upper, pair[1], pair[0]), jnp.where(upper, pair[0], pair[1]))
            vectors.append(keep + _exchange(interpret, give, distance))
    return vectors[0], place
