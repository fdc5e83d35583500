"""One hidden layer as two kernels for a GPU, so that no unit's activation goes through memory.

The ordinary spelling writes and reads an array of the units' size several times a step. Here the
first kernel computes units in registers and adds what they contribute to the output; the second
sums the units' gradients over rows. Of rectifiers it needs one bit each, whether they were active,
which the first kernel leaves behind. Other units are computed again where windows are short; a full
network leaves them, as thin ones have few for many inputs. What several programs contribute is
written apart and summed afterwards, in a fixed order: there are no atomics.

How long steps take, on an H200: `benchmarks/fused_timing.py`, `floors.py`. The engine asks for
kernels (`asked_for`) where a program has much to do.

Derivatives: backward by the kernels; what is differentiated further (the Hessian products of the
sharpness probe, forward over reverse) in the ordinary spelling, as are gradients of the inputs and
of the activation's numbers, which training does not ask for. Forward-mode derivatives of the
outputs themselves are refused, as for every `jax.custom_vjp`; the package takes none.
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
from separatrix.networks.kernels import recomputing as recomputed
from separatrix.networks.kernels import streaming as streamed
from separatrix.networks.kernels.streaming import LONG, Cut
from separatrix.networks.kernels.warps import WARP, divisor

LEAST_UNITS = 8  # of a warp: with fewer, reading rows is most of the work in either spelling
THIN = 32  # units of a full network: the library's products of wider ones are as fast


class _Asked(NamedTuple):
    full: bool  # whether for full networks, too
    told: list[str]


_ASKED: contextvars.ContextVar[_Asked | None] = contextvars.ContextVar(
    "whether kernels are asked for, and where they are told of", default=None
)


@contextlib.contextmanager
def asked_for(kernels: bool, full: bool = True) -> Iterator[list[str]]:
    """Within, networks that are traced use kernels or not, full ones only if `full`; gives a list
    that then names those used.

    Compiled programs keep what they were traced with.

    >>> with asked_for(True) as used:
    ...     worth_it(width=256, span=10, rows=64)
    True
    >>> worth_it(width=256, span=10, rows=64), used
    (False, [])
    """
    used: list[str] = []
    token = _ASKED.set(_Asked(full, used) if kernels else None)
    try:
        yield used
    finally:
        _ASKED.reset(token)


def worth_it(
    width: int, span: int, rows: int, activation: Any = jax.nn.relu, full: bool = False
) -> bool:
    """Whether kernels are asked for, can hold windows of so many numbers, and would save anything
    with so many units a window.

    >>> with asked_for(True), jax.default_matmul_precision("float32"):
    ...     [worth_it(20, 30, 64), worth_it(20, 31, 64, jnp.tanh), worth_it(1, 20, 64), worth_it(37, 20, 64)]  # 37 units would be a warp's each
    ...     [worth_it(width, 400, rows, full=True) for width, rows in [(20, 512), (64, 512), (20, 509)]]
    [True, False, False, False]
    [True, False, False]
    """
    asked = _ASKED.get()
    if asked is None or (full and not asked.full) or divisor(width, WARP) < LEAST_UNITS:
        return False
    if full:  # the library makes faster products of less precision, where that is asked for
        exact = jax.config.jax_default_matmul_precision in ("float32", "highest")  # pyright: ignore[reportAttributeAccessIssue]
        return (
            exact and width <= THIN and span >= LONG and streamed.even(span) and streamed.even(rows)
        )
    return span < LONG if _rectifies(activation) else span <= recomputed.SPAN


def outputs(
    weights: Float[Array, "groups width span"],
    bias: Float[Array, "groups width"] | None,
    coefficients: Float[Array, "positions width"],
    patches: Float[Array, "positions span rows"],
    activation: Any = jax.nn.relu,
    by_row: Float[Array, "positions rows span"] | None = None,
    cut: Cut | None = None,
) -> Float[Array, " rows"]:
    """Outputs of all rows; `groups` is 1 (weights shared by all positions) or the number of
    positions.

    `by_row` are the same patches as the second kernel wants long ones (`row_by_row`); a loop should
    be given them, or it makes them at every step.

    >>> outputs(jnp.ones((1, 2, 3)), None, jnp.ones((4, 2)), jnp.ones((4, 3, 5))).tolist()
    [24.0, 24.0, 24.0, 24.0, 24.0]
    """
    if (asked := _ASKED.get()) is not None:
        asked.told.append("units")
    held = activation if isinstance(activation, eqx.Module) else jax.tree_util.Partial(activation)
    return _outputs(
        cut or streamed.cut_of(weights, patches), held, weights, bias, coefficients, patches, by_row
    )


def row_by_row(patches: Float[Array, "positions span rows"]) -> Float[Array, "positions rows span"]:
    """Patches stored row by row, where kernels may want long ones so.

    >>> row_by_row(jnp.ones((1, 128, 5))).shape
    (1, 5, 128)
    """
    return jnp.swapaxes(patches, 1, 2)


def plain(
    activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any
) -> Float[Array, " rows"]:
    """The same in the ordinary spelling.

    >>> plain(jax.nn.relu, jnp.ones((1, 2, 3)), None, jnp.ones((4, 2)), jnp.ones((4, 3, 5))).tolist()
    [24.0, 24.0, 24.0, 24.0, 24.0]
    """
    z = jnp.broadcast_to(weights, (len(patches), *weights.shape[1:])) @ patches
    active = activation(z if bias is None else z + bias[:, :, None])
    return coefficients.reshape(-1) @ active.reshape(-1, patches.shape[2])


# Derivatives. `_outputs` has a backward pass; the two kernels have tangents of their own, so that
# the backward pass has derivatives too.


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _outputs(
    cut: Cut, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any, _: Any
) -> Float[Array, " rows"]:
    return _forward(cut, "", activation, weights, bias, coefficients, patches)[0]


def _outputs_there(cut: Cut, *everything: Any) -> Any:
    *given, by_row = everything
    again = not cut.long and cut.span <= recomputed.SPAN
    out, kept = _forward(cut, "signs" if _rectifies(given[0]) else "" if again else "units", *given)
    return out, (given, by_row, kept)


def _outputs_back(cut: Cut, held: Any, slope: Any) -> Any:
    given, by_row, kept = held
    activation, weights, bias, coefficients, patches = given
    # Not computed where they are not asked for: the compiler drops them.
    of_activation, of_patches = jax.vjp(
        lambda f, x: plain(f, weights, bias, coefficients, x), activation, patches
    )[1](slope)
    windows = patches if not cut.long else row_by_row(patches) if by_row is None else by_row
    # Copies have no gradient of their own: it is that of the patches.
    return (
        of_activation,
        *_gradients(cut, *given, windows, slope, kept),
        of_patches,
        jax.tree.map(jnp.zeros_like, by_row),
    )


_outputs.defvjp(_outputs_there, _outputs_back)


def _rectifies(activation: Any) -> bool:
    # A subclass may be another function.
    held = activation.func if isinstance(activation, jax.tree_util.Partial) else activation
    return type(held) is ReLU or held is jax.nn.relu


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _forward(
    cut: Cut, keep: str, activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any
) -> Any:
    """The first kernel: outputs, and what the second needs of units."""
    out, kept = streamed.there(cut, keep, activation, weights, bias, coefficients, patches)
    return out.sum((0, 1)), kept


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _gradients(
    cut: Cut,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    windows: Any,
    slope: Any,
    kept: Any,
) -> Any:
    """The second kernel: gradients of weights, biases and coefficients, given those of the outputs."""
    if kept is None:
        again = recomputed.cut_of(weights, patches, cut.interpret)
        sums = recomputed.back(again, activation, weights, bias, coefficients, patches, slope).sum(
            0
        )
        sums, of_coefficients = sums[..., :-1], sums[..., -1]
    elif _rectifies(activation):
        # Sums of a rectifier's slopes: those of its values are theirs with its weights, and neither
        # has its coefficient yet.
        sums = streamed.back(cut, slope, kept, windows, bias is not None).sum(1)
        each = weights if bias is None else jnp.concatenate([weights, bias[:, :, None]], 2)
        of_coefficients = (sums * each).sum(2)
        sums = sums * coefficients[:, :, None]
    else:
        values, slopes = jax.jvp(activation, (kept,), (jnp.broadcast_to(slope, kept.shape),))
        of_coefficients = values @ slope
        sums = (
            streamed.back(cut, slopes, None, windows, bias is not None).sum(1)
            * coefficients[:, :, None]
        )
    of_groups = sums.sum(0, keepdims=True) if len(weights) == 1 else sums
    span = patches.shape[1]
    return of_groups[..., :span], None if bias is None else of_groups[..., span], of_coefficients


def _tangents(kernel: Callable[..., Any], same: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for a kernel's tangents: those of the same function in the plain spelling, of what
    moves only.
    """

    def slope(*given: Any) -> Any:
        *how, primals, tangents = given
        leaves, tree = jax.tree.flatten(primals)
        moved = {
            i: leaf
            for i, leaf in enumerate(jax.tree.leaves(tangents))
            if not isinstance(leaf, SymbolicZero)
        }

        def of_moving(moving: dict[int, Any]) -> Any:
            return same(
                *jax.tree.unflatten(tree, [moving.get(i, leaf) for i, leaf in enumerate(leaves)])
            )

        out = kernel(*how, *primals)
        still = jax.tree.map(
            lambda leaf: (
                np.zeros(leaf.shape, jax.dtypes.float0)
                if leaf.dtype == jnp.int32
                else jnp.zeros_like(leaf)
            ),
            out,
        )
        if not moved:
            return out, still
        tangent = jax.jvp(of_moving, ({i: leaves[i] for i in moved},), (moved,))[1]
        return out, tangent if kernel is _gradients else (tangent, still[1])

    return slope


def _plain_gradients(
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    _: Any,
    slope: Any,
    __: Any,
) -> Any:
    return jax.vjp(
        lambda w, b, c: plain(activation, w, b, c, patches), weights, bias, coefficients
    )[1](slope)


_forward.defjvp(_tangents(_forward, plain), symbolic_zeros=True)
_gradients.defjvp(_tangents(_gradients, _plain_gradients), symbolic_zeros=True)
