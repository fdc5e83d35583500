"""A Dask cluster gives the rows of this machine, whatever happens to workers and schedulers."""

import contextlib
import os
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
from separatrix.engine.execute.dask import ChunkQueue
from separatrix.engine.execute.local import worker_environment
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
    """A cluster that somebody else has started."""

    def __init__(self, workers, port=0, **env):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "separatrix.engine.execute.embedded", str(workers), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=worker_environment(os.environ)
            | {"DASK_LOGGING__DISTRIBUTED": "critical", "PYTHONWARNINGS": "ignore"}
            | env,
        )
        self.address = self.process.stdout.readline().strip()

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
    made = Outside(2, PYTHONPATH=str(deadly))
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
    with pytest.raises(SeparatrixError, match=r"tcp://host:port, got 'host'"):
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
    with sx.Lab(tmp_path, cluster=Cluster(outside.address)) as lab:
        table = lab.run(tiny(seeds=40))
        assert plain_rows(table) == expected
        assert (lab.tally.trials, lab.device.workers, lab.device.platform) == (40, 2, "cpu")
        lab.run(tiny(seeds=40))
        assert lab.tally.trials == 40
        assert lab.manifest()["engine"] == f"dask {outside.address}"
        assert not lab._dask._client.futures  # nothing is held on the cluster


def test_workers_write_into_a_shared_folder_themselves(outside, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "write", lambda *_: pytest.fail("the driver wrote"))
    with sx.Lab(tmp_path, cluster=Cluster(outside.address, shared=True)) as lab:
        assert plain_rows(lab.run(tiny(seeds=10))) == expected[:10]
        assert lab.tally.trials == 10


def test_a_folder_that_workers_see_elsewhere_is_one_sentence(outside, tmp_path, monkeypatch):
    monkeypatch.setattr(policy, "STORED_SECONDS", 0.1)
    with sx.Lab(tmp_path / "mine", cluster=Cluster(outside.address, shared=True)) as lab:
        Ledger.open(tmp_path / "theirs")
        lab._dask._folder = str(tmp_path / "theirs")
        with pytest.raises(
            SeparatrixError,
            match=r"3 trials that workers wrote are not in .*is it the same folder for all",
        ):
            lab.run(tiny(seeds=3))


def test_a_budget_ends_a_run_and_the_rest_follows(outside, expected, tmp_path):
    with small_chunks(sx.Lab(tmp_path, budget=3600.0, cluster=Cluster(outside.address))) as lab:

        def show(what, done, total):
            if done >= 5:
                lab.budget = 0.0

        lab.progress = show
        assert 5 <= len(lab.run(tiny(seeds=40))) < 40
        assert not lab.complete
    with sx.Lab(tmp_path, cluster=Cluster(outside.address)) as lab:
        assert plain_rows(lab.run(tiny(seeds=40))) == expected
        assert lab.tally.trials <= 35


def test_a_worker_killed_while_it_works_loses_nothing(outside, expected, tmp_path):
    killed = []

    def show(what, done, total):
        if done == 3:
            victim = outside.workers()[0]
            killed.append(victim.pid)
            victim.send_signal(signal.SIGKILL)

    with small_chunks(sx.Lab(tmp_path, cluster=Cluster(outside.address), progress=show)) as lab:
        assert plain_rows(lab.run(tiny(seeds=40))) == expected
        assert len(killed) == 1
        assert lab.tally.trials == 40


@pytest.mark.slow
def test_a_chunk_that_ends_three_workers_is_named(outside, deadly, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(deadly)
    import deadly as module

    sweep = tiny(task=module.Deadly(4, 3, 0.3), seeds=2)
    with sx.Lab(tmp_path, cluster=Cluster(outside.address)) as lab:
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
        with small_chunks(
            sx.Lab(tmp_path, cluster=Cluster(f"tcp://127.0.0.1:{port}"), progress=show)
        ) as lab:
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
        runner = DaskRunner(Cluster(lonely.address, patience=1.0))
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
