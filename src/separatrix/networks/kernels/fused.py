"""One hidden layer as two GPU kernels, so that no activation of a unit goes through memory.

The unfused implementation writes and reads an array of the hidden units' size several times per
step. Here the forward kernel computes units in registers and adds their contributions to the
output; the backward kernel sums the units' gradients over rows. For rectifiers the backward kernel
needs one bit per unit and row, whether the unit was active, which the forward kernel saves as a
residual. Other units are computed again where windows are short; a long window's units are saved,
because thin full networks have few units for many inputs. Partial sums of different programs are
written apart and added afterwards in a fixed order: there are no atomics.

`benchmarks/fused_timing.py` and `floors.py` time the steps. The engine asks for kernels
(`lowering`) where a program has much to do.

Derivatives: the kernels compute the backward pass. Everything that is differentiated further (the
Hessian products of the sharpness probe, forward over reverse) uses the unfused implementation, and
so do gradients of the inputs and of the activation's own numbers, which training does not need.
Forward-mode derivatives of the outputs are refused, as for every `jax.custom_vjp`; the package
takes none.
"""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from separatrix.networks.activations import ReLU
from separatrix.networks.kernels import recomputing, streaming
from separatrix.networks.kernels.lowering import current, note_kernel
from separatrix.networks.kernels.streaming import LONG, Tiling
from separatrix.networks.kernels.warps import WARP, divisor

LEAST_UNITS = 8  # per warp: with fewer, reading rows is most of the work in either implementation
THIN = 32  # units of a full network: the library's products of wider ones are as fast


def suits(
    width: int, span: int, rows: int, activation: Any = jax.nn.relu, full: bool = False
) -> bool:
    """Whether the current `lowering` asks for kernels and they would save time at these sizes.

    Args:
        width: units per window.
        span: numbers per window.
        rows: rows of the batch.
        activation: the units' activation; units that are not rectifiers need short windows.
        full: whether the network is fully connected.

    >>> from separatrix.networks.kernels import lowering
    >>> with lowering(True, full_kernels=True), jax.default_matmul_precision("float32"):
    ...     [suits(20, 30, 64), suits(20, 31, 64, jnp.tanh), suits(1, 20, 64)]
    ...     suits(37, 20, 64)  # 37 is prime: one unit per warp
    ...     sizes = [(20, 512), (64, 512), (20, 509)]
    ...     [suits(width, 400, rows, full=True) for width, rows in sizes]
    [True, False, False]
    False
    [True, False, False]
    """
    choice = current()
    if not (choice.full_kernels if full else choice.kernels) or divisor(width, WARP) < LEAST_UNITS:
        return False
    if full:  # the library's products are faster where less precision is asked for
        precision = getattr(jax.config, "jax_default_matmul_precision")  # noqa: B009
        exact = precision in ("float32", "highest")
        divides = streaming.divides_well(span) and streaming.divides_well(rows)
        return exact and width <= THIN and span >= LONG and divides
    return span < LONG if _rectifies(activation) else span <= recomputing.SPAN


def outputs(
    weights: Float[Array, "groups width span"],
    bias: Float[Array, "groups width"] | None,
    coefficients: Float[Array, "positions width"],
    patches: Float[Array, "positions span rows"],
    activation: Any = jax.nn.relu,
    by_row: Float[Array, "positions rows span"] | None = None,
    tiling: Tiling | None = None,
) -> Float[Array, " rows"]:
    """The outputs of all rows, by kernels.

    Args:
        weights: one set per position, or a single one that all positions share.
        bias: the units' biases, or None.
        coefficients: the weight of each unit in the output.
        patches: the windows of the rows.
        activation: a function or an `Activation`.
        by_row: the same patches as the backward kernel reads long windows (`row_by_row`). Pass them
            to a loop's steps, or each step makes them again.
        tiling: how the work is divided among programs; None chooses by rule.

    >>> outputs(jnp.ones((1, 2, 3)), None, jnp.ones((4, 2)), jnp.ones((4, 3, 5))).tolist()
    [24.0, 24.0, 24.0, 24.0, 24.0]
    """
    note_kernel("units")
    function = (
        activation if isinstance(activation, eqx.Module) else jax.tree_util.Partial(activation)
    )
    tiling = tiling or streaming.tiling_of(weights, patches)
    return _outputs(tiling, function, weights, bias, coefficients, patches, by_row)


def row_by_row(patches: Float[Array, "positions span rows"]) -> Float[Array, "positions rows span"]:
    """Patches stored row by row, as the backward kernel reads long windows.

    >>> row_by_row(jnp.ones((1, 128, 5))).shape
    (1, 5, 128)
    """
    return jnp.swapaxes(patches, 1, 2)


def unfused(
    activation: Any, weights: Any, bias: Any, coefficients: Any, patches: Any
) -> Float[Array, " rows"]:
    """The same outputs by matrix products, with units in memory.

    >>> unfused(
    ...     jax.nn.relu, jnp.ones((1, 2, 3)), None, jnp.ones((4, 2)), jnp.ones((4, 3, 5))
    ... ).tolist()
    [24.0, 24.0, 24.0, 24.0, 24.0]
    """
    z = jnp.broadcast_to(weights, (len(patches), *weights.shape[1:])) @ patches
    active = activation(z if bias is None else z + bias[:, :, None])
    return coefficients.reshape(-1) @ active.reshape(-1, patches.shape[2])


