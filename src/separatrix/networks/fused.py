"""One hidden layer with windows as two kernels for a GPU, so that no unit's activation goes through memory.

The ordinary spelling writes and reads an array of the units' size several times a step. Here a program of the first kernel is a warp that
holds a tile of rows of one window in its registers, loops over units, and adds what they contribute to the output; one of the second
sums the units' gradients over its rows. It computes the units again, except for rectifiers: of those it needs one bit each, whether they
were active, which the first kernel leaves behind. What several programs contribute is written apart and summed afterwards, in a fixed
order: there are no atomics. Kernels are written in Pallas, for its Triton backend; on other devices they are interpreted, slowly.

A warp waits for what it reads, and few fit on a processor with so many registers each. So a unit's weights are read in one piece, a number
a thread, while the unit before is computed, and handed around from there.

The engine asks for kernels (`asked_for`) where a program has much to do: compiling takes longer. `benchmarks/fused_timing.py` times them.

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

from separatrix.networks.activations import ReLU

SPAN = 30  # the most numbers of a window that kernels can hold: its sums and those of bias and coefficient are a warp's 32
WARP = 32  # threads
FIRST = 2112  # programs that begin at once on a large GPU, about: 16 on each of 132 processors
LEAST_UNITS = 8  # of a program: with fewer, reading rows is most of the work in either spelling


class Tiles(NamedTuple):
    """How the work is cut.

    >>> Tiles().rows
    128
    """

    rows: int = 128  # of a program, a power of two, at least a warp's
    units: int = 32  # of a program: at most so many, a divisor of the width
    delay: int = 0  # nanoseconds by which the first warps of a processor begin after each other, see `_apart`
    back: "Tiles | None" = None  # how that of the second kernel is cut, where it is otherwise
    interpret: bool | None = None  # None: where there is no GPU


def tiles_for(span: int, rows: int) -> Tiles:
    """The tiles taken where none are given, the fastest seen on an H200 with windows of 10, 20 and 27 numbers; smaller where there are few rows.

    >>> tiles_for(10, 1024).rows, tiles_for(20, 1024).rows, tiles_for(20, 40).rows
    (256, 128, 64)
    """
    there, back = (256, 256) if span <= 10 else (128, 128) if span <= 20 else (128, 256)
    enough = max(WARP, 1 << (rows - 1).bit_length())
    return Tiles(rows=min(there, enough), back=Tiles(rows=min(back, enough)))


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
    """Whether kernels are asked for, hold windows of so many numbers, and would save anything with so many units a window.

    >>> with asked_for(True):
    ...     [worth_it(20, 30), worth_it(20, 31), worth_it(1, 20), worth_it(37, 20)]  # 37 units would be a program each
    [True, False, False, False]
    """
    return _ASKED.get() is not None and span <= SPAN and _divisor(width, Tiles().units) >= LEAST_UNITS


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


# Derivatives. `_outputs` has a backward pass; the two kernels have tangents of their own, so that the backward pass has derivatives too.


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _outputs(tiles: Tiles, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Float[Array, " rows"]:
    return _forward(tiles, False, activation, weights, bias, coefficients, patches)[0]


def _outputs_there(tiles: Tiles, *given: Any) -> Any:
    out, active = _forward(tiles, _rectifies(given[0]), *given)
    return out, (given, active)


def _outputs_back(tiles: Tiles, kept: Any, slope: Any) -> Any:
    given, active = kept
    activation, weights, bias, coefficients, patches = given
    # Not computed where they are not asked for: the compiler drops them.
    of_activation, of_patches = jax.vjp(lambda f, x: plain(f, weights, bias, coefficients, x), activation, patches)[1](slope)
    return of_activation, *_gradients(tiles, *given, slope, active), of_patches


_outputs.defvjp(_outputs_there, _outputs_back)


def _rectifies(activation: Any) -> bool:
    return isinstance(activation, ReLU) or (isinstance(activation, jax.tree_util.Partial) and activation.func is jax.nn.relu)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _forward(tiles: Tiles, signs: bool, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Any:
    """The first kernel: outputs, and which units of each row were active where that is asked for, a bit each."""
    out, active = _there(_cut(tiles, weights, patches), signs, activation, weights, bias, coefficients, patches)
    return out.sum((0, 1)), active


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _gradients(tiles: Tiles, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any, active: Any) -> Any:
    """The second kernel: gradients of weights, biases and coefficients, given those of the outputs."""
    cut, span = _cut(tiles, weights, patches, back=True), patches.shape[1]
    if active is None:
        sums = _back(cut, activation, weights, bias, coefficients, patches, slope)
        sums, of_coefficients = sums[..., :-1], sums[..., -1].sum(0)
    else:  # sums of a rectifier's slopes: those of its values are theirs with its weights, and neither has its coefficient yet
        sums = _back_of_signs(cut, bias is not None, active, patches, slope)
        each = weights if bias is None else jnp.concatenate([weights, bias[:, :, None]], 2)
        of_coefficients = (sums * each).sum((0, 3))
        sums = sums * coefficients[:, :, None]
    of_groups = sums.sum((0, 1) if len(weights) == 1 else (0,)).reshape(len(weights), weights.shape[1], -1)
    return of_groups[..., :span], None if bias is None else of_groups[..., span], of_coefficients


def _tangents(kernel: Callable[..., Any], same: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for a kernel's tangents: those of the same function in the plain spelling, of what moves only."""

    def slope(*given: Any) -> Any:
        *how, primals, tangents = given
        leaves, tree = jax.tree.flatten(primals)
        moved = {i: leaf for i, leaf in enumerate(jax.tree.leaves(tangents)) if not isinstance(leaf, SymbolicZero)}

        def of_moving(moving: dict[int, Any]) -> Any:
            return same(*jax.tree.unflatten(tree, [moving.get(i, leaf) for i, leaf in enumerate(leaves)]))

        out = kernel(*how, *primals)
        still = jax.tree.map(lambda leaf: np.zeros(leaf.shape, jax.dtypes.float0) if leaf.dtype == jnp.int32 else jnp.zeros_like(leaf), out)
        if not moved:
            return out, still
        tangent = jax.jvp(of_moving, ({i: leaves[i] for i in moved},), (moved,))[1]
        return out, tangent if kernel is _gradients else (tangent, still[1])

    return slope


