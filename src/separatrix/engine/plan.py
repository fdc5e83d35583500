"""Plans: how a sweep will be run, known before it runs."""

import dataclasses
import os
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from separatrix.engine.speed import ASSUMED, Speed
from separatrix.engine.sweep import (
    LEVEL,
    Cost,
    Rounding,
    Sweep,
    cost_of,
    frame_of,
    is_heavy,
    structure,
)
from separatrix.engine.trial import Trial
from separatrix.engine.work import bytes_of, making_of, work_of
from separatrix.spec import to_message

LIGHT_TRIAL = 6e7  # operations: milliseconds of a CPU, where a program takes seconds
# Operations of a trial's step: a large GPU does those of 25 trials in about the time in which it
# begins the dozen kernels of a step.
SHORT_STEP = 1.2e8


@dataclasses.dataclass(frozen=True)
class Device:
    """Where trials run, and what is assumed of it.

    `flops` and `compile_seconds` are for cutting sweeps into chunks and handing them out, and are
    the same on every machine of a kind; `speed` is for estimates alone, and may have been measured.

    >>> Device("cpu", workers=2).batched
    False
    """

    platform: str
    workers: int = 1
    memory: float = 8e9  # bytes that a batch may use
    flops: float = 1.5e10  # operations a second of one worker, a cautious figure for small networks
    compile_seconds: float = 2.0  # of one program
    speed: Speed = ASSUMED["cpu"]

    @property
    def batched(self) -> bool:
        """Whether many trials run in one program call."""
        return self.platform != "cpu"

    @property
    def rounding(self) -> Rounding:
        """A program costs a CPU about a second and a GPU about five, while padding costs a GPU next
        to nothing.
        """
        if self.batched:
            return Rounding(
                samples=4.0, large=4.0, sizes=2.0, first=32, heavy=1e13, long=1e12, step=SHORT_STEP
            )
        return Rounding(samples=4.0, large=2.0, sizes=2.0, finer=True, light=LIGHT_TRIAL)


def cores() -> int:
    """The processor cores this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Trials that are run together and written as one part.

    >>> Chunk("p", (), None, 1, Cost(0.0, 0.0)).trials
    ()
    """

    program: str
    trials: tuple[Trial, ...]
    frame: Trial
    batch: int
    cost: Cost

    @property
    def flops(self) -> float:
        """The work of the whole chunk."""
        return self.cost.flops * len(self.trials)

    def message(self) -> dict[str, Any]:
        """As it is told to a worker process."""
        return {
            "trials": [to_message(trial) for trial in self.trials],
            "frame": to_message(self.frame),
        }


