"""The cost model: how long a plan will take, from four numbers, for `--dry-run`.

A run takes some seconds whatever it does, some per program that it compiles, some per step of each
call of a program, and some per floating-point operation. The numbers are assumed for a kind of
device, or fitted to this machine by `separatrix doctor --calibrate`. They decide nothing: frames,
batches and chunks depend on `policy` alone, so a better estimate never changes a row.
"""

import dataclasses
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from separatrix.engine import policy
from separatrix.engine.frames import cost_of
from separatrix.engine.programs import Programs
from separatrix.engine.trial import Measure, Trial
from separatrix.errors import SeparatrixError
from separatrix.files import cache_folder, explain_os_errors, read_json, write_json
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN
from separatrix.spec import digest
from separatrix.tasks import ImageTask, PatternTask, SignalTask

if TYPE_CHECKING:
    from separatrix.engine.plan import Chunk

FORMAT = 2  # of the stored file: raise it whenever the meaning of a coefficient changes


@dataclasses.dataclass(frozen=True)
class CostModel:
    """Seconds of one worker: per operation, per step, per program and per run.

    Args:
      per_flop: per floating-point operation, as `cost_of` counts them.
      per_step: per training step of one call of a program, whatever its size. On a GPU one call
        runs a batch of trials.
      per_program: to compile one program.
      per_run: to import, to start workers, to conclude and to write the report.
      measured: whether these were fitted on this machine.

    >>> CostModel(per_flop=1e-9, per_step=1e-3, per_program=2.0, per_run=5.0).call(1e9, steps=500)
    1.5
    """

    per_flop: float
    per_step: float
    per_program: float
    per_run: float
    measured: bool = False

    def call(self, flops: float, steps: int) -> float:
        """The seconds of one call of a program with so many operations in so many steps."""
        return self.per_flop * flops + self.per_step * steps

    def busy(self, chunks: "Iterable[Chunk]", workers: int) -> float:
        """The seconds in which workers compile and run chunks, with an empty compilation cache.

        The work is shared evenly, but one worker compiles a program and runs its longest chunk.
        """
        running: dict[str, float] = {}
        longest = 0.0
        for chunk in chunks:
            calls = -(-len(chunk.trials) // chunk.batch)
            steps = chunk.frame.learner.steps
            seconds = calls * self.call(chunk.cost.flops * chunk.batch, steps)
            running[chunk.program] = running.get(chunk.program, 0.0) + seconds
            longest = max(longest, self.per_program + seconds)
        whole = sum(running.values()) + self.per_program * len(running)
        return max(whole / workers, longest)


# Fitted to the programs of the quick studies, on one core of a server; for a large GPU from its
# launch times and `benchmarks/RESULTS.md`.
ASSUMED = {
    "cpu": CostModel(per_flop=3e-11, per_step=2e-5, per_program=2.5, per_run=5.0),
    "gpu": CostModel(per_flop=1e-13, per_step=5e-5, per_program=5.0, per_run=15.0),
}


def find_cost_model(kind: str, workers: int) -> CostModel:
    """The calibration of this machine for so many workers, else what is assumed of its kind.

    A file that is damaged, or of another machine, compiler or format, counts as none.

    >>> find_cost_model("cpu", 10**6).measured
    False
    """
    assumed = ASSUMED["cpu" if kind == "cpu" else "gpu"]
    stored, here = read_json(_file(workers)), machine(workers)
    if not isinstance(stored, dict) or {name: stored.get(name) for name in here} != here:
        return assumed
    names = [field.name for field in dataclasses.fields(CostModel) if field.name != "measured"]
    seconds: list[Any] = [stored.get(name) for name in names]
    if not all(type(s) in (int, float) and math.isfinite(s) and s >= 0 for s in seconds):
        return assumed
    return CostModel(*seconds, measured=True) if sum(seconds) > 0 else assumed


def keep_cost_model(model: CostModel, workers: int) -> Path:
    """Store the calibration of this machine; returns its file in the cache folder.

    Raises:
      SeparatrixError: where the cache folder cannot be written.

    >>> keep_cost_model.__name__  # the tests keep one
    'keep_cost_model'
    """
    file = _file(workers)
    with explain_os_errors("keep the calibration", fix="set SEPARATRIX_CACHE to another folder"):
        file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, machine(workers) | dataclasses.asdict(model))
    return file


def machine(workers: int) -> dict[str, Any]:
    """What a calibration holds for: the device, the workers that share it, and the compiler.

    >>> machine(2)["workers"]
    2
    """
    device = jax.devices()[0]
    return {
        "format": FORMAT,
        "platform": device.platform,
        "device": device.device_kind if device.platform != "cpu" else _processor(),
        "workers": workers,
        "jax": metadata.version("jax"),
    }


def _file(workers: int) -> Path:
    return cache_folder() / "cost_model" / f"{digest(machine(workers))}.json"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


class CaseTime(NamedTuple):
    """The measured seconds of one case of a calibration."""

    kind: str
    flops: float
    steps: int
    compiling: float
    running: float


