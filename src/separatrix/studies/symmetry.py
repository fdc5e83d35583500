"""Symmetries: whether training commutes with transforming the inputs, as a number.

A network with a learner is equivariant under a group when training on transformed data from a
transformed start gives the transformed predictor. The gap is the relative distance between the two
predictors on fresh inputs: rounding error for an equivariant pair, of order one for others. Gaps
are measured in float64. In float32, rounding sometimes moves a row across a kink of the activation
and the gradient jumps: at the full scale's sizes, gradient descent on the FCN would then seem to
break its symmetry (a median gap of .2).
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from separatrix.errors import ParameterError, check_choice, check_integer
from separatrix.learners import Learner, Rows, descend, empirical_loss, network_at
from separatrix.networks import Network, Params
from separatrix.streams import named
from separatrix.tasks import Task

GROUPS = {
    "orthogonal": "all orthogonal maps of the input, O(kd)",
    "permutation": "permutations of all coordinates",
    "patchwise": "an orthogonal map in each patch, and permutations of patches",
    "shared": "one orthogonal map for all patches",
}
# Which groups act on a network's weights. Under other groups the start stays as it is, and the gap
# shows the difference.
ACTS = {"full": set(GROUPS), "local": {"patchwise", "shared"}, "shared": {"shared"}}
EQUIVARIANT = 0.01  # rounding stays far below, a broken symmetry is far above


def draw_element(group: str, patches: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
    """A random element of a group, as an orthogonal matrix on the whole input.

    >>> q = draw_element("patchwise", 3, 2, np.random.default_rng(0))
    >>> bool(np.allclose(q @ q.T, np.eye(6)))
    True
    """
    check_choice("draw_element", "group", group, GROUPS)

    def haar(size: int) -> np.ndarray:
        q, r = np.linalg.qr(rng.standard_normal((size, size)))
        return q * np.sign(np.diag(r))

    size = patches * dimension
    if group == "orthogonal":
        return haar(size)
    if group == "permutation":
        return np.eye(size)[rng.permutation(size)]
    if group == "shared":
        return np.kron(np.eye(patches), haar(dimension))
    out, order = np.zeros((size, size)), rng.permutation(patches)
    for target, source in enumerate(order):
        out[
            target * dimension : (target + 1) * dimension,
            source * dimension : (source + 1) * dimension,
        ] = haar(dimension)
    return out


def transform_params(network: Network, params: Params, element: np.ndarray, group: str) -> Params:
    """The start for transformed inputs: every unit's weights are moved by the same map, where the
    group acts on them.

    >>> from separatrix.networks import FCN
    >>> params = Params(jnp.ones((1, 2, 4)))
    >>> transform_params(FCN(width=2), params, np.eye(4), "orthogonal").weights.shape
    (1, 2, 4)
    """
    if group not in ACTS[network.connectivity]:
        return params
    layer = params.only_layer
    groups, _, span = layer.weights.shape
    q = jnp.asarray(element, layer.weights.dtype)
    if network.connectivity == "full":
        return params._replace(weights=layer.weights @ q.T)
    if network.connectivity == "shared":
        return params._replace(weights=layer.weights @ q[:span, :span].T)
    # Axes: to patch, to coordinate, from patch, from coordinate
    blocks = q.reshape(groups, span, groups, span)
    moved = params._replace(weights=jnp.einsum("asbt,bft->afs", blocks, layer.weights))
    # The patch that each patch came from: its units come along.
    order = jnp.argmax(jnp.square(blocks).sum((1, 3)), axis=1)
    if layer.bias is not None:
        moved = moved._replace(bias=layer.bias[order])
    return (
        moved
        if params.readout is None or network.readout == "pooled"
        else moved._replace(readout=params.readout[order])
    )


def trained_scores(
    network: Network, learner: Learner, shape: tuple[int, int]
) -> Callable[..., Any]:
    """A compiled function from a start, training data and test inputs to the trained network's
    scores on the test inputs.

    >>> from separatrix.networks import CNN
    >>> network = CNN(field=1)
    >>> train = trained_scores(network, Learner(rate=0.1, steps=2), (3, 2))
    >>> x = jnp.ones((5, 3, 2))
    >>> train(network.init(jax.random.key(0), (3, 2)), x, jnp.ones(5), x).shape
    (5,)
    """
    layout = network.layout(shape)

    @jax.jit
    def train(params: Params, x: Any, y: Any, test: Any) -> Any:
        rows = Rows(layout.cut(x), y, jnp.full(len(y), 1.0 / len(y)))

        def loss(now: Params, step: Any) -> dict[str, Any]:
            return {
                "loss": empirical_loss(
                    learner, network_at(learner, network, step), layout, now, rows
                ),
                "risk": jnp.zeros(()),
            }

        run = descend(learner, network, layout, params, lambda step: rows, loss, [0, learner.steps])
        return network.scores(run.params, layout.cut(test), layout)

    return train


def equivariance_gaps(
    task: Task,
    network: Network,
    learner: Learner,
    samples: int,
    seeds: Iterable[int],
    groups: Iterable[str] = tuple(GROUPS),
    test: int = 512,
) -> dict[str, list[float]]:
    """The equivariance gap of a network with a learner under each group, once for every seed.

    Args:
        task: a task with inputs of shape (patches, channels).
        network: fully connected, or local or shared with `field=1`, one patch at a time.
        learner: one that uses the whole training set at each step.
        samples: the rows of a training set.
        seeds: the seeds; each draws a training set, a start and an element of each group.
        groups: names among `GROUPS`.
        test: the fresh rows on which the two predictors are compared.

    Returns:
        For each group the relative gaps, one per seed.

    Raises:
        ParameterError: the task, the network or the learner does not fit.

    >>> import separatrix as sx
    >>> task, learner = sx.SignalTask(3, 2, 0.3), sx.Learner(rate=0.5, steps=5)
    >>> gaps = equivariance_gaps(task, sx.FCN(width=3), learner, samples=30, seeds=[0])
    >>> gaps["orthogonal"][0] < EQUIVARIANT < gaps["shared"][0] + 1
    True
    """
    check_integer("equivariance_gaps", "samples", samples, 1)
    names = list(groups)
    for name in names:
        check_choice("equivariance_gaps", "groups", name, GROUPS)
    if len(task.shape) != 2:
        raise ParameterError(
            "equivariance_gaps", "task", "one whose inputs are (patches, channels)", task.shape
        )
    if network.connectivity != "full" and network.field not in (1, (1,)):
        raise ParameterError(
            "equivariance_gaps",
            "network",
            "fully connected or with field 1, a patch at a time",
            network.field,
        )
    if learner.oracle != "empirical" or learner.batch:
        raise ParameterError(
            "equivariance_gaps",
            "learner",
            "one that uses the whole training set at each step",
            learner.oracle,
        )
    with jax.enable_x64(True):
        return _gaps(task, network, learner, samples, seeds, names, test)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _draw(task: Task, network: Network, samples: int, test: int, key: Any) -> Any:
    """Training rows, test inputs and a start, in one program: operation by operation they would be
    dozens.
    """
    truth = task.truth(named(key, "truth"))
    rows = task.draw(named(key, "train"), samples, truth)
    fresh = task.draw(named(key, "test"), test, truth).x
    return rows.x, rows.y, fresh, network.init(named(key, "init"), task.shape)


def _gaps(
    task: Task,
    network: Network,
    learner: Learner,
    samples: int,
    seeds: Iterable[int],
    names: list[str],
    test: int,
) -> dict[str, list[float]]:
    patches, dimension = task.shape
    train = trained_scores(network, learner, (patches, dimension))
    gaps: dict[str, list[float]] = {name: [] for name in names}
    for seed in seeds:
        drawn = _draw(task, network, samples, test, jax.random.key(seed))
        x, y, fresh, start = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), drawn)
        plain = train(start, x, y, fresh)
        for name in names:
            element = draw_element(
                name, patches, dimension, np.random.default_rng([seed, list(GROUPS).index(name)])
            )
            q = jnp.asarray(element, x.dtype)

            def moved(inputs: Any, q: Any = q) -> Any:
                return (inputs.reshape(len(inputs), -1) @ q.T).reshape(inputs.shape)

            turned = train(
                transform_params(network, start, element, name), moved(x), y, moved(fresh)
            )
            # Networks that answer 0 everywhere on both sides agree.
            size = jnp.maximum(jnp.maximum(jnp.linalg.norm(plain), jnp.linalg.norm(turned)), 1e-30)
            gaps[name].append(float(jnp.linalg.norm(turned - plain) / size))
    return gaps