@dataclasses.dataclass(frozen=True)
class Plan:
    """The chunks of a sweep on a device, most expensive program first.

    >>> import separatrix as sx
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=[8, 3000], seeds=3)
    >>> plan = make_plan(sweep, Device("cpu"))
    >>> plan.trials, plan.programs
    (6, 2)
    """

    device: Device
    chunks: tuple[Chunk, ...]

    @property
    def trials(self) -> int:
        """How many trials will run."""
        return sum(len(chunk.trials) for chunk in self.chunks)

    @property
    def programs(self) -> int:
        """How many programs will be compiled (unless the cache has them)."""
        return len({chunk.program for chunk in self.chunks})

    @property
    def flops(self) -> float:
        """Estimated operations, padding included."""
        return sum(chunk.flops for chunk in self.chunks)

    @property
    def bytes(self) -> float:
        """Estimated peak of device memory of one worker: on a CPU that of its largest program, on a
        GPU what batches are planned by.
        """
        if self.device.batched:
            return max((chunk.cost.bytes * chunk.batch for chunk in self.chunks), default=0.0)
        return max(
            (
                bytes_of(frame)
                for frame in {chunk.program: chunk.frame for chunk in self.chunks}.values()
            ),
            default=0.0,
        )

    @property
    def busy(self) -> float:
        """Estimated time of compiling and running, with an empty compilation cache and all steps
        taken.
        """
        speed, first = self.device.speed, {chunk.program: chunk for chunk in self.chunks}
        calling = {
            program: speed.running(work_of(chunk.frame, chunk.batch))
            for program, chunk in first.items()
        }
        making = {
            program: speed.compiling(making_of(chunk.frame)) for program, chunk in first.items()
        }
        running = [
            calling[chunk.program] * -(-len(chunk.trials) // chunk.batch) for chunk in self.chunks
        ]
        # However many workers there are, one of them makes a program and runs its longest chunk.
        longest = max(
            (making[chunk.program] + each for chunk, each in zip(self.chunks, running)), default=0.0
        )
        return max((sum(running) + sum(making.values())) / self.device.workers, longest)

    @property
    def seconds(self) -> float:
        """Estimated time of a run of this plan alone: `busy`, and what every run takes to start and
        to report.
        """
        return self.busy + self.device.speed.start

    @property
    def at_most(self) -> bool:
        """Whether trials may stop before their last step, so that estimates are upper ends."""
        stops = [trial.learner.stop for chunk in self.chunks for trial in chunk.trials[:1]]
        return any(
            each is not None
            for stop in stops
            for each in (stop.target, stop.plateau, stop.after_edge)
        )

    def describe(self) -> dict[str, float | int | str]:
        """The plan as plain values."""
        return {
            "device": self.device.platform,
            "workers": self.device.workers,
            "trials": self.trials,
            "programs": self.programs,
            "flops": self.flops,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "busy_seconds": self.busy,
            "at_most": self.at_most,
            "calibrated": self.device.speed.measured,
        }


CHUNK_SECONDS = 2.0  # progress is shown, and work is safe, at least about this often
CHUNK_TRIALS = 64
BATCH_TRIALS = 64  # one size, so that rounds of a growing sweep meet the same programs
# Operations; batches of such trials are not topped up with copies, which would cost more than
# another program
HEAVY_TRIAL = 1e12
MEDIUM_TRIAL, MANY_STEPS = (
    1e11,
    3000,
)  # operations and steps; batches of such trials are topped up to a power of two only
# Operations: seconds of a large GPU. Several at once where one fills the device only put off the
# moment they are safe
LONG_TRIAL = 1e14
FULL_STEP = 2e11  # operations of one step that fill a large GPU


def framed(trials: Iterable[Trial], rounding: Rounding) -> Iterator[tuple[Trial, str, Trial]]:
    """Each trial with the identity of its program and with its frame.

    >>> import separatrix as sx
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=[8, 64, 3000])
    >>> [frame.samples for _, _, frame in framed(sweep, Device("cpu").rounding)]
    [2048, 2048, 4096]
    """
    found: dict[
        tuple[Any, ...], tuple[str, Trial]
    ] = {}  # many trials differ in their seed or sample size only: look at each kind once
    heavy: dict[tuple[Any, ...], bool] = {}
    held: list[
        Trial
    ] = []  # parts are told apart by their addresses, and must live as long as these are compared
    for trial in trials:
        # Trials of a sweep share their parts, so that equal parts are mostly the same object.
        fields = vars(
            trial
        )  # one look instead of six: a module's attributes are slow, and sweeps are long
        parts = (
            id(fields["task"]),
            id(fields["network"]),
            id(fields["learner"]),
            id(fields["measure"]),
        )
        kind = (
            *parts,
            fields["precision"],
            rounding.samples_up(fields["samples"]),
            fields["samples"] <= LEVEL,
        )
        if kind not in heavy:
            heavy[kind] = is_heavy(trial, rounding)
            held.append(trial)
        if heavy[kind]:  # its sample size is not rounded
            kind = (*kind, fields["samples"])
        if kind not in found:
            frame = frame_of(trial, rounding)
            found[kind] = structure(frame), frame
        yield trial, *found[kind]


def make_plan(sweep: Sweep, device: Device, done: Collection[str] = ()) -> Plan:
    """Group trials by program and cut the groups into chunks.

    Frames, batch sizes and programs depend on the trials alone and not on what is `done`: a resumed
    run computes what is missing in the same programs, and so gets the same numbers.

    >>> import separatrix as sx
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=[8, 64], seeds=3)
    >>> make_plan(sweep, Device("cpu"), done={sweep.trials[0].identity}).trials
    5
    """
    groups: dict[str, list[Trial]] = {}
    frames: dict[str, Trial] = {}
    for trial, program, frame in framed(sweep, device.rounding):
        groups.setdefault(program, []).append(trial)
        frames.setdefault(program, frame)

    chunks: list[Chunk] = []
    for key, trials in groups.items():
        cost = cost_of(frames[key])
        if device.batched:
            fits = max(1, int(device.memory // max(cost.bytes, 1.0)))
            batch = min(BATCH_TRIALS, fits)
            if cost.flops > HEAVY_TRIAL:
                batch = min(batch, len(trials))
            elif cost.flops > MEDIUM_TRIAL and frames[key].learner.steps >= MANY_STEPS:
                batch = min(batch, 1 << (len(trials) - 1).bit_length())
            if cost.flops > LONG_TRIAL:
                batch = min(batch, max(1, int(FULL_STEP * frames[key].learner.steps // cost.flops)))
            length = batch
        else:
            batch = 1
            length = max(
                1, min(CHUNK_TRIALS, int(CHUNK_SECONDS * device.flops // max(cost.flops, 1.0)))
            )
            # With few trials, still give every worker a share.
            length = min(length, -(-len(trials) // device.workers))
        missing = [trial for trial in trials if trial.identity not in done]
        cuts = range(0, len(missing), length)
        chunks += [
            Chunk(key, tuple(missing[cut : cut + length]), frames[key], batch, cost) for cut in cuts
        ]
    weight = {key: cost_of(frames[key]).flops * len(groups[key]) for key in groups}
    chunks.sort(key=lambda chunk: -weight[chunk.program])
    return Plan(device, tuple(chunks))
