"""What the tests of the kernels share: tilings, tolerances, and derivatives with and without
kernels.
"""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.learners import Rows, empirical_loss
from separatrix.networks.kernels import fused, lowering, streaming
from separatrix.networks.kernels.streaming import Share
from separatrix.networks.kernels.warps import divisor

# Units, columns and steps ahead, forward and backward; as many units as divide what there is.
SHARES = [
    (Share(8, 2, 3), Share(4, 3, 2)),
    (Share(2, 1, 1), Share(1, 1, 4)),
    (Share(32, 3, 2), Share(32, 10, 1)),
    (Share(5, 4, 5), Share(5, 2, 3)),
    (Share(4, 1, 8), Share(2, 30, 1)),
    None,
]
# Float32 keeps 6e-8 of a number. Outputs, gradients and products here are sums of at most about
# 20,000 terms (75 rows, 9 windows, 5 filters, 6 numbers), of either sign and in another order: 1e-5
# of the largest entry is 170 such roundings, about the square root of that many terms; a row, a
# unit or a number left out or counted twice is more than a thousandth.
TOLERANCE = 1e-5


def tiling_with(shares, weights, patches, own=streaming.tiling_of):
    """The tiling with these shares, as far as they divide the sizes; with None, the package's."""
    tiling = own(weights, patches)
    if shares is None:
        return tiling
    forward, backward = shares
    forward = forward._replace(units=divisor(tiling.width, forward.units))
    units = divisor(forward.units, backward.units)
    numbers = backward.columns if tiling.long else divisor(tiling.span, backward.columns)
    backward = backward._replace(units=units, columns=numbers)
    return tiling._replace(forward=forward, backward=backward)


@contextlib.contextmanager
def tiled(shares, kernels=True):
    """Within, kernels with these shares are used for every network, or none are."""
    with pytest.MonkeyPatch.context() as patch, lowering(kernels, full_kernels=kernels):
        patch.setattr(fused, "LEAST_UNITS", 1)
        patch.setattr(
            streaming, "tiling_of", lambda weights, patches: tiling_with(shares, weights, patches)
        )
        yield


def close(measured, expected, tolerance=TOLERANCE):
    """Assert that all arrays agree up to a share of their largest entry."""
    for one, other in zip(jax.tree.leaves(measured), jax.tree.leaves(expected), strict=True):
        largest = max(float(np.abs(other).max()), 1e-3)
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * largest)


def normals(rng, *sizes):
    """Normal numbers in float32, an array for each size."""
    return [jnp.asarray(rng.standard_normal(size), jnp.float32) for size in sizes]


def derivatives(kernels, shares, network, shape, params, along, x, y, within=None):
    """Scores, gradient and a Hessian-vector product of the training loss, linearised as the
    sharpness probe does.
    """
    layout, learner = network.layout(shape, within), sx.Learner(0.1, 1, "squared")
    rows = Rows(layout.cut(x), y, jnp.full(len(y), 1 / len(y), x.dtype))
    with tiled(shares, kernels):
        gradient, product = jax.linearize(
            jax.grad(lambda p: empirical_loss(learner, network, layout, p, rows)), params
        )
        return network.scores(params, rows.patches, layout), gradient, product(along)


def trial_below_the_edge():
    """A short trial whose training is stable, so that rounding errors do not grow."""
    task = sx.SphereTask(dimension=10, patch=5, noise=0.5)
    network = sx.CNN(5, 8, stride=5, readout="pooled", offset=True)
    return sx.Trial(
        task,
        network,
        sx.Learner(0.1, 30, "squared"),
        samples=12,
        measure=sx.Measure(("sharpness",), test=16),
    )
