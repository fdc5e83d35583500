"""Learners: how a network's parameters follow the gradient."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.learners.edge import Clipped, clipping, counted_clip, edge_step
from separatrix.learners.losses import LOSSES
from separatrix.learners.schedules import Constant, Schedule, Stages, as_schedule
from separatrix.learners.stopping import Status, Stop
from separatrix.networks import Layout, Network, Params, Patches
from separatrix.spec import Spec, choice, rounded_constant, static, value


class Learner(Spec):
    """Loss, gradient oracle, optimizer, projection and stopping, as plain values.

    `oracle` is where gradients come from: "empirical" (a fixed training set; whole, or `batch` rows
    of it drawn anew at each step), "online" (`batch` fresh rows at each step) or "population"
    (every input with its probability). `optimizer` is the name of any optax optimizer, `options`
    its further arguments as pairs. `projection` brings every hidden unit's weights back into the
    unit "ball" or onto the unit "sphere" after each step. `lsa_bias` is a schedule for the bias of
    an LSA activation during training; risks are always measured with the network's own. `train`
    names the parts that training may change. `clip` bounds the norm of the gradient; a trial
    reports on how many steps it acted. `sparsity` λ adds an ℓ1 penalty on hidden weights by its
    proximal step: after each step, weights shrink towards 0 by rate·λ and stay there.

    >>> Learner(rate=3.0, steps=200).loss
    'logistic'
    >>> Learner(rate=3.0, steps=0)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `steps` of Learner must be an integer >= 1, got 0
    """

    rate: Schedule = eqx.field(converter=as_schedule)
    steps: int = static(low=1)
    loss: str = choice(*LOSSES, default="logistic")
    oracle: str = choice("empirical", "online", "population", default="empirical")
    batch: int = static(low=0, default=0)
    optimizer: str = static(default="sgd")
    options: tuple[tuple[str, float], ...] = static(default=())
    projection: str = choice("none", "ball", "sphere", default="none")
    lsa_bias: Schedule | None = eqx.field(converter=as_schedule, default=None)
    train: tuple[str, ...] = static(default=("weights", "bias", "readout", "offset"))
    stop: Stop = Stop()
    clip: float | None = value(low=0, open_low=True, default=None)
    sparsity: float | None = value(low=0, default=None)

    def check(self) -> None:
        if self.oracle == "online" and self.batch < 1:
            raise ParameterError("Learner", "batch", "at least 1 for the online oracle", self.batch)
        if self.oracle == "population" and self.batch:
            raise ParameterError("Learner", "batch", "0 for the population oracle", self.batch)
        for part in self.train:
            if part not in Params._fields:
                raise ParameterError(
                    "Learner", "train", f"parts among {', '.join(Params._fields)}", part
                )
        if not self.train:
            raise ParameterError("Learner", "train", "at least one part of the network", self.train)
        if self.stop.after_edge is not None and self.edge_rate is None:
            raise ParameterError(
                "Stop",
                "after_edge",
                "None unless the learner is sgd with a constant rate",
                self.stop.after_edge,
            )
        if not _runs(self.optimizer, self.options):
            given = (self.optimizer, self.options)
            raise ParameterError(
                "Learner",
                "optimizer",
                "an optax optimizer of gradients alone with options that it knows",
                given,
            )

    def transformation(self) -> optax.GradientTransformation:
        """The optax transformation of this learner."""
        rate = (
            self.rate.level
            if isinstance(self.rate, Constant)
            else (lambda step: self.rate(step, self.steps))
        )
        made = getattr(optax, self.optimizer)(learning_rate=rate, **dict(self.options))
        return made if self.clip is None else optax.chain(counted_clip(self.clip), made)

    @property
    def edge_rate(self) -> Any:
        """The step size η whose edge of stability is 2/η; None where the learner is not plain
        gradient descent with a constant rate.
        """
        plain = self.optimizer == "sgd" and not self.options
        return self.rate.level if plain and isinstance(self.rate, Constant) else None


@functools.lru_cache(maxsize=128)
def _runs(optimizer: Any, options: Any) -> bool:
    """Whether optax has this optimizer, it takes these options, and it makes a step from a gradient
    (abstractly: nothing is computed).
    """

    def step(moving: Array) -> Any:
        made = getattr(optax, optimizer)(learning_rate=1.0, **dict(options))
        return made.update(moving, made.init(moving), moving)[0]

    try:
        return jax.eval_shape(step, jnp.ones(2)).shape == (2,)
    # Whatever a third party's function makes of a wrong option, the learner's sentence is the same
    except Exception:
        return False


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
    never), `clipped` what clipping did, where the learner clips.

    >>> Run(params=None, status=0, steps=3, trace={}).steps
    3
    """

    params: Params
    status: Any
    steps: Any
    trace: dict[str, Array]
    edge: Any = -1
    clipped: Clipped | None = None


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


