"""What a probe is: a function of a moment of training to one number, or to a few with names."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.learners import Rows
from separatrix.networks import Layout, Network, Params


class Moment(NamedTuple):
    """Everything that a probe may look at.

    Attributes:
        step: the steps taken so far.
        params: the parameters now.
        initial: the parameters before training.
        gradient: of the training loss; parts that are not trained are None.
        loss: the training loss.
        network: the network as it is evaluated, with its own LSA bias.
        layout: its layout over the inputs.
        direction: the task's signal (channels,), or None.
        train: the rows of the current gradient.
        test: the test rows.
        loss_of: the training loss as a function of the trained parts.
        moving: the trained parts now.
        task: the task.
        memory: what this probe left at the previous measurement, for probes that remember.
    """

    step: Any
    params: Params
    initial: Params
    gradient: Params
    loss: Float[Array, ""]
    network: Network
    layout: Layout
    direction: Float[Array, " channels"] | None
    train: Rows
    test: Rows
    loss_of: Callable[[dict[str, Array]], Float[Array, ""]] | None = None
    moving: dict[str, Any] | None = None
    task: Any = None
    memory: Any = None


class Probe(NamedTuple):
    """A measurement and what it needs; `probe` says what the fields mean."""

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

    The function takes a `Moment` and gives a number, or a dictionary of numbers: {"": 1.0,
    "residual": 0.1} of a probe `sharpness` become the columns `sharpness` and
    `sharpness.residual`.

    Args:
        name: the probe's name in `Measure.probes` and in rows.
        needs: what a trial must have: "direction" (a task with a signal), "start" (a network that
            starts in another), "regression" (a task with noiseless labels), or "" for nothing.
        recall: for a probe that remembers: from the trained parts to its first memory. Its
            measurement is then a pair, whose second part the next one finds in `moment.memory`.

    Returns:
        A decorator that registers a function and gives it back.

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

    Raises:
        UnknownNameError: there is no such probe; the message suggests the nearest name.

    >>> find_probe("rsik")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no probe `rsik`; did you mean `risk`?
    """
    if name not in PROBES:
        raise UnknownNameError("probe", name, PROBES)
    return PROBES[name]


def require_direction(moment: Moment) -> Float[Array, " channels"]:
    """The task's signal direction.

    Raises:
        SeparatrixError: the task has none.

    >>> from separatrix.probes.activation import example_moment
    >>> require_direction(example_moment())
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: alignment probes need a task with a signal direction ...
    """
    if moment.direction is None:
        raise SeparatrixError(
            "alignment probes need a task with a signal direction (such as SignalTask)"
        )
    return moment.direction
