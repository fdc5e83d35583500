"""What a trial has to do, counted: the quantities that its time is estimated from.

Counts are of a trial at its frame's sizes, as if it took all its steps. They decide nothing:
frames, batches and chunks depend on `cost_of` alone, so that a better estimate never changes a row.
"""

import contextlib
import dataclasses
import math
from typing import Any

import jax
import numpy as np

from separatrix.engine.trial import Trial
from separatrix.networks.layers import convolves
from separatrix.spec import cached
from separatrix.streams import named, root_key
from separatrix.tasks import Task

# How many Hessian-vector products a measurement of these probes is reckoned with. Lanczos stops
# when it is exact enough, at 40 at the latest: in the quick stability study the sharpness, which
# starts from the last eigenvector, took 4 to 8 on average. The others start afresh; their figures
# are guesses.
LANCZOS = {"sharpness": 6.0, "sharpness_parts": 32.0, "sharpness_top": 20.0, "certificate": 12.0}
BASIS = 40  # vectors of the parameters' size that Lanczos keeps


@dataclasses.dataclass(frozen=True)
class Work:
    """Countable work of calling a program.

    >>> Work(calls=1.0, rounds=5.0) + Work(calls=1.0)
    Work(calls=2.0, rounds=5.0, full=0.0, windowed=0.0, convolved=0.0, read=0.0, activated=0.0, shifted=0.0, drawn=0.0, copied=0.0, gathered=0.0, updated=0.0)
    """

    calls: float = 0.0
    # Layers passed through by steps, measurements and Lanczos products, whatever their sizes
    rounds: float = 0.0
    full: float = 0.0  # operations of products of fully connected layers
    windowed: float = 0.0  # … of layers with windows that were cut out beforehand
    convolved: float = 0.0  # … of deep networks on images, whose windows are cut in every pass
    read: float = 0.0  # numbers of inputs, cut into windows, that gradients and tests read
    activated: float = 0.0  # numbers of hidden layers that they write
    shifted: float = 0.0  # numbers of windows that are cut in every pass
    drawn: float = 0.0  # random numbers
    copied: float = 0.0  # numbers taken from stored data
    gathered: float = 0.0  # numbers taken from the training set for minibatches
    updated: float = 0.0  # parameters changed by steps, and the optimizer's numbers beside them

    def __add__(self, other: "Work") -> "Work":
        return Work(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def times(self, count: float) -> "Work":
        """The same work, `count` times."""
        return Work(*(count * each for each in dataclasses.astuple(self)))


@dataclasses.dataclass(frozen=True)
class Making:
    """Countable work of compiling one program.

    >>> Making(programs=1.0, layers=2.0).layers
    2.0
    """

    programs: float = 1.0
    layers: float = 0.0  # hidden layers after the first
    convolutions: float = 0.0  # layers whose windows are cut in every pass
    spectra: float = 0.0  # probes that call for Lanczos
    probes: float = 0.0  # other probes than the risk
    minibatches: float = 0.0  # whether rows of the training set are chosen anew at each step
    drawing: float = 0.0  # traced operations that draw the task's rows, in thousands


def work_of(frame: Trial, batch: int = 1) -> Work:
    """The work of one call, which runs `batch` trials: what grows with their sizes does so `batch`
    times, rounds and calls do not.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8)
    >>> work_of(trial).drawn, work_of(trial, batch=2).drawn, work_of(trial, batch=2).calls
    (49248.0, 98496.0, 1.0)
    """
    task, network, learner, measure = frame.task, frame.network, frame.learner, frame.measure
    times = len(measure.schedule(learner.steps))
    rows = {
        "empirical": learner.batch or frame.samples,
        "online": learner.batch,
        "population": 2 ** task.shape[0],
    }[learner.oracle]
    each, forward, inputs = (
        network.costs(task.shape),
        network.flops(task.shape),
        math.prod(task.shape),
    )
    # A gradient for every step and measurement; a Hessian-vector product is about two, and so is
    # making it ready.
    spectra = [LANCZOS[name] for name in measure.probes if name in LANCZOS]
    gradients = learner.steps + times * (1.0 + sum(2.0 + 2.0 * products for products in spectra))
    passes = (
        3.0 if network.layered else 2.0
    )  # further layers need the gradient in their inputs as well
    products = passes * forward * rows * gradients + 1.0 * forward * measure.test * times
    kind = _kind(frame)
    asked = learner.steps + times if learner.oracle == "online" else 1
    taken = (
        rows * asked if learner.oracle != "empirical" else frame.samples
    ) * inputs + measure.test * inputs
    stored = type(task).arrays is not Task.arrays
    again = (
        (learner.steps + times) * learner.batch * each.cut if learner.oracle == "empirical" else 0
    )
    size = Work(
        full=products * (kind == "full"),
        windowed=products * (kind == "windowed"),
        convolved=products * (kind == "convolved"),
        read=(rows * gradients + measure.test * times) * each.cut,
        activated=(rows * gradients + 0.5 * measure.test * times)
        * each.hidden,  # a test does not come back through them
        shifted=rows * gradients * each.products / network.width * (kind == "convolved"),
        drawn=0.0 if stored else 1.0 * taken,
        copied=1.0 * taken if stored else 0.0,
        gathered=1.0 * again,
        updated=1.0
        * learner.steps
        * network.parameter_count(task.shape)
        * (1 if learner.optimizer == "sgd" else 3),
    )
    return Work(calls=1.0, rounds=gradients * (network.depth + 1)) + size.times(batch)


def making_of(frame: Trial) -> Making:
    """The work of compiling a frame's program.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1, depth=2), sx.Learner(rate=1.0, steps=5), samples=8)
    >>> making_of(trial).layers, making_of(trial).spectra, 0.1 < making_of(trial).drawing < 2.0
    (1.0, 0.0, True)
    """
    network, probes = frame.network, frame.measure.probes
    return Making(
        layers=network.depth - 1.0,
        convolutions=1.0 * network.depth * (_kind(frame) == "convolved"),
        spectra=1.0 * sum(name in LANCZOS for name in probes),
        probes=1.0 * sum(name not in LANCZOS and name not in ("risk", "loss") for name in probes),
        minibatches=1.0 * (frame.learner.oracle == "empirical" and frame.learner.batch > 0),
        drawing=cached(frame.task, "drawing", lambda: _drawing(frame.task)),
    )


def bytes_of(frame: Trial) -> float:
    """The memory that a CPU's program of one trial takes, stored data included: within a half of
    what XLA says of it (tests).

    Batches are planned by `cost_of(frame).bytes`, which is more: on a GPU too little would end in a
    failed batch.

    >>> import separatrix as sx
    >>> bytes_of(sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8)) < 1e6
    True
    """
    task, network, learner, measure = frame.task, frame.network, frame.learner, frame.measure
    rows = {
        "empirical": learner.batch or frame.samples,
        "online": learner.batch,
        "population": 2 ** task.shape[0],
    }[learner.oracle]
    held = rows if learner.oracle != "empirical" else frame.samples
    each, parameters = network.costs(task.shape), network.parameter_count(task.shape)
    # Inputs and their windows are there at once while they are cut, unless the windows are the
    # inputs in another order; a test keeps a layer before and after its activation, training more.
    inputs = math.prod(task.shape)
    numbers = (held + measure.test) * (
        each.cut + (0 if _kind(frame) == "windowed" and each.cut <= inputs else inputs)
    )
    numbers += 2.0 * measure.test * each.hidden / network.depth + 4.0 * rows * each.hidden
    if _kind(frame) == "convolved":
        numbers += max(rows, measure.test) * each.products / network.width
    numbers += parameters * (4 + BASIS * any(name in LANCZOS for name in measure.probes))
    return 4.0 * numbers + cached(task, "stored bytes", lambda: _stored(task))


def _stored(task: Task) -> float:
    with contextlib.suppress(
        Exception
    ):  # data that is not there: the run will say so, a plan does not need it
        return 1.0 * sum(np.asarray(array).nbytes for array in task.arrays().values())
    return 0.0


def _drawing(task: Task) -> float:
    """How many thousand operations XLA is given to draw a task's rows."""

    def rows(words: Any) -> Any:
        key = root_key(words)
        return task.draw(
            named(key, "rows"), 2, task.bind(task.truth(named(key, "truth")), task.arrays()), task
        )

    with contextlib.suppress(Exception):  # as above
        return _equations(jax.make_jaxpr(rows)(np.zeros(2, np.uint32)).jaxpr) / 1000.0
    return 0.5


def _equations(traced: Any) -> int:
    """The operations of a traced function, those of functions inside it included."""
    inner = (
        part
        for each in traced.eqns
        for given in each.params.values()
        for part in (given if isinstance(given, tuple) else (given,))
    )
    parts = (getattr(part, "jaxpr", part) for part in inner)
    return len(traced.eqns) + sum(_equations(part) for part in parts if hasattr(part, "eqns"))


def _kind(frame: Trial) -> str:
    """Which of the three ways to write a layer a network takes."""
    network = frame.network
    if network.layered and convolves(network, frame.task.shape):
        return "convolved"
    return "full" if network.connectivity == "full" else "windowed"
