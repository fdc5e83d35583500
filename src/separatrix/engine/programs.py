"""Programs: trials compiled once per structure, kept for the next chunk, and counted."""

import concurrent.futures
import dataclasses
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from separatrix.engine import policy
from separatrix.engine.frames import cost_of, structure
from separatrix.engine.trial import Trial, run_trial
from separatrix.files import cache_folder
from separatrix.learners import Status
from separatrix.networks.kernels import lowering

# Tracing holds the interpreter's lock anyway. One program at a time is traced, so that the first is
# ready while the others are traced, and not all at the end.
TRACING = threading.Lock()


@dataclasses.dataclass
class RunTally:
    """What compiling and running has cost.

    Args:
      programs: programs compiled.
      trials: trials run.
      compile_seconds: seconds of waiting for programs; several threads compile at once, so that
        this is less than the sum of their times.
      run_seconds: seconds in which programs ran.
      kernels: programs with kernels of ours (`separatrix.networks.kernels`) that ran.

    >>> RunTally(programs=1).add(RunTally(programs=2)).programs
    3
    """

    programs: int = 0
    trials: int = 0
    compile_seconds: float = 0.0
    run_seconds: float = 0.0
    kernels: int = 0

    def add(self, other: "RunTally") -> "RunTally":
        """The sum of both."""
        return RunTally(
            *(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other)))
        )


def use_compilation_cache() -> str | None:
    """Keep compiled programs between runs, in the cache folder.

    Returns:
      The folder; None where it cannot be made, and nothing is kept.

    >>> use_compilation_cache() is None or use_compilation_cache().endswith("xla")
    True
    """
    folder = str(cache_folder() / "xla")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return None
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


class Program(NamedTuple):
    """A compiled program, and whether it has kernels of ours."""

    call: Any
    kernels: bool
    again: Callable[[], "Program"] | None = None  # the same, compiled without command buffers

    def __call__(self, *inputs: Any) -> Any:
        return self.call(*inputs)


