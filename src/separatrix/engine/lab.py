"""The laboratory: a folder, a device, and the one door through which sweeps are run."""

import dataclasses
import json
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from separatrix import __version__
from separatrix.engine import policy
from separatrix.engine.cost_model import find_cost_model
from separatrix.engine.execute.dask import Cluster, DaskRunner
from separatrix.engine.execute.local import Finished, Workers, run_here, run_in_threads
from separatrix.engine.execute.scheduler import Hint, hints_of
from separatrix.engine.plan import Device, Plan, cores, make_plan
from separatrix.engine.programs import Programs, Tally, use_compilation_cache
from separatrix.engine.shard import Shard, ShardWaits
from separatrix.engine.store.ledger import DamagedPart, Ledger, Table, table_of
from separatrix.engine.sweep import Sweep
from separatrix.engine.trial import Trial
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.files import lock, write_json
from separatrix.notes import Note
from separatrix.spec import importable

Progress = Callable[[str, int, int], None]


def find_device(workers: int | None = None) -> Device:
    """The device of this machine: its GPU where JAX sees one, else its cores.

    >>> find_device(workers=1).workers
    1
    """
    found = jax.devices()[0]
    if found.platform == "cpu":
        count = workers or cores()
        return Device("cpu", workers=count, cost_model=find_cost_model("cpu", count))
    stats = found.memory_stats() or {}
    return Device(
        found.platform,
        1,
        memory=policy.GPU_MEMORY_SHARE * stats.get("bytes_limit", policy.GPU_MEMORY_UNKNOWN),
        flops=policy.GPU_FLOPS,
        compile_seconds=policy.GPU_COMPILE_SECONDS,
        cost_model=find_cost_model(found.platform, 1),
    )


