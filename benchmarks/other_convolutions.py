"""Implementations of a convolution that the package does not use; `images.py` times them beside the
package's own.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from separatrix.networks.convolutions import Filters, Images, Maps, convolution, pixel_views


def shifts(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """A matrix product for every pixel of the window, added up; it needs no more memory than the
    images themselves.

    >>> shifts(jnp.ones((2, 4, 4, 3)), jnp.ones((5, 3, 3, 3)), (1, 1))[0, 0, 0].tolist()
    [27.0, 27.0, 27.0, 27.0, 27.0]
    """
    pixels = filters.reshape(len(filters), -1, filters.shape[-1])
    views = pixel_views(x, filters, stride)
    products = (view @ pixel for view, pixel in zip(views, pixels.transpose(1, 2, 0)))
    return functools.reduce(jnp.add, products)


def in_turn(x: Images, filters: Filters, stride: tuple[int, ...]) -> Maps:
    """The library's convolution; under `vmap`, it and its gradients run for one member after
    another instead of as a grouped convolution.

    >>> x, filters = jnp.ones((7, 2, 4, 4, 3)), jnp.ones((7, 5, 3, 3, 3))
    >>> jax.vmap(lambda a, b: in_turn(a, b, (1, 1)))(x, filters).shape
    (7, 2, 2, 2, 5)
    """
    return _in_turn(tuple(stride))(x, filters)


IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {"shifts": shifts, "in turn": in_turn}


@functools.lru_cache(maxsize=32)
def _in_turn(stride: tuple[int, ...]) -> Callable[..., Any]:
    def forward(x: Images, filters: Filters) -> Maps:
        return convolution(x, filters, stride)

    def backward(x: Images, filters: Filters, cotangent: Maps) -> tuple[Images, Filters]:
        return jax.vjp(forward, x, filters)[1](cotangent)

    forward_in_turn, backward_in_turn = _one_by_one(forward), _one_by_one(backward)

    @jax.custom_vjp
    def convolve(x: Images, filters: Filters) -> Maps:
        return forward_in_turn(x, filters)

    convolve.defvjp(
        lambda x, filters: (forward_in_turn(x, filters), (x, filters)),
        lambda residuals, cotangent: backward_in_turn(*residuals, cotangent),
    )
    return convolve


def _one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which under `vmap` runs for one member of the batch after another."""
    sequential = jax.custom_batching.custom_vmap(function)

    @sequential.def_vmap
    def rule(size: int, batched: list[bool], *arguments: Any) -> tuple[Any, Any]:
        def member(index: Any) -> Any:
            return sequential(
                *(a[index] if is_batched else a for a, is_batched in zip(arguments, batched))
            )

        out = jax.lax.map(member, jnp.arange(size))
        return out, jax.tree.map(lambda _: True, out)

    return sequential
