"""The largest eigenvalues of a Hessian, for any JAX loss of any pytree: Lanczos on Hessian-vector
products, in one compiled loop.

The *largest* eigenvalue, not the largest in magnitude: that is what decides whether gradient
descent with step η is stable (λ < 2/η). All Lanczos vectors are kept orthogonal to each other
(Gram-Schmidt after the three-term recurrence), so that float32 suffices; the residual ‖Hv - λv‖
that every answer carries bounds the distance to an eigenvalue.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from separatrix.errors import SeparatrixError, check_integer, check_number

LOOK = 4  # products between two looks at the residual
# Rounds, and squarings between two scalings: the 4096th power. Of an eigenvalue that is 1 %
# smaller, counted from the smallest, 1e-18 is left.
SQUARINGS = (3, 4)


class Eigenpairs(NamedTuple):
    """The largest eigenvalues, the residual ‖Hv - λv‖ of each, how many Hessian-vector products
    were used, and unit eigenvectors.

    For `largest_eigenvalue` the first two are numbers and `vectors` is a pytree like the
    parameters; for `top_eigenvalues` there are `count` of each, the largest first, and every leaf
    of `vectors` has a leading axis.

    >>> Eigenpairs(values=1.0, residuals=0.0, iterations=3, vectors=None).values
    1.0
    """

    values: Float[Array, "..."]
    residuals: Float[Array, "..."]
    iterations: Int[Array, ""]
    vectors: Any


def largest_eigenvalue(
    loss: Callable[[Any], Float[Array, ""]],
    params: Any,
    start: Any = None,
    tolerance: float = 1e-3,
    iterations: int = 40,
) -> Eigenpairs:
    """The largest eigenvalue of the Hessian of `loss` at `params`; it can be traced and batched.

    Args:
        loss: A function from parameters to a number.
        params: The parameters, a pytree.
        start: The first vector, a pytree like `params`, such as the eigenvector of an earlier
            moment with some noise (from an exact eigenvector Lanczos finds no other); None for a
            fixed random vector.
        tolerance: The largest residual ‖Hv - λv‖, relative to |λ|.
        iterations: The largest number of Hessian-vector products.

    >>> import jax.numpy as jnp
    >>> curvature = jnp.array([1.0, -9.0, 4.0])
    >>> loss = lambda params: 0.5 * jnp.sum(curvature * params["x"] ** 2)
    >>> pair = largest_eigenvalue(loss, {"x": jnp.ones(3)})
    >>> round(float(pair.values), 4), pair.vectors["x"].shape
    (4.0, (3,))
    """
    pairs = top_eigenvalues(loss, params, 1, start, tolerance, iterations)
    return Eigenpairs(
        pairs.values[0],
        pairs.residuals[0],
        pairs.iterations,
        jax.tree.map(lambda leaf: leaf[0], pairs.vectors),
    )


def top_eigenvalues(
    loss: Callable[[Any], Float[Array, ""]],
    params: Any,
    count: int,
    start: Any = None,
    tolerance: float = 1e-3,
    iterations: int = 40,
) -> Eigenpairs:
    """The largest eigenvalues of the Hessian of `loss` at `params`, the largest first.

    An eigenvalue that the Hessian has several times is found once.

    Args:
        loss: A function from parameters to a number.
        params: The parameters, a pytree.
        count: The number of eigenvalues.
        start: The first vector, a pytree like `params`; None for a fixed random vector.
        tolerance: The largest residual ‖Hv - λv‖, relative to |λ|.
        iterations: The largest number of Hessian-vector products.

    >>> import jax.numpy as jnp
    >>> curvature = jnp.array([1.0, -9.0, 4.0, 2.0])
    >>> pairs = top_eigenvalues(lambda x: 0.5 * jnp.sum(curvature * x**2), jnp.zeros(4), count=2)
    >>> [round(float(value), 3) for value in pairs.values]
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
    first = (
        fixed_noise(flat.size, flat.dtype)
        if start is None
        else ravel_pytree(start)[0].astype(flat.dtype)
    )
    values, residuals, used, vectors = lanczos(
        product, first, count, tolerance, min(iterations, flat.size)
    )
    return Eigenpairs(values, residuals, used, jax.vmap(restore)(vectors))


