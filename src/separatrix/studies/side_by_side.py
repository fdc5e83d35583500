"""Studies side by side: whole studies in processes of their own, with one folder of results.

A study that compiles keeps cores busy and leaves the GPU idle. Other studies can use it meanwhile.
Every process writes rows into the same ledger and the outcome of its study; the process that
started them writes claims.json and the manifest. What is found does not depend on how many studies
run at a time. A process ends when its standard input closes, so also when its parent is killed, and
the same command goes on from the rows that are finished.

`python -m separatrix.studies.side_by_side` is one such process: it reads what it should run as one
line of JSON from standard input.
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from separatrix.engine import Lab, Ledger, RunTally, cores
from separatrix.engine.manifest import RunFacts, add_to_manifest, source_commit
from separatrix.errors import SeparatrixError
from separatrix.files import explain_os_errors, read_json, write_json
from separatrix.studies.claims import check_unique
from separatrix.studies.live import LIVE, live_run, read_live
from separatrix.studies.runner import Job, claims_of, jobs, make_outcomes, run_job, write_claims
from separatrix.units import human_seconds

LOGS = "logs"
PROCESS = (sys.executable, "-m", "separatrix.studies.side_by_side")
ON_A_GPU = 3  # studies at a time: they kept an H200 busy for 93 to 99 % of the time
GPU_MEMORY = 0.9  # of a GPU, for all processes together; their contexts need the rest
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
POLL = 0.05  # seconds between two looks at the processes
EVERY = 1.0  # seconds between two looks at their progress

Told = Callable[[str, str, int, int], None]


@dataclasses.dataclass(frozen=True)
class StudiesRun:
    """What is run side by side.

    Args:
        names: the studies.
        scale: their scale.
        seed: the run's seed.
        folder: the folder of results.
        changes: changes of settings, as `--set` gets them.
        workers: worker processes of each study; None for its share of the cores.
        budget: seconds for all trials together; None for no limit.
        command: the command, as outcomes and the manifest say it.
    """

    names: Sequence[str]
    scale: str
    seed: int
    folder: Path
    changes: Sequence[str] = ()
    workers: int | None = None
    budget: float | None = None
    command: str = ""


@dataclasses.dataclass(frozen=True)
class Ended:
    """How studies that ran side by side ended.

    Attributes:
        claims: the findings of the studies that ended well, as in claims.json.
        failures: one sentence for each study that failed, by its name.
        waiting: the studies that had not begun when the budget ended.
        complete: whether every trial was run.
        tally: what compiling and running cost.
    """

    claims: list[dict[str, Any]]
    failures: dict[str, str]
    waiting: list[str]
    complete: bool
    tally: RunTally


def default_count() -> int:
    """How many studies run at a time where nobody says it: three on a GPU, one on other machines.

    JAX takes most of a GPU's memory when it first looks at it; here it takes none, and leaves it to
    the processes of the studies.
    """
    import jax

    before = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE")
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    try:
        return ON_A_GPU if jax.default_backend() in ("gpu", "cuda", "rocm") else 1
    finally:
        del os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"]
        if before is not None:
            os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = before


def run_side_by_side(run: StudiesRun, count: int, told: Told | None = None) -> Ended:
    """Run studies in processes of their own, the longest first.

    A study that the same commit has finished in this folder is not begun again. A study that fails
    beside others is tried once more, alone, with all memory of the GPU. If it fails again, its
    findings are missing, and the others go on. When the budget has ended no study begins.

    Args:
        run: what to run.
        count: how many studies run at a time.
        told: called with a study, what it is running, how many trials are done and how many there
            are. A study that begins says "begins", one that ends "ends" or "fails".

    Returns:
        The findings, and what failed. claims.json, outcomes and the manifest are written.

    Raises:
        SeparatrixError: settings or the folder cannot be used, or no study ended well.
    """
    started, begin = datetime.now(UTC), time.monotonic()
    wanted = jobs(list(run.names), run.scale, run.seed, list(run.changes))
    check_unique(claim for job in wanted for claim in job.study.claims)
    Ledger.open(run.folder)
    make_outcomes(run.folder)
    with explain_os_errors("make the folder of logs"):
        (run.folder / LOGS).mkdir(exist_ok=True)
    order = longest_first(wanted)
    finished = {name for name in order if _is_finished(run, name)}
    processes = _Processes(run, begin, told or (lambda *_: None))
    try:
        failures = processes.run([name for name in order if name not in finished], count)
        if failures and count > 1:
            failures |= processes.run([name for name in order if name in failures], 1)
            failures = {name: failures[name] for name in failures if name not in processes.records}
    except KeyboardInterrupt:
        raise SeparatrixError(
            "interrupted: finished trials are kept; the same command goes on from there"
        ) from None
    finally:
        processes.end()
        processes.write_live(ended=True)
        whole = finished | {name for name, r in processes.records.items() if r["complete"]}
        complete = whole == set(order)
        seconds = time.monotonic() - begin
        _write_manifest(run, processes.records, complete, count, started, seconds)
    done = [name for name in run.names if name in finished or name in processes.records]
    if failures and not done:
        raise SeparatrixError("no study ended well; " + "; ".join(failures.values()))
    outcomes = [read_json(run.folder / "outcomes" / f"{name}.json") for name in done]
    claims = [claim for outcome in outcomes for claim in claims_of(outcome)]
    write_claims(run.folder, claims, done)
    waiting = [name for name in order if name not in done and name not in failures]
    return Ended(claims, failures, waiting, complete, _total(processes.records.values()))


def _is_finished(run: StudiesRun, name: str) -> bool:
    """Whether this commit, without changed files, has finished a study of the run before."""
    record = read_json(run.folder / LOGS / f"{name}.json")
    commit = source_commit()
    return (
        isinstance(record, dict)
        and (run.folder / "outcomes" / f"{name}.json").exists()
        and record.get("complete") is True
        and bool(commit)
        and not commit.endswith("+dirty")
        and record.get("commit") == commit
        and record.get("settings") == _settings(run)
    )


def _settings(run: StudiesRun) -> dict[str, Any]:
    return {"scale": run.scale, "seed": run.seed, "changes": list(run.changes)}


def longest_first(wanted: Iterable[Job]) -> list[str]:
    """The names of studies, those that take longest at full scale first.

    >>> longest_first(jobs(["pattern-readout", "stability", "dial"], "full"))
    ['stability', 'dial', 'pattern-readout']
    """
    order = sorted(wanted, key=lambda job: -(job.study.full_minutes or 0.0))
    return [job.study.name for job in order]


def gpu_share(count: int, environment: dict[str, str]) -> str:
    """The fraction of a GPU's memory that one of `count` processes gets.

    Args:
        count: how many processes share the GPU.
        environment: where XLA_PYTHON_CLIENT_MEM_FRACTION may name the fraction for all of them.

    >>> gpu_share(3, {}), gpu_share(2, {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".5"})
    ('0.300', '0.250')
    """
    try:
        whole = float(environment["XLA_PYTHON_CLIENT_MEM_FRACTION"])
    except (KeyError, ValueError):
        whole = GPU_MEMORY
    return f"{whole / count:.3f}"


def thread_share(count: int, available: int, environment: dict[str, str]) -> dict[str, str]:
    """How many threads NumPy's and SciPy's libraries may use in one of `count` processes.

    Without this each library starts a thread for every core of the machine in every process. The
    threads spin while they wait for one another, and slow all processes down.

    Args:
        count: how many processes share the machine.
        available: its cores.
        environment: numbers that it names already are left alone.

    >>> thread_share(3, 16, {"OMP_NUM_THREADS": "2"})
    {'OPENBLAS_NUM_THREADS': '5', 'MKL_NUM_THREADS': '5'}
    """
    share = str(max(1, available // count))
    return {name: share for name in THREADS if name not in environment}


class _Processes:
    """The processes of studies, and what they have said."""

    def __init__(self, run: StudiesRun, begin: float, told: Told):
        self.run_, self.begin, self.told = run, begin, told
        self.records: dict[str, dict[str, Any]] = {}  # manifest records of studies that ended well
        self._alive: dict[int, tuple[str, subprocess.Popen[str]]] = {}  # by slot
        self._thresholds: dict[str, Any] = {}
        self._next = 0.0

    def run(self, names: list[str], count: int) -> dict[str, str]:
        """Run studies, `count` at a time; one sentence for each that failed."""
        waiting, failures = list(names), dict[str, str]()
        while waiting or self._alive:
            if self._left() == 0.0:
                waiting.clear()
            for slot in range(count):
                if waiting and slot not in self._alive:
                    self._start(slot, waiting.pop(0), count)
            time.sleep(POLL)
            for slot, (name, process) in list(self._alive.items()):
                if process.poll() is not None:
                    del self._alive[slot]
                    sentence = self._ended(name, process)
                    if sentence:
                        failures[name] = sentence
                    self.told(name, "fails" if sentence else "ends", 0, 0)
            if time.monotonic() >= self._next:
                self._next = time.monotonic() + EVERY
                self.write_live()
        return failures

    def _left(self) -> float | None:
        """Seconds of the budget that are left."""
        if self.run_.budget is None:
            return None
        return max(0.0, self.run_.budget - (time.monotonic() - self.begin))

    def _start(self, slot: int, name: str, count: int) -> None:
        run, folder = self.run_, self.run_.folder
        for file in (folder / live_name(name), folder / LOGS / f"{name}.json"):
            file.unlink(missing_ok=True)
        order = {
            "study": name,
            "scale": run.scale,
            "seed": run.seed,
            "changes": [
                text for text in run.changes if len(run.names) == 1 or text.startswith(f"{name}.")
            ],
            "settings": _settings(run),
            "folder": str(folder),
            "workers": run.workers,
            "budget": self._left(),
            "command": run.command,
            "slot": slot,
            "count": count,
        }
        environment = dict(os.environ)
        environment["XLA_PYTHON_CLIENT_MEM_FRACTION"] = gpu_share(count, environment)
        environment |= thread_share(count, cores(), environment)
        with (
            explain_os_errors(f"start the study {name}"),
            open(folder / LOGS / f"{name}.log", "a", encoding="utf-8") as log,
        ):
            log.write(f"# {datetime.now(UTC).isoformat(timespec='seconds')} {run.command}\n")
            log.flush()
            process = subprocess.Popen(
                PROCESS,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                text=True,
                start_new_session=True,  # Ctrl-C reaches the parent, which ends all of them
            )
        self._alive[slot] = name, process
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended already; its log says why
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        self.told(name, "begins", 0, 0)

    def _ended(self, name: str, process: "subprocess.Popen[str]") -> str:
        """Note what a process that has ended leaves; a sentence if it failed."""
        _close(process)
        log = self.run_.folder / LOGS / f"{name}.log"
        record = read_json(self.run_.folder / LOGS / f"{name}.json")
        if process.returncode == 0 and isinstance(record, dict):
            self.records[name] = record
            return ""
        if process.returncode < 0:
            return f"the study {name} was ended by signal {-process.returncode}; its log is {log}"
        with contextlib.suppress(OSError):
            lines = log.read_text(encoding="utf-8", errors="replace").split("\n# ")[-1].splitlines()
            last = next((line.strip() for line in reversed(lines[1:]) if line.strip()), "")
            if last:
                return f"the study {name} failed: {last[:300]} (its log is {log})"
        return f"the study {name} failed without a word; its log is {log}"

    def write_live(self, ended: bool = False) -> None:
        """Tell the progress of the studies that run, here and in the folder's own file."""
        running = [name for name, _ in self._alive.values()]
        entries = {name: read_live(self.run_.folder, live_name(name)) for name in running}
        sums = {"done": 0, "total": 0}
        for name, entry in entries.items():
            done, total = (_integer(entry.get(key)) for key in ("done", "total"))
            sums = {"done": sums["done"] + done, "total": sums["total"] + total}
            self._thresholds |= entry.get("thresholds") or {}
            self.told(name, str(entry.get("what") or ""), done, total)
        live = {
            "studies": list(self.run_.names),
            "study": ", ".join(running),
            "what": "; ".join(filter(None, (str(e.get("what") or "") for e in entries.values()))),
            **sums,
            "ended": ended,
            "thresholds": self._thresholds,
        }
        with contextlib.suppress(SeparatrixError, OSError):
            write_json(self.run_.folder / LIVE, live)

    def end(self) -> None:
        """End every process that still runs, and forget the files of their progress."""
        for _, process in self._alive.values():
            _close(process)  # it ends when its standard input closes
        for _, process in self._alive.values():
            try:
                process.wait(timeout=5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._alive.clear()
        for name in self.run_.names:
            with contextlib.suppress(OSError):
                (self.run_.folder / live_name(name)).unlink(missing_ok=True)


def live_name(study: str) -> str:
    """The file in which a study that runs beside others tells its progress.

    >>> live_name("signal")
    'live-signal.json'
    """
    return f"live-{study}.json"


def _close(process: "subprocess.Popen[str]") -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _integer(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _total(records: Iterable[dict[str, Any]]) -> RunTally:
    keys = (
        "programs_compiled",
        "trials_run",
        "compile_seconds",
        "run_seconds",
        "programs_with_kernels",
    )
    total = RunTally()
    for record in records:
        total = total.add(RunTally(*(record[key] for key in keys)))
    return total


def _write_manifest(
    run: StudiesRun,
    records: dict[str, dict[str, Any]],
    complete: bool,
    count: int,
    started: datetime,
    seconds: float,
) -> None:
    """Add one record for all studies to the folder's manifest."""
    about = next(iter(records.values()), {})
    record = RunFacts(
        command=run.command,
        settings=_settings(run),
        started=started,
        wall_seconds=seconds,
        tally=_total(records.values()),
        complete=complete,
        device=None,
        shard="",
        engine="local",
        notes=(),
        studies={name: facts for r in records.values() for name, facts in r["studies"].items()},
    ).record()
    record |= {key: about[key] for key in ("device", "workers", "commit") if key in about}
    record["notes"] = [note for r in records.values() for note in r["notes"]]
    add_to_manifest(run.folder, record | {"side_by_side": count})


# What follows runs in the process of one study.


@contextlib.contextmanager
def _parent_lives() -> Iterator[dict[str, Any]]:
    """The order of the parent; this process ends when the parent closes its standard input."""
    order = json.loads(sys.stdin.readline())

    def listen() -> None:
        sys.stdin.read()
        os._exit(1)  # rows are whole or absent, and worker processes end as their input closes

    threading.Thread(target=listen, daemon=True).start()
    yield order


def _use_share_of_cores(slot: int, count: int) -> None:
    """Keep this process and its workers to every `count`-th core, where there are enough."""
    if hasattr(os, "sched_setaffinity") and cores() >= count:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[slot::count])


def run_one(order: dict[str, Any]) -> None:
    """Run the study of an order, write its outcome and what it cost."""
    import jax

    if jax.default_backend() == "cpu":
        _use_share_of_cores(order["slot"], order["count"])
    folder, scale, seed = Path(order["folder"]), order["scale"], order["seed"]
    (job,) = jobs([order["study"]], scale, seed, order["changes"])
    name, command = order["study"], order["command"]
    with Lab(folder, order["workers"], order["budget"], False, command, order["settings"]) as lab:
        lab.live_file = live_name(name)
        lab.start()
        with live_run(lab, [name]):
            claims = run_job(job, lab, folder, scale, seed, command)
        record = lab.manifest()
    write_json(folder / LOGS / f"{name}.json", record)
    words = f"{len(claims)} claims, {record['trials_run']} trials"
    print(f"{name}: {words}, {human_seconds(record['wall_seconds'])}", flush=True)


def main() -> None:
    """Run one study for the process that started this one."""
    with _parent_lives() as order:
        try:
            run_one(order)
        except SeparatrixError as error:
            print(f"{error}", flush=True)
            sys.exit(1)


if __name__ == "__main__":
    main()
