"""What compiling a study's programs costs, and what XLA's options do to it and to the run; JSON on
stdout.

    python benchmarks/compiling.py --study stability --scale full --programs 6

A few of the study's programs (evenly taken from its plan for this device) are compiled with each
set of options, once while the device rests and once while it multiplies matrices without end, and
then run, cut short, to see whether they have become slower. On a GPU XLA times alternatives of
every matrix product on the device itself ("autotuning"), which is slow where the device is busy.

    python benchmarks/compiling.py --study stability --scale full --programs 20 --together

compiles them all at once on as many threads as there are cores, as a run does, and says when the
first and when the last was ready.
"""

import argparse
import json
import threading
import time
from typing import Any

import jax
import jax.numpy as jnp

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "no autotuning": {"xla_gpu_autotune_level": 0},
    "no autotuning, library products": {
        "xla_gpu_autotune_level": 0,
        "xla_gpu_enable_triton_gemm": False,
    },
    "library products": {"xla_gpu_enable_triton_gemm": False},
    "one look at each product": {"xla_gpu_autotune_level": 1},
    "older loops": {"xla_cpu_use_fusion_emitters": False},
}


def chosen_chunks(study: str, scale: str, count: int, steps: int) -> list[Any]:
    """Chunks of different programs, evenly from the plan, with at most `steps` steps."""
    from separatrix.engine import Sweep, find_device, make_plan
    from separatrix.studies.registry import find_study

    found = find_study(study)
    trials = [t for sweep in found.sweeps(found.scales[scale]).values() for t in sweep]
    cut = tuple(
        t.replace(learner=t.learner.replace(steps=min(t.learner.steps, steps))) for t in trials
    )
    first: dict[str, Any] = {}
    for chunk in make_plan(Sweep(cut), find_device()).chunks:
        first.setdefault(chunk.program, chunk)
    every = list(first.values())
    return every[:: max(1, len(every) // count)][:count]


class Busy:
    """Keeps the device at work while it is entered."""

    def __enter__(self) -> "Busy":
        self.stop = False
        matrix = jnp.ones((4096, 4096))
        product = jax.jit(lambda a: a @ a / 4096)

        def work() -> None:
            now = matrix
            while not self.stop:
                now = jax.block_until_ready(product(now))

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop = True
        self.thread.join()


def use_only(options: dict[str, Any]) -> None:
    """Compile every program with these options of XLA and no others."""
    from separatrix.engine import policy

    policy.COMPILER_OPTIONS[jax.default_backend()] = options
    policy.LIGHT_PROGRAM.clear()


def measure(chunk: Any, options: dict[str, Any], busy: bool) -> dict[str, Any]:
    """Seconds to compile the chunk's program and (device at rest) to run it."""
    from separatrix.engine import programs

    use_only(options)
    made = programs.Programs()
    if busy:
        with Busy():
            made.prepare([(chunk.trials[0], chunk.frame, chunk.batch)], threads=1)
            made._program(chunk.trials[0], chunk.frame, chunk.batch)
        return {"compile_seconds": made.tally.compile_seconds}
    made.run(list(chunk.trials), chunk.frame, chunk.batch)
    compiled = made.tally.compile_seconds
    begin = time.perf_counter()
    made.run(list(chunk.trials), chunk.frame, chunk.batch)
    return {"compile_seconds": compiled, "run_seconds": time.perf_counter() - begin}


def measure_together(chunks: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Seconds until the first and until the last of the programs is ready, all begun at once."""
    from separatrix.engine import programs
    from separatrix.engine.plan import cores

    use_only(options)
    made = programs.Programs()
    begin = time.perf_counter()
    made.prepare([(chunk.trials[0], chunk.frame, chunk.batch) for chunk in chunks], threads=cores())
    ready = []
    for chunk in chunks:
        made._program(chunk.trials[0], chunk.frame, chunk.batch)
        ready.append(time.perf_counter() - begin)
    return {"programs": len(chunks), "first_ready": ready[0], "all_ready": max(ready)}


def main() -> None:
    """Measure, print a table, and write JSON where that is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--study", default="signal")
    arguments.add_argument("--scale", default="full")
    arguments.add_argument("--programs", type=int, default=4)
    arguments.add_argument("--steps", type=int, default=500, help="at most so many steps a trial")
    arguments.add_argument("--sets", default="", help="sets of options whose name begins with this")
    arguments.add_argument(
        "--together", action="store_true", help="all at once, as a run compiles them"
    )
    arguments.add_argument("--out", default="", help="a file for the figures as JSON")
    given = arguments.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    figures = []
    chunks = chosen_chunks(given.study, given.scale, given.programs, given.steps)
    sets = {words: options for words, options in OPTIONS.items() if words.startswith(given.sets)}
    if given.together:
        print("| options | programs | first ready | all ready |\n|---|---|---|---|")
        for words, options in sets.items():
            found = measure_together(chunks, options)
            figures.append({"options": words, **found})
            print(
                f"| {words} | {found['programs']} | {found['first_ready']:.1f} | "
                f"{found['all_ready']:.1f} |",
                flush=True,
            )
    else:
        alone(chunks, sets, figures)
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "benchmark": "compiling",
                    "device": jax.devices()[0].device_kind,
                    "figures": figures,
                },
                file,
                indent=1,
            )


def alone(
    chunks: list[Any], sets: dict[str, dict[str, Any]], figures: list[dict[str, Any]]
) -> None:
    """Every program by itself, at rest and on a busy device."""
    print("| program | options | compile, at rest | compile, busy | run |\n|---|---|---|---|---|")
    for chunk in chunks:
        frame = chunk.frame
        kind = f"{type(frame.task).__name__} {frame.network.connectivity}"
        name = f"{kind}, n = {frame.samples}, batch {chunk.batch}"
        for words, options in sets.items():
            rest, busy = measure(chunk, options, busy=False), measure(chunk, options, busy=True)
            figures.append(
                {
                    "program": name,
                    "options": words,
                    **rest,
                    "compile_seconds_busy": busy["compile_seconds"],
                }
            )
            print(
                f"| {name} | {words} | {rest['compile_seconds']:.1f} | "
                f"{busy['compile_seconds']:.1f} | {rest['run_seconds']:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
