"""Starts `separatrix` commands quickly: everything is imported once, and each command runs in a
fork of this process.

Reads one JSON object a line: {"argv": [...], "folder": ..., "hook": {...}} starts a command and
prints its process number; {"wait": number} waits for it and prints its exit status. No JAX backend
is started here, so that forks are whole.
"""

import json
import os
import resource
import sys
import time
import warnings

import jax

import separatrix.cli.run
import separatrix.report
import separatrix.studies  # noqa: F401 - imported for the forks
from separatrix.cli.main import main
from separatrix.engine import Ledger, Programs


def limit_files(size):
    """Files of at most so many bytes: a full disk, without one."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def jump_clock(seconds):
    """A clock that jumps between any two looks at it, back and forth."""
    real, looks = time.time, iter(range(10**9))
    time.time = lambda: real() + (seconds if next(looks) % 2 else -seconds)


def small_device(batch):
    """A device that batches trials and has memory for `batch` of them."""
    real = Programs.run

    def run(self, trials, frame, size=1):
        if size > batch:
            raise jax.errors.JaxRuntimeError(
                "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 byte"
            )
        return real(self, trials, frame, size)

    Programs.run = run
    import separatrix.engine.lab as lab
    from separatrix.engine import Device

    lab.find_device = lambda workers=None: Device("gpu")


def compact(folder):
    """Instead of a command: compact a ledger."""
    Ledger(folder).compact()
    os._exit(0)


HOOKS = {
    "limit_files": limit_files,
    "jump_clock": jump_clock,
    "small_device": small_device,
    "compact": compact,
}


def child(order):
    """Run one command; never returns."""
    code = 1
    try:
        os.chdir(order["folder"])
        for number, name in ((1, "out.txt"), (2, "err.txt")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["separatrix", *order["argv"]]
        for name, value in order.get("hook", {}).items():
            HOOKS[name](value)
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve():
    """Serve until standard input closes."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            status = os.waitpid(order["wait"], 0)[1]
            print(os.waitstatus_to_exitcode(status), flush=True)
        elif pid := os.fork():
            print(pid, flush=True)
        else:
            child(order)


if __name__ == "__main__":
    serve()
