"""The kernels of `fused`: a warp holds a tile of rows of one window in its registers and loops over units.

A warp waits for what it reads, and few fit on a processor with so many registers each. So a unit's weights are read in one piece, a number
a thread, while the unit before is computed, and handed around from there. Written in Pallas, for its Triton backend; interpreted, slowly,
where there is no GPU.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

SPAN = 30  # the most numbers of a window that kernels can hold: its sums and those of bias and coefficient are a warp's 32
WARP = 32  # threads


class Tiles(NamedTuple):
    """How the work is cut.

    >>> Tiles().rows
    128
    """

    rows: int = 128  # of a program, a power of two, at least a warp's
    units: int = 32  # of a program: at most so many, a divisor of the width
    back: int = 0  # rows of a program of the second kernel; 0: as many
    numbers: int = SPAN  # of a window, at most so many, a divisor: what a program of the second kernel holds of rectifiers' windows
    interpret: bool | None = None  # None: where there is no GPU


def tiles_for(span: int, rows: int) -> Tiles:
    """The tiles taken where none are given, the fastest seen on an H200 with windows of 10, 20 and 27 numbers; smaller where there are few rows.

    >>> tiles_for(10, 1024).rows, tiles_for(20, 1024).rows, tiles_for(20, 40).rows
    (256, 128, 64)
    """
    there, back = (256, 256) if span <= 10 else (128, 128) if span <= 20 else (128, 256)
    enough = max(WARP, 1 << (rows - 1).bit_length())
    return Tiles(rows=min(there, enough), back=min(back, enough))


class Cut(NamedTuple):
    """How an array's work is cut into programs: a program's rows and units, and the true sizes."""

    positions: int
    width: int
    span: int
    rows: int
    tile: int
    units: int
    own: bool  # whether every position has weights of its own
    parts: int  # of a window, each a program's, on the way back from signs
    interpret: bool

    @property
    def grid(self) -> tuple[int, int, int]:
        """Programs: blocks of units first, so that those which read the same rows run at about the same time."""
        return self.width // self.units, -(-self.rows // self.tile), self.positions

    def places(self) -> list[tuple[Any, Any]]:
        """A program's rows, as many at a time as a warp has threads, and which of them there are: None where all are."""
        from jax.experimental import pallas as pl

        starts, full = range(0, self.tile, WARP), self.rows % self.tile == 0
        return [(pl.ds(at, WARP), None if full else _every() + (pl.program_id(1) * self.tile + at) < self.rows) for at in starts]

    def load(self, ref: Any, *at: Any) -> list[Any]:
        """Numbers of a program's rows, one a thread; those beyond the last row are 0."""
        from jax.experimental.pallas import triton

        return [triton.load(ref.at[*at, rows], mask=mask, other=None if mask is None else 0) for rows, mask in self.places()]

    def store(self, ref: Any, pieces: list[Any]) -> None:
        """The way back."""
        from jax.experimental.pallas import triton

        for (rows, mask), piece in zip(self.places(), pieces):
            triton.store(ref.at[rows], piece, mask=mask)

    def window(self, patches: Any) -> list[list[Any]]:
        """A program's rows of its window, in registers."""
        return [self.load(patches, np.int32(i)) for i in range(self.span)]


def cut_of(tiles: Tiles, weights: Any, patches: Any, second: bool = False) -> Cut:
    """How the work of the first kernel, or the second, is cut for arrays of these shapes."""
    (positions, span, rows), width = patches.shape, weights.shape[1]
    interpret = jax.default_backend() != "gpu" if tiles.interpret is None else tiles.interpret
    # Both kernels have the same units, whose signs one leaves for the other.
    tile = tiles.back or tiles.rows if second else tiles.rows
    units, parts = divisor(width, min(tiles.units, WARP)), span // divisor(span, tiles.numbers)
    return Cut(positions, width, span, rows, tile, units, len(weights) > 1, parts, interpret)


def divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is not above `most`.

    >>> divisor(20, 32), divisor(96, 32), divisor(37, 32)
    (20, 32, 1)
    """
    return max(each for each in range(1, min(number, most) + 1) if number % each == 0)


# A program calls a kernel at several places: traced and lowered once.


@functools.partial(jax.jit, static_argnums=(0, 1))
def there(cut: Cut, signs: bool, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Any:
    """Outputs by blocks of units and positions; and units' signs, the bits of an integer a row and block, or None."""
    shape = (cut.grid[0], cut.positions, cut.rows)
    out = [("rows of blocks", jax.ShapeDtypeStruct(shape, patches.dtype))]
    out += [("rows of blocks", jax.ShapeDtypeStruct(shape, jnp.int32))] * signs
    names = ("weights", "of units", "of positions", "patches")
    found = _call(cut, "units_there", _units_there, activation, names, (weights, bias, coefficients, patches), out)
    return found[0], found[1] if signs else None


@functools.partial(jax.jit, static_argnums=(0,))
def back(cut: Cut, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any) -> Any:
    """Gradients of a unit's weights, its bias if there are biases, and its coefficient, by blocks of rows and positions."""
    out = [_sums_of(cut, cut.span + 1 + (bias is not None), patches)]
    names = ("weights", "of units", "of positions", "patches", "rows")
    return _call(cut, "units_back", _units_back, activation, names, (weights, bias, coefficients, patches, slope), out)[0]


