"""Kernels in which a warp holds sums in its registers and windows stream past it: one for the way
there, two for the way back.

On the way there a thread has some rows and sums over a window's numbers, for some units at once;
weights are handed around among the warp's threads. On the way back there are slopes instead of
weights, and the sum is over rows: in short windows a thread still has rows, and what the threads of
a warp have summed is summed at the end; long windows are stored row by row, so that a thread has
some of a window's numbers, and slopes are handed around.

Few warps fit on a processor with so many registers each, so what streams past is read several steps
before it is needed.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from separatrix.networks.kernels.batching import Ref, call
from separatrix.networks.kernels.warps import (
    WARP,
    bit,
    divisor,
    multiply_add,
    of_thread,
    sums,
    threads,
)

ROWS = 1024  # summed by a program on the way back, at most
BODY = 800  # multiply-adds in the body of a loop, at most
LONG = 128  # numbers from which a window is long


class Share(NamedTuple):
    """A warp's share of the work."""

    units: int
    columns: int  # of a thread: rows on the way there; numbers of a window on the way back
    ahead: int  # steps that are read before they are needed, at most


class Cut(NamedTuple):
    """How the work is cut into programs."""

    positions: int
    width: int
    span: int
    rows: int
    there: Share
    back: Share
    groups: int  # of positions, with weights of their own
    interpret: bool

    @property
    def blocks(self) -> int:
        """Of units, a warp's each, on the way there."""
        return self.width // self.there.units

    @property
    def length(self) -> int:
        """Rows that a program sums on the way back; in short windows the last one may have fewer."""
        return (
            divisor(self.rows, ROWS) if self.long else -(-self.rows // (self.parts * WARP)) * WARP
        )

    @property
    def parts(self) -> int:
        """Blocks of rows that are summed apart on the way back."""
        return self.rows // divisor(self.rows, ROWS) if self.long else -(-self.rows // ROWS)

    @property
    def long(self) -> bool:
        """Whether windows are."""
        return self.span >= LONG


def cut_of(weights: Any, patches: Any, interpret: bool | None = None) -> Cut:
    """The cut for arrays of these shapes, by rules that give the fastest of those timed on an H200
    (`benchmarks/fused_timing.py`).

    >>> cut = cut_of(jnp.ones((20, 20, 20)), jnp.ones((20, 20, 512)))
    >>> tuple(cut.there), tuple(cut.back)
    ((20, 8, 4), (20, 5, 4))
    >>> cut = cut_of(jnp.ones((1, 20, 400)), jnp.ones((1, 400, 512)))
    >>> tuple(cut.there), tuple(cut.back)
    ((20, 4, 10), (10, 7, 8))
    """
    (positions, span, rows), (groups, width, _) = patches.shape, weights.shape
    units = divisor(width, 20) if divisor(width, 20) >= 8 else divisor(width, WARP)
    if span >= LONG:  # memory is what these wait for: more warps, of fewer sums each
        columns = _fewest(units, rows, 120)
        there = _share(units, columns, span, 40 // columns)
        fewer = units // 2 if units > 15 and units % 2 == 0 else units
        back = _share(fewer, _fewest(fewer, span, 80), rows, 8)
    else:
        there = _share(units, min(8 if span > 10 else 4, -(-rows // WARP), 160 // units), span, 10)
        fits = [(u, c) for u in _divisors(units) for c in _divisors(span) if u * c <= 160]
        # Slopes are chosen for each number of a window, which is read for each unit: by
        # instructions, and twice as many for waiting.
        units, numbers = min(
            fits, key=lambda each: 2 / each[1] + 9 / each[0] + 6 / (each[0] * each[1])
        )
        back = Share(
            units, numbers, max(1, min(4, BODY // 2 // (units * numbers)))
        )  # of which each is more for the compiler
    interpret = jax.default_backend() != "gpu" if interpret is None else interpret
    return Cut(positions, width, span, rows, there, back, groups, interpret)


def even(length: int) -> bool:
    """Whether a long sum can be cut into parts and chunks that are not tiny.

    >>> [even(length) for length in (400, 509, 27_000, 1031)]
    [True, False, True, False]
    """
    part = divisor(length, ROWS)
    return divisor(part, WARP) >= 8 and part >= min(length, 4 * WARP)


def _share(units: int, columns: int, length: int, most: int) -> Share:
    """A share that reads as many steps ahead as registers and the compiler's patience allow.

    Registers hold sums, units' numbers (and the next ones, if those are several), and what is read.
    Steps that are read ahead are written out one after the other, and compiling takes a time that
    grows with the square of that.
    """
    held = units * columns + units * (1 + (length > WARP))
    return Share(
        units, columns, max(1, min(most, (216 - held) // columns, BODY // (units * columns)))
    )


def _fewest(units: int, length: int, sums: int) -> int:
    """Columns of a thread, so that the fewest are computed twice and the fewest instructions are no
    multiply-adds.
    """
    most = max(1, min(8, sums // units, -(-length // WARP)))
    return min(
        range(min(4, most), most + 1),
        key=lambda each: -(-length // (WARP * each)) * each * (1 + 1 / units + 1 / each),
    )


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


# A program calls a kernel at several places: traced and lowered once.


@functools.partial(jax.jit, static_argnums=(0, 1))
def there(
    cut: Cut, keep: str, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any
) -> Any:
    """Outputs by blocks of units and positions; and units' signs (`keep` "signs"), units before
    activation ("units"), or None ("").
    """
    tiles = -(-cut.rows // (cut.there.columns * WARP))
    by_blocks = (cut.blocks, cut.positions, cut.rows)
    kept = {
        "signs": [(by_blocks, jnp.int32)],
        "units": [((cut.positions, cut.width, cut.rows), jnp.float32)],
        "": [],
    }[keep]
    grid = cut.blocks, tiles, cut.positions
    body = functools.partial(_there, cut, keep)
    given = weights, bias, coefficients, patches
    found = call(
        cut.interpret,
        "units_there",
        body,
        activation,
        grid,
        given,
        [(by_blocks, jnp.float32), *kept],
    )
    return found[0], found[1] if keep else None


@functools.partial(jax.jit, static_argnums=(0, 4))
def back(cut: Cut, slopes: Any, active: Any, windows: Any, biased: bool) -> Any:
    """Slopes of units, or of the outputs (where `active` are signs), summed with their windows over
    blocks of rows; and by themselves, if there are biases.

    Long windows are (positions, rows, span), others as patches are.
    """
    tiles = -(-cut.span // (cut.back.columns * WARP)) if cut.long else cut.span // cut.back.columns
    grid = cut.width // cut.back.units, tiles, cut.parts, cut.positions
    apart = (
        biased and not cut.long
    )  # for long windows, sums of slopes by themselves are no work worth a kernel
    body = functools.partial(_back_of_numbers if cut.long else _back_of_rows, cut, apart)
    shape = cut.positions, cut.parts, cut.width, cut.span + apart
    found = call(
        cut.interpret,
        "units_back",
        body,
        None,
        grid,
        (slopes, active, windows),
        [(shape, jnp.float32)],
    )[0]
    if not biased or apart:
        return found
    if active is not None:
        each = jnp.stack(
            [
                jnp.where((active & bit(unit)) != 0, slopes, 0.0).sum(2)
                for unit in range(cut.there.units)
            ],
            1,
        )
        alone = jnp.moveaxis(each, 2, 0).reshape(cut.positions, cut.width)
    else:
        alone = slopes.sum(2)
    beside = jnp.zeros((cut.positions, cut.parts, cut.width, 1)).at[:, 0, :, 0].set(alone)
    return jnp.concatenate([found, beside], 3)


# Inside a kernel.


def _there(
    cut: Cut,
    keep: str,
    activation: Any,
    place: Any,
    weights: Ref,
    bias: Ref,
    coefficients: Ref,
    patches: Ref,
    out: Ref,
    kept: Any = None,
) -> None:
    (block, tile, position), share = place, cut.there
    lane = threads(cut.interpret)
    columns = _Columns(tile, share.columns, cut.rows, lane)
    group = position if cut.groups > 1 else 0
    unit = group * cut.width + block * share.units  # the first of this warp's
    mine, read = unit * cut.span, position * cut.width + block * share.units

    def fetch(at: Any) -> Any:
        first = mine + jnp.minimum(at + lane, cut.span - 1)
        return [weights.load(first, each * cut.span) for each in range(share.units)]

    found = _product(cut, share, fetch, list, patches, position * cut.span, cut.span, columns)
    totals = [jnp.zeros(lane.shape, jnp.float32) for _ in columns.each]
    bits = [jnp.zeros(lane.shape, jnp.int32) for _ in columns.each]
    for each, zs in enumerate(found):
        if bias is not None:
            shift = bias.load(unit, each)
            zs = [z + shift for z in zs]
        coefficient = coefficients.load(read, each)
        totals = [
            multiply_add(cut.interpret, coefficient, activation(z), total)
            for z, total in zip(zs, totals)
        ]
        if keep == "signs":
            bits = [jnp.where(z > 0, so_far | bit(each), so_far) for z, so_far in zip(zs, bits)]
        if keep == "units":
            columns.store(kept, (position * cut.width + block * share.units + each) * cut.rows, zs)
    columns.store(out, (block * cut.positions + position) * cut.rows, totals)
    if keep == "signs":
        columns.store(kept, (block * cut.positions + position) * cut.rows, bits)


def _back_of_numbers(
    cut: Cut, biased: bool, _: Any, place: Any, slopes: Ref, active: Any, windows: Ref, out: Ref
) -> None:
    (block, tile, part, position), share = place, cut.back
    lane = threads(cut.interpret)
    unit = block * share.units
    columns = _Columns(tile, share.columns, cut.span, lane)
    begin = part * cut.length

    def fetch(at: Any) -> Any:
        row = begin + jnp.minimum(at + lane, cut.length - 1)
        if active is None:
            first = (position * cut.width + unit) * cut.rows + row
            return [slopes.load(first, each * cut.rows) for each in range(share.units)]
        return _signs(cut, unit, position, row, active), slopes.load(row)

    mine = list if active is None else lambda held: _slopes(share.units, *held)
    product = _product(
        cut, share, fetch, mine, windows, position * cut.rows + begin, cut.length, columns
    )
    for each, totals in enumerate(product):
        columns.store(
            out, ((position * cut.parts + part) * cut.width + unit + each) * cut.span, totals
        )


def _back_of_rows(
    cut: Cut, biased: bool, _: Any, place: Any, slopes: Ref, active: Ref, windows: Ref, out: Ref
) -> None:
    (block, tile, part, position), share = place, cut.back
    lane = threads(cut.interpret)
    unit, first = block * share.units, tile * share.columns
    rounds = cut.length // WARP
    step = divisor(rounds, share.ahead)
    full = cut.length * cut.parts == cut.rows

    def read(index: Any) -> Any:
        at = part * cut.length + jnp.minimum(index, rounds - 1) * WARP + lane
        row = at if full else jnp.minimum(at, cut.rows - 1)
        if active is None:
            steep = [
                slopes.load((position * cut.width + unit) * cut.rows + row, each * cut.rows)
                for each in range(share.units)
            ]
        else:
            steep = [slopes.load(row)]
        steep = steep if full else [jnp.where(at < cut.rows, slope, 0.0) for slope in steep]
        signs = None if active is None else _signs(cut, unit, position, row, active)
        begin = (position * cut.span + first) * cut.rows + row
        return (signs, steep), [windows.load(begin, i * cut.rows) for i in range(share.columns)]

    def some(index: Any, state: Any) -> Any:
        queue, totals = list(state[0]), state[1]
        for i in range(step):
            ((signs, steep), xs), queue[i] = queue[i], read((index + 1) * step + i)
            steep = steep if signs is None else _slopes(share.units, signs, *steep)
            added = [
                [multiply_add(cut.interpret, s, x, total) for x, total in zip(xs, each)]
                for s, each in zip(steep, totals)
            ]
            totals = [
                each + [before[-1] + s] * biased for s, each, before in zip(steep, added, totals)
            ]
        return queue, totals

    nothing = [
        [jnp.zeros(lane.shape, jnp.float32) for _ in range(share.columns + biased)]
        for _ in range(share.units)
    ]
    found = jax.lax.fori_loop(0, rounds // step, some, ([read(i) for i in range(step)], nothing))[1]
    every, each = [total for some in found for total in some], share.columns + biased
    whole = cut.span + biased
    begin = ((position * cut.parts + part) * cut.width + unit) * whole
    for at in range(0, len(every), WARP):
        total, which = sums(cut.interpret, lane, every[at : at + WARP])
        mine, number = (at + which) // each, (at + which) % each
        column = (
            jnp.where(number < share.columns, first + number, cut.span)
            if biased
            else first + number
        )
        out.store(begin + mine * whole + column, total)


def _signs(cut: Cut, unit: Any, position: Any, row: Any, active: Ref) -> Any:
    """The signs of a warp's units, from its first unit on, the bits of an integer a row."""
    block, first = unit // cut.there.units, unit % cut.there.units
    signs = active.load((block * cut.positions + position) * cut.rows + row)
    return signs if cut.there.units == cut.back.units else signs >> first


def _slopes(units: int, signs: Any, slope: Any) -> list[Any]:
    """The outputs' slope where a unit was active, and 0 elsewhere."""
    return [jnp.where((signs & bit(unit)) != 0, slope, 0.0) for unit in range(units)]


class _Columns:
    """A thread's columns.

    Where the last tile would not be full, some columns are computed twice, and written twice, the
    same.
    """

    def __init__(self, tile: Any, many: int, length: int, lane: Any):
        self.length, wide = length, many * WARP
        self.first = lane + (jnp.minimum(tile * wide, length - wide) if wide < length else 0)
        # None: a known distance from the first one; others begin anew.
        self.each = [
            None if wide <= length or WARP * (i + 1) <= length else (lane + WARP * i) % length
            for i in range(many)
        ]

    def load(self, ref: Ref, at: Any) -> list[Any]:
        """The columns of the numbers that begin at a place."""
        return [
            ref.load(at + self.first, WARP * i) if column is None else ref.load(at + column)
            for i, column in enumerate(self.each)
        ]

    def store(self, ref: Ref, at: Any, values: list[Any]) -> None:
        """The way back."""
        for i, (column, each) in enumerate(zip(self.each, values)):
            if column is None:
                ref.store(at + self.first, each, WARP * i)
            else:
                ref.store(at + column, each)


def _product(
    cut: Cut,
    share: Share,
    fetch: Callable[[Any], Any],
    mine: Callable[[Any], list[Any]],
    numbers: Ref,
    begin: Any,
    length: int,
    columns: _Columns,
) -> Any:
    """Sums over `length` of a number for each unit with the columns of `numbers`, by units and
    columns.

    The numbers for units are fetched in chunks, one a thread; `mine` makes them of what is fetched.
    Both they and the columns come before they are needed.
    """
    chunks = [each for each in _divisors(length) if each <= WARP]
    step, chunk = max(
        (divisor(each, share.ahead), each) for each in chunks if 2 * each > max(chunks)
    )

    def read(at: Any) -> list[Any]:
        return columns.load(numbers, (begin + jnp.minimum(at, length - 1)) * columns.length)

    def some(index: Any, state: Any, held: Any, at: Any) -> Any:
        queue, totals = list(state[0]), state[1]
        for i in range(step):
            now, queue[i] = queue[i], read(at + (index + 1) * step + i)
            after = []
            for each, so_far in zip(held, totals):
                number = of_thread(cut.interpret, each, index * step + i)
                after.append(
                    [multiply_add(cut.interpret, number, x, total) for x, total in zip(now, so_far)]
                )
            totals = after
        return queue, totals

    def one(index: Any, state: Any) -> Any:
        held, *rest = state
        at = index * chunk
        coming = fetch(jnp.minimum(at + chunk, length - chunk))
        numbers = mine(held)
        return coming, *jax.lax.fori_loop(
            0, chunk // step, lambda i, so_far: some(i, so_far, numbers, at), tuple(rest)
        )

    nothing = [
        [jnp.zeros(columns.first.shape, jnp.float32) for _ in columns.each]
        for _ in range(share.units)
    ]
    begun = [read(i) for i in range(step)], nothing
    if length == chunk:
        numbers_of_units = mine(fetch(0))
        return jax.lax.fori_loop(
            0, chunk // step, lambda i, so_far: some(i, so_far, numbers_of_units, 0), begun
        )[1]
    return jax.lax.fori_loop(0, length // chunk, one, (fetch(0), *begun))[2]
