"""Running chunks on a Dask cluster: an embedded one of this machine, or one that somebody else has
started.

Chunks go out as text and come back as bytes (`remote`). They are idempotent: a worker that is lost
loses time, and a scheduler that is restarted gets the chunks that were in flight once more.
"""

import contextlib
import dataclasses
import json
import logging
import os
import queue
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any

from separatrix.engine import policy
from separatrix.engine.execute import wire as remote
from separatrix.engine.execute.flight import Flight, Waiting
from separatrix.engine.execute.local import Finished, worker_environment
from separatrix.engine.plan import Device, Plan, cores
from separatrix.errors import SeparatrixError, check_number


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Where a run's chunks go: the `scheduler` of a Dask cluster, or none for a cluster of this
    machine's own.

    With `shared` the workers write rows into the ledger themselves, for which they must see its
    folder under the same path. `patience` is the number of seconds for which a run waits for a
    scheduler that is away, or for a first worker.

    >>> Cluster().scheduler is None
    True
    >>> Cluster("example.org")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a scheduler's address has the form tcp://host:port, got 'example.org'
    """

    scheduler: str | None = None
    shared: bool = False
    patience: float = policy.CLUSTER_PATIENCE

    def __post_init__(self):
        check_number("Cluster", "patience", self.patience, 0, open_low=True)
        if self.scheduler is not None and "://" not in self.scheduler:
            raise SeparatrixError(
                f"a scheduler's address has the form tcp://host:port, got {self.scheduler!r}"
            )


def dask() -> Any:
    """The package `distributed`, or one sentence that says how to get it.

    >>> dask().__name__
    'distributed'
    """
    try:
        import distributed
    except ImportError as error:
        raise SeparatrixError(
            "--engine dask needs the package `distributed`; install it with: pip install 'separatrix[dask]'"
        ) from error
    return distributed


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    processes.clear()


class DaskRunner:
    """Sends chunks to a Dask cluster and gives what comes back; `folder` is where workers write
    with `shared`.

    >>> DaskRunner(Cluster("tcp://127.0.0.1:1", patience=0.1)).device
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no Dask scheduler at tcp://127.0.0.1:1 (waited 0.1 s)
    """

    def __init__(self, cluster: Cluster, workers: int | None = None, folder: str | None = None):
        self.cluster = cluster
        self._count = workers or cores()
        self._folder = os.path.abspath(folder) if folder is not None and cluster.shared else None
        self._address = cluster.scheduler
        self._processes: list[subprocess.Popen[str]] = []
        self._client: Any = None
        self._device: Device | None = None
        self._known: dict[str, set[str]] = {}  # the programs that each worker has been sent
        self._looked = self._seen = 0.0
        weakref.finalize(self, _end, self._processes)

    def close(self) -> None:
        """Leave the cluster; an embedded one ends."""
        if self._client is not None:
            with contextlib.suppress(Exception):  # there may be no scheduler any more
                self._client.close(timeout=2)
            self._client = None
        _end(self._processes)
        self._known.clear()

    def _connect(self) -> Any:
        """A client, once the scheduler answers."""
        if self._client is not None:
            return self._client
        distributed = dask()
        # A lost worker or scheduler is told in our words, or not at all where it makes no
        # difference.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        if self.cluster.scheduler is None and not self._processes:
            self._address = self._embed()
        end = time.monotonic() + self.cluster.patience
        while self._client is None:
            left = end - time.monotonic()
            try:
                self._client = distributed.Client(
                    self._address, timeout=max(0.1, min(5.0, left)), set_as_default=False
                )
            except (OSError, TimeoutError) as error:
                if time.monotonic() > end:
                    away = f"there is no Dask scheduler at {self._address} (waited {self.cluster.patience:g} s)"
                    raise SeparatrixError(away) from error
                time.sleep(0.2)
        self._seen, self._looked = time.monotonic(), 0.0
        return self._client

    def _embed(self) -> str:
        # Killing a cluster is how it ends; Python's resource tracker would remark on that.
        quiet = {
            "DASK_LOGGING__DISTRIBUTED": "critical",
            "PYTHONWARNINGS": "ignore::UserWarning:multiprocessing.resource_tracker",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "separatrix.engine.execute.embedded", str(self._count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=worker_environment(os.environ) | quiet,
            start_new_session=True,  # Ctrl-C is the driver's to handle
        )
        self._processes.append(process)
        assert process.stdout is not None
        if not (address := process.stdout.readline().strip()):
            raise SeparatrixError(
                "the Dask cluster of this machine did not start; `--engine local` needs none"
            )
        return address

    def _workers(self) -> list[str]:
        """The addresses of the workers there are; one sentence when there have been none for too
        long.
        """
        now = time.monotonic()
        if now - self._looked > policy.CLUSTER_LOOK_SECONDS or not self._known:
            there = self._connect().nthreads()
            self._known = {address: self._known.get(address, set()) for address in there}
            self._looked = time.monotonic()
            if there:
                self._seen = self._looked
            elif self._looked - self._seen > self.cluster.patience:
                raise SeparatrixError(
                    f"the scheduler at {self._address} has no workers (waited {self.cluster.patience:g} s)"
                )
        return list(self._known)

    @property
    def device(self) -> Device:
        """What the workers compute on, once there is one; how many they are now."""
        if self._device is None:
            client = self._connect()
            while not self._workers():
                time.sleep(0.2)
            told = {text for text in client.run(remote.introduce).values() if isinstance(text, str)}
            found = [remote.Worker(*json.loads(text)) for text in told]
            if len(kinds := sorted({worker.platform for worker in found})) != 1:
                raise SeparatrixError(
                    f"the workers compute on {' and '.join(kinds) or 'nothing'}; use workers of one kind for a run"
                )
            least = found[0]
            memory = min(worker.memory for worker in found)
            self._device = Device(
                least.platform, len(self._known), memory, least.flops, least.compile_seconds
            )
        return self._device

    def run(self, plan: Plan) -> Iterator[Finished]:
        """Run chunks as workers become free; results come in the order in which they are finished."""
        flight = Flight(Waiting(plan.chunks), plan.device.platform)
        try:
            while flight.waiting or flight.flying:
                self._send(flight)
                try:
                    future = flight.answers.get(timeout=policy.CLUSTER_LOOK_SECONDS / 2)
                except queue.Empty:
                    if self._client is not None and self._client.status in (
                        "running",
                        "connecting",
                    ):
                        continue
                    future = None
                if future is not None and future not in flight.flying:
                    continue  # of an attempt that was given up
                if future is None or future.status in (
                    "cancelled",
                    "lost",
                ):  # the scheduler is gone, and what it knew with it
                    flight.restart()
                    self._leave()
                    continue
                finished = self._result(future)
                if finished is None:
                    flight.lost(future)
                    continue
                del flight.flying[future]
                yield finished
        finally:
            self._cancel(list(flight.flying))

    def _leave(self) -> None:
        if self._processes:
            raise SeparatrixError("the scheduler of this run's Dask cluster ended unexpectedly")
        with contextlib.suppress(Exception):
            self._client.close(timeout=1)
        self._client = None
        self._known.clear()

    def _cancel(self, futures: list[Any]) -> None:
        if futures and self._client is not None:
            with contextlib.suppress(Exception):  # there may be no scheduler any more
                self._client.cancel(futures)

    def _send(self, flight: Flight) -> None:
        """Give every worker a chunk, and take back the chunks of workers that are gone.

        A chunk is sent to one worker and no other: then it is ours to know which worker has which
        program, and whose fault a loss is.
        """
        client = self._connect()
        try:
            there = self._workers()
        except SeparatrixError:
            raise
        # A client that is losing its scheduler fails in many ways: the next answer, or none, will
        # tell
        except Exception:
            return
        gone = [
            future
            for future, (_, address) in flight.flying.items()
            if address not in self._known and future.status == "pending"
        ]
        for future in gone:
            flight.lost(future)
        self._cancel(gone)
        busy = {address for _, address in flight.flying.values()}
        for address in there:
            if flight.waiting and address not in busy:
                chunk = flight.waiting.take(
                    self._known[address], set().union(*self._known.values())
                )
                self._known[address].add(chunk.program)
                text = remote.to_text(chunk, flight.platform, self._folder)
                try:
                    future = client.submit(
                        remote.answer, text, key=flight.key(chunk), pure=False, workers=[address]
                    )
                except Exception:
                    flight.waiting.put(chunk)
                    return
                flight.flying[future] = chunk, address
                future.add_done_callback(flight.answers.put)

    def _result(self, future: Any) -> Finished | None:
        """What a worker answered; None where the worker was lost before its answer could be had."""
        try:
            return remote.from_bytes(future.result(timeout=policy.CLUSTER_FETCH_SECONDS))
        except (dask().KilledWorker, TimeoutError):
            return None
        except SeparatrixError:
            raise
        except Exception as error:
            raise SeparatrixError(
                f"the cluster failed with {type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
            ) from error
        finally:
            future.release()
