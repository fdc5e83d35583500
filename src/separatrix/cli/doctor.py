"""`separatrix doctor`: is this installation sound, what can this machine do, and (with
`--calibrate`) how fast is it?
"""

import dataclasses
import os
import platform
import tempfile
import time
from importlib import metadata
from typing import Any

PACKAGES = (
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "jaxtyping",
    "numpy",
    "scipy",
    "pyarrow",
    "pandas",
    "matplotlib",
    "typer",
    "rich",
)


def examine() -> dict[str, Any]:
    """Facts about this machine and installation; `problems` is a list of sentences, empty where all
    is well.

    >>> examine()["problems"]
    []
    """
    import jax
    import jax.numpy as jnp

    from separatrix import __version__
    from separatrix.engine import cores, find_device, use_compilation_cache

    problems = []
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            problems.append(f"the package {name} is missing; install separatrix again")
    device = find_device()
    side = 1024
    a = jnp.ones((side, side)) / side
    product = jax.jit(lambda a: jnp.matmul(a, a, precision="float32"))
    product(a).block_until_ready()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        product(a).block_until_ready()
        times.append(time.perf_counter() - begin)
    cache = use_compilation_cache()
    if cache is None:
        problems.append(
            "the compilation cache cannot be written; set SEPARATRIX_CACHE to a folder that can"
        )
    free = os.statvfs(tempfile.gettempdir())
    return {
        "separatrix": __version__,
        "python": platform.python_version(),
        "versions": versions,
        "device": str(jax.devices()[0].device_kind),
        "platform": device.platform,
        "cores": cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "matmul_gflops": round(2 * side**3 / min(times) / 1e9, 1),
        "compilation_cache": cache,
        "temporary_space_gib": round(free.f_bavail * free.f_frsize / 2**30, 1),
        "problems": problems,
    }


def doctor(as_json: bool) -> None:
    """Print what `examine` finds; a problem ends the command with status 1."""
    from separatrix.cli.output import print_json
    from separatrix.errors import SeparatrixError

    facts = examine()
    if as_json:
        print_json(facts)
    else:
        for name, fact in facts.items():
            if name == "versions":
                fact = ", ".join(f"{package} {version}" for package, version in fact.items())
            if name != "problems":
                print(f"{name.replace('_', ' '):20} {fact}")
    if facts["problems"]:
        raise SeparatrixError("; ".join(facts["problems"]))
    if not as_json:
        print("all is well")


def calibrate(as_json: bool, workers: int | None) -> None:
    """Measure this machine, keep the cost model for estimates, and show what it predicts."""
    from separatrix.cli.output import plain_table, print_json, terminal
    from separatrix.engine import cost_model, find_device
    from separatrix.units import human_seconds

    device = find_device(workers)
    model, times = cost_model.calibrate(device.platform, device.workers)
    file = cost_model.keep_cost_model(model, device.workers)
    if as_json:
        facts = {
            "machine": cost_model.machine(device.workers),
            "cost_model": dataclasses.asdict(model),
            "times": [case._asdict() for case in times],
            "file": str(file),
        }
        print_json(facts)
        return
    columns = ("seconds", "predicted", "compiling", "predicted")
    table = plain_table("case", *columns, right=columns)
    for case in times:
        predicted = model.call(case.flops, case.steps)
        seconds = (case.running, predicted, case.compiling, model.per_program)
        table.add_row(case.kind, *(human_seconds(time) for time in seconds))
    terminal().print(table)
    plural = "s" if device.workers > 1 else ""
    print(
        f"calibrated for {device.workers} worker{plural}; "
        f"`--dry-run` now estimates with it ({file})"
    )