@dataclasses.dataclass
class Lab:
    """Runs sweeps and remembers their rows, in a folder or (without one) in memory.

    `budget` is the number of seconds after which no new chunk is started; what is missing then is
    missing from the tables. Of worker processes one more chunk is waited for, a few seconds, or
    longer if it is the first; this process and a cluster finish what they began. With a `cluster`
    chunks run on its workers. With a `shard` only that share of each sweep is run, and `run` raises
    `ShardWaits` where rows of other shares are missing.

    >>> import separatrix as sx
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8, seeds=2)
    >>> lab = Lab()
    >>> len(lab.run(sweep)), lab.tally.trials, len(lab.run(sweep)), lab.tally.trials
    (2, 2, 2, 2)
    """

    folder: str | os.PathLike[str] | None = None
    workers: int | None = None
    budget: float | None = None
    progress: Progress | None = None
    command: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    cluster: Cluster | None = None
    shard: Shard | None = None

    def __post_init__(self):
        if self.workers is not None and self.workers < 0:
            raise ParameterError(
                "Lab", "workers", "an integer >= 0 (0 runs in this process)", self.workers
            )
        if self.folder is None and (
            self.shard is not None or (self.cluster is not None and self.cluster.shared)
        ):
            raise SeparatrixError(
                "a shard, and workers that write into the ledger, need an output folder"
            )
        self.ledger = None if self.folder is None else Ledger.open(self.folder)
        self.notes: list[Note] = []
        self.tally = Tally()
        self.complete = True
        self._memory: dict[str, dict[str, Any]] = {}
        self._calculations: dict[str, Any] = {}
        self._programs = Programs()
        self._workers: Workers | None = None
        self._expected: list[Hint] = []  # until a trial is missing
        self._dask = (
            None
            if self.cluster is None
            else DaskRunner(
                self.cluster, self.workers, None if self.folder is None else str(self.folder)
            )
        )
        self._device: Device | None = None
        self._started = datetime.now(UTC)
        self._begin = time.monotonic()
        if self.ledger is not None:
            for name in self.ledger.mend():
                self._note_damage(name)
            self.ledger.pack()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes, and leave the cluster."""
        if self._dask is not None:
            self._dask.close()
        if self._workers is not None:
            self._workers.__exit__()
            self._collect()
            self._workers = None

    @property
    def device(self) -> Device:
        """Where sweeps run."""
        if self._device is None:
            self._device = (
                find_device(self.workers or None) if self._dask is None else self._dask.device
            )
        return self._device

    def plan(self, sweep: Sweep) -> Plan:
        """How a sweep would be run now: finished trials are left out."""
        done = (
            self._mended(lambda ledger: ledger.done(trial.identity for trial in sweep))
            if self.ledger
            else set(self._memory)
        )
        return make_plan(sweep, self.device, done)

    def run(self, sweep: Sweep, what: str = "trials") -> Table:
        """Run what is not finished yet and return the rows of the whole sweep, in its order."""
        identities = [trial.identity for trial in sweep]
        mine = sweep if self.shard is None else self.shard.of(sweep)
        while True:
            plan = self.plan(mine)
            if plan.trials:
                self._execute(plan, what, len(mine))
            if self.ledger is None:
                break
            try:
                table = self.ledger.read(identities)
            except DamagedPart as damage:  # its trials are missing now, and run again
                self._set_aside(damage)
                continue
            if self.shard is not None and len(table) < len(sweep):
                raise ShardWaits(self.shard, len(sweep) - len(table))
            return table
        return table_of(self._memory[each] for each in identities if each in self._memory)

    def start(self) -> None:
        """Start worker processes now, where a sweep would start them: they import while this
        process plans.

        Not where the ledger holds rows already, since then there may be nothing to run.

        >>> lab = Lab()
        >>> lab.start()  # in memory small sweeps run in this process
        """
        if self._works_ahead() and self.ledger is not None and not self.ledger.files():
            self._made().start()

    def expect(self, trials: Iterable[Trial]) -> None:
        """Name trials that will probably be run: worker processes that have nothing else to do
        compile their programs.

        This changes no row: a program depends on its trials alone. Where the ledger holds rows
        already, nothing is compiled before the first trial is missing.

        >>> lab = Lab()
        >>> lab.expect(())
        """
        if not self._works_ahead() or self.ledger is None:
            return
        if self.ledger.files():
            trials = list(trials)
            done = self._mended(lambda ledger: ledger.done(trial.identity for trial in trials))
            self._expected += hints_of(
                (trial for trial in trials if trial.identity not in done), self.device
            )
        else:
            self._made().start()
            self._made().expect(hints_of(trials, self.device))

    def _works_ahead(self) -> bool:
        """Whether sweeps run in worker processes of this machine."""
        return (
            self.workers != 0
            and self._dask is None
            and not self.device.batched
            and not self._spent()
        )

    def _made(self) -> Workers:
        if self._workers is None:
            self._workers = Workers(self.device.workers)
        return self._workers

    def _collect(self) -> None:
        """Count what workers compiled ahead."""
        if self._workers is not None:
            self.tally = self.tally.add(self._workers.collect())

    def _mended(self, ask: Callable[[Ledger], Any]) -> Any:
        """What the ledger answers once parts that turn out to be damaged are set aside."""
        assert self.ledger is not None
        while True:
            try:
                return ask(self.ledger)
            except DamagedPart as damage:
                self._set_aside(damage)

    def _set_aside(self, damage: DamagedPart) -> None:
        assert self.ledger is not None
        self.ledger.set_aside(damage)
        self._note_damage(damage.file.name)

    def _note_damage(self, name: str) -> None:
        self.notes.append(
            Note(
                "damaged-part",
                "warning",
                f"the ledger part {name} was damaged; its trials run again",
            )
        )

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """A calculation that is not a trial, done once for its parameters."""
        if self.ledger is not None:
            return self.ledger.remember(name, parameters, calculate)
        key = f"{name} {parameters}"
        if key not in self._calculations:
            self._calculations[key] = calculate()
        return self._calculations[key]

    def _execute(self, plan: Plan, what: str, total: int) -> None:
        before = done = total - plan.trials
        source = self._source(plan)
        try:
            self._report(what, done, total)
            if self._spent():
                return
            for finished in source:
                self._keep(finished.rows)
                self.tally = self.tally.add(finished.tally)
                done += len(finished.rows) + finished.stored
                self._report(what, done, total)
                if self._spent() and done < total:
                    return
            self._check_stored(plan)
        except KeyboardInterrupt:
            kept = "kept; the same command goes on from there" if self.ledger else "done"
            raise SeparatrixError(
                f"interrupted: {done - before} of {plan.trials} trials of this sweep are {kept}"
            ) from None
        finally:
            self._collect()
            if done < total:
                self.complete = False
                self.close()

    def _check_stored(self, plan: Plan) -> None:
        """What workers wrote into the ledger must be there; a shared folder may show it a little
        later.
        """
        if self.cluster is None or not self.cluster.shared or self.ledger is None:
            return
        wanted = {trial.identity for chunk in plan.chunks for trial in chunk.trials}
        end = time.monotonic() + policy.STORED_SECONDS
        while missing := wanted - self._mended(lambda ledger: ledger.done(wanted)):
            if time.monotonic() > end:
                there = f"{len(missing)} trials that workers wrote are not in {self.ledger.parts}"
                raise SeparatrixError(
                    f"{there}; is it the same folder for all of them? `--ledger driver` needs none"
                )
            time.sleep(0.2)

    def _source(self, plan: Plan) -> Iterable[Finished]:
        # Small jobs, and classes that another process cannot import, run in this process.
        specs = [
            spec
            for chunk in plan.chunks
            for spec in (chunk.trials[0].task, chunk.trials[0].network, chunk.trials[0].learner)
        ]
        # Arrays that only this process holds: its threads share them.
        held = not all(chunk.trials[0].task.travels for chunk in plan.chunks)
        if held and not plan.device.batched and plan.device.workers > 1 and self.workers != 0:
            use_compilation_cache()
            return run_in_threads(plan, self._programs, plan.device.workers)
        local = (
            self.workers == 0
            or plan.device.batched
            or held
            or not all(importable(spec) for spec in specs)
        )
        if self._dask is not None and not local:
            return self._dask.run(plan)
        if local or (
            self.workers is None and self.ledger is None and plan.flops < policy.IN_PROCESS_SWEEP
        ):
            use_compilation_cache()
            return run_here(plan, self._programs)
        workers = self._made()
        if self._expected and not self._spent():
            workers.expect(self._expected)
            self._expected = []
        return workers.run(
            plan, None if self.budget is None else self._begin + self.budget + policy.PATIENCE
        )

    def _keep(self, rows: list[dict[str, Any]]) -> None:
        if self.ledger is not None:
            if rows:  # else the worker wrote them
                self.ledger.write(rows)
        else:
            self._memory |= {row["trial"]: row for row in rows}

    def _spent(self) -> bool:
        return self.budget is not None and time.monotonic() - self._begin > self.budget

    def _report(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    def manifest(self) -> dict[str, Any]:
        """What ran, on what, and what it cost."""
        self._collect()
        peak = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        )
        return {
            "command": self.command,
            "settings": self.settings,
            "started": self._started.isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - self._begin, 3),
            "compile_seconds": round(self.tally.compile_seconds, 3),
            "run_seconds": round(self.tally.run_seconds, 3),
            "programs_compiled": self.tally.programs,
            "programs_with_kernels": self.tally.kernels,
            "trials_run": self.tally.trials,
            "complete": self.complete,
            "peak_memory_bytes": peak * 1024,
            "device": _device_name(self._device),
            "workers": self._device.workers if self._device else 0,
            "shard": str(self.shard or ""),
            "engine": "local"
            if self.cluster is None
            else f"dask {self.cluster.scheduler or 'embedded'}",
            "precision": "float32; each trial states the precision of its matrix products",
            "flags": os.environ.get("XLA_FLAGS", ""),
            "versions": {"separatrix": __version__, "python": platform.python_version()}
            | {
                name: metadata.version(name)
                for name in ("jax", "jaxlib", "equinox", "optax", "numpy", "pyarrow")
            },
            "commit": _commit(),
            "platform": f"{platform.system()} {platform.machine()}",
            "notes": [dataclasses.asdict(note) for note in self.notes],
        }

    def write_manifest(self) -> None:
        """Add this run to the folder's manifest (the newest run first; the last 100 are kept)."""
        if self.ledger is None:
            return
        file = self.ledger.folder / "manifest.json"
        with lock(self.ledger.parts / ".manifest", wait=True):  # shards end at the same time
            write_json(
                file,
                {
                    "runs": [self.manifest(), *read_manifest(self.ledger.folder)][
                        : policy.MANIFEST_RUNS
                    ]
                },
            )


def read_manifest(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The runs that a folder's manifest tells of, the newest first; none where it cannot be read.

    >>> read_manifest("no-such-folder")
    []
    """
    try:
        runs = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    return runs if isinstance(runs, list) else []


def _device_name(device: Device | None) -> str:
    if device is None:
        return "none"
    return (
        platform.processor() or platform.machine()
        if device.platform == "cpu"
        else str(jax.devices()[0].device_kind)
    )


def _commit() -> str:
    """The commit of the source tree this package runs from, `+dirty` when a file of it was changed;
    empty for an installed package.
    """
    here = Path(__file__).resolve().parents[3]
    if not (here / ".git").exists():
        return ""
    try:
        git = ["git", "-C", str(here)]
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return head + ("+dirty" if changed.strip() else "")
