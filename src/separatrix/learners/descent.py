"""Gradient descent as one compiled loop: steps, measurements, and the decision when to stop."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError
from separatrix.learners.clipping import Clipped, clipping
from separatrix.learners.learner import Learner, network_at
from separatrix.learners.losses import LOSSES
from separatrix.learners.stopping import Status, Stop, edge_step
from separatrix.networks import Layout, Network, Params, Patches
from separatrix.streams import draw, normal, numbered


class Rows(NamedTuple):
    """The rows of one gradient, cut into patches, with weights that sum to 1.

    `clean` are the noiseless labels of a regression.
    """

    patches: Patches
    y: Float[Array, " rows"]
    weight: Float[Array, " rows"]
    clean: Float[Array, " rows"] | None = None


class Run(NamedTuple):
    """What a learner leaves behind: final parameters, status, steps taken, and the measurements at
    each time.

    `edge` is the first measured step at which the sharpness was at the edge of stability (-1:
    never). `clipped` counts what clipping did; it is None for a learner that does not clip.
    """

    params: Params
    status: Any
    steps: Any
    trace: dict[str, Array]
    edge: Any = -1
    clipped: Clipped | None = None


class Training(NamedTuple):
    """What stays the same while a network trains."""

    learner: Learner
    network: Network
    layout: Layout
    start: Params
    rows_at: Callable[[Any], Rows]  # the rows of a step's gradient
    measure: Callable[..., Any]
    optimizer: optax.GradientTransformation
    round_steps: int  # steps per round of the inner loop
    noise_key: Any = None  # of the noise on gradients, for a learner that has some


class Carry(NamedTuple):
    """What changes from one measurement to the next."""

    moving: dict[str, Any]  # the parts that training changes
    optimizer_state: Any
    status: Any
    steps: Any  # steps taken
    best: Any  # the lowest loss measured
    stale: Any  # measurements since the loss last improved
    edge: Any  # the first measured step at the edge of stability, or -1
    memory: Any  # what probes remember from one measurement to the next


def empirical_loss(
    learner: Learner, network: Network, layout: Layout, params: Params, rows: Rows
) -> Float[Array, ""]:
    """The weighted mean loss of a network on rows.

    >>> import jax, jax.numpy as jnp
    >>> from separatrix.networks import FCN, Params
    >>> network, layout = FCN(width=1), FCN(width=1).layout((2, 1))
    >>> rows = Rows(layout.cut(jnp.ones((4, 2, 1))), jnp.ones(4), jnp.full(4, 0.25))
    >>> params = Params(jnp.zeros((1, 1, 2)), jnp.zeros((1, 1)), jnp.zeros((1, 1)))
    >>> round(float(empirical_loss(Learner(rate=1.0, steps=1), network, layout, params, rows)), 4)
    0.6931
    """
    return rows.weight @ LOSSES[learner.loss](network.scores(params, rows.patches, layout), rows.y)


def project(params: Params, projection: str) -> Params:
    """Bring each hidden unit's weights into the unit ball or onto the unit sphere.

    >>> import jax.numpy as jnp
    >>> project(Params(jnp.full((1, 1, 4), 2.0)), "ball").weights.tolist()
    [[[0.5, 0.5, 0.5, 0.5]]]
    """
    if projection == "none":
        return params

    def bring(weights: Array) -> Array:
        norm = jnp.linalg.norm(weights, axis=-1, keepdims=True)
        safe = jnp.where(norm > 0, norm, 1.0)
        return weights / (jnp.maximum(safe, 1.0) if projection == "ball" else safe)

    return params._replace(weights=jax.tree.map(bring, params.weights))


def shrink(params: Params, amount: Any) -> Params:
    """Bring hidden weights nearer to 0 by `amount`, and no further: the proximal step of an ℓ1
    penalty.

    >>> import jax.numpy as jnp
    >>> shrink(Params(jnp.array([[[2.0, -0.5, -3.0]]])), 1.0).weights.tolist()
    [[[1.0, 0.0, -2.0]]]
    """

    def nearer(weights: Array) -> Array:
        return weights - jnp.clip(weights, -amount, amount)

    return params._replace(weights=jax.tree.map(nearer, params.weights))


def descend(
    learner: Learner,
    network: Network,
    layout: Layout,
    params: Params,
    rows_at: Callable[[Any], Rows],
    measure: Callable[..., Any],
    times: Any,
    memory: Any = None,
    noise_key: Any = None,
) -> Run:
    """Train a network in one compiled loop; nothing returns to Python before the trial has ended.

    Args:
        learner: how to train, and when to stop.
        network: the network.
        layout: its layout over the inputs.
        params: its parameters before training.
        rows_at: the rows of the gradient, as a function of the step.
        measure: `measure(params, step)` gives scalars by name, among them `loss` and the metric of
            the learner's stop. With a `memory`, `measure(params, step, memory)` gives the scalars
            and the memory for its next call.
        times: the steps at which to measure, ascending, the first being 0.
        memory: what the first measurement remembers, or None.
        noise_key: the random key of the noise on gradients; only a learner with `gradient_noise`
            needs one.

    Returns:
        The final parameters, how the run ended, and the measurements. Traces have one entry per
        time; those after the end are NaN, and their step is -1.

    Raises:
        SeparatrixError: the network has none of the parts that the learner trains, or noise on
            gradients has no key.

    >>> import jax.numpy as jnp
    >>> from separatrix.networks import FCN, Params
    >>> learner, network = Learner(rate=1.0, steps=4), FCN(width=1, readout="sum", bias=False)
    >>> layout = network.layout((1, 1))
    >>> rows = Rows(layout.cut(jnp.ones((2, 1, 1))), jnp.ones(2), jnp.full(2, 0.5))
    >>> def measure(params, step):
    ...     return {"loss": empirical_loss(learner, network, layout, params, rows)}
    >>> start = Params(jnp.ones((1, 1, 1)))
    >>> run = descend(learner, network, layout, start, lambda step: rows, measure, times=[0, 2, 4])
    >>> int(run.steps), run.trace["step"].tolist()
    (4, [0, 2, 4])
    >>> bool(run.trace["loss"][2] < run.trace["loss"][0])
    True
    """
    moving = learner.trained_parts(params)
    if not moving:
        raise SeparatrixError(
            f"nothing to train: the network has none of the parts {', '.join(learner.train)}"
        )
    if learner.gradient_noise is not None and noise_key is None:
        raise SeparatrixError("a learner with `gradient_noise` needs a `noise_key` to descend")
    optimizer = learner.transformation()
    training = Training(
        learner=learner,
        network=network,
        layout=layout,
        start=params,
        rows_at=rows_at,
        measure=measure,
        optimizer=optimizer,
        round_steps=_common_divisor(times),
        noise_key=noise_key,
    )
    times = jnp.asarray(times, jnp.int32)
    bounds = jnp.stack([jnp.concatenate([times[:1] * 0, times[:-1]]), times], 1)
    first = Carry(
        moving=moving,
        optimizer_state=optimizer.init(moving),
        status=jnp.asarray(Status.RUNNING, jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        best=jnp.asarray(jnp.inf, jnp.result_type(*jax.tree.leaves(moving))),
        stale=jnp.asarray(0, jnp.int32),
        edge=jnp.asarray(-1, jnp.int32),
        memory=memory,
    )
    last, (trace, step) = jax.lax.scan(functools.partial(_segment, training), first, bounds)
    return Run(
        params=params._replace(**last.moving),
        status=last.status,
        steps=last.steps,
        trace=trace | {"step": step},
        edge=last.edge,
        clipped=clipping(last.optimizer_state),
    )


def _common_divisor(times: Any) -> int:
    """The largest number of steps that divides the time between any two measurements."""
    return max(1, math.gcd(*map(int, np.diff(times))))


def _segment(training: Training, carry: Carry, bounds: Any) -> Any:
    """From one measurement to the next, if the run has not ended."""
    running = carry.status == Status.RUNNING

    # A loop of at most one round and not a condition: in a batch, a condition copies for each
    # trial what all of them share.
    def once(state: Any) -> Any:
        return jnp.zeros_like(running), *_train_and_measure(training, state[1], bounds)

    unmeasured = _blank_measurements(training, carry, bounds[1])
    _, after, measured = jax.lax.while_loop(
        lambda state: state[0], once, (running, carry, unmeasured)
    )
    return after, (measured, jnp.where(running, bounds[1], -1))


def _train_and_measure(training: Training, carry: Carry, bounds: Any) -> tuple[Carry, Any]:
    """The steps between two measurements, and the second of them."""
    learner = training.learner
    # In a batch both branches of a condition run; an empty range is what stops the work of trials
    # that have ended.
    rounds = jnp.where(
        carry.status == Status.RUNNING, (bounds[1] - bounds[0]) // training.round_steps, 0
    )
    moving, optimizer_state = jax.lax.fori_loop(
        0,
        rounds,
        functools.partial(_advance_round, training, bounds[0]),
        (carry.moving, carry.optimizer_state),
    )
    measured, memory = _measure(
        training, training.start._replace(**moving), bounds[1], carry.memory
    )
    # A share of a negative loss (the correlation's) makes it smaller still.
    share = 0.0 if learner.stop.plateau is None else learner.stop.plateau
    improved = measured["loss"] < carry.best * (1.0 - share * jnp.sign(carry.best))
    stale = jnp.where(improved, 0, carry.stale + 1)
    edge = carry.edge
    if "sharpness" in measured and learner.edge_rate is not None:
        edge = edge_step(
            edge, bounds[1], measured["sharpness"], learner.edge_rate, learner.stop.edge_tolerance
        )
    done = bounds[1] >= learner.steps
    if learner.stop.after_edge is not None:
        done = done | ((edge >= 0) & (bounds[1] >= edge + learner.stop.after_edge))
    after = Carry(
        moving=moving,
        optimizer_state=optimizer_state,
        status=_status(learner.stop, measured, stale, done),
        steps=bounds[1],
        best=jnp.minimum(carry.best, measured["loss"]),
        stale=stale,
        edge=edge,
        memory=memory,
    )
    return after, measured


def _advance_round(training: Training, first: Any, index: Any, state: Any) -> Any:
    """A round of a fixed number of steps.

    A GPU asks the host after each round of a loop of unknown length whether to go on, and a batch
    of such loops copies all parameters each time.
    """
    steps = training.round_steps
    return jax.lax.fori_loop(
        0, steps, lambda i, now: _advance(training, first + index * steps + i, now), state
    )


def _advance(training: Training, step: Any, state: Any) -> Any:
    """One step: gradient, update, shrinking, projection."""
    learner = training.learner
    moving, optimizer_state = state
    gradient = _answer(training, step, jax.grad(functools.partial(_loss, training))(moving, step))
    updates, optimizer_state = training.optimizer.update(gradient, optimizer_state, moving)
    stepped: Any = optax.apply_updates(moving, updates)
    moved = training.start._replace(**stepped)
    if "weights" in moving:
        if learner.sparsity is not None:
            moved = shrink(moved, learner.rate(step, learner.steps) * learner.sparsity)
        moved = project(moved, learner.projection)
    return {part: getattr(moved, part) for part in moving}, optimizer_state


def _answer(training: Training, step: Any, gradient: Any) -> Any:
    """The gradient as the learner's oracle gives it: rounded, and with noise."""
    learner = training.learner
    if learner.gradient_precision != "float32":
        kind = jnp.dtype(learner.gradient_precision)
        gradient = jax.tree.map(lambda part: part.astype(kind).astype(part.dtype), gradient)
    if learner.gradient_noise is None:
        return gradient
    key = numbered(training.noise_key, step)
    leaves, tree = jax.tree.flatten(gradient)
    noisy = [
        leaf + learner.gradient_noise * draw(normal, numbered(key, place), leaf.shape)
        for place, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(tree, noisy)


def _loss(training: Training, moving: dict[str, Any], step: Any) -> Float[Array, ""]:
    return empirical_loss(
        training.learner,
        network_at(training.learner, training.network, step),
        training.layout,
        training.start._replace(**moving),
        training.rows_at(step),
    )


def _measure(training: Training, params: Params, step: Any, memory: Any) -> Any:
    if memory is None:
        return training.measure(params, step), None
    return training.measure(params, step, memory)


def _blank_measurements(training: Training, carry: Carry, step: Any) -> Any:
    """NaN for every number that a measurement would give."""
    measure = functools.partial(_measure, training)
    shapes, _ = jax.eval_shape(measure, training.start, step, carry.memory)
    return jax.tree.map(lambda leaf: jnp.full(leaf.shape, jnp.nan, leaf.dtype), shapes)


def _status(stop: Stop, measured: dict[str, Array], stale: Any, last: Any) -> Any:
    status = jnp.where(last, Status.EXHAUSTED, Status.RUNNING)
    if stop.plateau is not None:
        status = jnp.where(stale >= stop.patience, Status.EXHAUSTED, status)
    if stop.target is not None:
        status = jnp.where(measured[stop.metric] <= stop.target, Status.REACHED, status)
    status = jnp.where(measured["loss"] > stop.ceiling, Status.DIVERGED, status)
    finite = jnp.isfinite(measured["loss"])
    return jnp.where(finite, status, Status.NON_FINITE).astype(jnp.int32)
