"""The learner: how a network's parameters follow the gradient, as plain values."""

import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from separatrix.errors import ParameterError
from separatrix.learners.clipping import counted_clip
from separatrix.learners.losses import LOSSES
from separatrix.learners.schedules import Constant, Schedule, Stages, as_schedule
from separatrix.learners.stopping import Stop
from separatrix.networks import Network, Params
from separatrix.spec import Spec, choice, rounded_constant, static, value


class Learner(Spec):
    """Loss, gradient oracle, optimizer, projection and stopping, as plain values.

    Args:
        rate: the learning rate, a number or a `Schedule`.
        steps: the most steps that training may take.
        loss: "logistic", "hinge", "squared", "half-squared" or "correlation"
            (`separatrix.learners.LOSSES`).
        oracle: where gradients come from: "empirical" (a fixed training set), "online" (fresh rows
            at every step) or "population" (every input with its probability).
        batch: rows per step. 0 takes the whole training set; otherwise every step draws rows of it
            again. The online oracle needs at least 1.
        optimizer: the name of an optax optimizer that takes a learning rate.
        options: its further arguments, as pairs of name and value.
        projection: after each step, brings every hidden unit's weights into the unit "ball", onto
            the unit "sphere", or ("none") leaves them.
        lsa_bias: a schedule for the bias of an LSA activation during training. Risks are always
            measured with the network's own bias.
        train: the parts of the network that training may change, among the fields of `Params`.
        stop: reasons to stop before the steps are used up.
        clip: the largest norm of a gradient; longer ones are scaled down to it, and a trial reports
            on how many steps that happened. None clips nothing.
        sparsity: λ of an ℓ1 penalty on hidden weights, by its proximal step: after each step,
            weights shrink towards 0 by rate·λ, and stay there once they reach it.
        gradient_noise: the standard deviation of independent normal noise that is added to every
            entry of every gradient, as an oracle of that tolerance would; None adds none.
        gradient_precision: the number format to which gradients are rounded before the optimizer
            sees them.

    Raises:
        ParameterError: fields that contradict each other, or an optimizer that optax does not have.

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
    gradient_noise: float | None = value(low=0, default=None)
    gradient_precision: str = choice("float32", "bfloat16", default="float32")

    def check(self) -> None:
        if self.oracle == "online" and self.batch < 1:
            raise ParameterError("Learner", "batch", "at least 1 for the online oracle", self.batch)
        if self.oracle == "population" and self.batch:
            raise ParameterError("Learner", "batch", "0 for the population oracle", self.batch)
        for part in self.train:
            if part not in Params._fields:
                allowed = f"parts among {', '.join(Params._fields)}"
                raise ParameterError("Learner", "train", allowed, part)
        if not self.train:
            raise ParameterError("Learner", "train", "at least one part of the network", self.train)
        if self.stop.after_edge is not None and self.edge_rate is None:
            allowed = "None unless the learner is sgd with a constant rate"
            raise ParameterError("Stop", "after_edge", allowed, self.stop.after_edge)
        if not _makes_steps(self.optimizer, self.options):
            allowed = "an optax optimizer of gradients alone with options that it knows"
            raise ParameterError("Learner", "optimizer", allowed, (self.optimizer, self.options))

    def transformation(self) -> optax.GradientTransformation:
        """The optax transformation of this learner."""
        rate = (
            self.rate.level
            if isinstance(self.rate, Constant)
            else (lambda step: self.rate(step, self.steps))
        )
        optimizer = getattr(optax, self.optimizer)(learning_rate=rate, **dict(self.options))
        return optimizer if self.clip is None else optax.chain(counted_clip(self.clip), optimizer)

    def trained_parts(self, params: Params) -> dict[str, Any]:
        """The parts of these parameters that training changes."""
        parts = {part: getattr(params, part) for part in self.train}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def edge_rate(self) -> Any:
        """The step size η whose edge of stability is 2/η; None where the learner is not plain
        gradient descent with a constant rate.
        """
        plain = self.optimizer == "sgd" and not self.options
        return self.rate.level if plain and isinstance(self.rate, Constant) else None


@functools.lru_cache(maxsize=128)
def _makes_steps(optimizer: Any, options: Any) -> bool:
    """Whether optax has this optimizer, it takes these options, and it makes a step from a gradient
    (abstractly: nothing is computed).
    """

    def step(moving: Array) -> Any:
        transformation = getattr(optax, optimizer)(learning_rate=1.0, **dict(options))
        return transformation.update(moving, transformation.init(moving), moving)[0]

    try:
        return jax.eval_shape(step, jnp.ones(2)).shape == (2,)
    # Whatever a third party's function makes of a wrong option, the learner's sentence is the same
    except Exception:
        return False


def network_at(learner: Learner, network: Network, step: Any) -> Network:
    """The network as it is trained at `step`: with the learner's LSA bias where the learner
    schedules one.

    >>> from separatrix.networks import CNN, LSA
    >>> from separatrix.learners import Ramp
    >>> learner = Learner(rate=1.0, steps=10, lsa_bias=Ramp(0.0, 0.5))
    >>> float(network_at(learner, CNN(field=1, activation=LSA(0.5)), 0).activation.bias)
    0.0
    """
    if learner.lsa_bias is None:
        return network
    return network.with_activation_bias(learner.lsa_bias(step, learner.steps))


def two_step(patches: int, dimension: int, loss: str = "correlation") -> Learner:
    """The two-step algorithm of Lahoti et al.: η = 1, then 10³k, with an LSA bias for each step.

    The constants are second-hand, from readers' notes. Start the network at `Initial("normal",
    scale=1 / (10 * patches * dimension))`. From there no unit passes the first threshold: the first
    gradient is 0, and the first step only projects to the sphere. With the squared loss the second
    step also pushes the weights away from where they started, so that the final alignment depends
    on the start, even in sign. Evaluated with b = 10⁻⁴, the risk stays at that of the best linear
    rule.

    Args:
        patches: k, the patches of the task.
        dimension: d, the dimension of a patch.
        loss: the loss of both steps.

    Returns:
        A learner of two steps that projects to the sphere.

    >>> learner = two_step(patches=20, dimension=20)
    >>> [float(learner.rate(step, learner.steps)) for step in range(2)]
    [1.0, 20000.0]
    """
    spread = (patches + dimension) * math.log(patches * dimension) / (patches * dimension)
    return Learner(
        rate=Stages(1.0, 1e3 * patches),
        steps=2,
        loss=loss,
        projection="sphere",
        lsa_bias=Stages(rounded_constant(math.sqrt(spread) / 32), 1e-4),
    )
