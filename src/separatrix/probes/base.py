"""What a probe is: a function of a moment of training to one number, or to a few with names."""

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
    loss_of: Callable[[dict[str, Array]], Float[Array, ""]] | None = (
        None  # the training loss as a function of the trained parts
    )
    moving: dict[str, Any] | None = None  # the trained parts
    task: Any = None
    memory: Any = None  # what this probe left at the last measurement, for probes that remember


class Probe(NamedTuple):
    """A named measurement, with what it needs.

    `needs` is "direction" (a task with a signal), "start" (a network that starts in another),
    "regression" (a task with noiseless labels) or nothing. A measurement is a number, or a
    dictionary of numbers: {"": 1.0, "residual": 0.1} of the probe `sharpness` become `sharpness`
    and `sharpness.residual`. A probe that remembers has `recall`, from the trained parts to its
    first memory; its measurement is then a pair, with what the next one will find in
    `moment.memory`.

    >>> Probe(lambda moment: moment.loss).needs
    ''
    """

    measure: Callable[[Moment], Any]
    needs: str = ""
    recall: Callable[[dict[str, Array]], Any] | None = None


PROBES: dict[str, Probe] = {}


def probe(
    name: str, needs: str = "", recall: Callable[[dict[str, Array]], Any] | None = None
) -> Callable[[Any], Any]:
    """Register a function as a probe, so that trials can measure it by its name.

    Args:
        name: The name of the probe.
        needs: What the task or network must have: `direction`, `start`, `regression`, or nothing
            (see `Probe`).
        recall: For a probe that remembers: a function from the trained parts to its first memory.

    Returns:
        A decorator for the function that measures a `Moment`.

    >>> @probe("always-one")
    ... def always_one(moment):
    ...     return 1.0
    >>> PROBES.pop("always-one").measure is always_one
    True
    """

    def register(measure: Callable[[Moment], Any]) -> Callable[[Moment], Any]:
        PROBES[name] = Probe(measure, needs, recall)
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
        raise SeparatrixError(
            "alignment probes need a task with a signal direction (such as SignalTask)"
        )
    return moment.direction