def _plain_gradients(activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any, _: Any) -> Any:
    return jax.vjp(lambda w, b, c: plain(activation, w, b, c, patches), weights, bias, coefficients)[1](slope)


_forward.defjvp(_tangents(_forward, plain), symbolic_zeros=True)
_gradients.defjvp(_tangents(_gradients, _plain_gradients), symbolic_zeros=True)


# Kernels.


class Cut(NamedTuple):
    """How an array's work is cut into programs: a program's rows and units, and the true sizes."""

    positions: int
    width: int
    span: int
    rows: int
    tile: int
    units: int
    own: bool  # whether every position has weights of its own
    delay: int
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
        from jax.experimental.pallas import triton

        if self.interpret or not self.delay:
            return [self.load(patches, np.int32(i)) for i in range(self.span)]
        threads = _apart(self.delay)  # what comes after the delay is all that is computed from this
        at = [(threads + start, mask) for start, (_, mask) in zip(range(0, self.tile, WARP), self.places())]
        return [
            [triton.load(patches.at[np.int32(i), rows], mask=mask, other=None if mask is None else 0) for rows, mask in at]
            for i in range(self.span)
        ]


def _cut(tiles: Tiles, weights: Any, patches: Any, back: bool = False) -> Cut:
    (positions, span, rows), width = patches.shape, weights.shape[1]
    interpret = jax.default_backend() != "gpu" if tiles.interpret is None else tiles.interpret
    # Both kernels have the same units, whose signs one leaves for the other.
    how = tiles.back if back and tiles.back else tiles
    return Cut(positions, width, span, rows, how.rows, _divisor(width, min(tiles.units, WARP)), len(weights) > 1, how.delay, interpret)


def _divisor(number: int, most: int) -> int:
    return max(each for each in range(1, min(number, most) + 1) if number % each == 0)


# A program calls a kernel at several places: traced and lowered once.


@functools.partial(jax.jit, static_argnums=(0, 1))
def _there(cut: Cut, signs: bool, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Any:
    """Outputs by blocks of units and positions; and units' signs, the bits of an integer a row and block, or None."""
    shape = (cut.grid[0], cut.positions, cut.rows)
    out = [("rows of blocks", jax.ShapeDtypeStruct(shape, patches.dtype))]
    out += [("rows of blocks", jax.ShapeDtypeStruct(shape, jnp.int32))] * signs
    names = ("weights", "of units", "of positions", "patches")
    found = _call(cut, "units_there", _units_there, activation, names, (weights, bias, coefficients, patches), out)
    return found[0], found[1] if signs else None


@functools.partial(jax.jit, static_argnums=(0,))
def _back(cut: Cut, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any) -> Any:
    """Gradients of a unit's weights, its bias if there are biases, and its coefficient, by blocks of rows and positions."""
    out = [_sums_of(cut, cut.span + 1 + (bias is not None), patches)]
    names = ("weights", "of units", "of positions", "patches", "rows")
    return _call(cut, "units_back", _units_back, activation, names, (weights, bias, coefficients, patches, slope), out)[0]


@functools.partial(jax.jit, static_argnums=(0, 1))
def _back_of_signs(cut: Cut, biased: bool, active: Any, patches: Any, slope: Any) -> Any:
    """Slopes of active units, summed with their windows and by themselves if there are biases, by blocks of rows and positions."""
    out, names = [_sums_of(cut, cut.span + biased, patches)], ("rows of blocks", "patches", "rows")
    return _call(cut, "signs_back", _signs_back, None, names, (active, patches, slope), out)[0]


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


def _apart(delay: int) -> Any:
    """The threads' places, after a while: warps that begin together would all wait for memory first and then all compute, again and again.

    Those of the first programs, which begin at once, sleep by their place on their processor: none, one, two or more times the delay.
    """
    from jax.experimental.pallas import triton

    code = f"""{{
        .reg .u32 a, b, c;
        .reg .pred p;
        mov.u32 a, %ctaid.z;
        mov.u32 b, %nctaid.y;
        mov.u32 c, %ctaid.y;
        mad.lo.u32 a, a, b, c;
        mov.u32 b, %nctaid.x;
        mov.u32 c, %ctaid.x;
        mad.lo.u32 a, a, b, c;
        setp.lt.u32 p, a, {FIRST};
        mov.u32 b, %warpid;
        shr.u32 b, b, 2;
        mul.lo.u32 b, b, {delay};
        @p nanosleep.u32 b;
        mov.b32 $0, $1;
    }}"""
    shape = [jax.ShapeDtypeStruct((WARP,), jnp.int32)]
    return triton.elementwise_inline_asm(code, args=[_every()], constraints="=r,r", pack=1, result_shape_dtypes=shape)[0]


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
