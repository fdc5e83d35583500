"""What a probe is: a function of a moment of training to one number."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.learners import Rows
from separatrix.networks import Layout, Network, Params


class Moment(NamedTuple):
    """Everything a probe may look at.

    >>> Moment._fields[:3]
    ('step', 'params', 'initial')
    """

    step: Any
    params: Params
    initial: Params  # before training
    gradient: Params  # of the training loss; parts that are not trained are None
    loss: Float[Array, ""]  # training loss
    network: Network  # as evaluated, with its own LSA bias
    layout: Layout
    direction: Float[Array, " channels"] | None  # the task's signal, where it has one
    train: Rows
    test: Rows


class Probe(NamedTuple):
    """A named measurement, with what it needs: "direction" (a task with a signal) or "start" (a network that starts in another).

    >>> Probe(lambda moment: moment.loss).needs
    ''
    """

    measure: Callable[[Moment], Float[Array, ""]]
    needs: str = ""


PROBES: dict[str, Probe] = {}


def probe(name: str, needs: str = "") -> Callable[[Callable[[Moment], Array]], Callable[[Moment], Array]]:
    """Register a function as the probe `name`, so that a trial can ask for it.

    >>> @probe("always-one")
    ... def always_one(moment):
    ...     return 1.0
    >>> PROBES.pop("always-one").measure is always_one
    True
    """

    def register(measure: Callable[[Moment], Array]) -> Callable[[Moment], Array]:
        PROBES[name] = Probe(measure, needs)
        return measure

    return register


def find_probe(name: str) -> Probe:
    """The probe called `name`.

    >>> find_probe("rsik")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no probe `rsik`; did you mean `risk`?
    """
    if name not in PROBES:
        raise UnknownNameError("probe", name, PROBES)
    return PROBES[name]


def require_direction(moment: Moment) -> Float[Array, " channels"]:
    """The task's signal direction, or one sentence.

    >>> require_direction(Moment(0, None, None, None, 0.0, None, None, None, None, None))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: alignment probes need a task with a signal direction (such as SignalTask)
    """
    if moment.direction is None:
        raise SeparatrixError("alignment probes need a task with a signal direction (such as SignalTask)")
    return moment.direction
