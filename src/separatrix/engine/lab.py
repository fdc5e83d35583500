"""The laboratory: a ledger, a device, and the one door through which sweeps are run."""

import dataclasses
import os
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import jax

from separatrix.engine import policy
from separatrix.engine.cost_model import find_cost_model
from separatrix.engine.execute.dask import Cluster, DaskRunner
from separatrix.engine.execute.executor import Executor, InProcess, InThreads
from separatrix.engine.execute.local import Workers
from separatrix.engine.execute.scheduler import Hint, hints_of
from separatrix.engine.manifest import RunFacts, add_to_manifest
from separatrix.engine.plan import Device, Plan, cores, make_plan
from separatrix.engine.programs import RunTally
from separatrix.engine.shard import Shard, ShardWaits
from separatrix.engine.store.identity import contradicting
from separatrix.engine.store.ledger import DamagedPart, Ledger, Table
from separatrix.engine.store.memory import AnyLedger, MemoryLedger
from separatrix.engine.sweep import Sweep
from separatrix.engine.trial import Trial
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.notes import Note
from separatrix.spec import importable

Progress = Callable[[str, int, int], None]
Answer = TypeVar("Answer")


def find_device(workers: int | None = None) -> Device:
    """The device of this machine: its GPU where JAX sees one, else its cores.

    Args:
      workers: worker processes of a CPU; one per core by default.

    >>> find_device(workers=1).workers
    1
    """
    first = jax.devices()[0]
    if first.platform == "cpu":
        count = workers or cores()
        return Device("cpu", workers=count, cost_model=find_cost_model("cpu", count))
    stats = first.memory_stats() or {}
    return Device(
        first.platform,
        workers=1,
        memory=policy.GPU_MEMORY_SHARE * stats.get("bytes_limit", policy.GPU_MEMORY_UNKNOWN),
        flops=policy.GPU_FLOPS,
        compile_seconds=policy.GPU_COMPILE_SECONDS,
        cost_model=find_cost_model(first.platform, 1),
    )


