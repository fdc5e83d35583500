"""Chunks for another machine: text goes out, bytes come back, and nothing else.

A chunk travels as JSON text. Its rows return as an Arrow stream whose metadata say what the chunk
cost or what went wrong. So whatever carries them, such as Dask, which pickles what it is given,
sees a string and bytes.
"""

import json
import os
import threading
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax
import pyarrow as pa

from separatrix import __version__
from separatrix.engine.execute.executor import Finished, run_fitting
from separatrix.engine.execute.local import worker_environment
from separatrix.engine.plan import Chunk
from separatrix.engine.programs import Programs, RunTally, use_compilation_cache
from separatrix.engine.store.ledger import MARK
from separatrix.engine.store.parts import write_part
from separatrix.engine.store.table import table_of
from separatrix.engine.trial import REVISION
from separatrix.errors import SeparatrixError
from separatrix.spec import digest, from_message, to_message

_ONE_CHUNK = threading.Lock()  # a worker with several threads still runs one chunk at a time
_PROGRAMS: list[Programs] = []


class WorkerFacts(NamedTuple):
    """What a worker says of itself; see `Device` for the units."""

    platform: str
    memory: float
    flops: float
    compile_seconds: float
    versions: dict[str, str]


def versions() -> dict[str, str]:
    """What must be equal where trials are planned and where they run, lest equal trials give
    different rows.

    >>> sorted(versions())
    ['jax', 'jaxlib', 'revision', 'separatrix']
    """
    return {
        "separatrix": __version__,
        "revision": str(REVISION),
        "jax": jax.__version__,
        "jaxlib": metadata.version("jaxlib"),
    }


def introduce(_: str = "") -> str:
    """The facts of this process as a worker, as JSON text; called on the worker.

    >>> WorkerFacts(*json.loads(introduce())).versions == versions()
    True
    """
    from separatrix.engine.lab import find_device

    _start()
    device = find_device(1)
    return json.dumps(
        WorkerFacts(
            platform=device.platform,
            memory=device.memory,
            flops=device.flops,
            compile_seconds=device.compile_seconds,
            versions=versions(),
        )
    )


def facts_of(answer: Any) -> WorkerFacts | None:
    """The facts in a worker's introduction; None for anything else.

    >>> facts_of(introduce()).platform == jax.devices()[0].platform, facts_of({"platform": "cpu"})
    (True, None)
    """
    try:
        facts = WorkerFacts(*json.loads(answer))
        numbers = (facts.memory, facts.flops, facts.compile_seconds)
        good = all(isinstance(number, int | float) for number in numbers)
        return facts if good and isinstance(facts.platform, str) else None
    except (TypeError, ValueError, RecursionError):
        return None


def _start() -> Programs:
    """This process's programs. The first call sets XLA's flags to those of local workers."""
    if not _PROGRAMS:
        os.environ["XLA_FLAGS"] = worker_environment(
            {"XLA_FLAGS": os.environ.get("XLA_FLAGS", "")}
        )["XLA_FLAGS"]
        use_compilation_cache()
        _PROGRAMS.append(Programs())
    return _PROGRAMS[0]


def to_text(chunk: Chunk, platform: str, folder: str | None = None) -> str:
    """A chunk as text.

    Args:
      chunk: the chunk.
      platform: the kind of device on which it must run.
      folder: where the worker writes the rows; None to have them sent back.

    >>> import separatrix as sx
    >>> from separatrix.engine.plan import Device, make_plan
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=2)
    >>> chunk = make_plan(sweep, Device("cpu")).chunks[0]
    >>> len(from_bytes(answer(to_text(chunk, "cpu"))).rows)
    2
    """
    return json.dumps(
        {
            "trials": [to_message(trial) for trial in chunk.trials],
            "frame": to_message(chunk.frame),
            "batch": chunk.batch,
            "platform": platform,
            "versions": versions(),
            "folder": folder,
        }
    )


def identity_of(chunk: Chunk) -> str:
    """The identity of a chunk: the hash of its trials' identities, in their order."""
    return digest([trial.identity for trial in chunk.trials])