class Programs:
    """Compiles and runs trials that share a frame: one at a time on a CPU, a batch on a GPU.

    >>> import separatrix as sx
    >>> programs = Programs()
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8)
    >>> rows = programs.run([trial, trial.replace(seed=1)], frame=trial)
    >>> len(rows), programs.tally.programs
    (2, 1)
    """

    def __init__(self):
        self.tally = RunTally()
        self._compiled: dict[tuple[str, int], concurrent.futures.Future[Program]] = {}
        self._placed: dict[int, tuple[np.ndarray, Any]] = {}
        self._with_kernels: set[tuple[str, int]] = set()

    def run(self, trials: list[Trial], frame: Trial, batch: int = 1) -> list[dict[str, Any]]:
        """Run trials, compiling their program first if needed.

        Args:
          trials: trials that share a program.
          frame: the trial whose sizes the program is compiled for.
          batch: how many trials one call runs. The last batch is filled up with copies, whose
            rows are dropped.

        Returns:
          One row per trial.
        """
        rows: list[dict[str, Any]] = []
        for start in range(0, len(trials), batch):
            part = trials[start : start + batch]
            inputs = _inputs(part + [part[-1]] * (batch - len(part)), batch)
            program = self._program(part[0], frame, batch)
            arrays = {name: self._place(array) for name, array in part[0].task.arrays().items()}
            begin = time.perf_counter()
            try:
                out = jax.device_get(program(*inputs, arrays))
            except jax.errors.JaxRuntimeError as error:
                if program.again is None or not cannot_capture(error):
                    raise
                program = self._without_capture(part[0], frame, batch, program)
                begin = time.perf_counter()
                out = jax.device_get(program(*inputs, arrays))
            seconds = time.perf_counter() - begin
            self.tally.run_seconds += seconds
            self.tally.trials += len(part)
            for index, trial in enumerate(part):
                one = out if batch == 1 else {name: values[index] for name, values in out.items()}
                rows.append(trial.row_head() | _row(one) | {"run.seconds": seconds / len(part)})
        return rows

    def prepare(self, wanted: Iterable[tuple[Trial, Trial, int]], threads: int) -> None:
        """Begin to compile programs in the background; `run` waits for the one that it needs.

        Compiling does not hold the interpreter's lock, so that several programs for a GPU, about
        five seconds each, compile at once.

        Args:
          wanted: a trial, its frame and the batch size of each program.
          threads: how many programs compile at once.

        >>> import separatrix as sx
        >>> learner = sx.Learner(rate=1.0, steps=5)
        >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8)
        >>> programs = Programs()
        >>> programs.prepare([(trial, trial, 1), (trial, trial, 2)], threads=2)
        >>> len(programs.run([trial], trial)), programs.tally.programs
        (1, 2)
        """
        missing = {
            (structure(frame), batch): (trial, frame, batch) for trial, frame, batch in wanted
        }
        pool = concurrent.futures.ThreadPoolExecutor(max(1, threads), "compile")
        for key, (trial, frame, batch) in missing.items():
            if key in self._compiled:
                continue
            self._compiled[key] = pool.submit(_compile, trial, frame, batch)
            self.tally.programs += 1
        pool.shutdown(wait=False)

    def have(self, trial: Trial, frame: Trial, batch: int = 1) -> RunTally:
        """Compile a program in this thread, unless it is compiled; returns what that cost.

        `run`, in another thread, waits for it if it needs it.

        >>> import separatrix as sx
        >>> learner = sx.Learner(rate=1.0, steps=5)
        >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8)
        >>> programs = Programs()
        >>> programs.have(trial, trial).programs, programs.have(trial, trial).programs
        (1, 0)
        """
        key, future = (structure(frame), batch), concurrent.futures.Future[Program]()
        if self._compiled.setdefault(key, future) is not future:
            return RunTally()
        begin = time.perf_counter()
        try:
            future.set_result(_compile(trial, frame, batch))
        except BaseException as error:
            del self._compiled[key]
            future.set_exception(error)
            raise
        return RunTally(programs=1, compile_seconds=time.perf_counter() - begin)

    def cancel(self) -> None:
        """Forget the programs whose compilation has not begun."""
        self._compiled = {
            key: future for key, future in self._compiled.items() if not future.cancel()
        }

    def _without_capture(self, trial: Trial, frame: Trial, batch: int, program: Program) -> Program:
        """Compile a program again without command buffers, and keep that one."""
        assert program.again is not None
        begin = time.perf_counter()
        key = structure(frame), batch
        made = program.again()
        self._compiled[key] = concurrent.futures.Future()
        self._compiled[key].set_result(made)
        self.tally.programs += 1
        self.tally.compile_seconds += time.perf_counter() - begin
        return made

    def _place(self, array: np.ndarray) -> Any:
        """A task's stored array on the device: one copy for all programs and chunks."""
        key = id(array)  # the array is held below, so that no other gets its address
        if key not in self._placed:
            self._placed[key] = (array, jax.device_put(np.asarray(array)))
        return self._placed[key][1]

    def _program(self, trial: Trial, frame: Trial, batch: int) -> Program:
        begin = time.perf_counter()
        key = structure(frame), batch
        if key not in self._compiled:
            self._compiled[key] = concurrent.futures.Future()
            self._compiled[key].set_result(_compile(trial, frame, batch))
            self.tally.programs += 1
        program = self._compiled[key].result()
        self.tally.compile_seconds += time.perf_counter() - begin
        if program.kernels and key not in self._with_kernels:
            self._with_kernels.add(key)
            self.tally.kernels += 1
        return program


def _compile(trial: Trial, frame: Trial, batch: int) -> Program:
    """The program that runs `batch` trials of the structure of `trial`, with array sizes of
    `frame`.
    """
    shape = jax.tree.structure(trial.replace(seed=0))

    def run_one(leaves: Any, words: Any, arrays: Any) -> Any:
        # Precision is pinned: left alone, a GPU would use TF32 for float32 products.
        with jax.default_matmul_precision(
            {"float32": "float32", "tf32": "tensorfloat32"}[frame.precision]
        ):
            return run_trial(jax.tree.unflatten(shape, leaves), words, frame, arrays)

    # Stored arrays are an argument that all trials of a batch share: neither constants of the
    # program nor copied for each trial.
    arrays = {
        name: jax.ShapeDtypeStruct(array.shape, array.dtype)
        for name, array in trial.task.arrays().items()
    }
    program = run_one if batch == 1 else jax.vmap(run_one, in_axes=(0, 0, None))
    operations = cost_of(frame).flops * batch

    def build(kernels: bool) -> Program:
        # The library's convolutions are slow in light programs, where XLA does not tune them.
        with (
            TRACING,
            lowering(
                kernels=kernels,
                full_kernels=_has_kernels(operations, policy.KERNELS_OF_FULL),
                single=batch == 1 and not _is_light(operations),
            ) as choice,
        ):
            # A new function each time, or JAX would reuse what it traced before.
            inputs = _inputs([trial] * batch, batch)
            lowered = jax.jit(lambda *args: program(*args)).lower(*inputs, arrays)
        used = bool(choice.used)
        return Program(
            compiled(lowered, operations),
            used,
            lambda: Program(compiled(lowered, operations, capture=False), used),
        )

    if not _has_kernels(operations, policy.KERNELS):
        return build(kernels=False)
    try:
        return build(kernels=True)
    except Exception as error:  # any other cause fails again below
        without = build(kernels=False)
        reason = " ".join(str(error).split())[:200]
        warnings.warn(
            f"a program was made without kernels, which did not compile: {reason}", stacklevel=2
        )
        return without