# Derivatives. `_outputs` has a backward pass; both kernels have tangents of their own, so that the
# backward pass has derivatives, too.


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _outputs(
    tiling: Tiling,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    by_row: Any,
) -> Float[Array, " rows"]:
    del by_row  # for the backward pass
    return _forward(tiling, "", activation, weights, bias, coefficients, patches)[0]


def _outputs_forward(tiling: Tiling, *operands: Any) -> Any:
    *inputs, by_row = operands
    recomputes = not tiling.long and tiling.span <= recomputing.SPAN
    save = "signs" if _rectifies(inputs[0]) else "" if recomputes else "units"
    out, saved = _forward(tiling, save, *inputs)
    return out, (inputs, by_row, saved)


def _outputs_backward(tiling: Tiling, residuals: Any, cotangent: Any) -> Any:
    inputs, by_row, saved = residuals
    activation, weights, bias, coefficients, patches = inputs
    # The compiler drops these two where nothing asks for them.
    for_activation, for_patches = jax.vjp(
        lambda f, x: unfused(f, weights, bias, coefficients, x), activation, patches
    )[1](cotangent)
    windows = patches if not tiling.long else row_by_row(patches) if by_row is None else by_row
    # The copy `by_row` has no gradient of its own: the patches have it.
    return (
        for_activation,
        *_gradients(tiling, *inputs, windows, cotangent, saved),
        for_patches,
        jax.tree.map(jnp.zeros_like, by_row),
    )


_outputs.defvjp(_outputs_forward, _outputs_backward)


def _rectifies(activation: Any) -> bool:
    # The exact class: a subclass may compute another function.
    function = activation.func if isinstance(activation, jax.tree_util.Partial) else activation
    return type(function) is ReLU or function is jax.nn.relu


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _forward(
    tiling: Tiling,
    save: str,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
) -> Any:
    """The forward kernel: outputs, and what the backward kernel needs of the units."""
    out, saved = streaming.forward(tiling, save, activation, weights, bias, coefficients, patches)
    return out.sum((0, 1)), saved


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _gradients(
    tiling: Tiling,
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    windows: Any,
    cotangent: Any,
    saved: Any,
) -> Any:
    """The backward kernel: gradients of weights, biases and coefficients, from the outputs'
    cotangent.
    """
    if saved is None:
        again = recomputing.tiling_of(weights, patches, tiling.interpret)
        sums = recomputing.backward(
            again, activation, weights, bias, coefficients, patches, cotangent
        ).sum(0)
        sums, for_coefficients = sums[..., :-1], sums[..., -1]
    elif _rectifies(activation):
        # The sums lack the coefficient. A rectifier is linear where it is active, so that the sum
        # of its values is the inner product of these sums with its weights.
        sums = streaming.backward(tiling, cotangent, saved, windows, bias is not None).sum(1)
        parameters = weights if bias is None else jnp.concatenate([weights, bias[:, :, None]], 2)
        for_coefficients = (sums * parameters).sum(2)
        sums = sums * coefficients[:, :, None]
    else:
        values, cotangents = jax.jvp(
            activation, (saved,), (jnp.broadcast_to(cotangent, saved.shape),)
        )
        for_coefficients = values @ cotangent
        sums = (
            streaming.backward(tiling, cotangents, None, windows, bias is not None).sum(1)
            * coefficients[:, :, None]
        )
    of_groups = sums.sum(0, keepdims=True) if len(weights) == 1 else sums
    span = patches.shape[1]
    return of_groups[..., :span], None if bias is None else of_groups[..., span], for_coefficients


def _tangents(kernel: Callable[..., Any], unfused_kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel's rule for tangents: those of its unfused twin, for the operands that move."""

    def rule(*arguments: Any) -> Any:
        *static, primals, tangents = arguments
        leaves, tree = jax.tree.flatten(primals)
        moving = {
            i: leaf
            for i, leaf in enumerate(jax.tree.leaves(tangents))
            if not isinstance(leaf, SymbolicZero)
        }

        def of_moving(primals: dict[int, Any]) -> Any:
            replaced = [primals.get(i, leaf) for i, leaf in enumerate(leaves)]
            return unfused_kernel(*jax.tree.unflatten(tree, replaced))

        out = kernel(*static, *primals)
        zeros = jax.tree.map(
            lambda leaf: (
                np.zeros(leaf.shape, jax.dtypes.float0)
                if leaf.dtype == jnp.int32
                else jnp.zeros_like(leaf)
            ),
            out,
        )
        if not moving:
            return out, zeros
        tangent = jax.jvp(of_moving, ({i: leaves[i] for i in moving},), (moving,))[1]
        return out, tangent if kernel is _gradients else (tangent, zeros[1])

    return rule


def _unfused_gradients(
    activation: Any,
    weights: Any,
    bias: Any,
    coefficients: Any,
    patches: Any,
    windows: Any,
    cotangent: Any,
    saved: Any,
) -> Any:
    del windows, saved
    return jax.vjp(
        lambda w, b, c: unfused(activation, w, b, c, patches), weights, bias, coefficients
    )[1](cotangent)


_forward.defjvp(_tangents(_forward, unfused), symbolic_zeros=True)
_gradients.defjvp(_tangents(_gradients, _unfused_gradients), symbolic_zeros=True)
