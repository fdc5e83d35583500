"""Measuring how fast this machine is: a dozen small trials of different kinds, as workers run them,
each at two lengths.

On a CPU as many processes as there will be workers measure at once, since workers share caches and
memory. What is measured there is the processor time that each of them used: a worker has one core
to itself, and a calibration on a busy machine holds for the quiet one. On a GPU, which runs batches
in this process, it is the time on the clock.
"""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from separatrix.engine import policy
from separatrix.engine import programs as compiled
from separatrix.engine.plan import Device
from separatrix.engine.speed import ASSUMED, Speed, fit_speed
from separatrix.engine.trial import Measure, Trial
from separatrix.engine.work import Making, Work, making_of, work_of
from separatrix.errors import SeparatrixError
from separatrix.learners import Learner, Ramp
from separatrix.networks import CNN, FCN, LCN, LSA
from separatrix.tasks import DigitSequenceTask, ImageTask, PatternTask, SignalTask, SphereTask

LENGTHS = (1.0, 4.0)
REPEATS = 3
# Seconds that a run of a study takes beside importing: planning, concluding, writing the report
# (quick studies, two cores)
BESIDE = 3.0

Progress = Callable[[str, int, int], None]


class Timed(NamedTuple):
    """One measured program: what it is, the seconds of compiling it and of calling it.

    >>> Timed("CNN", 200, 2.0, 0.1).steps
    200
    """

    kind: str
    steps: int
    compiling: float
    running: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """What was measured, and the speed that explains it.

    >>> Calibration(ASSUMED["cpu"], (), 1).rows()
    []
    """

    speed: Speed
    times: tuple[Timed, ...]
    batch: int

    def rows(self) -> list[dict[str, Any]]:
        """Each measured program beside what the fitted speed says of it."""
        known = {(kind, trial.learner.steps): trial for kind, trial in cases()}
        out: list[dict[str, Any]] = []
        for each in self.times:
            trial = known[each.kind, each.steps]
            running, compiling = (
                self.speed.running(work_of(trial, self.batch)),
                self.speed.compiling(making_of(trial)),
            )
            out.append(
                {
                    "kind": each.kind,
                    "steps": each.steps,
                    "seconds": each.running,
                    "predicted": running,
                    "ratio": running / each.running,
                    "compile_seconds": each.compiling,
                    "compile_predicted": compiling,
                    "compile_ratio": compiling / each.compiling,
                }
            )
        return out


def cases() -> list[tuple[str, Trial]]:
    """The trials that are timed, with the names of their kinds: each kind at two lengths.

    >>> len(cases()), len({kind for kind, _ in cases()})
    (28, 14)
    """
    signal, sphere = SignalTask(12, 24, 0.3), SphereTask(dimension=40, patch=5, noise=0.5)
    bits, digits, sequences = (
        PatternTask(32, 4),
        ImageTask("embedded-digits"),
        DigitSequenceTask(9, height=8),
    )
    few, sharp = (
        Measure(test=1024),
        Measure(("sharpness", "regression", "activation"), test=512, times=20),
    )

    def online(batch: int, steps: int, **more: Any) -> Learner:
        return Learner(0.01, steps, oracle="online", batch=batch, **more)

    def shallow(steps: int) -> Learner:
        return Learner(0.1, steps, "squared")

    several: dict[str, Any] = {"outputs": 10, "offset": True}
    soft: dict[str, Any] = {"activation": LSA(0.5), "readout": "sum", "bias": False}
    ramp: dict[str, Any] = {"projection": "ball", "lsa_bias": Ramp(0.0, 0.5)}
    kinds = {
        "CNN, many rows": Trial(
            signal,
            CNN(1, **soft),
            Learner(1.0, 50, **ramp),
            2048,
            measure=few.replace(probes=("risk", "alignment")),
        ),
        "LCN, few rows": Trial(signal, LCN(1, 4), Learner(1.0, 200), 128, measure=few),
        "FCN, many rows": Trial(
            signal, FCN(12, **soft), Learner(1.0, 50, **ramp), 2048, measure=few
        ),
        "FCN, wide": Trial(signal, FCN(256), Learner(0.1, 10), 1024, measure=few),
        "FCN, few rows": Trial(SignalTask(4, 4, 0.3), FCN(4), Learner(1.0, 1000), 32, measure=few),
        "CNN, minibatches": Trial(
            signal, CNN(1, 8), Learner(0.1, 200, batch=32), 2048, measure=few
        ),
        "CNN, drawn rows": Trial(signal, CNN(1), Learner(1.0, 2), 8192, measure=Measure(test=8192)),
        "CNN, patterns online": Trial(bits, CNN(4, 32), online(128, 60), measure=few),
        "FCN, patterns online": Trial(bits, FCN(64), online(128, 300), measure=few),
        "LCN, digits online": Trial(
            sequences,
            LCN((8, 24), 48, stride=8),
            online(128, 20, optimizer="adadelta"),
            measure=few,
        ),
        "FCN, digits online": Trial(
            sequences, FCN(48), online(128, 50, optimizer="adadelta"), measure=few
        ),
        "CNN, deep, images": Trial(
            digits,
            CNN(3, 8, depth=3, border="wrap", pool=(2, 1, 2), **several),
            online(64, 40),
            measure=few,
        ),
        "FCN, deep, images": Trial(
            digits, FCN(64, depth=3, **several), online(64, 200, optimizer="rmsprop"), measure=few
        ),
        "CNN, sharpness": Trial(
            sphere, CNN(5, 48, stride=5, readout="pooled"), shallow(500), 128, measure=sharp
        ),
    }
    return [
        (
            kind,
            trial.replace(learner=trial.learner.replace(steps=round(length * trial.learner.steps))),
        )
        for kind, trial in kinds.items()
        for length in LENGTHS
    ]


