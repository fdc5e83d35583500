"""Chunks for another machine: text goes there, bytes come back, and nothing else.

A chunk travels as JSON text, its rows return as an Arrow stream whose metadata tell what it cost or
what went wrong. So whatever carries them — Dask pickles what it is given — sees a string and bytes.
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
from separatrix.engine.execute.local import Finished, run_fitting, worker_environment
from separatrix.engine.plan import Chunk
from separatrix.engine.programs import Programs, Tally, use_compilation_cache
from separatrix.engine.store.ledger import MARK
from separatrix.engine.store.parts import write_part
from separatrix.engine.store.table import table_of
from separatrix.engine.trial import REVISION
from separatrix.errors import SeparatrixError
from separatrix.spec import digest, from_message, to_message

_ALONE = threading.Lock()  # a worker with several threads still runs one chunk at a time
_PROGRAMS: list[Programs] = []


class Worker(NamedTuple):
    """What a worker says of itself.

    >>> Worker("cpu", 8e9, 1.5e10, 2.0, {}).platform
    'cpu'
    """

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
    """This process as a worker, as JSON text; called on the worker.

    >>> Worker(*json.loads(introduce())).versions == versions()
    True
    """
    from separatrix.engine.lab import find_device

    _begin()
    device = find_device(1)
    return json.dumps(
        Worker(device.platform, device.memory, device.flops, device.compile_seconds, versions())
    )


def _begin() -> Programs:
    """This process's programs; the first call settles how XLA computes, as for workers on this
    machine.
    """
    if not _PROGRAMS:
        os.environ["XLA_FLAGS"] = worker_environment(
            {"XLA_FLAGS": os.environ.get("XLA_FLAGS", "")}
        )["XLA_FLAGS"]
        use_compilation_cache()
        _PROGRAMS.append(Programs())
    return _PROGRAMS[0]


def to_text(chunk: Chunk, platform: str, folder: str | None = None) -> str:
    """A chunk as text; with a `folder`, the worker writes the rows into its ledger instead of
    sending them back.

    >>> import separatrix as sx
    >>> from separatrix.engine.plan import Device, make_plan
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8, seeds=2)
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
    """The identity of a chunk: of its trials, in their order.

    >>> from separatrix.engine.frames import Cost
    >>> len(identity_of(Chunk("p", (), None, 1, Cost(0.0, 0.0))))
    32
    """
    return digest([trial.identity for trial in chunk.trials])


def answer(text: str) -> bytes:
    """Run a chunk given as text; the rows, or what went wrong, as bytes. Called on the worker;
    raises nothing.

    >>> from_bytes(answer("{}"))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a worker failed with KeyError: 'versions'
    """
    with _ALONE:
        programs = _begin()
        programs.tally = Tally()
        try:
            return _answer(json.loads(text), programs)
        except SeparatrixError as error:
            return _packed(error=str(error))
        except Exception as error:
            first = next(iter(str(error).splitlines()), "")
            return _packed(error=f"a worker failed with {type(error).__name__}: {first}")


def _answer(message: dict[str, Any], programs: Programs) -> bytes:
    mine = versions()
    for name, wanted in message["versions"].items():
        if mine.get(name) != wanted:
            raise SeparatrixError(
                f"a worker has {name} {mine.get(name)}, this process {wanted}; install the same versions on both"
            )
    if (here := jax.devices()[0].platform) != message["platform"]:
        raise SeparatrixError(
            f"a worker computes on {here}, others on {message['platform']}; use workers of one kind for a run"
        )
    trials = [from_message(each) for each in message["trials"]]
    rows = run_fitting(trials, from_message(message["frame"]), message["batch"], programs)
    if message["folder"] is None:
        return _packed(rows, tally=json.dumps(vars(programs.tally)))
    folder = Path(message["folder"])
    if not (folder / MARK).is_file():
        raise SeparatrixError(
            f"a worker does not see the folder {folder}; without a shared folder use --ledger driver"
        )
    write_part(folder / "ledger", table_of(rows).arrow)
    return _packed(tally=json.dumps(vars(programs.tally)), stored=str(len(rows)))


def _packed(rows: list[dict[str, Any]] | None = None, **about: str) -> bytes:
    table = table_of(rows or []).arrow.replace_schema_metadata(about)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> Finished:
    """The rows of a chunk, or the error that its worker met.

    >>> from_bytes(b"noise")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a worker's answer cannot be read (5 bytes)
    """
    try:
        table = pa.ipc.open_stream(data).read_all()
        about = {
            name.decode(): text.decode() for name, text in (table.schema.metadata or {}).items()
        }
        error = about.get("error")
        if error is None:
            return Finished(
                table.to_pylist(),
                Tally(**json.loads(about["tally"])),
                int(about.get("stored", "0")),
            )
    except (pa.ArrowException, ValueError, KeyError, TypeError, OSError) as mishap:
        raise SeparatrixError(f"a worker's answer cannot be read ({len(data)} bytes)") from mishap
    raise SeparatrixError(error)