def _has_kernels(operations: float, least: dict[str, float]) -> bool:
    """Whether a program of so many operations per call asks for our kernels, which are for NVIDIA's
    devices.
    """
    backend = jax.default_backend()
    return operations >= least.get(backend, math.inf) and (
        backend != "gpu" or "NVIDIA" in jax.devices()[0].device_kind
    )


def cannot_capture(error: Exception) -> bool:
    """Whether a GPU failed because it could not record an operation in a command buffer.

    XLA records operations into CUDA graphs ("command buffers"); some products of cuBLASLt cannot
    be recorded.

    >>> cannot_capture(RuntimeError("INTERNAL: failed to capture cuBLASLt matmul in a CUDA graph"))
    True
    >>> cannot_capture(RuntimeError("RESOURCE_EXHAUSTED: out of memory"))
    False
    """
    text = " ".join(str(error).lower().replace("_", " ").split())
    signs = ("command buffer", "cuda graph", "gpu graph", "stream capture", "streamcapture")
    return "resource exhausted" not in text and any(sign in text for sign in signs)


def compiled(lowered: Any, operations: float, capture: bool = True) -> Any:
    """Compile a lowered function with the options for so many operations per call on this device.

    Args:
      lowered: what `jax.jit(...).lower(...)` gave.
      operations: floating-point operations per call.
      capture: whether a GPU may record operations in command buffers. A program for which XLA
        cannot do that is compiled without them.

    >>> compiled(jax.jit(lambda x: x + 1).lower(1.0), operations=1.0)(2.0).item()
    3.0
    """
    options = _options(jax.default_backend(), operations)
    if not capture:
        options = options | policy.NO_COMMAND_BUFFERS
    try:
        return lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if capture and cannot_capture(error):
            return compiled(lowered, operations, capture=False)
        if not options or "No such compile option" not in str(error):
            raise
        return lowered.compile()  # this version of XLA has other options


def _options(backend: str, operations: float) -> dict[str, Any]:
    options = policy.COMPILER_OPTIONS.get(backend, {})
    if _is_light(operations, backend):
        options = options | policy.LIGHT_PROGRAM_OPTIONS.get(backend, {})
    return options


def _is_light(operations: float, backend: str | None = None) -> bool:
    return operations < policy.LIGHT_PROGRAM.get(backend or jax.default_backend(), 0.0)


def _inputs(trials: list[Trial], batch: int) -> tuple[Any, Any]:
    """The inputs of a program: the trials' numbers and the words of their random streams."""
    leaves = [_leaves(trial) for trial in trials]
    words = [trial.root() for trial in trials]
    if batch == 1:
        return leaves[0], words[0]
    return [np.stack(column) for column in zip(*leaves)], np.stack(words)


def _leaves(trial: Trial) -> list[np.ndarray]:
    """A trial's numbers as the program takes them; the seed acts through the root words only."""
    leaves = jax.tree.leaves(
        (trial.task, trial.network, trial.learner, trial.samples, 0, trial.measure)
    )
    return [
        np.asarray(leaf, np.int32 if isinstance(leaf, int | np.integer) else np.float32)
        for leaf in leaves
    ]


def _row(out: dict[str, Any]) -> dict[str, Any]:
    """A program's output as plain values; traces end where the trial stopped."""
    length = int((np.asarray(out["trace.step"]) >= 0).sum())
    row: dict[str, Any] = {}
    for name, item in out.items():
        if name == "status":
            row[name] = Status(int(item)).label
        elif name.startswith("trace."):
            row[name] = np.asarray(item)[:length].tolist()
        elif np.ndim(item):
            row[name] = np.asarray(item).tolist()
        else:
            row[name] = np.asarray(item).item()
    return row