def network_at(learner: Learner, network: Network, step: Any) -> Network:
    """The network as it is trained at `step`: with the learner's LSA bias where the learner
    schedules one.

    >>> from separatrix.networks import CNN, LSA
    >>> from separatrix.learners import Ramp
    >>> learner = Learner(rate=1.0, steps=10, lsa_bias=Ramp(0.0, 0.5))
    >>> float(network_at(learner, CNN(field=1, activation=LSA(0.5)), 0).activation.bias)
    0.0
    """
    return (
        network
        if learner.lsa_bias is None
        else network.with_activation_bias(learner.lsa_bias(step, learner.steps))
    )


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
) -> Run:
    """Train, measuring at each of `times` (steps, ascending, the first being 0); stop as the
    learner's `stop` says.

    `rows_at(step)` gives the rows of a step's gradient; `measure(params, step)` returns scalars,
    among them `loss` and the metric of the stop. Where a `memory` is given, `measure(params, step,
    memory)` returns the scalars and the memory for its next call. Everything is one compiled loop:
    nothing returns to Python before the trial has ended.

    >>> import jax.numpy as jnp
    >>> from separatrix.networks import FCN, Params
    >>> learner, network = Learner(rate=1.0, steps=4), FCN(width=1, readout="sum", bias=False)
    >>> layout = network.layout((1, 1))
    >>> rows = Rows(layout.cut(jnp.ones((2, 1, 1))), jnp.ones(2), jnp.full(2, 0.5))
    >>> def measure(params, step):
    ...     return {"loss": empirical_loss(learner, network, layout, params, rows)}
    >>> run = descend(learner, network, layout, Params(jnp.ones((1, 1, 1))), lambda step: rows, measure, times=[0, 2, 4])
    >>> int(run.steps), run.trace["step"].tolist(), bool(run.trace["loss"][2] < run.trace["loss"][0])
    (4, [0, 2, 4], True)
    """
    train = tuple(part for part in learner.train if getattr(params, part) is not None)
    if not train:
        raise SeparatrixError(
            f"nothing to train: the network has none of the parts {', '.join(learner.train)}"
        )
    optimizer = learner.transformation()

    def look(now: Params, step: Any, memory: Any) -> Any:
        return (measure(now, step), memory) if memory is None else measure(now, step, memory)

    def loss(moving: dict[str, Any], step: Any) -> Float[Array, ""]:
        return empirical_loss(
            learner,
            network_at(learner, network, step),
            layout,
            params._replace(**moving),
            rows_at(step),
        )

    def advance(step: Any, carry: Any) -> Any:
        moving, state = carry
        updates, state = optimizer.update(jax.grad(loss)(moving, step), state, moving)
        stepped: Any = optax.apply_updates(moving, updates)
        moved = params._replace(**stepped)
        if "weights" in train:
            if learner.sparsity is not None:
                moved = shrink(moved, learner.rate(step, learner.steps) * learner.sparsity)
            moved = project(moved, learner.projection)
        return {part: getattr(moved, part) for part in train}, state

    # Steps in rounds of a fixed number: a GPU asks the host after each round of a loop of unknown
    # length whether to go on, and a batch of such loops copies all parameters each time.
    stride = _common(times)

    def advance_all(first: Any, round: Any, carry: Any) -> Any:
        return jax.lax.fori_loop(
            0, stride, lambda i, now: advance(first + round * stride + i, now), carry
        )

    def segment(carry: Any, bounds: Any) -> Any:
        running = carry[1] == Status.RUNNING

        # A loop of at most one round and not a condition: in a batch, a condition copies for each
        # trial what all of them share.
        def once(now: Any) -> Any:
            return jnp.zeros_like(running), *go_on(now[1], bounds)

        _, after, seen = jax.lax.while_loop(
            lambda now: now[0], once, (running, *stay(carry, bounds))
        )
        return after, (seen, jnp.where(running, bounds[1], -1))

    def go_on(carry: Any, bounds: Any) -> Any:
        (moving, state), _, _, best, stale, edge, memory = carry
        # In a batch both branches of a condition run; an empty range is what stops the work of
        # trials that have ended.
        rounds = jnp.where(carry[1] == Status.RUNNING, (bounds[1] - bounds[0]) // stride, 0)
        moving, state = jax.lax.fori_loop(
            0, rounds, functools.partial(advance_all, bounds[0]), (moving, state)
        )
        seen, memory = look(params._replace(**moving), bounds[1], memory)
        # A share of a negative loss (the correlation's) makes it smaller still.
        share = 0.0 if learner.stop.plateau is None else learner.stop.plateau
        improved = seen["loss"] < best * (1.0 - share * jnp.sign(best))
        stale = jnp.where(improved, 0, stale + 1)
        if "sharpness" in seen and learner.edge_rate is not None:
            edge = edge_step(
                edge, bounds[1], seen["sharpness"], learner.edge_rate, learner.stop.edge_tolerance
            )
        done = bounds[1] >= learner.steps
        if learner.stop.after_edge is not None:
            done = done | ((edge >= 0) & (bounds[1] >= edge + learner.stop.after_edge))
        status = _status(learner.stop, seen, stale, done)
        return (
            (moving, state),
            status,
            bounds[1],
            jnp.minimum(best, seen["loss"]),
            stale,
            edge,
            memory,
        ), seen

    def stay(carry: Any, bounds: Any) -> Any:
        blank, _ = jax.eval_shape(look, params, bounds[1], memory)
        return carry, jax.tree.map(lambda leaf: jnp.full(leaf.shape, jnp.nan, leaf.dtype), blank)

    times = jnp.asarray(times, jnp.int32)
    bounds = jnp.stack([jnp.concatenate([times[:1] * 0, times[:-1]]), times], 1)
    moving = {part: getattr(params, part) for part in train}
    start = (
        (moving, optimizer.init(moving)),
        jnp.asarray(Status.RUNNING, jnp.int32),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(jnp.inf, jnp.result_type(*jax.tree.leaves(moving))),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(-1, jnp.int32),
        memory,
    )
    ((moving, state), status, steps, _, _, edge, _), (trace, step) = jax.lax.scan(
        segment, start, bounds
    )
    return Run(
        params._replace(**moving), status, steps, trace | {"step": step}, edge, clipping(state)
    )


def _common(times: Any) -> int:
    """The largest number of steps that divides the time between any two measurements."""
    return max(1, math.gcd(*map(int, np.diff(times))))


def _status(stop: Stop, seen: dict[str, Array], stale: Any, last: Any) -> Any:
    status = jnp.where(last, Status.EXHAUSTED, Status.RUNNING)
    if stop.plateau is not None:
        status = jnp.where(stale >= stop.patience, Status.EXHAUSTED, status)
    if stop.target is not None:
        status = jnp.where(seen[stop.metric] <= stop.target, Status.REACHED, status)
    status = jnp.where(seen["loss"] > stop.ceiling, Status.DIVERGED, status)
    finite = jnp.isfinite(seen["loss"])
    return jnp.where(finite, status, Status.NON_FINITE).astype(jnp.int32)


def two_step(patches: int, dimension: int, loss: str = "correlation") -> Learner:
    """The two-step algorithm of Lahoti et al. (constants second-hand, from readers' notes): η = 1
    then 10³k, b as scheduled.

    Begin the network at `Initial("normal", scale=1 / (10 * patches * dimension))`. From there no
    unit passes the first threshold: the first gradient is 0 and the first step only projects to the
    sphere. With the squared loss the second step also pushes away from where the weights stood, so
    that the alignment it ends at depends on its start, even in sign; evaluated with b = 10⁻⁴ the
    risk stays at the best linear rule's.

    >>> two_step(patches=20, dimension=20).steps
    2
    """
    spread = (patches + dimension) * math.log(patches * dimension) / (patches * dimension)
    return Learner(
        rate=Stages(1.0, 1e3 * patches),
        steps=2,
        loss=loss,
        projection="sphere",
        lsa_bias=Stages(rounded_constant(math.sqrt(spread) / 32), 1e-4),
    )