def block_eigenvalues(
    loss: Callable[[Any], Float[Array, ""]],
    params: Any,
    tolerance: float = 1e-3,
    iterations: int = 40,
) -> dict[str, Eigenpairs]:
    """The largest eigenvalue of each diagonal block of the Hessian of `loss` at `params`.

    Args:
        loss: A function from parameters to a number.
        params: The parameters, a named tuple or dictionary with one entry per block; empty entries
            are skipped.
        tolerance: The largest residual ‖Hv - λv‖, relative to |λ|.
        iterations: The largest number of Hessian-vector products per block.

    >>> import jax.numpy as jnp
    >>> loss = lambda params: jnp.sum(params["a"] ** 2 + 3 * params["b"] ** 2)
    >>> pairs = block_eigenvalues(loss, {"a": jnp.ones(1), "b": jnp.ones(1)})
    >>> {name: float(pair.values) for name, pair in pairs.items()}
    {'a': 2.0, 'b': 6.0}
    """
    named: dict[str, Any] = params._asdict() if hasattr(params, "_asdict") else dict(params)

    def of(name: str) -> Callable[[Any], Float[Array, ""]]:
        def alone(part: Any) -> Float[Array, ""]:
            return loss(
                params._replace(**{name: part})
                if hasattr(params, "_replace")
                else params | {name: part}
            )

        return alone

    parts = {name: part for name, part in named.items() if jax.tree.leaves(part)}
    return {
        name: largest_eigenvalue(of(name), part, None, tolerance, iterations)
        for name, part in parts.items()
    }


def fixed_noise(size: int, dtype: Any = jnp.float32) -> Float[Array, " size"]:
    """Numbers in (-1, 1) without order, the same each time: a hash of their places (a generator
    would take longer to compile).

    >>> noise = fixed_noise(10_000)
    >>> bool(jnp.abs(noise.mean()) < 0.02), bool(jnp.abs(noise.var() - 1 / 3) < 0.02)
    (True, True)
    """
    mixed = jnp.arange(1, size + 1, dtype=jnp.uint32)
    for shift, factor in (
        (16, 0x85EBCA6B),
        (13, 0xC2B2AE35),
        (16, 1),
    ):  # the last steps of MurmurHash3
        mixed = (mixed ^ (mixed >> shift)) * jnp.uint32(factor)
    return (mixed >> 8).astype(dtype) * 2.0**-23 - 1.0


def lanczos(
    product: Callable[[Array], Array],
    start: Float[Array, " size"],
    count: int,
    tolerance: float,
    iterations: int,
) -> tuple[Array, Array, Array, Array]:
    """The `count` largest eigenvalues of a symmetric linear map, their residuals, the products used
    and the eigenvectors as rows.

    >>> import jax.numpy as jnp
    >>> scales = jnp.array([3.0, 1.0])
    >>> values, _, used, _ = lanczos(lambda v: scales * v, jnp.ones(2), 1, 1e-3, 2)
    >>> round(float(values[0]), 5), int(used)
    (3.0, 2)
    """
    dtype = start.dtype
    tiny = jnp.finfo(dtype).tiny
    ritz = _largest_of if count == 1 else functools.partial(_top_of, count)

    def unit(vector: Array) -> tuple[Array, Array]:
        size = jnp.linalg.norm(vector)
        return vector / jnp.where(size > tiny, size, 1.0), size

    def unsettled(state: Any) -> Array:
        made, (*_, numbers), (values, residuals, _) = state
        good = jnp.all(residuals <= tolerance * jnp.maximum(jnp.abs(values), tiny))
        lost = jnp.any(jnp.isnan(values))  # a diverged network: more products would not help
        return (made < iterations) & ~jnp.any(closed(numbers, made)) & ~good & ~lost

    def closed(numbers: Array, made: Any) -> Array:
        """After which products nothing was left beside the vectors so far; looking for several
        eigenvalues, it goes on all the same.
        """
        return (numbers[1] == 0) & (jnp.arange(iterations) < made) & (count == 1)

    def counted(numbers: Array, made: Any) -> Array:
        """The products that count: what was made after a subspace closed does not."""
        ends = closed(numbers, made)
        return jnp.where(jnp.any(ends), jnp.argmax(ends) + 1, made)

    # Few numbers are carried from one product to the next: each is another kernel to a GPU, and
    # takes as long as a small product.
    def extend(place: Any, state: Any) -> Any:
        basis, current, numbers = state
        basis = jax.lax.dynamic_update_slice_in_dim(basis, current[None], place, 0)
        image = product(current)
        share = current @ image
        # The recurrence takes away all but rounding errors of the size of the cancellation;
        # Gram-Schmidt, applied once, takes those.
        before = jnp.maximum(place - 1, 0)
        image = (
            image - share * current - jnp.where(place > 0, numbers[1, before], 0.0) * basis[before]
        )
        image = image - basis.T @ (basis @ image)
        following, size = unit(image)
        # What is left after cancellation alone is rounding: an invariant subspace has been found.
        scale = jnp.max(jnp.abs(numbers)) + jnp.abs(share)
        link = jnp.where(size > 10 * jnp.finfo(dtype).eps * scale, size, 0.0)
        if (
            count > 1
            # The other eigenvalues may lie outside of the subspace: go on from a vector that is
            # orthogonal to it
        ):
            other = fixed_noise(start.size, dtype)
            for _ in range(2):
                other = other - basis.T @ (basis @ other)
            following = jnp.where(link > 0, following, unit(other)[0])
        return (
            basis,
            following,
            jax.lax.dynamic_update_slice_in_dim(
                numbers, jnp.stack([share, link])[:, None], place, 1
            ),
        )

    def extend_and_look(state: Any) -> Any:
        # To see whether it is enough takes a GPU as long as a product or two: products are made a
        # few at a time.
        some = LOOK if iterations % LOOK == 0 else 1
        made, kept, _ = state
        kept = jax.lax.fori_loop(0, some, lambda i, now: extend(made + i, now), kept)
        numbers = kept[2]
        return made + some, kept, ritz(numbers[0], numbers[1], counted(numbers, made + some))

    begin = (
        jnp.zeros((iterations, start.size), dtype),
        unit(start)[0],
        jnp.zeros((2, iterations), dtype),
    )
    nothing = (
        jnp.zeros((count,), dtype),
        jnp.full((count,), jnp.inf, dtype),
        jnp.zeros((iterations, count), dtype),
    )
    made, (basis, _, numbers), (values, residuals, vectors) = jax.lax.while_loop(
        unsettled, extend_and_look, (jnp.asarray(0), begin, nothing)
    )
    used = counted(numbers, made)
    return values, residuals, used, (vectors.T * (jnp.arange(iterations) < used)) @ basis


