"""The fused kernels, interpreted, against the unfused implementation: outputs, gradients, second
derivatives, batches of trials.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from kernel_cases import SHARES, close, derivatives, normals, tiled, tiling_with
from separatrix.networks import Frame
from separatrix.networks.kernels import fused

ACTIVATIONS = [sx.ReLU(), sx.ClippedReLU(0.7), sx.Tanh(), sx.LSA(0.4)]
NETWORKS = {  # the input's shape; widths, windows and rows that no tile divides
    "shared": (sx.CNN(3, 5), (8, 1)),
    "shared, channels": (sx.CNN(2, 5), (6, 3)),
    "shared, images": (sx.CNN(3, 5, stride=2), (7, 7, 1)),
    "shared, one number": (sx.CNN(1, 1), (3, 1)),
    "grouped": (sx.CNN(3, 5, groups=2), (8, 1)),
    "local": (sx.LCN(3, 6), (8, 1)),
}
ROWS = 75  # tiles and rounds of 32, the last not full


def drawn(network, shape, rng):
    """Normal numbers in place of all parameters."""
    shapes = jax.eval_shape(lambda key: network.init(key, shape), jax.random.key(0))
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape), jnp.float32), shapes
    )


@pytest.mark.parametrize("which", NETWORKS)
def test_outputs_gradients_and_hessian_products_are_those_of_the_unfused_implementation(which):
    plain, shape = NETWORKS[which]
    rng = np.random.default_rng(0)
    x, y = normals(rng, (ROWS, *shape), ROWS)
    options = zip(
        itertools.cycle(ACTIVATIONS),
        itertools.cycle(["positions", "pooled", "sum"]),
        itertools.cycle([True, False]),
        SHARES,
    )
    cases = []
    for activation, readout, bias, shares in options:
        network = plain.replace(
            activation=activation, readout=readout, bias=bias, offset=readout == "pooled"
        )
        cases.append((network, shares, drawn(network, shape, rng), drawn(network, shape, rng)))

    def of_all(vectors, in_kernels):
        return [
            derivatives(in_kernels, shares, network, shape, *pair, x, y)
            for (network, shares, *_), pair in zip(cases, vectors)
        ]

    vectors = [case[2:] for case in cases]  # parameters and a direction
    close(
        jax.jit(lambda vectors: of_all(vectors, True))(vectors),
        jax.jit(lambda vectors: of_all(vectors, False))(vectors),
    )


# Groups, positions, units, numbers of a window, rows, bias: short windows and long ones, rows that
# are summed in one part and in several.
SIZES = [
    (1, 3, 5, 4, 75, True),
    (2, 2, 20, 20, 64, False),
    (2, 2, 6, 49, 192, True),
    (1, 1, 20, 140, 100, True),
    (1, 2, 6, 150, 2100, False),
]


@pytest.mark.parametrize("activation", [jax.nn.relu, jnp.tanh])
@pytest.mark.parametrize(
    ("shares", "sizes"),
    [*itertools.product(SHARES, SIZES[:2]), *itertools.product(SHARES[::2], SIZES[2:])],
)
def test_kernels_are_the_unfused_function(activation, shares, sizes):
    (groups, positions, width, span, rows, bias), rng = sizes, np.random.default_rng(1)
    sizes = (groups, width, span), (groups, width), (positions, width), (positions, span, rows)
    weights, shift, coefficients, patches, cotangent = normals(rng, *sizes, rows)
    operands = weights, shift if bias else None, coefficients, patches
    with jax.default_matmul_precision("float32"):
        expected, backward = jax.vjp(lambda *p: fused.unfused(activation, *p), *operands)
    tiling = tiling_with(shares, weights, patches)
    measured, backward_fused = jax.vjp(
        lambda *p: fused.outputs(*p, activation, tiling=tiling), *operands
    )
    close((measured, backward_fused(cotangent)), (expected, backward(cotangent)))


def test_a_subclass_of_a_rectifier_is_not_taken_for_one():
    class Softer(sx.ReLU):
        """Half of it."""

        def __call__(self, z):
            return 0.5 * super().__call__(z) + z

    weights, *rest = [jnp.ones(size) for size in ((1, 3, 4), (1, 3), (2, 3), (2, 4, 40))]
    gradient = jax.grad(lambda w: fused.outputs(w, *rest, Softer()).sum())(weights)
    close(gradient, jax.grad(lambda w: fused.unfused(Softer(), w, *rest).sum())(weights))


def test_the_activations_numbers_have_gradients():
    rng = np.random.default_rng(2)
    operands = normals(rng, (1, 3, 4), (1, 3), (2, 3), (2, 4, 40))
    gradient = jax.grad(lambda function: fused.outputs(*operands, function).sum())(sx.LSA(0.4))
    close(
        gradient, jax.grad(lambda function: fused.unfused(function, *operands).sum())(sx.LSA(0.4))
    )


@pytest.mark.parametrize("name", ["CNN", "LCN"])
def test_a_padded_batch_of_trials_is_each_of_them_and_padding_has_no_gradient(name):
    network = {
        "CNN": sx.CNN(2, 3, readout="pooled", offset=True),
        "LCN": sx.LCN(2, 3, activation=sx.Tanh()),
    }[name]
    shape, frame = (5, 3), Frame((8, 4), 5)
    rng = np.random.default_rng(3)
    x = np.zeros((3, 40, *frame.shape), np.float32)
    x[:, :, :5, :3] = rng.standard_normal((3, 40, *shape))
    y = jnp.asarray(rng.standard_normal((3, 40)), jnp.float32)
    params = jax.vmap(lambda key: network.init(key, shape, frame))(
        jax.random.split(jax.random.key(0), 3)
    )

    def one(kernels):
        return jax.jit(
            jax.vmap(
                lambda p, x, y: derivatives(kernels, SHARES[0], network, shape, p, p, x, y, frame)
            )
        )

    in_kernels = one(True)(params, jnp.asarray(x), y)
    close(in_kernels, one(False)(params, jnp.asarray(x), y))
    units = np.asarray(network.layout(shape, frame).units)
    gradient = np.asarray(in_kernels[1].weights)
    assert not gradient[:, units[: gradient.shape[1]] == 0].any()


def test_units_are_not_saved_for_the_backward_pass():
    network, shape, rows = sx.CNN(3, 7, readout="pooled"), (8, 1), 33
    layout, params = network.layout(shape), network.init(jax.random.key(0), shape)
    patches = layout.cut(jnp.ones((rows, *shape)))
    with tiled(None):
        backward = jax.vjp(lambda p: network.scores(p, patches, layout), params)[1]
    assert (
        max(leaf.size for leaf in jax.tree.leaves(backward))
        <= patches.by_span.size
        < rows * layout.windows.positions * 7
    )
