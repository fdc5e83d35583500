"""A worker process: reads chunks as JSON lines from its standard input, answers with rows on its
standard output.

A line may also ask it to `prepare` a program that will be wanted. That is done beside the chunks,
which wait for it only where they need that very program.

It holds one core: XLA's own threads are off, so that workers do not fight for cores and a trial's
arithmetic does not depend on how many cores there are. It ends when its standard input closes —
that is, also when the driver is killed.
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
    # Answers go to a private copy of standard output; whatever a library prints goes to standard
    # error.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    lines: list[str] = []
    ready = threading.Condition()

    def listen() -> None:
        for line in sys.stdin:
            with ready:
                lines.append(line)
                ready.notify()
        os._exit(0)  # the driver is gone: what is in flight is lost, what was answered is kept

    threading.Thread(target=listen, daemon=True).start()

    use_one_core()

    from separatrix.engine.programs import Programs, RunTally, use_compilation_cache
    from separatrix.errors import SeparatrixError
    from separatrix.spec import from_message

    use_compilation_cache()
    programs = Programs()
    speaking = threading.Lock()

    def say(answer: dict[str, Any]) -> None:
        with speaking:
            answers.write(json.dumps(answer) + "\n")
            answers.flush()

    def prepare(message: dict[str, Any]) -> None:
        cost = RunTally()
        with contextlib.suppress(
            Exception
        ):  # the chunk that needs this program will fail as well, and say why
            cost = programs.have(from_message(message["prepare"]), from_message(message["frame"]))
        say({"prepared": vars(cost)})

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
            trials = [from_message(each) for each in message["trials"]]
            answer = {"rows": programs.run(trials, from_message(message["frame"]))}
        except SeparatrixError as error:
            answer = {"error": str(error)}
        except Exception as error:
            answer = {
                "error": f"a worker failed with {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            }
        say(answer | {"tally": vars(programs.tally)})


if __name__ == "__main__":
    main()