@dataclasses.dataclass
class Lab:
    """Runs sweeps and remembers their rows.

    Args:
      folder: where rows are kept, so that the same sweep is never run twice; None keeps them in
        memory.
      workers: worker processes; one per core by default, 0 runs everything in this process. In
        memory, light sweeps run in this process by default. A GPU always does.
      budget: seconds after which no new chunk is started; trials that are missing then are missing
        from the tables, and `complete` is False. Worker processes finish at most one more chunk, or
        get a few seconds for it. This process and a cluster finish what they have begun.
      progress: called with what is being run, how many trials are done, and how many there are. By
        default there is a progress bar on a terminal or in a notebook once work takes longer than
        a second; False switches it off.
      command: what this run is called in the manifest.
      settings: its settings in the manifest, as plain values.
      cluster: the Dask cluster on which chunks run.
      shard: the share of each sweep that this laboratory runs. `run` raises `ShardWaits` where
        rows of other shares are missing.

    Attributes:
      ledger: what is remembered; its `folder` is None in memory.
      tally: what compiling and running has cost.
      notes: remarks on the run, such as damaged files that were found.
      complete: whether every trial was run so far.
      studies: what each study that ran here cost, by its name.
      live_file: the file in the folder that tells the progress of studies.

    Raises:
      SeparatrixError: if the folder cannot be used, or is missing where the options need one.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=2)
    >>> lab = Lab()
    >>> len(lab.run(sweep)), lab.tally.trials, len(lab.run(sweep)), lab.tally.trials
    (2, 2, 2, 2)
    """

    folder: str | os.PathLike[str] | None = None
    workers: int | None = None
    budget: float | None = None
    progress: Progress | bool | None = None
    command: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    cluster: Cluster | None = None
    shard: Shard | None = None

    def __post_init__(self):
        if self.workers is not None and self.workers < 0:
            raise ParameterError(
                "Lab", "workers", "an integer >= 0 (0 runs in this process)", self.workers
            )
        shared = self.cluster is not None and self.cluster.shared
        if self.folder is None and (self.shard is not None or shared):
            raise SeparatrixError(
                "a shard, and workers that write into the ledger, need an output folder"
            )
        if self.progress is None or self.progress is True:
            from separatrix.progress import ProgressBar

            self.progress = ProgressBar()
        self.ledger: AnyLedger = MemoryLedger() if self.folder is None else Ledger.open(self.folder)
        self.notes: list[Note] = []
        self.tally = RunTally()
        self.complete = True
        self.studies: dict[str, dict[str, float]] = {}
        self.live_file = "live.json"
        self._in_process = InProcess()
        self._workers: Workers | None = None
        self._dask: DaskRunner | None = None
        if self.cluster is not None:
            path = None if self.folder is None else str(self.folder)
            self._dask = DaskRunner(self.cluster, self.workers, path)
        self._expected: list[Hint] = []  # until a trial is missing
        self._device: Device | None = None
        self._started = datetime.now(UTC)
        self._begin = time.monotonic()
        for name in self.ledger.mend():
            self._note_damage(name)
        self.ledger.compact()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes, and leave the cluster."""
        if self._dask is not None:
            self._dask.close()
        if self._workers is not None:
            self._workers.close()
            self._collect()
            self._workers = None

    @property
    def device(self) -> Device:
        """Where sweeps run."""
        if self._device is None:
            if self._dask is not None:
                self._device = self._dask.device
            else:
                self._device = find_device(self.workers or None)
        return self._device

    def plan(self, sweep: Sweep) -> Plan:
        """How a sweep would be run now; finished trials are left out."""
        done = self._mended(lambda: self.ledger.done(trial.identity for trial in sweep))
        return make_plan(sweep, self.device, done)

    def run(self, sweep: Sweep, what: str = "trials") -> Table:
        """Run the trials that are not finished yet.

        Args:
          sweep: the trials.
          what: the name of this work for `progress`.

        Returns:
          The rows of the whole sweep, in its order. Trials that the budget did not allow are
          missing.

        Raises:
          ShardWaits: if this laboratory has run its share, and rows of other shares are missing.
          SeparatrixError: if the run is interrupted or fails; finished trials are kept.
        """
        share = sweep if self.shard is None else self.shard.of(sweep)
        attempt = 0
        while True:
            attempt += 1
            plan = self.plan(share)
            if plan.trials:
                self._execute(plan, what, len(share))
            try:
                table = self.ledger.read(trial.identity for trial in sweep)
                self._check_rows(table, sweep)
            except DamagedPart as damage:  # its trials are missing now, and run again
                self._set_aside(damage)
                if attempt == policy.DAMAGED_READS:
                    raise
                continue
            if self.shard is not None and len(table) < len(sweep):
                raise ShardWaits(self.shard, len(sweep) - len(table))
            return table

    def _check_rows(self, table: Table, sweep: Sweep) -> None:
        """Raise `DamagedPart` if a row of a folder is not the row of the trial that it claims."""
        if self.ledger.folder is None:
            return
        trials = list(sweep)
        if len(table) < len(trials):  # the budget or a shard left some out
            kept = set(table.arrow["trial"].to_pylist()) if len(table) else set()
            trials = [trial for trial in trials if trial.identity in kept]
        if wrong := contradicting(table.arrow, trials):
            name, rows = next(iter(wrong.items()))
            some = [trial.identity for trial, bad in zip(trials, rows) if bad]
            raise self.ledger.contradicted(some, f"has rows with another `{name}` than their trial")

    def start(self) -> None:
        """Start worker processes now, so that they import while this process plans.

        Nothing starts where sweeps need no worker processes, or where the ledger holds rows
        already, since then there may be nothing to run.
        """
        if self._compiles_ahead() and self.ledger.is_empty():
            self._worker_processes().start()

    def expect(self, trials: Iterable[Trial]) -> None:
        """Name trials that will probably be run, so that idle workers compile their programs.

        This changes no row: a program depends on its trials alone. Where the ledger holds rows
        already, nothing is compiled before the first trial is missing.
        """
        if not self._compiles_ahead():
            return
        if self.ledger.is_empty():
            self._worker_processes().expect(hints_of(trials, self.device))
            return
        trials = list(trials)
        done = self._mended(lambda: self.ledger.done(trial.identity for trial in trials))
        missing = (trial for trial in trials if trial.identity not in done)
        self._expected += hints_of(missing, self.device)

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """The result of a calculation that is not a trial, done once for its parameters.

        Args:
          name: what is calculated.
          parameters: plain values that determine the result.
          calculate: returns the result as plain values.
        """
        return self.ledger.remember(name, parameters, calculate)

    def manifest(self) -> dict[str, Any]:
        """What ran, on what, and what it cost, as plain values."""
        self._collect()
        engine = "local"
        if self.cluster is not None:
            engine = f"dask {self.cluster.scheduler or 'embedded'}"
        return RunFacts(
            command=self.command,
            settings=self.settings,
            started=self._started,
            wall_seconds=time.monotonic() - self._begin,
            tally=self.tally,
            complete=self.complete,
            device=self._device,
            shard=str(self.shard or ""),
            engine=engine,
            notes=self.notes,
            studies=self.studies,
        ).record()

    def write_manifest(self) -> None:
        """Add this run to the folder's manifest; without a folder, nothing."""
        if self.ledger.folder is not None:
            add_to_manifest(self.ledger.folder, self.manifest())

    def _compiles_ahead(self) -> bool:
        """Whether sweeps run in worker processes of this machine, and there is time left."""
        return (
            self.ledger.folder is not None
            and self.workers != 0
            and self._dask is None
            and not self.device.batched
            and not self.out_of_time()
        )

    def _worker_processes(self) -> Workers:
        if self._workers is None:
            self._workers = Workers(self.device.workers)
        return self._workers

    def _executor(self, plan: Plan) -> Executor:
        """Where a plan runs.

        Arrays that only this process holds stay in it, and its threads share them. Classes that
        another process cannot import run in this one.
        """
        firsts = [chunk.trials[0] for chunk in plan.chunks]
        held = not all(trial.task.travels for trial in firsts)
        if held and not plan.device.batched and plan.device.workers > 1 and self.workers != 0:
            return InThreads(self._in_process.programs)
        specs = [spec for trial in firsts for spec in (trial.task, trial.network, trial.learner)]
        if held or not all(importable(spec) for spec in specs):
            return self._in_process
        if self._dask is not None:
            return self._dask
        in_memory = self.workers is None and self.ledger.folder is None
        light = in_memory and plan.flops < policy.IN_PROCESS_SWEEP
        if self.workers == 0 or plan.device.batched or light:
            return self._in_process
        return self._worker_processes()

    def _execute(self, plan: Plan, what: str, total: int) -> None:
        before = done = total - plan.trials
        try:
            self.report_progress(what, done, total)
            if self.out_of_time():
                return
            executor = self._executor(plan)
            if executor is self._workers and self._expected:
                executor.expect(self._expected)
                self._expected = []
            until = None
            if self.budget is not None:
                until = self._begin + self.budget + policy.PATIENCE
            for finished in executor.run(plan, until):
                if finished.rows:  # else the worker wrote them
                    self.ledger.write(finished.rows)
                self.tally = self.tally.add(finished.tally)
                done += len(finished.rows) + finished.stored
                self.report_progress(what, done, total)
                if self.out_of_time() and done < total:
                    return
            self._check_stored(plan)
        except KeyboardInterrupt:
            kept = "done"
            if self.ledger.folder is not None:
                kept = "kept; the same command goes on from there"
            raise SeparatrixError(
                f"interrupted: {done - before} of {plan.trials} trials of this sweep are {kept}"
            ) from None
        finally:
            self._collect()
            if done < total:
                self.complete = False
                self.end_progress()
                self.close()

    def _check_stored(self, plan: Plan) -> None:
        """Wait for rows that workers wrote: a shared folder may show them a little later."""
        if self.cluster is None or not self.cluster.shared:
            return
        wanted = {trial.identity for chunk in plan.chunks for trial in chunk.trials}
        end = time.monotonic() + policy.STORED_SECONDS
        while missing := wanted - self._mended(lambda: self.ledger.done(wanted)):
            if time.monotonic() > end:
                raise SeparatrixError(
                    f"{len(missing)} trials that workers wrote are not in {self.ledger.folder}; "
                    "is it the same folder for all of them? `--ledger driver` needs none"
                )
            time.sleep(0.2)

    def _mended(self, ask: Callable[[], Answer]) -> Answer:
        """What the ledger answers, once parts that turn out to be damaged are set aside."""
        while True:
            try:
                return ask()
            except DamagedPart as damage:
                self._set_aside(damage)

    def _set_aside(self, damage: DamagedPart) -> None:
        self.ledger.set_aside(damage)
        for file in damage.files:
            self._note_damage(file.name, damage.problem)

    def _note_damage(self, name: str, problem: str = "is damaged") -> None:
        sentence = f"the ledger part {name} {problem}; it was set aside, and its trials run again"
        self.notes.append(Note("damaged-part", "warning", sentence))

    def _collect(self) -> None:
        """Count what workers have compiled ahead."""
        if self._workers is not None:
            self.tally = self.tally.add(self._workers.collect())

    def out_of_time(self) -> bool:
        """Whether the budget has ended; a study then leaves out what it has not begun.

        >>> Lab().out_of_time(), Lab(budget=0.0).out_of_time()
        (False, True)
        """
        return self.budget is not None and time.monotonic() - self._begin > self.budget

    def report_progress(self, what: str, done: int, total: int) -> None:
        """Tell `progress`, where there is one, how far a piece of work is."""
        if self.progress is not None and not isinstance(self.progress, bool):
            self.progress(what, done, total)

    def end_progress(self) -> None:
        """Take the progress bar away, where there is one."""
        close = getattr(self.progress, "close", None)
        if close is not None:
            close()
