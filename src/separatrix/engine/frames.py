"""Frames: the sizes that programs are compiled for, so that one program serves many trials.

A trial's frame is the trial with its sizes rounded up. It depends on the trial alone, so the trial
runs in the same program, and gives the same row, in every sweep.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator
from typing import Any

from separatrix.engine import policy
from separatrix.engine.trial import Trial
from separatrix.networks import Views
from separatrix.spec import Spec, digest


@dataclasses.dataclass(frozen=True)
class Cost:
    """The work of one trial as decisions need it: operations and bytes of device memory.

    >>> Cost(1.0, 2.0) + Cost(1.0, 5.0)
    Cost(flops=2.0, bytes=5.0)
    """

    flops: float
    bytes: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.flops + other.flops, max(self.bytes, other.bytes))


def rows_per_gradient(trial: Trial) -> int:
    """The rows on which a trial's loss and gradient are taken.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), 8)
    >>> rows_per_gradient(trial)
    8
    """
    learner = trial.learner
    if learner.oracle == "population":
        return 2 ** trial.task.shape[0]
    return learner.batch if learner.oracle == "online" else learner.batch or trial.samples


def cost_of(frame: Trial) -> Cost:
    """The work of a trial at its frame's sizes: the products of every step and measurement.

    Bytes are an upper estimate. On a GPU batches are planned by it, where too little memory would
    end in a failed batch.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> cost_of(sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8)).flops
    265728.0
    """
    task, network, learner, measure = frame.task, frame.network, frame.learner, frame.measure
    rows = rows_per_gradient(frame)
    held = rows if learner.oracle != "empirical" else frame.samples
    forward = network.flops(task.shape)
    times = len(measure.schedule(learner.steps))
    # Further layers also need the gradient with respect to their inputs.
    passes = 3.0 if network.layered else 2.0
    flops = passes * forward * rows * (learner.steps + times) + 1.0 * forward * measure.test * times
    numbers = network.costs(task.shape)
    inputs = math.prod(task.shape)
    bytes_ = 4.0 * (
        (held + measure.test) * (inputs + numbers.cut)
        + 4 * max(rows, measure.test) * numbers.hidden
    )
    return Cost(flops, bytes_ + 16.0 * network.parameter_count(task.shape))


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How sizes are rounded up; a ratio of 1 rounds nothing.

    Args:
      samples: the ratio r of the sample sizes 32, 32r, 32r², … up to 2048.
      large: the ratio of sample sizes from 2048 on.
      sizes: the ratio of the sizes of tasks and networks; 1 and 2, such as a single filter, stay.
      first: the smallest of those sizes.
      finer: whether three quarters of those sizes are allowed too: 12, 16, 24, 32, …
      heavy: operations; trials that would need more after rounding are not rounded.
      light: operations, the drawing of the data included; as long as a trial stays below, its
        sample size is rounded up further, to at most 2048.
      long: operations; trainings on at most 1024 rows that would need more with 1024 rows, and at
        most `step` operations per step, get 1024 rows and keep their other sizes.
      step: operations per step, see `long`.

    `policy` has the reasons.

    >>> rounding = Rounding(samples=4.0, large=2.0, sizes=2.0)
    >>> [rounding.samples_up(m) for m in (5, 9, 100, 3000)]
    [32, 32, 128, 4096]
    >>> [rounding.size_up(n) for n in (1, 5, 20)]
    [1, 16, 32]
    """

    samples: float = 1.0
    large: float = 1.0
    sizes: float = 1.0
    first: int = policy.FIRST_SIZE_CPU
    finer: bool = False
    heavy: float = math.inf
    light: float = 0.0
    long: float = math.inf
    step: float = 0.0

    def samples_up(self, count: int) -> int:
        """A sample size, rounded up."""
        limit = policy.LARGE_SAMPLES
        if count > limit:
            return _next_term(limit, self.large, count)
        if count == 0:
            return count
        return min(_next_term(policy.FIRST_SAMPLES, self.samples, count), limit)

    def size_up(self, count: int) -> int:
        """A size of a task or network, rounded up."""
        if count <= 2:
            return count
        whole = _next_term(self.first, self.sizes, count)
        return 3 * whole // 4 if self.finer and count <= 3 * whole // 4 else whole


CPU_ROUNDING = Rounding(
    samples=policy.SAMPLES_RATIO,
    large=policy.LARGE_SAMPLES_RATIO_CPU,
    sizes=policy.SIZES_RATIO,
    first=policy.FIRST_SIZE_CPU,
    finer=True,
    light=policy.LIGHT_TRIAL,
)
GPU_ROUNDING = Rounding(
    samples=policy.SAMPLES_RATIO,
    large=policy.LARGE_SAMPLES_RATIO_GPU,
    sizes=policy.SIZES_RATIO,
    first=policy.FIRST_SIZE_GPU,
    heavy=policy.UNROUNDED_TRIAL,
    long=policy.LEVEL_TRIAL,
    step=policy.SHORT_STEP,
)


def _next_term(first: int, ratio: float, count: int) -> int:
    """The first term of a geometric series that is at least `count`."""
    if ratio <= 1:
        return count
    power = max(0, math.ceil(math.log(count / first) / math.log(ratio) - 1e-9))
    return math.ceil(first * ratio**power - 1e-9)


