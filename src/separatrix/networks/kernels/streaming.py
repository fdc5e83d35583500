"""Kernels in which a warp holds sums in its registers while windows stream past it: one for the
forward pass, two for the backward pass.

In the forward pass a thread has some rows and sums over a window's numbers, for several units at
once; the warp's threads hand the weights around. In the backward pass cotangents take the place of
weights, and the sum is over rows. In short windows a thread still has rows, and the warp adds its
threads' sums at the end. Long windows are stored row by row, so that a thread has some of a
window's numbers, and cotangents are handed around.

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

ROWS = 1024  # summed by one program of the backward pass, at most
BODY = 800  # multiply-adds in the body of a loop, at most
LONG = 128  # numbers from which a window is long


class Share(NamedTuple):
    """A warp's share of the work."""

    units: int
    columns: int  # per thread: rows in the forward pass, numbers of a window in the backward pass
    ahead: int  # steps that are read before they are needed, at most


class Tiling(NamedTuple):
    """How the work is divided among programs."""

    positions: int
    width: int
    span: int
    rows: int
    forward: Share
    backward: Share
    groups: int  # sets of weights: 1, or one per position
    interpret: bool

    @property
    def blocks(self) -> int:
        """Blocks of units in the forward pass, one per warp."""
        return self.width // self.forward.units

    @property
    def length(self) -> int:
        """Rows that one program of the backward pass sums; the last one may have fewer."""
        return (
            divisor(self.rows, ROWS) if self.long else -(-self.rows // (self.parts * WARP)) * WARP
        )

    @property
    def parts(self) -> int:
        """Blocks of rows that the backward pass sums apart."""
        return self.rows // divisor(self.rows, ROWS) if self.long else -(-self.rows // ROWS)

    @property
    def long(self) -> bool:
        """Whether windows are long."""
        return self.span >= LONG


def tiling_of(weights: Any, patches: Any, interpret: bool | None = None) -> Tiling:
    """The tiling for arrays of these shapes, by rules that give the fastest of those timed on an
    H200 (`benchmarks/fused_timing.py`).

    >>> tiling = tiling_of(jnp.ones((20, 20, 20)), jnp.ones((20, 20, 512)))
    >>> tuple(tiling.forward), tuple(tiling.backward)
    ((20, 8, 4), (20, 5, 4))
    >>> tiling = tiling_of(jnp.ones((1, 20, 400)), jnp.ones((1, 400, 512)))
    >>> tuple(tiling.forward), tuple(tiling.backward)
    ((20, 4, 10), (10, 7, 8))
    """
    (positions, span, rows), (groups, width, _) = patches.shape, weights.shape
    units = divisor(width, 20) if divisor(width, 20) >= 8 else divisor(width, WARP)
    if span >= LONG:  # these wait for memory: more warps, of fewer sums each
        columns = _fewest_columns(units, rows, 120)
        forward = _share(units, columns, span, 40 // columns)
        fewer = units // 2 if units > 15 and units % 2 == 0 else units
        backward = _share(fewer, _fewest_columns(fewer, span, 80), rows, 8)
    else:
        columns = min(8 if span > 10 else 4, -(-rows // WARP), 160 // units)
        forward = _share(units, columns, span, 10)
        fits = [(u, c) for u in _divisors(units) for c in _divisors(span) if u * c <= 160]
        # A cotangent is selected for each number of a window, and a number is read for each unit:
        # weighed by instructions, and twice as many for waiting.
        units, numbers = min(fits, key=lambda fit: 2 / fit[1] + 9 / fit[0] + 6 / (fit[0] * fit[1]))
        # Each step that is read ahead is more for the compiler.
        backward = Share(units, numbers, max(1, min(4, BODY // 2 // (units * numbers))))
    interpret = jax.default_backend() != "gpu" if interpret is None else interpret
    return Tiling(
        positions=positions,
        width=width,
        span=span,
        rows=rows,
        forward=forward,
        backward=backward,
        groups=groups,
        interpret=interpret,
    )


def divides_well(length: int) -> bool:
    """Whether a long sum can be divided into parts and chunks that are not tiny.

    >>> [divides_well(length) for length in (400, 509, 27_000, 1031)]
    [True, False, True, False]
    """
    part = divisor(length, ROWS)
    return divisor(part, WARP) >= 8 and part >= min(length, 4 * WARP)


def _share(units: int, columns: int, length: int, most: int) -> Share:
    """A share that reads as many steps ahead as registers and the compiler's patience allow.

    Registers hold sums, the units' numbers (and the next ones, if there are several), and what is
    read ahead. Steps that are read ahead are unrolled, and compile time grows with the square of
    their number.
    """
    held = units * columns + units * (1 + (length > WARP))
    return Share(
        units, columns, max(1, min(most, (216 - held) // columns, BODY // (units * columns)))
    )


def _fewest_columns(units: int, length: int, sums: int) -> int:
    """Columns per thread: few computed twice, and few instructions beside multiply-adds."""
    most = max(1, min(8, sums // units, -(-length // WARP)))
    return min(
        range(min(4, most), most + 1),
        key=lambda many: -(-length // (WARP * many)) * many * (1 + 1 / units + 1 / many),
    )


def _divisors(number: int) -> list[int]:
    return [candidate for candidate in range(1, number + 1) if number % candidate == 0]


# A program calls a kernel at several places; under `jit` it is traced and lowered once.


@functools.partial(jax.jit, static_argnums=(0, 1))
def forward(
    tiling: Tiling,
    save: str,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
) -> Any:
    """Outputs by blocks of units and positions, and a residual.

    The residual is the units' signs (`save` is "signs"), the units before activation ("units"), or
    None ("").
    """
    tiles = -(-tiling.rows // (tiling.forward.columns * WARP))
    by_blocks = (tiling.blocks, tiling.positions, tiling.rows)
    residuals = {
        "signs": [(by_blocks, jnp.int32)],
        "units": [((tiling.positions, tiling.width, tiling.rows), jnp.float32)],
        "": [],
    }[save]
    out = call(
        tiling.interpret,
        "units_forward",
        functools.partial(_forward, tiling, save),
        activation,
        (tiling.blocks, tiles, tiling.positions),
        (weights, bias, coefficients, patches),
        [(by_blocks, jnp.float32), *residuals],
    )
    return out[0], out[1] if save else None


@functools.partial(jax.jit, static_argnums=(0, 4))
def backward(tiling: Tiling, cotangents: Any, active: Any, windows: Any, biased: bool) -> Any:
    """Cotangents of units, or of the outputs (where `active` are signs), summed with their windows
    over blocks of rows; and by themselves, if there are biases.

    Long windows are (positions, rows, span), others as patches are.
    """
    tiles = (
        -(-tiling.span // (tiling.backward.columns * WARP))
        if tiling.long
        else tiling.span // tiling.backward.columns
    )
    # In long windows, bias gradients are too cheap to need a kernel.
    in_kernel = biased and not tiling.long
    body = functools.partial(
        _backward_long if tiling.long else _backward_short, tiling, biased=in_kernel
    )
    shape = tiling.positions, tiling.parts, tiling.width, tiling.span + in_kernel
    out = call(
        tiling.interpret,
        "units_backward",
        body,
        None,
        (tiling.width // tiling.backward.units, tiles, tiling.parts, tiling.positions),
        (cotangents, active, windows),
        [(shape, jnp.float32)],
    )[0]
    if not biased or in_kernel:
        return out
    if active is not None:
        by_unit = jnp.stack(
            [
                jnp.where((active & bit(unit)) != 0, cotangents, 0.0).sum(2)
                for unit in range(tiling.forward.units)
            ],
            1,
        )
        for_bias = jnp.moveaxis(by_unit, 2, 0).reshape(tiling.positions, tiling.width)
    else:
        for_bias = cotangents.sum(2)
    beside = (
        jnp.zeros((tiling.positions, tiling.parts, tiling.width, 1)).at[:, 0, :, 0].set(for_bias)
    )
    return jnp.concatenate([out, beside], 3)


# Inside a kernel.


def _forward(
    tiling: Tiling,
    save: str,
    activation: Any,
    place: Any,
    weights: Ref,
    bias: Ref,
    coefficients: Ref,
    patches: Ref,
    out: Ref,
    residual: Any = None,
) -> None:
    (block, tile, position), share = place, tiling.forward
    lane = threads(tiling.interpret)
    columns = _Columns(tile, share.columns, tiling.rows, lane)
    group = position if tiling.groups > 1 else 0
    unit = group * tiling.width + block * share.units  # the first of this warp's
    begin, read = unit * tiling.span, position * tiling.width + block * share.units

    def fetch(at: Any) -> Any:
        first = begin + jnp.minimum(at + lane, tiling.span - 1)
        return [weights.load(first, i * tiling.span) for i in range(share.units)]

    products = _product(
        tiling, share, fetch, list, patches, position * tiling.span, tiling.span, columns
    )
    totals = [jnp.zeros(lane.shape, jnp.float32) for _ in columns.places]
    bits = [jnp.zeros(lane.shape, jnp.int32) for _ in columns.places]
    for i, zs in enumerate(products):
        if bias is not None:
            shift = bias.load(unit, i)
            zs = [z + shift for z in zs]
        coefficient = coefficients.load(read, i)
        totals = [
            multiply_add(tiling.interpret, coefficient, activation(z), total)
            for z, total in zip(zs, totals)
        ]
        if save == "signs":
            bits = [jnp.where(z > 0, so_far | bit(i), so_far) for z, so_far in zip(zs, bits)]
        if save == "units":
            row = (position * tiling.width + block * share.units + i) * tiling.rows
            columns.store(residual, row, zs)
    columns.store(out, (block * tiling.positions + position) * tiling.rows, totals)
    if save == "signs":
        columns.store(residual, (block * tiling.positions + position) * tiling.rows, bits)


def _backward_long(
    tiling: Tiling,
    _: Any,
    place: Any,
    cotangents: Ref,
    active: Any,
    windows: Ref,
    out: Ref,
    biased: bool,
) -> None:
    """Long windows: a thread has some of a window's numbers."""
    del biased  # the bias gradient is computed outside
    (block, tile, part, position), share = place, tiling.backward
    lane = threads(tiling.interpret)
    unit = block * share.units
    columns = _Columns(tile, share.columns, tiling.span, lane)
    begin = part * tiling.length

    def fetch(at: Any) -> Any:
        row = begin + jnp.minimum(at + lane, tiling.length - 1)
        if active is None:
            first = (position * tiling.width + unit) * tiling.rows + row
            return [cotangents.load(first, i * tiling.rows) for i in range(share.units)]
        return _signs(tiling, unit, position, row, active), cotangents.load(row)

    by_unit = list if active is None else lambda fetched: _of_active(share.units, *fetched)
    products = _product(
        tiling,
        share,
        fetch,
        by_unit,
        windows,
        position * tiling.rows + begin,
        tiling.length,
        columns,
    )
    for i, totals in enumerate(products):
        row = (position * tiling.parts + part) * tiling.width + unit + i
        columns.store(out, row * tiling.span, totals)


def _backward_short(
    tiling: Tiling,
    _: Any,
    place: Any,
    cotangents: Ref,
    active: Ref,
    windows: Ref,
    out: Ref,
    biased: bool,
) -> None:
    """Short windows: a thread has rows, and the warp adds its threads' sums at the end."""
    (block, tile, part, position), share = place, tiling.backward
    lane = threads(tiling.interpret)
    unit, first = block * share.units, tile * share.columns
    rounds = tiling.length // WARP
    step = divisor(rounds, share.ahead)
    full = tiling.length * tiling.parts == tiling.rows

    def read(index: Any) -> Any:
        at = part * tiling.length + jnp.minimum(index, rounds - 1) * WARP + lane
        row = at if full else jnp.minimum(at, tiling.rows - 1)
        if active is None:
            begin = (position * tiling.width + unit) * tiling.rows + row
            incoming = [cotangents.load(begin, i * tiling.rows) for i in range(share.units)]
        else:
            incoming = [cotangents.load(row)]
        if not full:
            incoming = [jnp.where(at < tiling.rows, cotangent, 0.0) for cotangent in incoming]
        signs = None if active is None else _signs(tiling, unit, position, row, active)
        begin = (position * tiling.span + first) * tiling.rows + row
        numbers = [windows.load(begin, i * tiling.rows) for i in range(share.columns)]
        return (signs, incoming), numbers

    def steps(index: Any, state: Any) -> Any:
        queue, totals = list(state[0]), state[1]
        for i in range(step):
            ((signs, incoming), xs), queue[i] = queue[i], read((index + 1) * step + i)
            by_unit = incoming if signs is None else _of_active(share.units, signs, *incoming)
            added = [
                [multiply_add(tiling.interpret, c, x, total) for x, total in zip(xs, of_unit)]
                for c, of_unit in zip(by_unit, totals)
            ]
            totals = [
                of_unit + [before[-1] + c] * biased
                for c, of_unit, before in zip(by_unit, added, totals)
            ]
        return queue, totals

    zeros = [
        [jnp.zeros(lane.shape, jnp.float32) for _ in range(share.columns + biased)]
        for _ in range(share.units)
    ]
    totals = jax.lax.fori_loop(0, rounds // step, steps, ([read(i) for i in range(step)], zeros))[1]
    vectors, per_unit = [total for of_unit in totals for total in of_unit], share.columns + biased
    row_length = tiling.span + biased
    begin = ((position * tiling.parts + part) * tiling.width + unit) * row_length
    for at in range(0, len(vectors), WARP):
        total, which = sums(tiling.interpret, lane, vectors[at : at + WARP])
        of_unit, number = (at + which) // per_unit, (at + which) % per_unit
        column = (
            jnp.where(number < share.columns, first + number, tiling.span)
            if biased
            else first + number
        )
        out.store(begin + of_unit * row_length + column, total)


def _signs(tiling: Tiling, unit: Any, position: Any, row: Any, active: Ref) -> Any:
    """The signs of a warp's units, from its first unit on: the bits of one integer per row."""
    block, first = unit // tiling.forward.units, unit % tiling.forward.units
    signs = active.load((block * tiling.positions + position) * tiling.rows + row)
    return signs if tiling.forward.units == tiling.backward.units else signs >> first


def _of_active(units: int, signs: Any, cotangent: Any) -> list[Any]:
    """For each unit the outputs' cotangent where the unit was active, and 0 elsewhere."""
    return [jnp.where((signs & bit(unit)) != 0, cotangent, 0.0) for unit in range(units)]


class _Columns:
    """A thread's columns.

    Where the last tile would not be full, some columns are computed twice, and the same numbers are
    written twice.
    """

    def __init__(self, tile: Any, many: int, length: int, lane: Any):
        self.length, wide = length, many * WARP
        self.first = lane + (jnp.minimum(tile * wide, length - wide) if wide < length else 0)
        # None is a known distance from the first column; other columns start again from 0.
        self.places = [
            None if wide <= length or WARP * (i + 1) <= length else (lane + WARP * i) % length
            for i in range(many)
        ]

    def load(self, ref: Ref, at: Any) -> list[Any]:
        """Read the columns of the numbers that begin at a place."""
        return [
            ref.load(at + self.first, WARP * i) if column is None else ref.load(at + column)
            for i, column in enumerate(self.places)
        ]

    def store(self, ref: Ref, at: Any, values: list[Any]) -> None:
        """Write the columns of the numbers that begin at a place."""
        for i, (column, vector) in enumerate(zip(self.places, values)):
            if column is None:
                ref.store(at + self.first, vector, WARP * i)
            else:
                ref.store(at + column, vector)


def _product(
    tiling: Tiling,
    share: Share,
    fetch: Callable[[Any], Any],
    by_unit: Callable[[Any], list[Any]],
    numbers: Ref,
    begin: Any,
    length: int,
    columns: _Columns,
) -> Any:
    """Sums over `length` of one factor per unit with the columns of `numbers`.

    The units' factors are fetched in chunks, one per thread; `by_unit` makes them from what is
    fetched. Both the factors and the columns are read before they are needed.
    """
    chunks = [size for size in _divisors(length) if size <= WARP]
    step, chunk = max(
        (divisor(size, share.ahead), size) for size in chunks if 2 * size > max(chunks)
    )

    def read(at: Any) -> list[Any]:
        return columns.load(numbers, (begin + jnp.minimum(at, length - 1)) * columns.length)

    def steps(index: Any, state: Any, factors: Any, at: Any) -> Any:
        queue, totals = list(state[0]), state[1]
        for i in range(step):
            now, queue[i] = queue[i], read(at + (index + 1) * step + i)
            added = []
            for of_unit, so_far in zip(factors, totals):
                factor = of_thread(tiling.interpret, of_unit, index * step + i)
                added.append(
                    [
                        multiply_add(tiling.interpret, factor, x, total)
                        for x, total in zip(now, so_far)
                    ]
                )
            totals = added
        return queue, totals

    def one_chunk(index: Any, state: Any) -> Any:
        fetched, *rest = state
        at = index * chunk
        coming = fetch(jnp.minimum(at + chunk, length - chunk))
        factors = by_unit(fetched)
        return coming, *jax.lax.fori_loop(
            0, chunk // step, lambda i, so_far: steps(i, so_far, factors, at), tuple(rest)
        )

    zeros = [
        [jnp.zeros(columns.first.shape, jnp.float32) for _ in columns.places]
        for _ in range(share.units)
    ]
    start = [read(i) for i in range(step)], zeros
    if length == chunk:
        only = by_unit(fetch(0))
        return jax.lax.fori_loop(
            0, chunk // step, lambda i, so_far: steps(i, so_far, only, 0), start
        )[1]
    return jax.lax.fori_loop(0, length // chunk, one_chunk, (fetch(0), *start))[2]
