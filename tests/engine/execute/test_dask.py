"""A Dask cluster gives the rows of this machine, whatever happens to workers and schedulers."""

import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap

import jax
import psutil
import pytest

import separatrix as sx
from running import plain_rows, tiny
from separatrix.engine import (
    Chunk,
    Cluster,
    DaskRunner,
    Device,
    Ledger,
    policy,
)
from separatrix.engine.execute import dask as cluster
from separatrix.engine.execute import wire
from separatrix.engine.execute.dask import ChunkQueue
from separatrix.engine.execute.executor import Finished
from separatrix.engine.execute.local import worker_environment
from separatrix.engine.execute.secure import security_of, temporary_certificate
from separatrix.engine.programs import RunTally
from separatrix.errors import ParameterError, SeparatrixError

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="kills processes by their number"
    ),
    pytest.mark.skipif(
        jax.default_backend() != "cpu", reason="the embedded cluster is one of CPU workers"
    ),
]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Outside:
    """A cluster that somebody else has started, and its certificate."""

    CERTIFICATE = None

    def __init__(self, workers, port=0, **env):
        Outside.CERTIFICATE = Outside.CERTIFICATE or temporary_certificate()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "separatrix.engine.execute.embedded", str(workers), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=worker_environment(os.environ)
            | {"DASK_LOGGING__DISTRIBUTED": "critical", "PYTHONWARNINGS": "ignore"}
            | env,
        )
        key, certificate = Outside.CERTIFICATE
        self.process.stdin.write(json.dumps({"key": key, "certificate": certificate}) + "\n")
        self.process.stdin.flush()
        self.address = self.process.stdout.readline().strip()

    def cluster(self, **options):
        return Cluster(self.address, security=security_of(*Outside.CERTIFICATE), **options)

    def workers(self):
        """The processes that compute."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        return [each for each in below if "spawn_main" in " ".join(each.cmdline())]

    def end(self):
        family = [
            psutil.Process(self.process.pid),
            *psutil.Process(self.process.pid).children(recursive=True),
        ]
        self.process.kill()
        self.process.communicate()
        psutil.wait_procs(family, timeout=30)


@pytest.fixture(scope="module")
def deadly(tmp_path_factory):
    """The folder of a module with a task that ends whatever process draws from it."""
    folder = tmp_path_factory.mktemp("deadly")
    (folder / "deadly.py").write_text(
        textwrap.dedent("""
        import os
        import separatrix as sx

        class Deadly(sx.SignalTask):
            def draw(self, key, rows, truth=None, within=None):
                os._exit(3)
        """)
    )
    return folder


@pytest.fixture(scope="module")
def outside(compilation_cache, deadly):
    made = Outside(2, PYTHONPATH=os.pathsep.join([str(deadly), os.environ.get("PYTHONPATH", "")]))
    yield made
    made.end()


@pytest.fixture(scope="module")
def expected(compilation_cache, tmp_path_factory):
    """The rows of a worker process of this machine."""
    with sx.Lab(tmp_path_factory.mktemp("local"), workers=1) as lab:
        return plain_rows(lab.run(tiny(seeds=40)))


def small_chunks(lab, workers=40):
    """Chunks of one trial: there is a moment after each."""
    lab._device = Device("cpu", workers=workers)
    return lab


# Who gets what
def test_a_worker_keeps_to_its_programs_and_takes_from_the_longest_queue_last():
    chunks = [Chunk(program, (), None, 1, sx.engine.Cost(0.0, 0.0)) for program in "aaabbc"]
    waiting = ChunkQueue(chunks)
    known = {"one": set(), "two": set()}

    def take(worker):
        chunk = waiting.take(known[worker], set().union(*known.values()))
        known[worker].add(chunk.program)
        return chunk.program

    assert [take(worker) for worker in ("one", "two", "one", "two", "one", "two")] == [
        "a",
        "b",
        "a",
        "b",
        "a",
        "c",
    ]
    assert not waiting
    waiting.put(chunks[0])
    assert len(waiting) == 1


def test_words_for_what_is_not_there(monkeypatch, tmp_path):
    with pytest.raises(SeparatrixError, match=r"tls://host:port, got 'host'"):
        Cluster("host")
    with pytest.raises(ParameterError, match="patience"):
        Cluster(patience=0)
    with pytest.raises(SeparatrixError, match="need an output folder"):
        sx.Lab(cluster=Cluster(shared=True))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SeparatrixError, match=r"pip install 'separatrix\[dask\]'"):
        sx.Lab(tmp_path, cluster=Cluster()).run(tiny(seeds=1))


# A real cluster
def test_rows_are_those_of_this_machines_workers_bit_by_bit(outside, expected, tmp_path):
    with sx.Lab(tmp_path, cluster=outside.cluster()) as lab:
        table = lab.run(tiny(seeds=40))
        assert plain_rows(table) == expected
        assert (lab.tally.trials, lab.device.workers, lab.device.platform) == (40, 2, "cpu")
        lab.run(tiny(seeds=40))
        assert lab.tally.trials == 40
        assert lab.manifest()["engine"] == f"dask {outside.address}"
        assert not lab._dask._client.futures  # nothing is held on the cluster


def test_workers_write_into_a_shared_folder_themselves(outside, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "write", lambda *_: pytest.fail("the driver wrote"))
    with sx.Lab(tmp_path, cluster=outside.cluster(shared=True)) as lab:
        assert plain_rows(lab.run(tiny(seeds=10))) == expected[:10]
        assert lab.tally.trials == 10


def test_a_folder_that_workers_see_elsewhere_is_one_sentence(outside, tmp_path, monkeypatch):
    monkeypatch.setattr(policy, "STORED_SECONDS", 0.1)
    with sx.Lab(tmp_path / "mine", cluster=outside.cluster(shared=True)) as lab:
        Ledger.open(tmp_path / "theirs")
        lab._dask._folder = str(tmp_path / "theirs")
        with pytest.raises(
            SeparatrixError,
            match=r"3 trials that workers wrote are not in .*is it the same folder for all",
        ):
            lab.run(tiny(seeds=3))


def test_a_budget_ends_a_run_and_the_rest_follows(outside, expected, tmp_path):
    with small_chunks(sx.Lab(tmp_path, budget=3600.0, cluster=outside.cluster())) as lab:

        def show(what, done, total):
            if done >= 5:
                lab.budget = 0.0

        lab.progress = show
        assert 5 <= len(lab.run(tiny(seeds=40))) < 40
        assert not lab.complete
    with sx.Lab(tmp_path, cluster=outside.cluster()) as lab:
        assert plain_rows(lab.run(tiny(seeds=40))) == expected
        assert lab.tally.trials <= 35


def test_a_worker_killed_while_it_works_loses_nothing(outside, expected, tmp_path):
    killed = []

    def show(what, done, total):
        if done == 3:
            victim = outside.workers()[0]
            killed.append(victim.pid)
            victim.send_signal(signal.SIGKILL)

    with small_chunks(sx.Lab(tmp_path, cluster=outside.cluster(), progress=show)) as lab:
        assert plain_rows(lab.run(tiny(seeds=40))) == expected
        assert len(killed) == 1
        assert lab.tally.trials == 40


@pytest.mark.slow
def test_a_chunk_that_ends_three_workers_is_named(outside, deadly, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(deadly)
    import deadly as module

    sweep = tiny(task=module.Deadly(4, 3, 0.3), seeds=2)
    with sx.Lab(tmp_path, cluster=outside.cluster()) as lab:
        with pytest.raises(
            SeparatrixError,
            match=r"the chunk [0-9a-f]{32} \(.* of Deadly with .*\) was lost with 3 workers and is",
        ) as error:
            lab.run(sweep)
        assert "\n" not in str(error.value)
        assert any(trial.identity in str(error.value) for trial in sweep)


@pytest.mark.slow
def test_a_scheduler_that_is_restarted_gets_the_rest(compilation_cache, expected, tmp_path):
    port = free_port()
    running = [Outside(1, port)]

    def show(what, done, total):
        if done == 4 and len(running) == 1:
            running[0].end()
            running.append(Outside(1, port))

    try:
        with small_chunks(sx.Lab(tmp_path, cluster=running[0].cluster(), progress=show)) as lab:
            assert plain_rows(lab.run(tiny(seeds=40))) == expected
            assert len(running) == 2
    finally:
        for each in running:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.end()


def test_a_scheduler_without_workers_is_one_sentence(compilation_cache, monkeypatch):
    monkeypatch.setattr(policy, "CLUSTER_LOOK_SECONDS", 0.05)
    lonely = Outside(0)
    try:
        runner = DaskRunner(lonely.cluster(patience=1.0))
        with pytest.raises(SeparatrixError, match=r"has no workers \(waited 1 s\)"):
            _ = runner.device
        runner.close()
    finally:
        lonely.end()


@pytest.mark.slow
def test_the_embedded_cluster_listens_here_only_and_ends_with_the_lab(
    compilation_cache, expected, tmp_path
):
    with sx.Lab(tmp_path, workers=2, cluster=Cluster()) as lab:
        assert plain_rows(lab.run(tiny(seeds=6))) == expected[:6]
        top = psutil.Process(lab._dask._processes[0].pid)
        family = [top, *top.children(recursive=True)]
        listening = [
            each.laddr.ip
            for process in family
            for each in process.net_connections()
            if each.status == psutil.CONN_LISTEN
        ]
        assert len(listening) >= 3
        assert set(listening) == {"127.0.0.1"}
    gone, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert len(gone) == len(family)


def test_an_embedded_cluster_that_does_not_start_is_one_sentence(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(cluster.sys, "executable", str(program))
    with pytest.raises(SeparatrixError, match="did not start"):
        _ = DaskRunner(Cluster()).device


# Who may connect, and what the driver believes
def test_only_who_has_the_certificate_can_connect(outside):
    import distributed

    port = outside.address.rsplit(":", 1)[1]
    assert outside.address.startswith("tls://")
    for address, security in (
        (f"tcp://127.0.0.1:{port}", None),  # as any user of the machine would try
        (outside.address, security_of(*temporary_certificate())),
    ):
        with pytest.raises((OSError, TimeoutError)):
            distributed.Client(address, security=security, timeout=2, set_as_default=False)


def test_the_driver_refuses_an_address_without_encryption():
    with pytest.raises(SeparatrixError, match=r"use tls://, or give --trust-cluster"):
        Cluster("tcp://10.0.0.1:8786")
    assert Cluster("tcp://10.0.0.1:8786", trusted=True).trusted


class Planted:
    """Runs a function where it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (self.file,)


