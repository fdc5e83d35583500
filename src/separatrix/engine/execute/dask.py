"""Running chunks on a Dask cluster: an embedded one of this machine, or one that somebody else has
started.

Chunks go out as text and come back as bytes (`wire`). They are idempotent: a lost worker costs
time, and a restarted scheduler gets the chunks that it had once more.
"""

import collections
import contextlib
import dataclasses
import json
import logging
import os
import queue
import secrets
import ssl
import subprocess
import sys
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from separatrix.engine import policy
from separatrix.engine.execute import wire
from separatrix.engine.execute.executor import Finished
from separatrix.engine.execute.local import worker_environment
from separatrix.engine.execute.scheduler import Hint
from separatrix.engine.execute.secure import no_pickles, security_of, temporary_certificate
from separatrix.engine.plan import Chunk, Device, Plan, cores
from separatrix.engine.programs import RunTally
from separatrix.errors import SeparatrixError, check_number


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The Dask cluster on which a run's chunks are computed.

    Args:
      scheduler: the address of its scheduler, such as tls://host:8786; None for a cluster of this
        machine that lives as long as the run.
      shared: whether the workers write rows into the ledger themselves. Then they must see its
        folder under the same path.
      patience: seconds for which a run waits for a scheduler that is away, or for a first worker.
      trusted: whether an address without `tls://` may be used. Everybody who can reach such a
        scheduler can run code on its workers and forge their answers.
      security: Dask's `Security`, with the certificates for a tls:// address; None takes those
        that Dask's configuration names.

    >>> Cluster("example.org")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a scheduler's address has the form tls://host:port, got
    'example.org'
    """

    scheduler: str | None = None
    shared: bool = False
    patience: float = policy.CLUSTER_PATIENCE
    trusted: bool = False
    security: Any = dataclasses.field(default=None, repr=False, compare=False)

    def __post_init__(self):
        check_number("Cluster", "patience", self.patience, 0, open_low=True)
        if self.scheduler is None:
            return
        if "://" not in self.scheduler:
            raise SeparatrixError(
                f"a scheduler's address has the form tls://host:port, got {self.scheduler!r}"
            )
        if not self.scheduler.startswith("tls://") and not self.trusted:
            raise SeparatrixError(
                f"the scheduler {self.scheduler} neither encrypts nor knows who talks to it: "
                "use tls://, or give --trust-cluster (trusted=True) if you trust everybody who "
                "can reach it"
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
            "--engine dask needs the package `distributed`; "
            "install it with: pip install 'separatrix[dask]'"
        ) from error
    return distributed


class ChunkQueue:
    """Chunks that wait for a worker, by program.

    A worker gets a chunk whose program it has, else one whose program nobody has, else one of the
    program with the most chunks.

    >>> from separatrix.engine.frames import Cost
    >>> waiting = ChunkQueue(Chunk(name, (), None, 1, Cost(0.0, 0.0)) for name in "aab")
    >>> [waiting.take({"b"}, {"b"}).program, waiting.take({"b"}, {"b"}).program, len(waiting)]
    ['b', 'a', 1]
    """

    def __init__(self, chunks: Iterable[Chunk]):
        self._programs: dict[str, collections.deque[Chunk]] = {}
        for chunk in chunks:
            self.put(chunk)

    def __len__(self) -> int:
        return sum(len(chunks) for chunks in self._programs.values())

    def put(self, chunk: Chunk) -> None:
        """Add a chunk."""
        self._programs.setdefault(chunk.program, collections.deque()).append(chunk)

    def take(self, known: set[str], taken: set[str]) -> Chunk:
        """Remove a chunk for a worker.

        Args:
          known: the programs that this worker has.
          taken: the programs that any worker has.
        """
        choices = [name for name in self._programs if name in known] or [
            name for name in self._programs if name not in taken
        ]
        if choices:
            name = choices[0]
        else:
            name = max(self._programs, key=lambda program: len(self._programs[program]))
        chunk = self._programs[name].popleft()
        if not self._programs[name]:
            del self._programs[name]
        return chunk


@dataclasses.dataclass
class Dispatch:
    """The chunks of a plan: which wait, which a worker has, and how many workers each has cost."""

    waiting: ChunkQueue
    platform: str
    sent: dict[Any, tuple[Chunk, str]] = dataclasses.field(default_factory=dict)
    answers: "queue.SimpleQueue[Any]" = dataclasses.field(default_factory=queue.SimpleQueue)
    losses: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    @staticmethod
    def key(chunk: Chunk) -> str:
        """Dask's name of a chunk: its identity, and a name for this attempt, since Dask may not
        have forgotten the last one yet.
        """
        return f"separatrix-{wire.identity_of(chunk)}-{secrets.token_hex(4)}"

    def restart(self) -> None:
        """Have every chunk that was sent wait again."""
        for chunk, _ in self.sent.values():
            self.waiting.put(chunk)
        self.sent.clear()

    def lost(self, future: Any) -> None:
        """A worker was lost with its chunk, which waits again.

        Raises:
          SeparatrixError: if the chunk has cost too many workers.
        """
        chunk = self.sent.pop(future)[0]
        name = wire.identity_of(chunk)
        self.losses[name] += 1
        if self.losses[name] >= policy.LOST_WORKERS:
            first = chunk.trials[0]
            kind = f"{type(first.task).__name__} with {type(first.network).__name__}"
            trials = f"{len(chunk.trials)} trials of {kind}, the first {first.identity}"
            raise SeparatrixError(
                f"the chunk {name} ({trials}) was lost with {policy.LOST_WORKERS} workers "
                "and is given up; does it fit their memory?"
            )
        self.waiting.put(chunk)


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # the process may have ended before it read
                    pipe.close()
    processes.clear()


class DaskRunner:
    """Runs chunks on a Dask cluster.

    Args:
      cluster: where.
      workers: how many workers an embedded cluster has; one per core by default.
      folder: the folder of the ledger, which workers of a `shared` cluster write to.

    >>> DaskRunner(Cluster("tcp://127.0.0.1:1", patience=0.1, trusted=True)).device
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no Dask scheduler at tcp://127.0.0.1:1 (waited
    0.1 s)
    """

    def __init__(self, cluster: Cluster, workers: int | None = None, folder: str | None = None):
        self.cluster = cluster
        self._count = workers or cores()
        self._folder = os.path.abspath(folder) if folder is not None and cluster.shared else None
        self._address = cluster.scheduler
        self._processes: list[subprocess.Popen[str]] = []
        self._client: Any = None
        self._security: Any = cluster.security
        self._guard = contextlib.ExitStack()
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
        self._guard.close()
        _end(self._processes)
        self._known.clear()

    def expect(self, hints: Iterable[Hint]) -> None:
        """Nothing: workers of a cluster compile what they are sent."""

    def collect(self) -> RunTally:
        """Nothing is compiled ahead."""
        return RunTally()

    def _connect(self) -> Any:
        """A client, once the scheduler answers."""
        if self._client is not None:
            return self._client
        distributed = dask()
        # We say in our own words that a worker or scheduler is lost, where it makes a difference.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        if self.cluster.scheduler is None and not self._processes:
            self._address = self._embed()
        self._guard.close()
        self._guard.enter_context(no_pickles())
        end = time.monotonic() + self.cluster.patience
        while self._client is None:
            left = end - time.monotonic()
            try:
                self._client = distributed.Client(
                    self._address,
                    timeout=max(0.1, min(5.0, left)),
                    set_as_default=False,
                    security=self._security,
                )
            except (TypeError, ssl.SSLError, FileNotFoundError) as error:
                raise SeparatrixError(
                    f"the scheduler {self._address} needs certificates, and Dask's configuration "
                    "names none that can be used (distributed.comm.tls.ca-file, client.key and "
                    f"client.cert): {next(iter(str(error).splitlines()), '')}"
                ) from error
            except (OSError, TimeoutError) as error:
                if time.monotonic() > end:
                    raise SeparatrixError(
                        f"there is no Dask scheduler at {self._address} "
                        f"(waited {self.cluster.patience:g} s)"
                    ) from error
                time.sleep(0.2)
        self._seen, self._looked = time.monotonic(), 0.0
        return self._client

    def _embed(self) -> str:
        """Start a cluster of this machine; the address of its scheduler."""
        key, certificate = temporary_certificate()
        self._security = security_of(key, certificate)
        # An embedded cluster ends by being killed, which Python's resource tracker would remark on.
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
        assert process.stdin is not None
        assert process.stdout is not None
        # The pipe shows the key to nobody else, as arguments or a file might.
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps({"key": key, "certificate": certificate}) + "\n")
            process.stdin.flush()
        if not (address := process.stdout.readline().strip()):
            raise SeparatrixError(
                "the Dask cluster of this machine did not start; `--engine local` needs none"
            )
        return address

    def _workers(self) -> list[str]:
        """The addresses of the workers; one sentence when there have been none for too long."""
        now = time.monotonic()
        if now - self._looked > policy.CLUSTER_LOOK_SECONDS or not self._known:
            addresses = self._connect().nthreads()
            self._known = {address: self._known.get(address, set()) for address in addresses}
            self._looked = time.monotonic()
            if addresses:
                self._seen = self._looked
            elif self._looked - self._seen > self.cluster.patience:
                raise SeparatrixError(
                    f"the scheduler at {self._address} has no workers "
                    f"(waited {self.cluster.patience:g} s)"
                )
        return list(self._known)

    @property
    def device(self) -> Device:
        """What the workers compute on, once there is one; how many they are now."""
        if self._device is None:
            client = self._connect()
            while not self._workers():
                time.sleep(0.2)
            answers = client.run(wire.introduce).values()
            workers = [facts for facts in map(wire.facts_of, answers) if facts is not None]
            if len(kinds := sorted({worker.platform for worker in workers})) != 1:
                raise SeparatrixError(
                    f"the workers compute on {' and '.join(kinds) or 'nothing'}; "
                    "use workers of one kind for a run"
                )
            first = workers[0]
            self._device = Device(
                first.platform,
                workers=len(self._known),
                memory=min(worker.memory for worker in workers),
                flops=first.flops,
                compile_seconds=first.compile_seconds,
            )
        return self._device

    def run(self, plan: Plan, until: float | None = None) -> Iterator[Finished]:
        """Run chunks as workers become free; results come in the order in which they are finished.

        Raises:
          SeparatrixError: if a chunk fails, costs too many workers, or no cluster answers.
        """
        dispatch = Dispatch(ChunkQueue(plan.chunks), plan.device.platform)
        try:
            while dispatch.waiting or dispatch.sent:
                self._send(dispatch)
                try:
                    future = dispatch.answers.get(timeout=policy.CLUSTER_LOOK_SECONDS / 2)
                except queue.Empty:
                    if self._client is not None and self._client.status in (
                        "running",
                        "connecting",
                    ):
                        continue
                    future = None
                if future is not None and future not in dispatch.sent:
                    continue  # the answer of an attempt that was given up
                if future is None or future.status in ("cancelled", "lost"):
                    # The scheduler is gone, and all that it knew.
                    dispatch.restart()
                    self._leave()
                    continue
                finished = self._result(future)
                if finished is None:
                    dispatch.lost(future)
                    continue
                chunk = dispatch.sent.pop(future)[0]
                wire.check_rows(finished, chunk, stored=self._folder is not None)
                yield finished
        finally:
            self._cancel(list(dispatch.sent))

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

    def _send(self, dispatch: Dispatch) -> None:
        """Give every free worker a chunk, and take back the chunks of workers that are gone.

        A chunk is sent to one worker and no other. So we know which worker has which program, and
        which chunk was lost with a worker.
        """
        client = self._connect()
        try:
            addresses = self._workers()
        except SeparatrixError:
            raise
        except Exception:
            # A client that is losing its scheduler fails in many ways; `run` notices which.
            return
        gone = [
            future
            for future, (_, address) in dispatch.sent.items()
            if address not in self._known and future.status == "pending"
        ]
        for future in gone:
            dispatch.lost(future)
        self._cancel(gone)
        busy = {address for _, address in dispatch.sent.values()}
        for address in addresses:
            if not dispatch.waiting or address in busy:
                continue
            taken = set().union(*self._known.values())
            chunk = dispatch.waiting.take(self._known[address], taken)
            self._known[address].add(chunk.program)
            text = wire.to_text(chunk, dispatch.platform, self._folder)
            try:
                future = client.submit(
                    wire.answer, text, key=dispatch.key(chunk), pure=False, workers=[address]
                )
            except Exception:
                dispatch.waiting.put(chunk)
                return
            dispatch.sent[future] = chunk, address
            future.add_done_callback(dispatch.answers.put)

    def _result(self, future: Any) -> Finished | None:
        """What a worker answered; None where the worker was lost before its answer could be had."""
        try:
            answer = future.result(timeout=policy.CLUSTER_FETCH_SECONDS)
            if not isinstance(answer, bytes):
                raise SeparatrixError(
                    f"a worker answered with {type(answer).__name__} in place of bytes, which "
                    "is refused; does it run this package?"
                )
            return wire.from_bytes(answer)
        except (dask().KilledWorker, TimeoutError):
            return None
        except SeparatrixError:
            raise
        except Exception as error:
            first_line = next(iter(str(error).splitlines()), "")
            raise SeparatrixError(
                f"the cluster failed with {type(error).__name__}: {first_line}"
            ) from error
        finally:
            future.release()
