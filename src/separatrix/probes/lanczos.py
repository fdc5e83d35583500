"""The largest eigenvalues of a Hessian, for any JAX loss of any pytree: Lanczos on Hessian-vector products, in one compiled loop.

The *largest* eigenvalue, not the largest in magnitude: that is what decides whether gradient descent with step η is stable
(λ < 2/η). All Lanczos vectors are kept orthogonal to each other (twice-applied Gram-Schmidt), so that float32 suffices; the
residual ‖Hv - λv‖ that every answer carries bounds the distance to an eigenvalue.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from separatrix.errors import SeparatrixError, check_integer, check_number


class Eigenpairs(NamedTuple):
    """The largest eigenvalues, the residual ‖Hv - λv‖ of each, how many Hessian-vector products were used, and unit eigenvectors.

    For `largest_eigenvalue` the first two are numbers and `vectors` is a pytree like the parameters; for `top_eigenvalues` there
    are `count` of each, the largest first, and every leaf of `vectors` has a leading axis.

    >>> Eigenpairs(values=1.0, residuals=0.0, iterations=3, vectors=None).values
    1.0
    """

    values: Float[Array, "..."]
    residuals: Float[Array, "..."]
    iterations: Int[Array, ""]
    vectors: Any


def largest_eigenvalue(
    loss: Callable[[Any], Float[Array, ""]], params: Any, start: Any = None, tolerance: float = 1e-3, iterations: int = 40
) -> Eigenpairs:
    """The largest eigenvalue of the Hessian of `loss` at `params`, a pytree.

    Lanczos begins at `start` (a pytree like `params`, such as the eigenvector of an earlier moment; mix in some noise, since from an
    exact eigenvector it can find no other), or at a fixed random vector, and stops when the residual is at most `tolerance` times
    the eigenvalue's magnitude or after `iterations` products. It can be traced, compiled and batched.

    >>> import jax.numpy as jnp
    >>> curvature = jnp.array([1.0, -9.0, 4.0])
    >>> found = largest_eigenvalue(lambda p: 0.5 * jnp.sum(curvature * p["x"] ** 2), {"x": jnp.ones(3)})
    >>> round(float(found.values), 4), found.vectors["x"].shape
    (4.0, (3,))
    """
    found = top_eigenvalues(loss, params, 1, start, tolerance, iterations)
    return Eigenpairs(found.values[0], found.residuals[0], found.iterations, jax.tree.map(lambda leaf: leaf[0], found.vectors))


def top_eigenvalues(
    loss: Callable[[Any], Float[Array, ""]], params: Any, count: int, start: Any = None, tolerance: float = 1e-3, iterations: int = 40
) -> Eigenpairs:
    """The `count` largest eigenvalues of the Hessian, the largest first, all to the tolerance (or as far as `iterations` go).

    Lanczos sees one copy of an eigenvalue that the Hessian has several times.

    >>> import jax.numpy as jnp
    >>> curvature = jnp.array([1.0, -9.0, 4.0, 2.0])
    >>> [round(float(each), 3) for each in top_eigenvalues(lambda p: 0.5 * jnp.sum(curvature * p**2), jnp.zeros(4), count=2).values]
    [4.0, 2.0]
    """
    flat, restore = ravel_pytree(params)
    if flat.size == 0:
        raise SeparatrixError("the Hessian of a loss without parameters has no eigenvalues")
    check_integer("top_eigenvalues", "count", count, 1, flat.size)
    check_integer("top_eigenvalues", "iterations", iterations, count)
    check_number("top_eigenvalues", "tolerance", tolerance, low=0)
    # Linearised once: each product then costs about one gradient instead of two.
    _, product = jax.linearize(jax.grad(lambda p: loss(restore(p))), flat)
    first = fixed_noise(flat.size, flat.dtype) if start is None else ravel_pytree(start)[0].astype(flat.dtype)
    values, residuals, used, vectors = lanczos(product, first, count, tolerance, min(iterations, flat.size))
    return Eigenpairs(values, residuals, used, jax.vmap(restore)(vectors))


def block_eigenvalues(
    loss: Callable[[Any], Float[Array, ""]], params: Any, tolerance: float = 1e-3, iterations: int = 40
) -> dict[str, Eigenpairs]:
    """The largest eigenvalue of each part's own block of the Hessian (of a named tuple or dictionary; missing parts are left out).

    >>> import jax.numpy as jnp
    >>> found = block_eigenvalues(lambda p: p["a"][0] ** 2 + 3 * p["b"][0] ** 2 + p["a"][0] * p["b"][0], {"a": jnp.ones(1), "b": jnp.ones(1)})
    >>> {name: float(pair.values) for name, pair in found.items()}
    {'a': 2.0, 'b': 6.0}
    """
    named: dict[str, Any] = params._asdict() if hasattr(params, "_asdict") else dict(params)

    def of(name: str) -> Callable[[Any], Float[Array, ""]]:
        def alone(part: Any) -> Float[Array, ""]:
            return loss(params._replace(**{name: part}) if hasattr(params, "_replace") else params | {name: part})

        return alone

    parts = {name: part for name, part in named.items() if jax.tree.leaves(part)}
    return {name: largest_eigenvalue(of(name), part, None, tolerance, iterations) for name, part in parts.items()}


def fixed_noise(size: int, dtype: Any = jnp.float32) -> Float[Array, " size"]:
    """Numbers in (-1, 1) without order, the same each time: a hash of their places (a generator would take longer to compile).

    >>> noise = fixed_noise(10_000)
    >>> bool(jnp.abs(noise.mean()) < 0.02), bool(jnp.abs(noise.var() - 1 / 3) < 0.02)
    (True, True)
    """
    mixed = jnp.arange(1, size + 1, dtype=jnp.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):  # the last steps of MurmurHash3
        mixed = (mixed ^ (mixed >> shift)) * jnp.uint32(factor)
    return (mixed >> 8).astype(dtype) * 2.0**-23 - 1.0


def lanczos(
    product: Callable[[Array], Array], start: Float[Array, " size"], count: int, tolerance: float, iterations: int
) -> tuple[Array, Array, Array, Array]:
    """The `count` largest eigenvalues of a symmetric linear map, their residuals, the products used and the eigenvectors as rows.

    >>> import jax.numpy as jnp
    >>> values, residuals, used, vectors = lanczos(lambda v: jnp.array([3.0, 1.0]) * v, jnp.ones(2), 1, 1e-3, 2)
    >>> round(float(values[0]), 5), int(used)
    (3.0, 2)
    """
    dtype = start.dtype
    tiny = jnp.finfo(dtype).tiny
    places = jnp.arange(iterations)

    def unit(vector: Array) -> tuple[Array, Array]:
        size = jnp.linalg.norm(vector)
        return vector / jnp.where(size > tiny, size, 1.0), size

    def ritz(diagonal: Array, beside: Array, used: Any) -> tuple[Array, Array, Array]:
        # Places that are not filled yet get a value below every eigenvalue of the filled part (Gershgorin), so they never rank.
        filled = places < used
        low = jnp.min(jnp.where(filled, diagonal, jnp.inf)) - 3.0 * jnp.max(jnp.abs(beside)) - 1.0
        row, column = places[:, None], places[None, :]
        links = jnp.where((jnp.abs(row - column) == 1) & (jnp.maximum(row, column) < used), beside[jnp.minimum(row, column)], 0.0)
        matrix = jnp.where(row == column, jnp.where(filled, diagonal, low), links)
        values, vectors = jnp.linalg.eigh(matrix)
        values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
        last = jnp.abs(vectors[jnp.maximum(used - 1, 0)] * beside[jnp.maximum(used - 1, 0)])
        # Fewer places than eigenvalues asked for: the rest is not known yet.
        return values, jnp.where(jnp.arange(count) < used, last, jnp.inf), vectors

    def unsettled(state: Any) -> Array:
        used, values, residuals = state[4:7]
        good = jnp.all(residuals <= tolerance * jnp.maximum(jnp.abs(values), tiny))
        lost = jnp.any(jnp.isnan(values))  # a diverged network: more products would not help
        return (used < iterations) & ~good & ~lost

    def extend(state: Any) -> Any:
        basis, current, diagonal, beside, used = state[:5]
        basis = basis.at[used].set(current)
        image = product(current)
        diagonal = diagonal.at[used].set(current @ image)
        for _ in range(2):  # once leaves rounding errors of the size of the cancellation, twice is enough
            image = image - basis.T @ (basis @ image)
        following, link = unit(image)
        # What is left after cancellation alone is rounding: an invariant subspace has been found.
        scale = jnp.max(jnp.abs(diagonal)) + jnp.max(beside)
        link = jnp.where(link > 10 * jnp.finfo(dtype).eps * scale, link, 0.0)
        beside = beside.at[used].set(link)
        if count > 1:  # the other eigenvalues may lie outside of the subspace: go on from a vector that is orthogonal to it
            other = fixed_noise(start.size, dtype)
            for _ in range(2):
                other = other - basis.T @ (basis @ other)
            following = jnp.where(link > 0, following, unit(other)[0])
        return basis, following, diagonal, beside, used + 1, *ritz(diagonal, beside, used + 1)

    begin = (
        jnp.zeros((iterations, start.size), dtype),
        unit(start)[0],
        jnp.zeros((iterations,), dtype),
        jnp.zeros((iterations,), dtype),
        jnp.asarray(0),
        jnp.zeros((count,), dtype),
        jnp.full((count,), jnp.inf, dtype),
        jnp.zeros((iterations, count), dtype),
    )
    basis, _, _, _, used, values, residuals, vectors = jax.lax.while_loop(unsettled, extend, begin)
    return values, residuals, used, (vectors.T * (places < used)) @ basis
