"""Kernels of shallow networks against the empirical kernels of wide ones."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.theory.kernels import KernelSpec, shallow_kernel

FUNCTIONS = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "lsa": lambda z: z - jnp.clip(z, -0.5, 0.5),
}
WIDTH, NETWORKS = 200, 60


def empirical(spec, x, key):
    """Kernels of random finite networks, by automatic differentiation: their mean and error."""
    windows = jnp.asarray(spec.cut(np.asarray(x)[:, :, None]))
    count, rows, span = windows.shape
    groups = count if spec.connectivity == "local" else 1

    def output(params):
        w, b, a = params
        z = spec.weight_scale / jnp.sqrt(span) * jnp.einsum("gqs,prs->gpqr", w, windows)
        z = z[jnp.arange(count), jnp.arange(count)] if groups > 1 else z[0]
        own = b if groups > 1 else jnp.broadcast_to(b, (count, WIDTH))
        active = FUNCTIONS[spec.activation](z + spec.bias_scale * own[:, :, None])
        scale = spec.readout_scale / jnp.sqrt(WIDTH)
        if spec.readout == "positions":
            return scale / jnp.sqrt(count) * jnp.einsum("pq,pqr->r", a, active)
        if spec.readout == "pooled":
            return scale * jnp.einsum("q,pqr->r", a, active) / count
        return scale * active.sum((0, 1))

    def one(key):
        k1, k2, k3 = jax.random.split(key, 3)
        w = jax.random.normal(k1, (groups, WIDTH, span))
        b = jax.random.normal(k2, (groups, WIDTH))
        shape = (count, WIDTH) if spec.readout == "positions" else (WIDTH,)
        a = jax.random.normal(k3, shape)
        jacobian = jax.jacrev(output)((w, b, a))
        parts = [jacobian[2]] if spec.readout != "sum" else []
        parts += [jacobian[0], jacobian[1]] if spec.trained == "both" else []
        flat = jnp.concatenate([part.reshape(rows, -1) for part in parts], 1)
        return flat @ flat.T

    kernels = jax.lax.map(one, jax.random.split(key, NETWORKS))
    return kernels.mean(0), kernels.std(0) / np.sqrt(NETWORKS)


CASES = [
    (connectivity, readout, trained)
    for connectivity, readout, trained in itertools.product(
        ("full", "local", "shared"), ("positions", "pooled", "sum"), ("readout", "both")
    )
    if not (readout == "sum" and trained == "readout")
]


@pytest.mark.parametrize(("connectivity", "readout", "trained"), CASES)
@pytest.mark.parametrize("activation", ["relu", "lsa"])
def test_wide_networks(connectivity, readout, trained, activation):
    numbers = (("bias", 0.5),) if activation == "lsa" else ()
    field = None if connectivity == "full" else 3
    spec = KernelSpec(connectivity, field, 1, activation, numbers, readout, trained, 1.3, 0.4, 0.9)
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    exact = shallow_kernel(spec, x)
    mean, error = empirical(spec, x, jax.random.key(1))
    # Sixteen entries, ten of them different, in 32 cases: five standard errors.
    assert (np.abs(exact - mean) < 5 * error + 1e-4).all()


def test_with_a_readout_for_every_position_sharing_does_not_show():
    x = np.random.default_rng(1).choice([-1.0, 1.0], (12, 10))
    for trained in ("readout", "both"):
        shared = shallow_kernel(KernelSpec("shared", 4, trained=trained), x)
        np.testing.assert_array_equal(
            shared, shallow_kernel(KernelSpec("local", 4, trained=trained), x)
        )
    pooled = KernelSpec("shared", 4, readout="pooled"), KernelSpec("local", 4, readout="pooled")
    assert np.abs(shallow_kernel(pooled[0], x) - shallow_kernel(pooled[1], x)).max() > 0.1


def test_one_window_is_the_full_network():
    x = np.random.default_rng(2).standard_normal((5, 4, 2))
    np.testing.assert_allclose(
        shallow_kernel(KernelSpec("shared", 4), x), shallow_kernel(KernelSpec("full"), x), rtol=1e-6
    )


def test_blocks_do_not_show(monkeypatch):
    x = np.random.default_rng(3).standard_normal((11, 6))
    whole = shallow_kernel(KernelSpec("shared", 2), x, x[:7])
    monkeypatch.setattr("separatrix.theory.kernels.shallow.BLOCK", 21)
    np.testing.assert_allclose(shallow_kernel(KernelSpec("shared", 2), x, x[:7]), whole, rtol=1e-6)


def test_a_rotation_of_the_input_is_invisible_to_the_full_kernel_only():
    rng = np.random.default_rng(4)
    x, rotation = rng.standard_normal((6, 8)), np.linalg.qr(rng.standard_normal((8, 8)))[0]
    full = shallow_kernel(KernelSpec("full"), x)
    np.testing.assert_allclose(shallow_kernel(KernelSpec("full"), x @ rotation), full, rtol=2e-4)
    local = shallow_kernel(KernelSpec("local", 2), x)
    assert np.abs(shallow_kernel(KernelSpec("local", 2), x @ rotation) - local).max() > 0.01


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: KernelSpec("full", 3), "the `field` of KernelSpec must be None for a full"),
        (lambda: KernelSpec("shared", 3, readout="mean"), "must be one of 'positions'"),
        (
            lambda: KernelSpec("shared", 3, readout="sum", trained="readout"),
            "the `trained` of KernelSpec must be 'both' with the 'sum' readout",
        ),
        (lambda: shallow_kernel(KernelSpec("shared", 9), np.ones((2, 4))), "at most the input's"),
        (lambda: shallow_kernel(KernelSpec("full"), np.ones(4)), "of shape (rows, length) or"),
        (lambda: shallow_kernel(KernelSpec("full"), np.full((2, 2), np.nan)), "must be finite"),
        (
            lambda: shallow_kernel(KernelSpec("full"), np.ones((2, 2)), np.ones((2, 3))),
            "the `others` of shallow_kernel must be of inputs of shape (2, 1)",
        ),
    ],
)
def test_wrong_input_gets_one_sentence(make, sentence):
    with pytest.raises(SeparatrixError) as caught:
        make()
    assert sentence in str(caught.value)


def test_a_matrix_beyond_memory_is_one_sentence():
    words = "a kernel matrix of 50000 x 50000 numbers is too large .* ask for blocks of it"
    with pytest.raises(SeparatrixError, match=words):
        shallow_kernel(KernelSpec("full"), np.ones((50_000, 2), np.float32))


def test_half_of_a_symmetric_matrix_is_enough():
    rows = 1500  # more than one tile, and the last one overlaps
    x = np.random.default_rng(rows).choice([-1.0, 1.0], (rows, 4)).astype(np.float32)
    spec = KernelSpec("shared", 2, readout="pooled", bias_scale=1.0)
    half, whole = shallow_kernel(spec, x), shallow_kernel(spec, x, x)
    np.testing.assert_allclose(half, whole, rtol=1e-5)
    np.testing.assert_allclose(half, half.T, rtol=1e-5)  # blocks on the diagonal round twice