def cases() -> dict[str, Trial]:
    """The trials that a calibration times, by name: few steps of much work, and many of little.

    >>> len(cases())
    6
    """
    signal, few = SignalTask(12, 24, 0.3), Measure(test=1024)
    online = {"oracle": "online", "batch": 128}
    images = ImageTask("embedded-digits")
    deep = CNN(3, 8, depth=2, border="wrap", pool=(2, 1), outputs=10, offset=True)
    return {
        "CNN, many rows": Trial(signal, CNN(1), Learner(1.0, 200), 2048, measure=few),
        "LCN, few rows": Trial(signal, LCN(1, 4), Learner(1.0, 1000), 128, measure=few),
        "FCN, wide": Trial(signal, FCN(256), Learner(0.1, 30), 1024, measure=few),
        "FCN, few rows": Trial(signal, FCN(4), Learner(1.0, 4000), 32, measure=few),
        "CNN, fresh rows": Trial(PatternTask(32, 4), CNN(4, 32), Learner(0.01, 200, **online)),
        "CNN, images": Trial(images, deep, Learner(0.01, 60, **online), measure=few),
    }


def fit_cost_model(times: Iterable[CaseTime], per_run: float) -> CostModel:
    """The cost model that explains measured times, by relative error and without negative seconds.

    >>> times = [CaseTime("a", 1e9, 10, 2.0, 1.01), CaseTime("b", 1e6, 1000, 2.0, 0.101)]
    >>> model = fit_cost_model(times, per_run=5.0)
    >>> round(model.per_flop, 10), round(model.per_step, 5), model.per_program
    (1e-09, 0.0001, 2.0)
    """
    from scipy.optimize import nnls  # not before: every worker would import it

    times = list(times)
    running = np.array([case.running for case in times])
    work = np.array([(case.flops, case.steps) for case in times], float)
    scale = work.max(0)
    seconds, _ = nnls(work / scale / running[:, None], np.ones(len(times)))
    per_flop, per_step = (seconds / scale).tolist()
    per_program = float(np.mean([case.compiling for case in times]))
    return CostModel(per_flop, per_step, per_program, per_run, measured=True)


def time_cases(batch: int, clock: Callable[[], float]) -> list[CaseTime]:
    """Compile and run every case in this process; the median of three runs.

    >>> time_cases.__name__  # takes half a minute
    'time_cases'
    """
    times = []
    for kind, trial in cases().items():
        programs, begin = Programs(), clock()
        programs.have(trial, trial, batch)
        compiling, running = clock() - begin, []
        for _ in range(3):
            begin = clock()
            programs.run(trial.at_seeds(range(batch)), trial, batch)
            running.append(clock() - begin)
        flops = cost_of(trial).flops * batch
        times.append(CaseTime(kind, flops, trial.steps, compiling, float(np.median(running))))
    return times


def calibrate(kind: str, workers: int) -> tuple[CostModel, list[CaseTime]]:
    """Time this machine for a minute or so; `keep_cost_model` stores what comes out.

    On a CPU as many processes as there will be workers measure at once, since workers share caches
    and memory bandwidth. They measure processor time: a worker has a core to itself, and a
    calibration on a busy machine then holds for the quiet one. A GPU runs batches in this process
    and is measured by the clock.

    Args:
      kind: the platform of the device, "cpu" or another.
      workers: the worker processes that runs will use.

    Raises:
      SeparatrixError: if a measuring process fails.

    >>> calibrate.__name__  # takes a minute
    'calibrate'
    """
    beside = 3.0  # seconds of planning, concluding and reporting: quick studies, two cores
    if kind != "cpu":
        importing = time.process_time()
        times = time_cases(policy.BATCH_TRIALS, time.perf_counter)
        return fit_cost_model(times, importing + beside), times
    from separatrix.engine.execute.local import worker_environment

    # Not with -m: the package has imported this module by then.
    command = [sys.executable, "-c", "from separatrix.engine import cost_model; cost_model.main()"]
    children = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=worker_environment(os.environ, number)
        )
        for number in range(workers)
    ]
    try:
        answers = [child.communicate()[0] for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    if any(child.returncode for child in children):
        raise SeparatrixError(
            "a process that measured this machine failed; `separatrix doctor` may say why"
        )
    measured = [json.loads(answer) for answer in answers]
    times = [
        CaseTime(*same[0][:3], *np.median([case[3:] for case in same], axis=0).tolist())
        for same in zip(*(answer["times"] for answer in measured))
    ]
    importing = float(np.median([answer["importing"] for answer in measured]))
    # The driver imports first, then its workers do.
    return fit_cost_model(times, 2 * importing + beside), times


def main() -> None:
    """Time the cases in this process, as a worker would run them, and print JSON."""
    from separatrix.engine.execute.worker import use_one_core

    use_one_core()
    importing = time.process_time()
    times = time_cases(1, time.process_time)
    print(json.dumps({"importing": importing, "times": times}), flush=True)
