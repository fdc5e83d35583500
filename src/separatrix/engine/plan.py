"""Plans: how a sweep will be run, known before it runs."""

import dataclasses
import os
from collections.abc import Collection
from typing import Any

from separatrix.engine import policy
from separatrix.engine.cost_model import ASSUMED, CostModel
from separatrix.engine.frames import CPU_ROUNDING, GPU_ROUNDING, Cost, Rounding, cost_of, framed
from separatrix.engine.sweep import Sweep
from separatrix.engine.trial import Trial
from separatrix.spec import to_message


@dataclasses.dataclass(frozen=True)
class Device:
    """Where trials run, and what plans assume of it.

    `flops` and `compile_seconds` are the same on every machine of a kind, so that all of them cut
    sweeps into the same chunks. `cost_model` is for estimates alone and may have been measured.

    Args:
      platform: "cpu", or the name that JAX has for another kind of device ("gpu").
      workers: processes that run trials at once.
      memory: bytes that a batch may use.
      flops: operations per second of one worker.
      compile_seconds: per program.
      cost_model: seconds for estimates.

    >>> Device("cpu", workers=2).batched
    False
    """

    platform: str
    workers: int = 1
    memory: float = policy.CPU_MEMORY
    flops: float = policy.CPU_FLOPS
    compile_seconds: float = policy.CPU_COMPILE_SECONDS
    cost_model: CostModel = ASSUMED["cpu"]

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

    Args:
      program: the identity of the program that they share.
      trials: the trials.
      frame: the trial whose sizes the program is compiled for.
      batch: how many trials one call of the program runs.
      cost: the work of one trial.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=100)
    >>> [len(chunk.trials) for chunk in make_plan(sweep, Device("cpu", workers=2)).chunks]
    [50, 50]
    """

    program: str
    trials: tuple[Trial, ...]
    frame: Trial
    batch: int
    cost: Cost

    @property
    def flops(self) -> float:
        """Operations of the whole chunk."""
        return self.cost.flops * len(self.trials)

    def message(self) -> dict[str, Any]:
        """The chunk as plain values, as a worker process is sent it."""
        return {
            "trials": [to_message(trial) for trial in self.trials],
            "frame": to_message(self.frame),
        }


@dataclasses.dataclass(frozen=True)
class Plan:
    """The chunks of a sweep on a device, the most expensive program first.

    Args:
      device: where they run.
      chunks: what runs; finished trials are left out.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> task = sx.SignalTask(4, 3, 0.3)
    >>> sweep = sx.Sweep.grid(task, sx.CNN(1), learner, samples=[8, 3000], seeds=3)
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
        """How many programs will be compiled, unless the compilation cache has them."""
        return len({chunk.program for chunk in self.chunks})

    @property
    def flops(self) -> float:
        """Estimated operations, padding included."""
        return sum(chunk.flops for chunk in self.chunks)

    @property
    def bytes(self) -> float:
        """Estimated peak of device memory of one worker, in bytes; mostly an upper estimate."""
        return max((chunk.cost.bytes * chunk.batch for chunk in self.chunks), default=0.0)

    @property
    def busy(self) -> float:
        """Estimated seconds of compiling and running.

        With an empty compilation cache, and if every trial takes all its steps.
        """
        return self.device.cost_model.busy(self.chunks, self.device.workers)

    @property
    def seconds(self) -> float:
        """Estimated seconds of a run of this plan: `busy`, and what every run takes."""
        return self.busy + self.device.cost_model.per_run

    @property
    def at_most(self) -> bool:
        """Whether trials may stop before their last step, so that estimates are upper ends."""
        stops = [chunk.frame.learner.stop for chunk in self.chunks]
        return any(
            condition is not None
            for stop in stops
            for condition in (stop.target, stop.plateau, stop.after_edge)
        )

    def describe(self) -> dict[str, float | int | str]:
        """The plan as plain values; times in seconds."""
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
            "calibrated": self.device.cost_model.measured,
        }


def make_plan(sweep: Sweep, device: Device, done: Collection[str] = ()) -> Plan:
    """Group trials by program and cut the groups into chunks.

    Frames, batch sizes and programs depend on the trials alone and not on what is `done`: a resumed
    run computes what is missing in the same programs, and so gets the same numbers.

    Args:
      sweep: the trials.
      device: where they will run.
      done: the identities of finished trials.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=6)
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
