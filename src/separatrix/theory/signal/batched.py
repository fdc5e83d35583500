"""The estimators that need data, for many training sets at a time.

`estimators` has the algorithms for one training set in NumPy, and on a CPU they run there: few
training sets cost less than a compiler. On a GPU expectation-maximisation and the LSA step are
compiled, one program per *frame*: sizes are rounded up and the surplus is masked, so that many
cells share a program. The two draw different training sets of the same distribution.

Labels and the signal's direction are not drawn. Every estimator multiplies rows by their labels
first, which gives the signal plus noise, and is equivariant under rotations, so that the first
coordinate serves as the signal.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from separatrix.errors import check_choice, check_integer, check_number
from separatrix.streams import draw, named, normal, numbered, root_key, root_words, uniform
from separatrix.theory.signal.estimators import (
    NETWORKS,
    ROUNDS,
    SUBSPACE_ROUNDS,
    estimator_alignment,
)

DEVICE_ESTIMATORS = ("em", "lsa")
STILL = 1e-4  # the change of a coordinate below which expectation-maximisation has converged
# Frames: sample sizes 128, 512, 2048, ..., and other sizes 16, 32, 64, ...
FIRST_ROWS, ROWS_RATIO = 128, 4
FIRST_SIZE, SIZE_RATIO = 16, 2
BATCH_NUMBERS = 2**28  # of one batch's rows: 1 GB, enough to fill a large GPU
MOST_AT_ONCE = 64  # training sets


class TrainingSet(NamedTuple):
    """One random training set and what estimates the signal from it.

    Attributes:
        estimator: "em" or "lsa"; the FCN has "em" only.
        network: "CNN", "LCN" or "FCN".
        patches: the number k of patches.
        dimension: the dimension d of a patch.
        noise: the standard deviation σ of the noise.
        samples: the number of rows.
        seed: of the rows.
    """

    estimator: str
    network: str
    patches: int
    dimension: int
    noise: float
    samples: int
    seed: int


class EstimatorFrame(NamedTuple):
    """The sizes of a program's arrays; `dimension` is that of a whole row for the FCN."""

    full: bool
    rows: int
    patches: int
    dimension: int


def estimator_frame(one: TrainingSet) -> EstimatorFrame:
    """The frame of the program that serves a training set.

    >>> estimator_frame(TrainingSet("em", "FCN", 6, 5, 0.3, 200, seed=0))
    EstimatorFrame(full=True, rows=512, patches=16, dimension=32)
    """
    full = one.network == "FCN"
    return EstimatorFrame(
        full,
        _up(one.samples, FIRST_ROWS, ROWS_RATIO),
        _up(one.patches, FIRST_SIZE, SIZE_RATIO),
        _up(one.dimension * (one.patches if full else 1), FIRST_SIZE, SIZE_RATIO),
    )


def batched_alignments(
    sets: Sequence[TrainingSet], bias: float = 0.5, compiled: bool | None = None
) -> np.ndarray:
    """The patch alignment of an estimate from each of many training sets.

    Args:
        sets: the training sets; those with one frame run together.
        bias: of the LSA step.
        compiled: whether programs of the device do it; by default on everything but a CPU.

    Returns:
        For every training set the mean over patches of the cosine between the estimate and the
        signal; for the FCN the estimate that is best for a patch counts.

    Raises:
        ParameterError: if a size or a name makes no sense.

    >>> one = TrainingSet("em", "CNN", 4, 3, 0.1, samples=100, seed=0)
    >>> bool(batched_alignments([one]).min() > 0.99)
    True
    """
    for one in dict.fromkeys(one._replace(seed=0) for one in sets):
        check_set(one)
    if not (jax.default_backend() != "cpu" if compiled is None else compiled):
        return np.array([estimator_alignment(*one, bias=bias).mean() for one in sets])
    out = np.zeros(len(sets))
    for _, places in batches_of(sets):
        frame = estimator_frame(sets[places[0]])
        out[places] = _run(frame, [sets[place] for place in places], bias)
    return out


def batches_of(sets: Sequence[TrainingSet]) -> Iterable[tuple[EstimatorFrame, list[int]]]:
    """The frame and the places in `sets` of every batch that runs at once.

    >>> one = TrainingSet("em", "CNN", 4, 3, 0.1, samples=100, seed=0)
    >>> [places for _, places in batches_of([one, one._replace(samples=2000), one])]
    [[0, 2], [1]]
    """
    groups: dict[EstimatorFrame, list[int]] = {}
    for place, one in enumerate(sets):
        groups.setdefault(estimator_frame(one), []).append(place)
    for frame, places in groups.items():
        size = batch_size(frame)
        for start in range(0, len(places), size):
            yield frame, places[start : start + size]


