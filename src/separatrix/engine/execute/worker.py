"""A worker process: it reads chunks as JSON lines from standard input and answers with rows on
standard output.

A line may also ask it to `prepare` a program that will be needed. It compiles that program beside
the chunks, which wait only if they need it.

A worker uses one core. XLA's own threads are off, so that workers do not compete for cores and a
trial's arithmetic does not depend on the number of cores. A worker ends when its standard input
closes, so also when the driver is killed.
"""

import contextlib
import json
import os
import sys
import threading
from typing import Any


def use_one_core() -> None:
    """Keep this process to the core that its number (SEPARATRIX_WORKER) chooses."""
    if hasattr(os, "sched_setaffinity"):
        available = sorted(os.sched_getaffinity(0))
        number = int(os.environ.get("SEPARATRIX_WORKER", "0"))
        os.sched_setaffinity(0, {available[number % len(available)]})


def main() -> None:
    """Serve chunks until standard input closes."""
    # Answers go to a private copy of standard output. What a library prints goes to standard error.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    lines: list[str] = []
    ready = threading.Condition()

    def listen() -> None:
        for line in sys.stdin:
            with ready:
                lines.append(line)
                ready.notify()
        os._exit(0)  # the driver is gone

    threading.Thread(target=listen, daemon=True).start()

    use_one_core()

    from separatrix.engine.programs import Programs, RunTally, use_compilation_cache
    from separatrix.errors import SeparatrixError
    from separatrix.spec import from_message

    use_compilation_cache()
    programs = Programs()
    writing = threading.Lock()

    def send(answer: dict[str, Any]) -> None:
        with writing:
            answers.write(json.dumps(answer) + "\n")
            answers.flush()

    def prepare(message: dict[str, Any]) -> None:
        cost = RunTally()
        # A chunk that needs this program will fail as well, and say why.
        with contextlib.suppress(Exception):
            cost = programs.have(from_message(message["prepare"]), from_message(message["frame"]))
        send({"prepared": vars(cost)})

    while True:
        with ready:
            while not lines:
                ready.wait()
            line = lines.pop(0)
        message = json.loads(line)
        if "prepare" in message:
            threading.Thread(target=prepare, args=(message,), daemon=True).start()
            continue
        programs.tally = RunTally()
        answer: dict[str, Any]
        try:
            trials = [from_message(trial) for trial in message["trials"]]
            answer = {"rows": programs.run(trials, from_message(message["frame"]))}
        except SeparatrixError as error:
            answer = {"error": str(error)}
        except Exception as error:
            first_line = next(iter(str(error).splitlines()), "")
            answer = {"error": f"a worker failed with {type(error).__name__}: {first_line}"}
        send(answer | {"tally": vars(programs.tally)})


if __name__ == "__main__":
    main()