def frame_of(trial: Trial, rounding: Rounding) -> Trial:
    """The trial whose sizes a program is compiled for: this trial with its sizes rounded up.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> trial = sx.Trial(sx.SignalTask(20, 3, 0.3), sx.FCN(20), learner, samples=100)
    >>> frame = frame_of(trial, Rounding(samples=4.0, sizes=2.0))
    >>> frame.samples, frame.task.patches, frame.network.width
    (128, 32, 32)
    >>> frame_of(trial, Rounding(samples=4.0, sizes=2.0, heavy=1e5)).samples
    100
    >>> [frame_of(trial, Rounding(samples=4.0, light=light)).samples for light in (1e7, 1e10)]
    [128, 2048]
    >>> frame_of(trial, Rounding(samples=4.0, sizes=2.0, long=1e6, step=1e9)).samples
    1024
    """
    if (level := _levelled(trial, rounding)) is not None:
        return level
    return trial.replace(seed=0) if is_heavy(trial, rounding) else _rounded(trial, rounding)


def _levelled(trial: Trial, rounding: Rounding) -> Trial | None:
    """The frame of a long training of short steps; None for other trials."""
    rows = policy.LEVEL_SAMPLES
    if not math.isfinite(rounding.long) or not 0 < trial.samples <= rows or trial.learner.batch:
        return None
    level = trial.replace(samples=rows, seed=0)
    flops = cost_of(level).flops
    if rounding.long < flops <= rounding.step * trial.learner.steps:
        return level
    return None


def is_heavy(trial: Trial, rounding: Rounding) -> bool:
    """Whether a trial is too much work to be rounded up.

    The answer is the same for all trials that would be rounded to the same sizes.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> trial = sx.Trial(sx.SignalTask(20, 3, 0.3), sx.FCN(20), learner, samples=100)
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
    # Noise on the gradient would train the units that padding adds.
    noisy = trial.learner.gradient_noise is not None
    fixed = rounding.sizes <= 1 or net.start is not None or own or noisy
    task, network = (
        (trial.task, trial.network) if fixed else (grow(trial.task), grow(trial.network))
    )
    samples = rounding.samples_up(trial.samples)
    frame = trial.replace(task=task, network=network, samples=samples, seed=0)
    while rounding.samples > 1 and 0 < frame.samples < policy.LARGE_SAMPLES:
        larger = frame.replace(samples=rounding.samples_up(frame.samples + 1))
        if not _is_light(larger, rounding):
            break
        frame = larger
    return frame


def _is_light(frame: Trial, rounding: Rounding) -> bool:
    drawing = policy.DRAWING * frame.samples * math.prod(frame.task.shape)
    return cost_of(frame).flops + drawing < rounding.light


def structure(frame: Trial) -> str:
    """The identity of the program that a frame needs: its structure and sizes, but not its values.

    >>> import separatrix as sx
    >>> learners = [sx.Learner(rate, steps=5) for rate in (1.0, 2.0)]
    >>> trials = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learners, samples=8)
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
        content = getattr(item, field.name)
        if isinstance(content, Spec):
            out[field.name] = _skeleton(content)
        elif field.metadata.get("kind") in ("value", "integer"):
            out[field.name] = content is None
        else:
            out[field.name] = plain[field.name]
    return out


@dataclasses.dataclass
class _Kinds:
    """The frames of the kinds of trials that were seen."""

    frames: dict[tuple[Any, ...], tuple[str, Trial]] = dataclasses.field(default_factory=dict)
    heavy: dict[tuple[Any, ...], bool] = dataclasses.field(default_factory=dict)
    held: list[Trial] = dataclasses.field(default_factory=list)

    def forget(self) -> None:
        self.frames, self.heavy, self.held = {}, {}, []


@functools.lru_cache(maxsize=8)
def _known_kinds(rounding: Rounding) -> _Kinds:
    return _Kinds()


def framed(trials: Iterable[Trial], rounding: Rounding) -> Iterator[tuple[Trial, str, Trial]]:
    """Each trial with the identity of its program and with its frame.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=[8, 64, 3000])
    >>> [frame.samples for _, _, frame in framed(sweep, CPU_ROUNDING)]
    [2048, 2048, 4096]
    """
    # Most trials of a sweep differ in their seed or sample size only: frame each kind once, also
    # over the rounds of a search. Trials of a sweep share their parts, so equal parts are mostly
    # the same object, and kinds are told apart by the addresses of parts. `held` keeps those alive
    # as long as addresses are compared; tasks that hold data are not kept longer than a call.
    known, own = _known_kinds(rounding), _Kinds()
    if len(known.held) > policy.KNOWN_KINDS:
        known.forget()
    for trial in trials:
        fields = vars(trial)  # one look instead of six: a module's attributes are slow
        parts = (fields["task"], fields["network"], fields["learner"], fields["measure"])
        kind = (
            *map(id, parts),
            fields["precision"],
            rounding.samples_up(fields["samples"]),
            fields["samples"] <= policy.LEVEL_SAMPLES,
        )
        kinds = known if kind in known.heavy else own
        if kind not in kinds.heavy:
            kinds = known if parts[0].travels else own
            kinds.heavy[kind] = is_heavy(trial, rounding)
            kinds.held.append(trial)
        if kinds.heavy[kind]:  # its sample size is not rounded
            kind = (*kind, fields["samples"])
        if kind not in kinds.frames:
            frame = frame_of(trial, rounding)
            kinds.frames[kind] = structure(frame), frame
        yield trial, *kinds.frames[kind]