def timings(batch: int, clock: Callable[[], float]) -> Iterator[Timed]:
    """Compile and run every case in this process.

    >>> next(timings(1, time.perf_counter)).kind
    'CNN, many rows'
    """
    for kind, trial in cases():
        programs, begin = compiled.Programs(), clock()
        programs.have(trial, trial, batch)
        compiling, seconds = clock() - begin, []
        trials = [trial.replace(seed=seed) for seed in range(batch)]
        for _ in range(REPEATS):
            begin = clock()
            programs.run(trials, trial, batch)
            seconds.append(clock() - begin)
        yield Timed(kind, trial.learner.steps, compiling, float(np.median(seconds)))


def calibrate(device: Device, progress: Progress | None = None) -> Calibration:
    """Measure this machine as `device` uses it; takes a minute or two. `keep_speed` stores what
    comes out.

    >>> calibrate.__name__  # too long for an example
    'calibrate'
    """
    show = progress or (lambda what, done, total: None)
    batch, total = policy.BATCH_TRIALS if device.batched else 1, len(cases())
    if device.batched:
        begin, times = time.process_time(), []
        for each in timings(batch, time.perf_counter):
            times.append(each)
            show("calibration", len(times), total)
        importing = begin
    else:
        times, importing = _beside_each_other(
            device.workers, lambda done: show("calibration", done, total)
        )
    known = {(kind, trial.learner.steps): trial for kind, trial in cases()}
    trials = [known[each.kind, each.steps] for each in times]
    assumed = ASSUMED["gpu" if device.batched else "cpu"]
    work: Work = fit_speed(
        [work_of(trial, batch) for trial in trials], [each.running for each in times], assumed.work
    )
    making: Making = fit_speed(
        [making_of(trial) for trial in trials], [each.compiling for each in times], assumed.making
    )
    # The driver imports, then its workers do: one after the other.
    start = importing * (1.0 if device.batched else 2.0) + BESIDE
    return Calibration(Speed(work, making, start, measured=True), tuple(times), batch)


def _beside_each_other(count: int, show: Callable[[int], None]) -> tuple[list[Timed], float]:
    """The times that processes measure, all at once: of each case the median over them; and the
    seconds that they needed to import.
    """
    from separatrix.engine.execute.local import environment

    show(0)
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "separatrix.engine.calibration"],
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment(dict(os.environ)) | {"SEPARATRIX_WORKER": str(number)},
        )
        for number in range(count)
    ]
    try:
        lines: list[list[Any]] = [[] for _ in children]
        for done in range(len(cases()) + 1):
            for child, mine in zip(children, lines):
                assert child.stdout is not None
                line = child.stdout.readline()
                if not line.endswith("\n"):
                    raise SeparatrixError(
                        "a process that measured this machine ended early; `separatrix doctor` may say why"
                    )
                mine.append(json.loads(line))
            show(done)
    finally:
        for child in children:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
    importing = float(np.median([mine[0] for mine in lines]))
    middle = [
        [float(np.median(column)) for column in zip(*(one[2:] for one in each))]
        for each in zip(*(mine[1:] for mine in lines))
    ]
    return [Timed(one[0], one[1], *times) for one, times in zip(lines[0][1:], middle)], importing


def main() -> None:
    """Measure in this process and tell the one that asked, a line for each case."""
    if hasattr(os, "sched_setaffinity"):  # as a worker does
        available = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(
            0, {available[int(os.environ.get("SEPARATRIX_WORKER", "0")) % len(available)]}
        )
    print(json.dumps(time.process_time()), flush=True)
    for each in timings(1, time.process_time):
        print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
