"""A prototype, not timed on a device yet: on a GPU, units of windows of few numbers computed where they are used rather than kept in memory.

A unit that sees ten numbers takes ten multiplications; its activation goes through memory several times a step. Here the first layer is
a sum over the window's numbers of elementwise products, which XLA puts into one kernel with the activation and the readout; going back,
units are computed again (`jax.checkpoint`), and one array of their size is held, from which a matrix product takes the gradient of the
weights. Whether that is faster is open. `benchmarks/stability.py --narrow both` times this spelling beside the package's; if it is faster, it belongs into
`separatrix.networks`. The choice is made by replacing a function of this process and written nowhere.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from separatrix.networks import Network
from separatrix.networks.layout import Layout, Params


@contextlib.contextmanager
def spelled(name: str) -> Iterator[None]:
    """Within, networks that can be are run in the spelling of this name, "narrow" or "product" (the package's own); refuses to have timed another one."""
    own, called = Network.scores, []

    def chosen(network: Network, params: Params, patches: Any, layout: Layout) -> Any:
        if not fits(network):
            return own(network, params, patches, layout)
        called.append(network)
        return scores(network, params, patches, layout)

    if name == "product":
        yield
        return
    with mock.patch.object(Network, "scores", chosen):
        yield
    if not called:
        raise RuntimeError(f"no program was made in the spelling {name!r}")


def fits(network: Network) -> bool:
    """Whether a network can be spelled like this: one hidden layer with windows, and one output.

    >>> from separatrix.networks import CNN, FCN
    >>> fits(CNN(field=3)), fits(FCN(width=3)), fits(CNN(field=3, depth=2)), fits(CNN(field=3, outputs=2))
    (True, False, False, False)
    """
    return network.connectivity != "full" and network.outputs == 1 and not network.layered


def scores(network: Network, params: Params, patches: Float[Array, "positions span rows"], layout: Layout) -> Float[Array, " rows"]:
    """The outputs for a batch that is already cut into patches: what `Network.scores` computes.

    >>> from separatrix.networks import CNN
    >>> network = CNN(field=3, width=2)
    >>> layout, params = network.layout((8, 1)), network.init(jax.random.key(0), (8, 1))
    >>> patches = layout.cut(jnp.ones((5, 8, 1)))
    >>> bool(jnp.allclose(scores(network, params, patches, layout), network.scores(params, patches, layout)))
    True
    """
    positions = patches.shape[0]

    def each(part: Float[Array, "groups ..."]) -> Float[Array, "positions ..."]:
        spread = layout.spread(part)
        return jnp.broadcast_to(spread, (positions, *spread.shape[1:]))

    bias = None if params.bias is None else each(params.bias)
    out = _read(network.activation, each(params.weights), bias, network.coefficients(params, layout), patches)
    return out if params.offset is None else out + params.offset


@jax.custom_jvp
def _read(
    activation: Any,
    weights: Float[Array, "positions width span"],
    bias: Float[Array, "positions width"] | None,
    coefficients: Float[Array, "positions width"],
    patches: Float[Array, "positions span rows"],
) -> Float[Array, " rows"]:
    """The sum over units, with rows first and what is summed last: XLA makes one kernel of it, and no array of the units' size."""
    z = _sum_of_products(patches.transpose(1, 2, 0)[:, :, :, None], weights.transpose(2, 0, 1)[:, None])
    active = activation(z if bias is None else z + bias)
    return (active * coefficients).sum((1, 2))


@jax.checkpoint
def _read_back(activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Float[Array, " rows"]:
    """The same as it is differentiated, with rows last: they are what gradients are sums over, in the kernel that computes the units again."""
    return (activation(_units(weights, bias, patches)) * coefficients[:, :, None]).sum((0, 1))


def _read_slope(primals: Any, tangents: Any) -> tuple[Array, Array]:
    leaves, tree = jax.tree.flatten(primals)
    moved = {i: leaf for i, leaf in enumerate(jax.tree.leaves(tangents)) if not isinstance(leaf, SymbolicZero)}

    def of_moving(moving: dict[int, Any]) -> Array:
        return _read_back(*jax.tree.unflatten(tree, [moving.get(i, leaf) for i, leaf in enumerate(leaves)]))

    out = _read(*primals)
    return out, jax.jvp(of_moving, ({i: leaves[i] for i in moved},), (moved,))[1] if moved else jnp.zeros_like(out)


@jax.custom_jvp
def _units(
    weights: Float[Array, "positions width span"],
    bias: Float[Array, "positions width"] | None,
    patches: Float[Array, "positions span rows"],
) -> Float[Array, "positions width rows"]:
    """`weights @ patches`, and the bias, as a sum of elementwise products; its derivatives are matrix products.

    The gradient of the weights sums over rows. Of elementwise products, XLA wrote every one to memory before it summed them, ten arrays
    of the units' size for ten numbers; a matrix product reads one. The bias is the weight of a further number, 1, in that product: with
    a sum of its own for its gradient, XLA held two such arrays in large programs.
    """
    z = _sum_of_products(patches.transpose(1, 0, 2)[:, :, None], weights.transpose(2, 0, 1)[..., None])
    return z if bias is None else z + bias[..., None]


def _sum_of_products(numbers: Float[Array, "span ..."], taps: Float[Array, "span ..."]) -> Float[Array, "..."]:
    return functools.reduce(jnp.add, [number * tap for number, tap in zip(numbers, taps)])


def _units_slope(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (weights, bias, patches), (of_weights, of_bias, of_patches) = primals, tangents
    out = _units(weights, bias, patches)
    moved = [] if isinstance(of_patches, SymbolicZero) else [weights @ of_patches]
    if bias is not None and not isinstance(of_bias, SymbolicZero):
        of_weights = jnp.zeros_like(weights) if isinstance(of_weights, SymbolicZero) else of_weights
        of_weights = jnp.concatenate([of_weights, of_bias[..., None]], axis=-1)
        patches = jnp.concatenate([patches, jnp.ones_like(patches[:, :1])], axis=1)
    if not isinstance(of_weights, SymbolicZero):
        moved.append(of_weights @ patches)
    return out, functools.reduce(jnp.add, moved) if moved else jnp.zeros_like(out)


_units.defjvp(_units_slope, symbolic_zeros=True)
_read.defjvp(_read_slope, symbolic_zeros=True)
