"""Plans: how a sweep will be run, known before it runs."""

import dataclasses
import os
from collections.abc import Collection
from typing import Any

from separatrix.engine import policy
from separatrix.engine.frames import CPU_ROUNDING, GPU_ROUNDING, Cost, Rounding, cost_of, framed
from separatrix.engine.speed import ASSUMED, Speed
from separatrix.engine.sweep import Sweep
from separatrix.engine.trial import Trial
from separatrix.engine.work import bytes_of, making_of, work_of
from separatrix.spec import to_message


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
    memory: float = policy.CPU_MEMORY  # bytes that a batch may use
    flops: float = policy.CPU_FLOPS  # operations per second of one worker
    compile_seconds: float = policy.CPU_COMPILE_SECONDS  # per program
    speed: Speed = ASSUMED["cpu"]

    @property
    def batched(self) -> bool:
        """Whether many trials run in one program call."""
        return self.platform != "cpu"

    @property
    def rounding(self) -> Rounding:
        """How sizes are rounded up on this kind of device."""
        return GPU_ROUNDING if self.batched else CPU_ROUNDING


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
    for program, trials in groups.items():
        frame = frames[program]
        cost = cost_of(frame)
        if device.batched:
            length = batch = _batch_size(frame, cost, len(trials), device)
        else:
            batch, length = 1, _chunk_length(cost, len(trials), device)
        missing = [trial for trial in trials if trial.identity not in done]
        chunks += [
            Chunk(program, tuple(missing[start : start + length]), frame, batch, cost)
            for start in range(0, len(missing), length)
        ]
    weight = {program: cost_of(frames[program]).flops * len(groups[program]) for program in groups}
    chunks.sort(key=lambda chunk: -weight[chunk.program])
    return Plan(device, tuple(chunks))


def _batch_size(frame: Trial, cost: Cost, trials: int, device: Device) -> int:
    """How many of a program's trials run in one call on a GPU."""
    fits = max(1, int(device.memory // max(cost.bytes, 1.0)))
    batch = min(policy.BATCH_TRIALS, fits)
    steps = frame.learner.steps
    if cost.flops > policy.HEAVY_TRIAL:
        batch = min(batch, trials)
    elif cost.flops > policy.MEDIUM_TRIAL and steps >= policy.MANY_STEPS:
        batch = min(batch, 1 << (trials - 1).bit_length())
    if cost.flops > policy.LONG_TRIAL:
        batch = min(batch, max(1, int(policy.FULL_STEP * steps // cost.flops)))
    return batch


def _chunk_length(cost: Cost, trials: int, device: Device) -> int:
    """How many of a program's trials a worker runs before it reports on a CPU."""
    in_time = int(policy.CHUNK_SECONDS * device.flops // max(cost.flops, 1.0))
    length = max(1, min(policy.CHUNK_TRIALS, in_time))
    return min(length, -(-trials // device.workers))  # with few trials, each worker gets a share
