"""More of a Hessian's spectrum than its largest eigenvalue, for any JAX loss of any pytree.

- `hessian_trace`: Hutchinson's estimate of the trace, with its standard error;
- `spectral_density`: where the eigenvalues lie, by Lanczos quadrature from random vectors;
- `gauss_newton_eigenvalue`: the largest eigenvalue of the Gauss-Newton part JᵀHJ;
- `critical_sharpness`: 2/η for the largest step η along the gradient that does not raise the loss.

All of them can be traced, compiled and batched. The probes `hessian_trace` and `critical_sharpness`
measure a trial's training loss with them.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key

from separatrix.errors import SeparatrixError, check_integer, check_number
from separatrix.probes.base import Moment, probe
from separatrix.probes.lanczos import Eigenpairs, fixed_noise, lanczos
from separatrix.probes.sharpness import training_loss

Loss = Callable[[Any], Float[Array, ""]]


class TraceEstimate(NamedTuple):
    """The trace of a Hessian, its standard error, and how many random vectors gave it."""

    value: Float[Array, ""]
    error: Float[Array, ""]
    vectors: int


class SpectralDensity(NamedTuple):
    """Nodes and weights of Lanczos quadrature, one row for every random vector.

    Sums of `weights` over a row are 1: integrals over the density are averages over eigenvalues.
    `size` is the number of parameters.

    >>> density = SpectralDensity(jnp.array([[1.0, 4.0]]), jnp.array([[0.75, 0.25]]), size=4)
    >>> float(density.moment(1)), float(density.share_above(2.0))
    (1.75, 0.25)
    """

    nodes: Float[Array, "vectors degree"]
    weights: Float[Array, "vectors degree"]
    size: int

    def density(self, at: Float[Array, " points"], width: float) -> Float[Array, " points"]:
        """The density at some points, each node smoothed by a Gaussian of a width."""
        z = (jnp.asarray(at)[:, None, None] - self.nodes) / width
        bump = jnp.exp(-0.5 * z**2) / (width * math.sqrt(2 * math.pi))
        return (bump * self.weights).sum(-1).mean(-1)

    def moment(self, power: int) -> Float[Array, ""]:
        """The average of λ^power over the eigenvalues; power 1 times `size` is the trace."""
        return (self.weights * self.nodes**power).sum(-1).mean()

    def share_above(self, value: float) -> Float[Array, ""]:
        """The share of eigenvalues above a value."""
        return (self.weights * (self.nodes > value)).sum(-1).mean()


def hessian_trace(loss: Loss, params: Any, key: Key[Array, ""], vectors: int = 32) -> TraceEstimate:
    """Hutchinson's estimate of the trace of the Hessian, from products with random signs.

    Args:
      loss: a function from a pytree like `params` to a number.
      params: where the Hessian is taken.
      key: for the random vectors.
      vectors: how many; the error falls with their square root.

    Returns:
      The estimate with its standard error (infinite for one vector).

    >>> curvature = jnp.array([1.0, -9.0, 4.0])
    >>> loss = lambda p: 0.5 * jnp.sum(curvature * p**2)
    >>> float(hessian_trace(loss, jnp.ones(3), jax.random.key(0)).value)
    -4.0
    """
    check_integer("hessian_trace", "vectors", vectors, 1)
    flat, product = _linearized(loss, params)

    def quadratic(key: Any) -> Array:
        signs = jax.random.rademacher(key, flat.shape, flat.dtype)
        return signs @ product(signs)

    values = jax.lax.map(quadratic, jax.random.split(key, vectors))
    spread = jnp.std(values, ddof=1) if vectors > 1 else jnp.asarray(jnp.inf, flat.dtype)
    return TraceEstimate(values.mean(), spread / math.sqrt(vectors), vectors)


def spectral_density(
    loss: Loss, params: Any, key: Key[Array, ""], vectors: int = 8, degree: int = 40
) -> SpectralDensity:
    """The density of a Hessian's eigenvalues by Lanczos quadrature.

    Args:
      loss: a function from a pytree like `params` to a number.
      params: where the Hessian is taken.
      key: for the random vectors.
      vectors: how many random vectors are averaged.
      degree: how many Hessian-vector products each gets; moments below 2·degree are exact for
        that vector.

    Returns:
      Nodes and weights, to be smoothed (`density`) or integrated (`moment`, `share_above`).

    >>> curvature = jnp.array([1.0, 1.0, 4.0, 4.0])
    >>> loss = lambda p: 0.5 * jnp.sum(curvature * p**2)
    >>> found = spectral_density(loss, jnp.ones(4), jax.random.key(0), degree=2)
    >>> sorted({round(float(node), 3) for node in found.nodes.ravel()})
    [1.0, 4.0]
    """
    check_integer("spectral_density", "vectors", vectors, 1)
    check_integer("spectral_density", "degree", degree, 1)
    flat, product = _linearized(loss, params)
    steps = min(degree, flat.size)

    def quadrature(key: Any) -> tuple[Array, Array]:
        start = jax.random.rademacher(key, flat.shape, flat.dtype)
        diagonal, beside = tridiagonalize(product, start / math.sqrt(flat.size), steps)
        matrix = jnp.diag(diagonal) + jnp.diag(beside[:-1], 1) + jnp.diag(beside[:-1], -1)
        nodes, basis = jnp.linalg.eigh(matrix)
        return nodes, basis[0] ** 2

    nodes, weights = jax.lax.map(quadrature, jax.random.split(key, vectors))
    return SpectralDensity(nodes, weights, flat.size)


def gauss_newton_eigenvalue(
    outputs: Callable[[Any], Any],
    loss_of_outputs: Callable[[Any], Float[Array, ""]],
    params: Any,
    tolerance: float = 1e-3,
    iterations: int = 40,
) -> Eigenpairs:
    """The largest eigenvalue of the Gauss-Newton part JᵀHJ of the Hessian of loss(outputs(params)).

    J is the Jacobian of the outputs and H the Hessian of the loss in the outputs. Sharpness less
    this is what the network's own curvature adds.

    Args:
      outputs: from parameters to outputs (any pytree).
      loss_of_outputs: from outputs to a number; convex, for the usual losses.
      params: where it is taken.
      tolerance: of the residual, relative to the eigenvalue.
      iterations: the most products.

    Returns:
      The eigenvalue, its residual, the products used, and the eigenvector as a pytree.

    >>> x, y = jnp.array([[1.0, 0.0], [0.0, 3.0]]), jnp.zeros(2)
    >>> error = lambda z: 0.5 * jnp.sum((z - y) ** 2)
    >>> found = gauss_newton_eigenvalue(lambda w: x @ w, error, jnp.ones(2))
    >>> round(float(found.values), 4)
    9.0
    """
    check_integer("gauss_newton_eigenvalue", "iterations", iterations, 1)
    check_number("gauss_newton_eigenvalue", "tolerance", tolerance, low=0)
    flat, restore = _flattened(params)
    now, push = jax.linearize(lambda p: outputs(restore(p)), flat)
    pull = jax.linear_transpose(push, flat)
    _, curve = jax.linearize(jax.grad(loss_of_outputs), now)

    def product(vector: Array) -> Array:
        return pull(curve(push(vector)))[0]

    values, residuals, used, vectors = lanczos(
        product, fixed_noise(flat.size, flat.dtype), 1, tolerance, min(iterations, flat.size)
    )
    return Eigenpairs(values[0], residuals[0], used, restore(vectors[0]))


def critical_sharpness(
    loss: Loss, params: Any, start: float = 1.0, doublings: int = 30, halvings: int = 12
) -> Float[Array, ""]:
    """2/η for the largest step η along the negative gradient that does not raise the loss.

    On a quadratic this lies between the smallest and the largest curvature that the gradient
    meets, and is the largest eigenvalue when the gradient points along it. It costs forward passes
    only. A line search first doubles or halves η until the loss changes sides, then bisects.

    Args:
      loss: a function from a pytree like `params` to a number.
      params: where the step starts.
      start: the first η tried.
      doublings: the most doublings or halvings of η before the search gives up.
      halvings: bisections after that, each halving the error of log η.

    Returns:
      2/η; 0 where no step up to start·2^doublings raises the loss, NaN where even the smallest
      does.

    >>> float(critical_sharpness(lambda p: 4.0 * jnp.sum(p**2), jnp.ones(3)).round(2))
    8.0
    """
    check_number("critical_sharpness", "start", start, low=0, open_low=True)
    check_integer("critical_sharpness", "doublings", doublings, 1)
    check_integer("critical_sharpness", "halvings", halvings, 0)
    flat, restore = _flattened(params)
    begin, gradient = jax.value_and_grad(lambda p: loss(restore(p)))(flat)

    def raises(log_step: Array) -> Array:
        after = loss(restore(flat - jnp.exp2(log_step) * gradient))
        return ~(after <= begin)  # a loss that is not finite is raised, too

    first = jnp.asarray(math.log2(start), flat.dtype)
    direction = jnp.where(raises(first), -1.0, 1.0).astype(flat.dtype)

    def crossed(state: Any) -> Array:
        place, tries = state
        return (tries < doublings) & (raises(place + direction) == (direction < 0))

    place, tries = jax.lax.while_loop(
        crossed, lambda state: (state[0] + direction, state[1] + 1), (first, jnp.asarray(0))
    )
    low = jnp.where(direction > 0, place, place + direction)

    def bisect(_: Any, low_and_width: Any) -> Any:
        low, width = low_and_width
        width = width / 2
        return jnp.where(raises(low + width), low, low + width), width

    low, _ = jax.lax.fori_loop(0, halvings, bisect, (low, jnp.ones_like(low)))
    beyond = jnp.where(direction > 0, 0.0, jnp.nan)
    return jnp.where(tries >= doublings, beyond, 2.0 / jnp.exp2(low))


@probe("hessian_trace")
def measure_trace(moment: Moment) -> dict[str, Array]:
    """The trace of the training loss's Hessian (Hutchinson), with its standard error."""
    loss, moving = training_loss(moment)
    found = hessian_trace(loss, moving, jax.random.key(0))
    return {"": found.value, "error": found.error}