def answer(text: str) -> bytes:
    """Run a chunk given as text; its rows, or what went wrong, as bytes.

    Called on the worker; raises nothing.

    >>> from_bytes(answer("{}"))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a worker failed with KeyError: 'versions'
    """
    with _ONE_CHUNK:
        programs = _start()
        programs.tally = RunTally()
        try:
            return _answer(json.loads(text), programs)
        except SeparatrixError as error:
            return _to_bytes(error=str(error))
        except Exception as error:
            first_line = next(iter(str(error).splitlines()), "")
            return _to_bytes(error=f"a worker failed with {type(error).__name__}: {first_line}")


def _answer(message: dict[str, Any], programs: Programs) -> bytes:
    here = versions()
    for name, wanted in message["versions"].items():
        if here.get(name) != wanted:
            raise SeparatrixError(
                f"a worker has {name} {here.get(name)}, this process {wanted}; "
                "install the same versions on both"
            )
    if (platform := jax.devices()[0].platform) != message["platform"]:
        raise SeparatrixError(
            f"a worker computes on {platform}, others on {message['platform']}; "
            "use workers of one kind for a run"
        )
    trials = [from_message(trial) for trial in message["trials"]]
    rows = run_fitting(trials, from_message(message["frame"]), message["batch"], programs)
    if message["folder"] is None:
        return _to_bytes(rows, tally=json.dumps(vars(programs.tally)))
    folder = Path(message["folder"])
    if not (folder / MARK).is_file():
        raise SeparatrixError(
            f"a worker does not see the folder {folder}; "
            "without a shared folder use --ledger driver"
        )
    write_part(folder / "ledger", table_of(rows).arrow)
    return _to_bytes(tally=json.dumps(vars(programs.tally)), stored=str(len(rows)))


def _to_bytes(rows: list[dict[str, Any]] | None = None, **facts: str) -> bytes:
    table = table_of(rows or []).arrow.replace_schema_metadata(facts)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> Finished:
    """The rows of a chunk.

    Raises:
      SeparatrixError: the error that the worker met, or that its answer is not one.

    >>> from_bytes(b"noise")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a worker's answer cannot be read (5 bytes)
    """
    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)  # offsets that lead out of the data would crash this process
        facts = {
            name.decode(): text.decode() for name, text in (table.schema.metadata or {}).items()
        }
        message = facts.get("error")
        if message is None:
            tally = RunTally(**{k: _number(v) for k, v in json.loads(facts["tally"]).items()})
            return Finished(table.to_pylist(), tally, int(facts.get("stored", "0")))
    except (
        *(pa.ArrowException, ValueError, KeyError, TypeError, OSError),
        *(AttributeError, RecursionError),
    ) as error:
        raise SeparatrixError(f"a worker's answer cannot be read ({len(data)} bytes)") from error
    raise SeparatrixError(message)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value


def check_rows(finished: Finished, chunk: Chunk, stored: bool = False) -> None:
    """Check that a worker answered what it was asked: one row per trial, each with the columns of
    its trial.

    Args:
      finished: the answer.
      chunk: what the worker was sent.
      stored: whether the worker was to write the rows itself.

    Raises:
      SeparatrixError: if the answer is about something else.
    """
    if stored:
        good = not finished.rows and finished.stored == len(chunk.trials)
    else:
        wanted = {trial.identity: trial.row_head() for trial in chunk.trials}
        good = len(finished.rows) == len(wanted) and all(
            wanted.pop(str(row.get("trial")), {"": 0}).items() <= _hashable(row)
            for row in finished.rows
        )
    if not good:
        raise SeparatrixError(
            f"a worker answered with something else than the rows of its {len(chunk.trials)} "
            "trials; does it run this package, unchanged?"
        )


def _hashable(row: dict[str, Any]) -> Any:
    """The items of a row that can be compared with those of a trial, whose values are plain."""
    return {name: item for name, item in row.items() if not isinstance(item, list | dict)}.items()