def batch_size(frame: EstimatorFrame) -> int:
    """How many training sets of a frame run at once: a power of two."""
    numbers = frame.rows * frame.dimension * (1 if frame.full else frame.patches)
    most = max(1, min(MOST_AT_ONCE, BATCH_NUMBERS // numbers))
    return 1 << (most.bit_length() - 1)


def check_set(one: TrainingSet) -> None:
    """Refuse a training set that cannot be drawn, or an estimator that does not exist for it."""
    check_choice("TrainingSet", "network", one.network, NETWORKS)
    allowed = ("em",) if one.network == "FCN" else DEVICE_ESTIMATORS
    check_choice("TrainingSet", "estimator", one.estimator, allowed)
    for name in ("patches", "dimension", "samples"):
        check_integer("TrainingSet", name, getattr(one, name), low=1)
    check_number("TrainingSet", "noise", one.noise, low=0, open_low=True)


class _Case(NamedTuple):
    """The traced values of a training set."""

    words: Any
    patches: Any
    dimension: Any
    noise: Any
    samples: Any
    shared: Any
    gated: Any
    bias: Any


def _run(frame: EstimatorFrame, sets: Sequence[TrainingSet], bias: float) -> np.ndarray:
    """One call of a frame's program; a batch that is not full is filled up with its last one."""
    size = batch_size(frame)
    filled = [*sets, *[sets[-1]] * (size - len(sets))]
    case = _Case(
        np.stack([root_words("signal-estimator", *one) for one in filled]),
        np.array([one.patches for one in filled], np.int32),
        np.array([one.dimension for one in filled], np.int32),
        np.array([one.noise for one in filled], np.float32),
        np.array([one.samples for one in filled], np.int32),
        np.array([one.network == "CNN" for one in filled]),
        np.array([one.estimator == "lsa" for one in filled]),
        np.full(size, bias, np.float32),
    )
    return np.asarray(_program(frame)(case), float)[: len(sets)]


@functools.cache
def _program(frame: EstimatorFrame) -> Any:
    one = _full_alignment if frame.full else _window_alignment

    def aligned(case: _Case) -> Float[Array, ""]:
        with jax.default_matmul_precision("float32"):
            return one(frame, case)

    return jax.jit(jax.vmap(aligned))


def _window_alignment(frame: EstimatorFrame, case: _Case) -> Float[Array, ""]:
    """CNN and LCN: the average, then rounds of expectation-maximisation or one LSA step."""
    key = root_key(case.words)
    used = jnp.arange(frame.patches) < case.patches
    rows = _places(key, frame, case)
    x = draw(normal, named(key, "noise"), (frame.rows, frame.patches, frame.dimension))
    first = jnp.arange(frame.dimension) == 0
    signal = (rows[:, None] == jnp.arange(frame.patches))[:, :, None] * first
    inside = used[:, None] & (jnp.arange(frame.dimension) < case.dimension)
    # Patches first: products of one patch are then contiguous.
    x = jnp.moveaxis((case.noise * x + signal) * inside, 1, 0)
    present = (jnp.arange(frame.rows) < case.samples) * used[:, None]  # (patches, rows)

    def filters(weight: Float[Array, "patches rows"]) -> Float[Array, "patches dimension"]:
        total = jnp.einsum("pm,pmd->pd", weight, x)
        return _unit(jnp.where(case.shared, total.sum(0, keepdims=True), total))

    def better(found: Float[Array, "patches dimension"]) -> Float[Array, "patches dimension"]:
        seen = jnp.einsum("pmd,pd->pm", x, found)
        share = _softmax(seen / case.noise**2, used[:, None], axis=0)
        gate = jnp.abs(seen) > case.bias
        newer = filters(jnp.where(case.gated, gate, share) * present)
        # A filter that no patch passes has no gradient and stays where it is.
        lost = (newer**2).sum(1, keepdims=True) == 0
        return jnp.where(lost, found, newer)

    found = _until_still(better, filters(1.0 * present), jnp.where(case.gated, 1, ROUNDS))
    return (found[:, 0] * used).sum() / case.patches


def _full_alignment(frame: EstimatorFrame, case: _Case) -> Float[Array, ""]:
    """FCN: soft spherical k-means, first in the rows' leading subspace, then in the whole space."""
    key = root_key(case.words)
    used = jnp.arange(frame.patches) < case.patches
    column = jnp.arange(frame.dimension)
    present = jnp.arange(frame.rows) < case.samples
    x = draw(normal, named(key, "noise"), (frame.rows, frame.dimension))
    signal = column == _places(key, frame, case)[:, None] * case.dimension
    inside = present[:, None] & (column < case.patches * case.dimension)
    x = (case.noise * x + signal) * inside

    basis = draw(normal, named(key, "basis"), (frame.dimension, frame.patches)) * used
    basis = _orthonormal(basis * (column < case.patches * case.dimension)[:, None], used)
    basis = jax.lax.fori_loop(
        0, SUBSPACE_ROUNDS, lambda _, b: _orthonormal(x.T @ (x @ b), used), basis
    )

    def maximise(
        rows: Float[Array, "rows size"], found: Float[Array, "patches size"]
    ) -> Float[Array, "patches size"]:
        def better(found: Any) -> Any:
            share = _softmax(rows @ found.T / case.noise**2, used, axis=1)
            return _unit((share * present[:, None]).T @ rows)

        return _until_still(better, found, ROUNDS)

    inner = x @ basis
    found = maximise(inner, _far_apart(named(key, "start"), inner, present, used))
    found = maximise(x, found @ basis.T)
    at = jnp.minimum(jnp.arange(frame.patches) * case.dimension, frame.dimension - 1)
    best = jnp.where(used[:, None], found[:, at], -jnp.inf).max(0)
    return jnp.where(used, best, 0.0).sum() / case.patches


def _places(key: Key[Array, ""], frame: EstimatorFrame, case: _Case) -> Array:
    """The patch of the signal in every row."""
    spot = draw(uniform, named(key, "places"), (frame.rows,)) * case.patches
    return jnp.minimum(spot.astype(jnp.int32), case.patches - 1)


def _until_still(better: Any, found: Array, rounds: Any) -> Array:
    def going(carry: tuple[Any, Array, Array]) -> Bool[Array, ""]:
        step, _, change = carry
        return (step < rounds) & (change >= STILL)

    def once(carry: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
        step, found, _ = carry
        newer = better(found)
        return step + 1, newer, jnp.abs(newer - found).max()

    return jax.lax.while_loop(going, once, (0, found, jnp.float32(jnp.inf)))[1]


def _orthonormal(columns: Float[Array, "size patches"], used: Bool[Array, " patches"]) -> Array:
    """The same span with orthonormal columns, by Cholesky; surplus columns stay 0.

    A Householder factorisation is slow in batches on a GPU, and these columns are far from
    dependent: the spectrum of noisy rows is flat.
    """
    gram = columns.T @ columns
    # The small diagonal keeps fewer rows than directions from being a singular matrix.
    gram = gram + jnp.diag(jnp.where(used, 1e-6 * jnp.diag(gram).max(), 1.0))
    lower = jnp.linalg.cholesky(gram)
    return jax.lax.linalg.triangular_solve(
        lower, columns, left_side=False, lower=True, transpose_a=True
    )


def _far_apart(
    key: Key[Array, ""],
    rows: Float[Array, "rows size"],
    present: Bool[Array, " rows"],
    used: Bool[Array, " patches"],
) -> Float[Array, "patches size"]:
    """Rows that are likely to belong to different directions, as k-means++ chooses them."""

    def choose(step: Any, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        chosen, nearest = carry
        chance = jnp.cumsum(jnp.where(present, nearest, 0.0))
        spot = draw(uniform, numbered(key, step), (1,))[0] * chance[-1]
        row = rows[jnp.minimum(jnp.searchsorted(chance, spot), rows.shape[0] - 1)]
        nearest = jnp.minimum(nearest, ((rows - row) ** 2).sum(1))
        return chosen.at[step].set(row), nearest

    # Before the first choice all rows are equally far, so that it may be any.
    start = jnp.zeros((used.shape[0], rows.shape[1])), jnp.full(rows.shape[0], 1e30)
    chosen, _ = jax.lax.fori_loop(0, used.shape[0], choose, start)
    return _unit(chosen * used[:, None])


def _softmax(logits: Array, used: Bool[Array, "..."], axis: int) -> Array:
    return jax.nn.softmax(jnp.where(used, logits, -jnp.inf), axis=axis)


def _unit(vectors: Float[Array, "rows size"]) -> Float[Array, "rows size"]:
    square = (vectors**2).sum(1, keepdims=True)
    return vectors * jnp.where(square > 0, jax.lax.rsqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def _up(size: int, first: int, ratio: int) -> int:
    while first < size:
        first *= ratio
    return first
