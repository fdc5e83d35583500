"""Sweeps: sets of trials that know their size and cost before they run."""

import dataclasses
import itertools
import math
import numbers
from collections.abc import Iterable, Iterator
from typing import Any

from separatrix.engine.trial import Measure, Trial
from separatrix.errors import SeparatrixError
from separatrix.networks import Views
from separatrix.spec import Spec, digest

LEVEL = 1024  # rows
DRAWING = 50.0  # operations that one random number of the training data takes, and likely more


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A set of trials, in order and without repetition.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = Sweep.grid(sx.SignalTask(4, 3, 0.3), [sx.CNN(field=1), sx.LCN(field=1)], learner, samples=[8, 16], seeds=3)
    >>> len(sweep)
    12
    """

    trials: tuple[Trial, ...]

    def __post_init__(self):
        object.__setattr__(
            self, "trials", tuple({trial.identity: trial for trial in self.trials}.values())
        )

    @classmethod
    def grid(
        cls,
        task: Any,
        network: Any,
        learner: Any,
        samples: Any = 0,
        seeds: Any = 1,
        measure: Measure | None = None,
    ) -> "Sweep":
        """Every combination; each argument is one thing or several, and `seeds` a number of seeds
        or the seeds themselves.
        """
        seeds = range(int(seeds)) if isinstance(seeds, numbers.Integral) else seeds
        parts = [_several(part) for part in (task, network, learner, samples, seeds)]
        if not all(parts):
            raise SeparatrixError(
                "a sweep needs at least one task, network, learner, sample size and seed"
            )
        more = {} if measure is None else {"measure": measure}
        return cls(tuple(Trial(*each, **more) for each in itertools.product(*parts)))

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __add__(self, other: "Sweep") -> "Sweep":
        return Sweep(self.trials + other.trials)


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How sizes are rounded up so that one program serves many trials; a ratio of 1 rounds nothing.

    Sample sizes go up to the next term of 32, 32r, 32r², … with r = `samples`, and from 2048 on by
    factors of `large`; task and network sizes to the next term of f, fr, … with r = `sizes` and f =
    `first` (1 and 2, such as a single filter, are kept), or, with `finer`, of three quarters of
    one: 12, 16, 24, 32, … Trials that would need more than `heavy` operations then are not rounded:
    the padding of a long training costs more than a program of its own. Sample sizes below 2048 of
    trials that stay below `light` operations, the drawing of their data included, are rounded up
    further: the padding of a trial of milliseconds costs less than another program. Trainings on
    all of at most `LEVEL` rows that would need more than `long` operations with that many, but at
    most `step` a step, are given so many rows and their own sizes otherwise: a GPU waits for itself
    at every step, and one program then takes many of them together.

    >>> rounding = Rounding(samples=4.0, large=2.0, sizes=2.0)
    >>> [rounding.samples_up(m) for m in (5, 9, 100, 3000)], [rounding.size_up(n) for n in (1, 5, 20)]
    ([32, 32, 128, 4096], [1, 16, 32])
    """

    samples: float = 1.0
    large: float = 1.0
    sizes: float = 1.0
    first: int = 16
    finer: bool = False
    heavy: float = math.inf
    light: float = 0.0
    long: float = math.inf
    step: float = 0.0

    def samples_up(self, count: int) -> int:
        """A sample size, rounded up."""
        if count > 2048:
            return _term(2048, self.large, count)
        return count if count == 0 else min(_term(32, self.samples, count), 2048)

    def size_up(self, count: int) -> int:
        """A task's or network's size, rounded up."""
        if count <= 2:
            return count
        whole = _term(self.first, self.sizes, count)
        return 3 * whole // 4 if self.finer and count <= 3 * whole // 4 else whole


def _term(first: int, ratio: float, count: int) -> int:
    """The first term of a geometric series that is at least `count`."""
    if ratio <= 1:
        return count
    power = max(0, math.ceil(math.log(count / first) / math.log(ratio) - 1e-9))
    return math.ceil(first * ratio**power - 1e-9)


def frame_of(trial: Trial, rounding: Rounding) -> Trial:
    """The trial whose sizes a program is compiled for: this trial with its sizes rounded up.

    It depends on the trial alone, never on its company, so that a trial runs in the same program in
    every sweep.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(20, 3, 0.3), sx.FCN(20), sx.Learner(rate=1.0, steps=5), samples=100)
    >>> frame = frame_of(trial, Rounding(samples=4.0, sizes=2.0))
    >>> frame.samples, frame.task.patches, frame.network.width
    (128, 32, 32)
    >>> frame_of(trial, Rounding(samples=4.0, sizes=2.0, heavy=1e5)).samples
    100
    >>> [frame_of(trial, Rounding(samples=4.0, sizes=2.0, light=light)).samples for light in (1e7, 1e10)]
    [128, 2048]
    >>> frame_of(trial, Rounding(samples=4.0, sizes=2.0, long=1e6, step=1e9)).samples
    1024
    """
    if (level := _levelled(trial, rounding)) is not None:
        return level
    return trial.replace(seed=0) if is_heavy(trial, rounding) else _rounded(trial, rounding)


