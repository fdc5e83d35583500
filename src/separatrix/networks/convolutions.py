"""The ways to spell a convolution of whole images; which one is fastest depends on the device.

A batch of trials runs under `vmap`, and each trial has filters of its own. A convolution becomes a
grouped one there, which GPU libraries run badly; a matrix product becomes a batched one, which they
run well. `benchmarks/images.py --spellings` times them all.
"""

import contextlib
import contextvars
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Images = Float[Array, "rows height width channels"]
Filters = Float[Array, "outputs tall wide channels"]
Maps = Float[Array, "rows down across outputs"]
DIMENSIONS = ("NHWC", "OHWI", "NHWC")


def convolution(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """The library's convolution, without padding.

    >>> convolution(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 3, 3)), (1, 1)).shape
    (2, 2, 2, 5)
    """
    return jax.lax.conv_general_dilated(x, filters, stride, "VALID", dimension_numbers=DIMENSIONS)


def columns(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """One matrix product with all windows side by side: as many times the input's memory as a
    window has pixels.

    >>> columns(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 3, 3)), (1, 1))[0, 0, 0].tolist()
    [27.0, 27.0, 27.0, 27.0, 27.0]
    """
    return _product(_beside(x, filters, stride), filters.reshape(len(filters), -1).T)


def parted(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """Columns, with the filters' gradient summed over parts of the rows.

    That gradient is a small matrix, each number of which sums over all rows and places: a library
    that is not asked to try leaves nearly all of a GPU idle over it.

    >>> parted(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 3, 3)), (1, 1))[0, 0, 0].tolist()
    [27.0, 27.0, 27.0, 27.0, 27.0]
    """
    seen = _beside(x, filters, stride)
    out = _parted_product(
        seen.reshape(math.prod(seen.shape[:-1]), -1), filters.reshape(len(filters), -1).T
    )
    return out.reshape(*seen.shape[:-1], -1)


def shifts(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """A matrix product for every pixel of the window, added up: no more memory than the images
    themselves.

    >>> shifts(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 3, 3)), (1, 1))[0, 0, 0].tolist()
    [27.0, 27.0, 27.0, 27.0, 27.0]
    """
    taps = filters.reshape(len(filters), -1, filters.shape[-1]).transpose(
        1, 2, 0
    )  # (pixels, channels, outputs)
    return sum(
        (_product(part, tap) for part, tap in zip(_parts(x, filters, stride), taps)), jnp.zeros(())
    )


def in_turn(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """The library's convolution, and under `vmap` one after another instead of a grouped one; so
    are its gradients.

    >>> x, filters = jnp.ones((7, 2, 4, 4, 3)), jnp.ones((7, 5, 3, 3, 3))
    >>> jax.vmap(lambda a, b: in_turn(a, b, (1, 1)))(x, filters).shape
    (7, 2, 2, 2, 5)
    """
    return _in_turn(tuple(stride))(x, filters)


SPELLINGS: dict[str, Callable[..., Any]] = {
    "convolution": convolution,
    "columns": columns,
    "parted": parted,
    "shifts": shifts,
    "in turn": in_turn,
}

# By kind of device, the fastest where it was timed; a kind that is not here takes the library's
# own. On a CPU core, 32x32 images in batches of 32 through three layers of 16 filters: 184 ms a
# step for the library's convolution, 15 for columns, 54 for shifts. On an H200, three trials of 128
# filters on batches of 256: 17 ms for the library's grouped one, 4.5 for columns, 5.2 in turn; a
# trial of five layers of 128 alone: 2.6 for the library's, 4.7 for columns.
FASTEST = {"cpu": "columns", "gpu": "parted"}
# The same for a trial that runs alone in a program whose compiler tries the library's ways. Where
# it does not, the library's convolution took 9 to 37 ms a step of three trials at four sizes of the
# study `cifar`, columns 4 to 9, parted 1.1 to 2.8.
FASTEST_ALONE = {"gpu": "convolution"}
_ALONE = contextvars.ContextVar("a trial that runs alone", default=False)


@contextlib.contextmanager
def alone(one: bool) -> Iterator[None]:
    """Within, networks that are traced are those of one trial, or of several together under `vmap`.

    >>> with alone(True):
    ...     chosen() in SPELLINGS.values()
    True
    """
    token = _ALONE.set(one)
    try:
        yield
    finally:
        _ALONE.reset(token)


def chosen() -> Callable[..., Any]:
    """The spelling for this process's device: the one place where that is decided.

    >>> chosen() in SPELLINGS.values()
    True
    """
    backend = jax.default_backend()
    name = FASTEST.get(backend, "convolution")
    return SPELLINGS[FASTEST_ALONE.get(backend, name) if _ALONE.get() else name]


def holds_windows() -> bool:
    """Whether a plan must reckon with all windows in memory: not on a CPU, which runs one trial at
    a time and plans no batches.

    >>> jax.default_backend() != "cpu" or not holds_windows()
    True
    """
    return jax.default_backend() != "cpu" and chosen() in (columns, parted)


def _beside(
    x: Images, filters: Filters, stride: tuple[int, ...]
) -> Float[Array, "rows down across pixels"]:
    """All windows, a row of pixels each."""
    parts = _parts(x, filters, stride)
    return jnp.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]


def _parts(
    x: Images, filters: Filters, stride: tuple[int, ...]
) -> list[Float[Array, "rows down across channels"]]:
    """The images as each pixel of the window sees them, row by row: strided slices, whose gradients
    are sums in a fixed order.
    """
    tall, wide = filters.shape[1:3]
    down, across = ((n - f) // s + 1 for n, f, s in zip(x.shape[1:3], (tall, wide), stride))
    return [
        x[
            :,
            i : i + (down - 1) * stride[0] + 1 : stride[0],
            j : j + (across - 1) * stride[1] + 1 : stride[1],
        ]
        for i in range(tall)
        for j in range(wide)
    ]


def _product(
    seen: Float[Array, "rows height width inputs"], weights: Float[Array, "inputs outputs"]
) -> Float[Array, "rows height width outputs"]:
    # Rows and places as one axis: a plain product of two matrices, and under `vmap` a batch of
    # them.
    return (seen.reshape(math.prod(seen.shape[:-1]), -1) @ weights).reshape(*seen.shape[:-1], -1)


PARTIAL = 2**22  # numbers that the parts of a gradient may have together
MOST_PARTS = 256


@jax.custom_vjp
def _parted_product(
    seen: Float[Array, "places inputs"], weights: Float[Array, "inputs outputs"]
) -> Float[Array, "places outputs"]:
    return seen @ weights


def _parted_slope(
    kept: tuple[Array, Array], slope: Float[Array, "places outputs"]
) -> tuple[Array, Array]:
    seen, weights = kept
    most = min(MOST_PARTS, max(1, PARTIAL // weights.size))
    parts = max(count for count in range(1, most + 1) if len(seen) % count == 0)
    left, right = (each.reshape(parts, -1, each.shape[1]) for each in (seen, slope))
    return slope @ weights.T, (left.mT @ right).sum(0)


_parted_product.defvjp(lambda seen, weights: (seen @ weights, (seen, weights)), _parted_slope)


@functools.lru_cache(maxsize=32)
def _in_turn(stride: tuple[int, ...]) -> Callable[..., Any]:
    def forward(x: Images, filters: Filters) -> Maps:
        return convolution(x, filters, stride)

    def backward(x: Images, filters: Filters, slope: Maps) -> tuple[Images, Filters]:
        return jax.vjp(forward, x, filters)[1](slope)

    one, back = _one_by_one(forward), _one_by_one(backward)

    @jax.custom_vjp
    def convolve(x: Images, filters: Filters) -> Maps:
        return one(x, filters)

    convolve.defvjp(
        lambda x, filters: (one(x, filters), (x, filters)), lambda kept, slope: back(*kept, slope)
    )
    return convolve


def _one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which under `vmap` is run for one member of the batch after another."""
    made = jax.custom_batching.custom_vmap(function)

    @made.def_vmap
    def rule(size: int, batched: list[bool], *arguments: Any) -> tuple[Any, Any]:
        def member(index: Any) -> Any:
            given = [a[index] if is_batched else a for a, is_batched in zip(arguments, batched)]
            return made(*given)

        out = jax.lax.map(member, jnp.arange(size))
        return out, jax.tree.map(lambda _: True, out)

    return made