@functools.partial(jax.jit, static_argnums=(0, 1))
def back_of_signs(cut: Cut, biased: bool, active: Any, patches: Any, slope: Any) -> Any:
    """Slopes of active units, summed with their windows and by themselves if there are biases, by blocks of rows and positions."""
    # Part of a window is a window to this kernel: it does not need the others, as it does not compute units.
    some = cut._replace(positions=cut.positions * cut.parts, span=cut.span // cut.parts)
    given = active, patches.reshape(some.positions, some.span, cut.rows), slope
    out, names = [_sums_of(some, some.span + biased, patches)], ("signs", "patches", "rows")
    sums = _call(some, "signs_back", _signs_back, None, names, given, out)[0]
    apart = sums.reshape(len(sums), cut.positions, cut.parts, cut.width, some.span + biased)
    of_windows = jnp.moveaxis(apart[..., : some.span], 2, 3).reshape(len(sums), cut.positions, cut.width, cut.span)
    return jnp.concatenate([of_windows, apart[:, :, 0, :, some.span :]], 3)


def _sums_of(cut: Cut, sums: int, patches: Any) -> Any:
    return "sums", jax.ShapeDtypeStruct((cut.grid[1], cut.positions, cut.width, sums), patches.dtype)


def _call(cut: Cut, name: str, body: Any, activation: Any, names: tuple[str, ...], given: tuple[Any, ...], out: list[Any]) -> Any:
    """A kernel: `names` say how each of what is given lies; what is None is not there."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    group = (lambda p: p) if cut.own else (lambda p: 0)
    lies = {
        "weights": lambda _: pl.BlockSpec((None, cut.units, cut.span), lambda u, r, p: (group(p), u, 0)),
        "of units": lambda _: pl.BlockSpec((None, cut.units), lambda u, r, p: (group(p), u)),
        "of positions": lambda _: pl.BlockSpec((None, cut.units), lambda u, r, p: (p, u)),
        "patches": lambda _: pl.BlockSpec((None, cut.span, cut.tile), lambda u, r, p: (p, 0, r)),
        "rows": lambda _: pl.BlockSpec((cut.tile,), lambda u, r, p: (r,)),
        "rows of blocks": lambda _: pl.BlockSpec((None, None, cut.tile), lambda u, r, p: (u, p, r)),
        "signs": lambda _: pl.BlockSpec((None, None, cut.tile), lambda u, r, p: (u, p // cut.parts, r)),
        "sums": lambda of: pl.BlockSpec((None, None, cut.units, of.shape[3]), lambda u, r, p: (r, p, u, 0)),
    }
    numbers, tree = jax.tree.flatten(activation)
    numbers = [jnp.asarray(number, jnp.float32).reshape(1) for number in numbers]
    there = [each is not None for each in given]

    def kernel(*refs: Any) -> None:
        held, rest = refs[: len(numbers)], iter(refs[len(numbers) :])
        function = jax.tree.unflatten(tree, [ref[0] for ref in held])
        body(cut, function, *[next(rest) if each else None for each in there], *rest)

    return pl.pallas_call(
        kernel,
        out_shape=[shape for _, shape in out],
        grid=cut.grid,
        in_specs=[pl.BlockSpec((1,), lambda u, r, p: (0,)) for _ in numbers] + [lies[n](e) for n, e in zip(names, given) if e is not None],
        out_specs=[lies[name](shape) for name, shape in out],
        interpret=cut.interpret,
        compiler_params=None if cut.interpret else triton.CompilerParams(num_warps=1, num_stages=1),
        name=name,
    )(*numbers, *(each for each in given if each is not None))


# Inside a kernel rows are vectors of one number a thread, in as many pieces as a thread has rows. Nothing is padded.


def _units_there(cut: Cut, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, out: Any, active: Any = None) -> None:
    kept = cut.window(patches)
    nothing = [jnp.zeros((WARP,), jnp.float32) for _ in kept[0]], [jnp.zeros((WARP,), jnp.int32) for _ in kept[0]]

    def visit(unit: Any, held: Any, so_far: Any) -> Any:
        totals, bits = so_far
        zs = _before_activation(cut, kept, held)
        totals = [_multiply_add(cut.interpret, held[1], activation(z), total) for z, total in zip(zs, totals)]
        if active is not None:
            bits = [jnp.where(z > 0, so_far | jnp.left_shift(1, unit), so_far) for z, so_far in zip(zs, bits)]
        return totals, bits

    totals, bits = _over_units(cut, functools.partial(_fetch, cut, weights, bias, coefficients), visit, nothing)
    cut.store(out, totals)
    if active is not None:
        cut.store(active, bits)


def _units_back(cut: Cut, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slopes: Any, out: Any) -> None:
    kept, slope = cut.window(patches), cut.load(slopes)

    def visit(unit: Any, held: Any, _: Any) -> Any:
        both = [jax.jvp(activation, (z,), (s,)) for z, s in zip(_before_activation(cut, kept, held), slope)]
        steep = [each for _, each in both]  # without the coefficient, by which the sums are multiplied
        sums = [_inner(cut, steep, x) for x in kept] + ([] if bias is None else [functools.reduce(jnp.add, steep)])
        total, place = _sums(cut.interpret, [*sums, _inner(cut, slope, [value for value, _ in both])])
        _store_sums(out, unit, jnp.where(place < len(sums), held[1] * total, total), place, len(sums) + 1)
        return 0

    _over_units(cut, functools.partial(_fetch, cut, weights, bias, coefficients), visit, 0)


def _signs_back(cut: Cut, _: Any, active: Any, patches: Any, slopes: Any, out: Any) -> None:
    kept, slope, bits = cut.window(patches), cut.load(slopes), cut.load(active)
    biased = out.shape[1] > cut.span

    def visit(unit: Any, _: Any, __: Any) -> Any:
        steep = [jnp.where((b & jnp.left_shift(1, unit)) != 0, s, 0.0) for b, s in zip(bits, slope)]
        sums = [_inner(cut, steep, x) for x in kept] + ([functools.reduce(jnp.add, steep)] if biased else [])
        _store_sums(out, unit, *_sums(cut.interpret, sums), len(sums))
        return 0

    _over_units(cut, lambda unit: 0, visit, 0)


def _over_units(cut: Cut, fetch: Callable[[Any], Any], visit: Callable[..., Any], begin: Any) -> Any:
    """All units of a program, one after the other; what a unit needs is fetched before the one before it is visited."""

    def one(unit: Any, state: Any) -> Any:
        held, so_far = state
        coming = fetch(jnp.minimum(unit + 1, cut.units - 1))
        return coming, visit(unit, held, so_far)

    return jax.lax.fori_loop(0, cut.units, one, (fetch(0), begin))[1]


def _fetch(cut: Cut, weights: Any, bias: Any, coefficients: Any, unit: Any) -> Any:
    """A unit's weights, one a thread; its coefficient; its bias, if there are biases."""
    from jax.experimental.pallas import triton

    row = triton.load(weights.at[unit, _every()], mask=_every() < cut.span, other=0.0)
    return row, coefficients[unit], *([] if bias is None else [bias[unit]])


def _before_activation(cut: Cut, kept: list[list[Any]], held: Any) -> list[Any]:
    row, _, *shift = held
    zs = [jnp.broadcast_to(shift[0], (WARP,)) if shift else jnp.zeros((WARP,), jnp.float32) for _ in kept[0]]
    for i, numbers in enumerate(kept):
        weight = _of_thread(cut.interpret, row, i)
        zs = [_multiply_add(cut.interpret, weight, x, z) for x, z in zip(numbers, zs)]
    return zs


def _inner(cut: Cut, left: Any, right: Any) -> Any:
    so_far = left[0] * right[0]
    for one, other in zip(left[1:], right[1:]):
        so_far = _multiply_add(cut.interpret, one, other, so_far)
    return so_far


def _store_sums(out: Any, unit: Any, total: Any, place: Any, count: int) -> None:
    from jax.experimental.pallas import triton

    triton.store(out.at[unit, place], total, mask=place < count)


def _every() -> Any:
    """The threads' places."""
    return jnp.arange(WARP)


def _multiply_add(interpret: bool, one: Any, other: Any, more: Any) -> Any:
    """`one * other + more`, rounded once: Triton as XLA calls it makes two instructions of it otherwise."""
    if interpret:
        return one * other + more
    return _asm("fma.rn.f32 $0, $1, $2, $3;", jnp.broadcast_to(one, more.shape), other, more)


def _of_thread(interpret: bool, vector: Any, place: int) -> Any:
    """One thread's number, to all threads."""
    if interpret:
        return jnp.broadcast_to(vector[place], vector.shape)
    return _asm(f"shfl.sync.idx.b32 $0, $1, {place}, 31, -1;", vector)


def _exchange(interpret: bool, vector: Any, distance: int) -> Any:
    """Every thread's number from the thread whose place differs in one bit: needs a warp that holds one number a thread."""
    if interpret:
        return jnp.flip(vector.reshape(-1, 2, distance), 1).reshape(-1)
    return _asm(f"shfl.sync.bfly.b32 $0, $1, {distance}, 31, -1;", vector)


def _asm(instruction: str, *given: Any) -> Any:
    """An instruction of PTX on float32 numbers, one a thread."""
    from jax.experimental.pallas import triton

    shape = [jax.ShapeDtypeStruct(given[-1].shape, given[-1].dtype)]
    constraints = ",".join(["=f", *["f"] * len(given)])
    return triton.elementwise_inline_asm(instruction, args=list(given), constraints=constraints, pack=1, result_shape_dtypes=shape)[0]


def _sums(interpret: bool, vectors: list[Any]) -> tuple[Any, Any]:
    """The sums of at most 32 vectors over the 32 threads, in about as many exchanges as there are vectors (one by one: five each).

    At each distance two vectors become one: half of the threads go on with the one, half with the other. In the end the thread at place l has
    the sum of the vector whose number is l with its bits reversed, which is given too.
    """
    every = _every()
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