def _levelled(trial: Trial, rounding: Rounding) -> Trial | None:
    """The frame of a long training of short steps; None for others."""
    if not math.isfinite(rounding.long) or not 0 < trial.samples <= LEVEL or trial.learner.batch:
        return None
    level = trial.replace(samples=LEVEL, seed=0)
    operations = cost_of(level).flops
    return (
        level
        if operations > rounding.long and operations <= rounding.step * trial.learner.steps
        else None
    )


def is_heavy(trial: Trial, rounding: Rounding) -> bool:
    """Whether a trial is too much work to be rounded up; the same for all trials that would be
    rounded to the same sizes.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(20, 3, 0.3), sx.FCN(20), sx.Learner(rate=1.0, steps=5), samples=100)
    >>> is_heavy(trial, Rounding(heavy=1e5)), is_heavy(trial, Rounding(heavy=1e9))
    (True, False)
    """
    return (
        math.isfinite(rounding.heavy) and cost_of(_rounded(trial, rounding)).flops > rounding.heavy
    )


def _rounded(trial: Trial, rounding: Rounding) -> Trial:
    def grow(spec: Spec) -> Any:
        return spec.replace(
            **{name: rounding.size_up(count) for name, count in spec.sizes().items()}
        )

    # An embedding needs the true sizes, and so does a network whose real windows are not the first
    # ones of a longer input: on a 2-D input, around an edge, or through views of all positions.
    net = trial.network
    own = net.border == "wrap" or isinstance(net.field, Views) or len(trial.task.shape) != 2
    fixed = rounding.sizes <= 1 or net.start is not None or own
    task, network = (
        (trial.task, trial.network) if fixed else (grow(trial.task), grow(trial.network))
    )
    frame = trial.replace(
        task=task, network=network, samples=rounding.samples_up(trial.samples), seed=0
    )
    while (
        rounding.samples > 1 and 0 < frame.samples < 2048
    ):  # from there on, `large` keeps frames close
        larger = frame.replace(samples=rounding.samples_up(frame.samples + 1))
        if not _is_light(larger, rounding):
            break
        frame = larger
    return frame


def _is_light(frame: Trial, rounding: Rounding) -> bool:
    # Steps on few rows at a time cost the same whatever the sample size, but all of it is drawn.
    drawing = DRAWING * frame.samples * math.prod(frame.task.shape)
    return cost_of(frame).flops + drawing < rounding.light


def structure(frame: Trial) -> str:
    """The identity of the program that a frame needs: its structure and sizes, blind to values.

    >>> import separatrix as sx
    >>> trials = Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), [sx.Learner(r, 5) for r in (1.0, 2.0)], samples=8)
    >>> len({structure(trial) for trial in trials})
    1
    """
    return digest(_skeleton(frame))


def _skeleton(item: Any) -> Any:
    if not isinstance(item, Spec):
        return item
    out: dict[str, Any] = {"class": f"{type(item).__module__}:{type(item).__qualname__}"}
    plain = item.describe()
    for field in dataclasses.fields(item):
        given = getattr(item, field.name)
        if isinstance(given, Spec):
            out[field.name] = _skeleton(given)
        elif field.metadata.get("kind") in ("value", "integer"):
            out[field.name] = given is None
        else:
            out[field.name] = plain[field.name]
    return out


@dataclasses.dataclass(frozen=True)
class Cost:
    """Estimated work of one trial: floating-point operations and bytes of device memory.

    >>> Cost(1.0, 2.0) + Cost(1.0, 5.0)
    Cost(flops=2.0, bytes=5.0)
    """

    flops: float
    bytes: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.flops + other.flops, max(self.bytes, other.bytes))


def cost_of(frame: Trial) -> Cost:
    """The work of a trial at its frame's sizes: forward and weight-gradient products of every step,
    and every measurement.

    >>> import separatrix as sx
    >>> cost_of(sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8)).flops
    265728.0
    """
    task, network, learner, measure = frame.task, frame.network, frame.learner, frame.measure
    rows = {
        "empirical": learner.batch or frame.samples,
        "online": learner.batch,
        "population": 2 ** task.shape[0],
    }[learner.oracle]
    held = rows if learner.oracle != "empirical" else frame.samples
    forward = network.flops(task.shape)
    times = len(measure.schedule(learner.steps))
    passes = (
        3.0 if network.layered else 2.0
    )  # further layers need the gradient in their inputs as well
    flops = passes * forward * rows * (learner.steps + times) + 1.0 * forward * measure.test * times
    each = network.costs(task.shape)
    inputs = math.prod(task.shape)
    bytes_ = 4.0 * (
        (held + measure.test) * (inputs + each.cut) + 4 * max(rows, measure.test) * each.hidden
    )
    return Cost(flops, bytes_ + 16.0 * network.parameter_count(task.shape))


def _several(part: Any) -> list[Any]:
    return list(part) if isinstance(part, Iterable) and not isinstance(part, Spec | str) else [part]