@probe("critical_sharpness")
def measure_critical_sharpness(moment: Moment) -> Float[Array, ""]:
    """2/η for the largest gradient step η that does not raise the training loss."""
    return critical_sharpness(*training_loss(moment))


def tridiagonalize(
    product: Callable[[Array], Array], start: Float[Array, " size"], degree: int
) -> tuple[Float[Array, " degree"], Float[Array, " degree"]]:
    """Diagonal and off-diagonal of the Lanczos matrix, every vector orthogonal to all before it.

    >>> scales = jnp.array([3.0, 1.0])
    >>> diagonal, beside = tridiagonalize(lambda v: scales * v, jnp.array([1.0, 0.0]), 2)
    >>> diagonal.tolist(), beside.tolist()
    ([3.0, 0.0], [0.0, 0.0])
    """
    small = 10 * jnp.finfo(start.dtype).eps

    def extend(place: Any, state: Any) -> Any:
        basis, current, diagonal, beside = state
        basis = basis.at[place].set(current)
        image = product(current)
        share = current @ image
        image = image - share * current
        for _ in range(2):  # twice is enough
            image = image - basis.T @ (basis @ image)
        norm = jnp.linalg.norm(image)
        # Rounding is all that is left: the subspace is closed, and further rows stay zero.
        scale = jnp.max(jnp.abs(diagonal)) + jnp.max(beside) + jnp.abs(share)
        norm = jnp.where(norm > small * scale, norm, 0.0)
        following = jnp.where(norm > 0, image / jnp.where(norm > 0, norm, 1.0), 0.0)
        return basis, following, diagonal.at[place].set(share), beside.at[place].set(norm)

    empty = (
        jnp.zeros((degree, start.size), start.dtype),
        start,
        *(jnp.zeros(degree, start.dtype),) * 2,
    )
    _, _, diagonal, beside = jax.lax.fori_loop(0, degree, extend, empty)
    return diagonal, beside


def _flattened(params: Any) -> tuple[Array, Callable[[Array], Any]]:
    flat, restore = ravel_pytree(params)
    if flat.size == 0:
        raise SeparatrixError("the Hessian of a loss without parameters has no spectrum")
    if not np.issubdtype(flat.dtype, np.floating):
        raise SeparatrixError(f"a Hessian needs parameters of a floating type, got {flat.dtype}")
    return flat, restore


def _linearized(loss: Loss, params: Any) -> tuple[Array, Callable[[Array], Array]]:
    flat, restore = _flattened(params)
    _, product = jax.linearize(jax.grad(lambda p: loss(restore(p))), flat)
    return flat, product