def test_a_worker_that_answers_with_a_pickle_runs_nothing_in_the_driver(outside, tmp_path):
    marker = str(tmp_path / "ran")
    runner = DaskRunner(outside.cluster(patience=30.0))
    try:
        _ = runner.device  # connects
        # Sent as text, so that it is made on the worker; its pickle comes back to the driver.
        code = (
            f"type('P', (), {{'__reduce__': lambda s: (__import__('os').mkdir, ({marker!r},))}})()"
        )
        future = runner._connect().submit(eval, code, pure=False)
        with pytest.raises(SeparatrixError, match="in place of bytes"):
            runner._result(future)
        assert not os.path.exists(marker)
    finally:
        runner.close()
    with pytest.raises(FileExistsError):  # the same bytes do run code where nobody refuses them
        pickle.loads(pickle.dumps(Planted(str(tmp_path))))  # noqa: S301


def test_rows_of_other_trials_are_refused():
    trials = tuple(tiny(seeds=2))
    chunk = Chunk("p", trials, trials[0], 1, sx.engine.Cost(0.0, 0.0))
    rows = [trial.row_head() | {"risk": 0.5, "trace.risk": [0.5]} for trial in trials]
    wire.check_rows(Finished(rows, RunTally()), chunk)
    swapped = [{**rows[0], "trial": rows[1]["trial"]}, {**rows[1], "trial": rows[0]["trial"]}]
    for wrong in (rows[:1], [*rows, rows[0]], [rows[0], rows[0]], swapped, [{}, {}]):
        with pytest.raises(SeparatrixError, match="something else than the rows"):
            wire.check_rows(Finished(wrong, RunTally()), chunk)
    wire.check_rows(Finished([], RunTally(), stored=2), chunk, stored=True)
    with pytest.raises(SeparatrixError, match="something else"):
        wire.check_rows(Finished(rows, RunTally()), chunk, stored=True)
