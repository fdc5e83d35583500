"""Implementations of a convolution of whole images; which one is fastest depends on the device.

A batch of trials runs under `vmap`, and each trial has its own filters. There a convolution becomes
a grouped convolution, which GPU libraries run badly; a matrix product becomes a batched product,
which they run well. `benchmarks/images.py --implementations` times them all.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.networks.kernels import current

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
    """One matrix product with all windows side by side.

    The windows take as many times the input's memory as a window has pixels.

    >>> columns(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 3, 3)), (1, 1))[0, 0, 0].tolist()
    [27.0, 27.0, 27.0, 27.0, 27.0]
    """
    seen = _side_by_side(x, filters, stride)
    return _over_places(jnp.matmul, seen, filters)


def split_columns(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """As `columns`, with the filters' gradient summed over parts of the rows.

    That gradient is a small matrix, and each of its numbers is a sum over all rows and places: a
    library that does not time its algorithms first leaves nearly all of a GPU idle.

    >>> split_columns(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 3, 3)), (1, 1))[0, 0, 0].tolist()
    [27.0, 27.0, 27.0, 27.0, 27.0]
    """
    seen = _side_by_side(x, filters, stride)
    return _over_places(_split_product, seen, filters)


IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {
    "convolution": convolution,
    "columns": columns,
    "split columns": split_columns,
}

# The fastest by kind of device, where it was timed (benchmarks/RESULTS.md); other kinds take the
# library's convolution.
FASTEST = {"cpu": "columns", "gpu": "split columns"}
# The same for a program that runs a single trial and whose compiler times the library's algorithms.
# Without that timing, the library's convolution is the slowest of all.
FASTEST_SINGLE = {"gpu": "convolution"}


def chosen() -> Callable[..., Any]:
    """The implementation for this process's device and the current `lowering`.

    >>> chosen() in IMPLEMENTATIONS.values()
    True
    """
    backend = jax.default_backend()
    name = FASTEST.get(backend, "convolution")
    return IMPLEMENTATIONS[FASTEST_SINGLE.get(backend, name) if current().single else name]


def holds_windows() -> bool:
    """Whether a plan must allow for all windows in memory: not on a CPU, which runs one trial at a
    time and plans no batches.

    >>> jax.default_backend() != "cpu" or not holds_windows()
    True
    """
    return jax.default_backend() != "cpu" and chosen() in (columns, split_columns)


def pixel_views(
    x: Images, filters: Filters, stride: tuple[int, ...]
) -> list[Float[Array, "rows down across channels"]]:
    """The images as each pixel of the window sees them, pixel by pixel.

    They are strided slices, whose gradients are sums in a fixed order.

    >>> len(pixel_views(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 2, 3)), (1, 1)))
    6
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


def _side_by_side(
    x: Images, filters: Filters, stride: tuple[int, ...]
) -> Float[Array, "rows down across pixels"]:
    """All windows, one row of pixels each."""
    views = pixel_views(x, filters, stride)
    return jnp.concatenate(views, axis=-1) if len(views) > 1 else views[0]


def _over_places(
    product: Callable[..., Any], seen: Float[Array, "rows down across pixels"], filters: Filters
) -> Maps:
    # Rows and places become one axis: a product of two matrices, and under `vmap` a batch of them.
    flat = seen.reshape(math.prod(seen.shape[:-1]), -1)
    return product(flat, filters.reshape(len(filters), -1).T).reshape(*seen.shape[:-1], -1)


PARTIAL = 2**22  # numbers that the parts of a gradient may have together
MOST_PARTS = 256


@jax.custom_vjp
def _split_product(
    seen: Float[Array, "places inputs"], weights: Float[Array, "inputs outputs"]
) -> Float[Array, "places outputs"]:
    return seen @ weights


def _split_backward(
    residuals: tuple[Array, Array], cotangent: Float[Array, "places outputs"]
) -> tuple[Array, Array]:
    seen, weights = residuals
    most = min(MOST_PARTS, max(1, PARTIAL // weights.size))
    parts = max(count for count in range(1, most + 1) if len(seen) % count == 0)
    left, right = (array.reshape(parts, -1, array.shape[1]) for array in (seen, cotangent))
    return cotangent @ weights.T, (left.mT @ right).sum(0)


_split_product.defvjp(lambda seen, weights: (seen @ weights, (seen, weights)), _split_backward)
