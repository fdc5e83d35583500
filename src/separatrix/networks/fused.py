"""One hidden layer with windows as two kernels for a GPU, so that no unit's activation goes through memory.

The ordinary spelling writes and reads an array of the units' size several times a step. Here a program of the first kernel is a warp that
holds a tile of rows of one window in its registers, loops over units, and adds what they contribute to the output; one of the second
sums the units' gradients over its rows. It computes the units again, except for rectifiers: of those it needs one bit each, whether they
were active, which the first kernel leaves behind. What several programs contribute is written apart and summed afterwards, in a fixed
order: there are no atomics.

On an H200 a step takes .23 to .61 of the time (`benchmarks/fused_timing.py`), and compiling up to 1.3 times as long (`floors.py`). The engine
asks for kernels (`asked_for`) where a program has much to do.

Derivatives: backward by the kernels; what is differentiated further (the Hessian products of the sharpness probe, forward over reverse) in
the ordinary spelling, as are gradients of the inputs and of the activation's numbers, which training does not ask for. Forward-mode
derivatives of the outputs themselves are refused, as for every `jax.custom_vjp`; the package takes none.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from separatrix.networks import kernels
from separatrix.networks.activations import ReLU
from separatrix.networks.kernels import SPAN, Tiles, divisor, tiles_for

LEAST_UNITS = 8  # of a program: with fewer, reading rows is most of the work in either spelling


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
    return _ASKED.get() is not None and span <= SPAN and divisor(width, Tiles().units) >= LEAST_UNITS


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
    # A subclass may be another function.
    return type(activation) is ReLU or (isinstance(activation, jax.tree_util.Partial) and activation.func is jax.nn.relu)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _forward(tiles: Tiles, signs: bool, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any) -> Any:
    """The first kernel: outputs, and which units of each row were active where that is asked for, a bit each."""
    out, active = kernels.there(kernels.cut_of(tiles, weights, patches), signs, activation, weights, bias, coefficients, patches)
    return out.sum((0, 1)), active


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _gradients(tiles: Tiles, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, slope: Any, active: Any) -> Any:
    """The second kernel: gradients of weights, biases and coefficients, given those of the outputs."""
    cut, span = kernels.cut_of(tiles, weights, patches, second=True), patches.shape[1]
    if active is None:
        sums = kernels.back(cut, activation, weights, bias, coefficients, patches, slope)
        sums, of_coefficients = sums[..., :-1], sums[..., -1].sum(0)
    else:  # sums of a rectifier's slopes: those of its values are theirs with its weights, and neither has its coefficient yet
        sums = kernels.back_of_signs(cut, bias is not None, active, patches, slope)
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
