"""The largest eigenvalues of Hessians, against dense ones and SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.sparse.linalg import LinearOperator, eigsh

import separatrix as sx
from separatrix.probes import block_eigenvalues, largest_eigenvalue, top_eigenvalues
from separatrix.probes.lanczos import fixed_noise, lanczos

NETWORKS = {
    "shared": sx.CNN(5, 12, stride=5, readout="pooled", offset=True),
    "local": sx.LCN(5, 4, stride=5, readout="pooled", offset=True, activation=sx.Tanh()),
    "full": sx.FCN(12, offset=True),
}


def problem(name, outer, dtype=jnp.float64):
    """A loss of a network's parameters, and the parameters: `outer` is the function of scores and
    labels.
    """
    network, rng = NETWORKS[name], np.random.default_rng(0)
    like = jax.eval_shape(lambda: network.init(jax.random.key(1), (20, 1)))
    params = jax.tree.map(
        lambda leaf: jnp.asarray(0.4 * rng.standard_normal(leaf.shape), dtype), like
    )
    x, y = (
        jnp.asarray(rng.standard_normal((25, 20, 1)), dtype),
        jnp.asarray(rng.standard_normal(25), dtype),
    )
    return (lambda p: outer(network.apply(p, x), y)), params


def dense(loss, params):
    flat, restore = ravel_pytree(params)
    return np.linalg.eigvalsh(np.asarray(jax.jit(jax.hessian(lambda p: loss(restore(p))))(flat)))


OUTER = {
    "squared": lambda f, y: jnp.mean((f - y) ** 2),
    "upside down": lambda f, y: jnp.mean(0.2 * f - jnp.square(f - y)),
}


@pytest.mark.parametrize(
    "name, outer", [("shared", "squared"), ("local", "upside down"), ("full", "upside down")]
)
def test_it_is_the_largest_dense_eigenvalue_also_when_the_most_negative_one_is_larger_in_magnitude(
    name, outer
):
    with jax.enable_x64(True):
        loss, params = problem(name, OUTER[outer])
        exact = dense(loss, params)
        assert len(exact) < 2000
        if outer == "upside down":
            assert -exact[0] > 2 * exact[-1] > 0
        found = jax.jit(lambda p: top_eigenvalues(loss, p, 3, None, 1e-9, 150))(params)
        assert np.allclose(found.values, exact[::-1][:3], rtol=1e-7, atol=1e-9)
        assert np.all(np.asarray(found.residuals) <= 1e-8 * exact[-1])
        # The residual is what it says: ‖Hv - λv‖ of the vector that is returned.
        vector = jax.tree.map(lambda leaf: leaf[0], found.vectors)
        image = jax.jit(lambda p, v: jax.jvp(jax.grad(loss), (p,), (v,))[1])(params, vector)
        v, hv = ravel_pytree(vector)[0], ravel_pytree(image)[0]
        assert float(jnp.linalg.norm(v)) == pytest.approx(1.0, abs=1e-9)
        assert float(jnp.linalg.norm(hv - found.values[0] * v)) <= 2e-8 * exact[-1]


def test_float32_and_a_loose_tolerance_are_within_the_residual_of_scipys_answer():
    loss, params = problem("shared", OUTER["squared"], jnp.float32)
    flat, restore = ravel_pytree(params)
    product = jax.jit(lambda v: jax.jvp(jax.grad(lambda p: loss(restore(p))), (flat,), (v,))[1])
    operator = LinearOperator(
        (flat.size, flat.size),
        lambda v: np.asarray(product(jnp.asarray(v, jnp.float32).ravel()), np.float64),
    )
    expected = eigsh(operator, k=1, which="LA", v0=np.ones(flat.size), return_eigenvectors=False)[0]
    half = jax.jit(lambda p: largest_eigenvalue(lambda q: 0.5 * loss(q), p))(params)
    assert float(half.values) == pytest.approx(
        expected / 2, rel=1e-3
    )  # the edge 2/η moves with the convention
    for tolerance in (1e-1, 1e-3):
        found = jax.jit(lambda p, t=tolerance: largest_eigenvalue(loss, p, tolerance=t))(params)
        assert float(found.residuals) <= tolerance * float(found.values)
        assert abs(float(found.values) - expected) <= float(found.residuals) + 1e-5 * expected


def test_blocks_are_the_blocks_of_the_dense_hessian():
    with jax.enable_x64(True):
        loss, params = problem("full", OUTER["squared"])
        found = jax.jit(lambda p: block_eigenvalues(loss, p, 1e-9, 200))(params)
        for part in ("weights", "bias", "readout", "offset"):
            exact = dense(
                lambda p, part=part: loss(params._replace(**{part: p})), getattr(params, part)
            )
            assert float(found[part].values) == pytest.approx(exact[-1], rel=1e-7)


def test_a_batch_gives_what_each_gives_alone():
    curvatures = jnp.asarray(np.random.default_rng(0).standard_normal((4, 30)) * 5.0, jnp.float32)

    def of(curvature):
        return largest_eigenvalue(
            lambda p: 0.5 * jnp.sum(curvature * p**2), jnp.zeros(30), tolerance=1e-5, iterations=30
        )

    together = jax.jit(jax.vmap(of))(curvatures)
    assert np.allclose(together.values, curvatures.max(1), rtol=1e-4)
    alone = jax.jit(of)
    assert np.allclose([alone(c).values for c in curvatures], together.values, rtol=1e-5)


def test_multiple_and_too_few_eigenvalues():
    found = top_eigenvalues(
        lambda p: 0.5 * jnp.sum(jnp.array([2.0, 2.0, -1.0]) * p**2), jnp.ones(3), 3, iterations=3
    )
    assert np.allclose(
        found.values, [2.0, 2.0, -1.0], atol=1e-5
    )  # a repeated eigenvalue ends the first subspace; the search goes on
    assert float(largest_eigenvalue(lambda p: -(p**2), jnp.asarray(1.0)).values) == pytest.approx(
        -2.0
    )
    with pytest.raises(
        sx.ParameterError,
        match=r"the `count` of top_eigenvalues must be an integer in \[1, 3\], got 4",
    ):
        top_eigenvalues(jnp.sum, jnp.ones(3), 4)
    with pytest.raises(sx.SeparatrixError, match="a loss without parameters has no eigenvalues"):
        largest_eigenvalue(lambda p: 0.0, {})


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
@pytest.mark.parametrize("looks", [39, 40])  # 39 products cannot be made four at a time
def test_lanczos_finds_the_largest_eigenvalue_whatever_the_scale(scale, looks):
    rng = np.random.default_rng(5)
    spectrum = scale * np.concatenate(
        [np.linspace(-12, 5, 200), [9.9, 10.0]]
    )  # the largest in magnitude is negative, the second is close
    axes, _ = np.linalg.qr(rng.normal(size=(202, 202)))
    matrix = jnp.asarray((axes * spectrum) @ axes.T, jnp.float32)
    values, residuals, used, vectors = jax.jit(
        lambda first: lanczos(lambda v: matrix @ v, first, 1, 1e-4, looks)
    )(fixed_noise(202))
    true = np.linalg.norm(
        np.asarray(matrix, np.float64) @ np.asarray(vectors[0], np.float64)
        - float(values[0]) * np.asarray(vectors[0])
    )
    assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-5)
    assert float(residuals[0]) <= 1e-4 * 10 * scale
    assert float(residuals[0]) == pytest.approx(
        true, abs=2e-5 * scale
    )  # rounding of a product with numbers of size 12
    # A residual r leaves an eigenvalue within r, and within r²/gap of it where the next is `gap`
    # away.
    assert float(values[0]) == pytest.approx(10 * scale, rel=1e-5)
    assert 4 < int(used) <= looks


@pytest.mark.parametrize(
    ("spectrum", "largest", "products"),
    [(np.zeros(50), 0.0, 1), (-3.0 * np.ones(50), -3.0, 1), ([-1.0, -2.0] * 8, -1.0, 2)],
)
def test_lanczos_stops_where_there_is_nothing_more_to_see(spectrum, largest, products):
    diagonal = jnp.asarray(spectrum)
    values, residuals, used, _ = lanczos(
        lambda v: diagonal * v, fixed_noise(diagonal.size), 1, 0.0, 16
    )
    assert int(used) == products
    assert float(values[0]) == pytest.approx(largest, abs=1e-6)
    assert float(residuals[0]) <= 1e-6


def test_a_batch_of_lanczos_runs_is_each_alone():
    rng = np.random.default_rng(6)
    stack = rng.normal(size=(3, 30, 30)) * np.array([1.0, 10.0, 0.1])[:, None, None]
    stack = jnp.asarray(stack + stack.transpose(0, 2, 1), jnp.float32)

    def find(matrix):
        return lanczos(lambda v: matrix @ v, fixed_noise(30), 1, 1e-3, 20)

    together = jax.vmap(find)(stack)
    for place, matrix in enumerate(stack):
        alone = find(matrix)
        assert int(together[2][place]) == int(alone[2])
        assert float(together[0][place, 0]) == pytest.approx(float(alone[0][0]), rel=1e-5)