def _tridiagonal(
    diagonal: Float[Array, " size"], beside: Float[Array, " size"], used: Any, rest: Any
) -> Float[Array, "size size"]:
    """The matrix of the filled places; the others have only `rest` on the diagonal."""
    places = jnp.arange(diagonal.size)
    row, column = places[:, None], places[None, :]
    links = jnp.where(
        (jnp.abs(row - column) == 1) & (jnp.maximum(row, column) < used),
        beside[jnp.minimum(row, column)],
        0.0,
    )
    return jnp.where(row == column, jnp.where(places < used, diagonal, rest), links)


def _below(
    diagonal: Float[Array, " size"], beside: Float[Array, " size"], used: Any
) -> Float[Array, ""]:
    """A number below every eigenvalue of the filled part (Gershgorin), by a hundredth of their size
    at least.
    """
    filled = jnp.arange(diagonal.size) < used
    links = jnp.max(jnp.where(filled, jnp.abs(beside), 0.0))
    size = jnp.max(jnp.where(filled, jnp.abs(diagonal), 0.0)) + links
    return (
        jnp.min(jnp.where(filled, diagonal, jnp.inf))
        - 2.0 * links
        - jnp.where(size > 0, 0.01 * size, 1.0)
    )


def _top_of(
    count: int, diagonal: Float[Array, " size"], beside: Float[Array, " size"], used: Any
) -> tuple[Array, Array, Array]:
    """The `count` largest Ritz values, their residuals and their vectors as columns."""
    # Places that are not filled yet get a value below every eigenvalue of the filled part, so they
    # never rank.
    values, vectors = jnp.linalg.eigh(
        _tridiagonal(diagonal, beside, used, _below(diagonal, beside, used))
    )
    values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    last = jnp.abs(vectors[jnp.maximum(used - 1, 0)] * beside[jnp.maximum(used - 1, 0)])
    # Fewer places than eigenvalues asked for: the rest is not known yet.
    return values, jnp.where(jnp.arange(count) < used, last, jnp.inf), vectors


def _largest_of(
    diagonal: Float[Array, " size"], beside: Float[Array, " size"], used: Any
) -> tuple[Array, Array, Array]:
    """The largest Ritz value, its residual and its vector, by squaring: a GPU factors small
    matrices one after the other, and slowly.

    The matrix, shifted so that it is positive, is squared until the largest eigenvalue's part is
    all that is left. Where two are so close that a part of the second remains, the residual, that
    of the vector which is returned, says so.
    """
    matrix = _tridiagonal(diagonal, beside, used, 0.0)
    times = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    filled = jnp.arange(diagonal.size) < used

    def squared(_: Any, now: Array) -> Array:
        # Of n eigenvalues the largest is at least 1/√n then, and its 16th power no denormal number
        # for n up to ten thousand.
        now = now * jax.lax.rsqrt(jnp.sum(now * now))
        for _ in range(SQUARINGS[1]):
            now = times(now, now)
        return now

    power = jax.lax.fori_loop(
        0,
        SQUARINGS[0],
        squared,
        matrix - jnp.diag(jnp.where(filled, _below(diagonal, beside, used), 0.0)),
    )
    vector = power[:, jnp.argmax(jnp.diag(power))]
    vector = vector / jnp.linalg.norm(vector)
    image = times(matrix, vector)
    value = times(vector, image)
    last = vector[used - 1] * beside[used - 1]
    return (
        value[None],
        jnp.sqrt(jnp.sum((image - value * vector) ** 2) + last**2)[None],
        vector[:, None],
    )
