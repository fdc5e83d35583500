"""`separatrix doctor`: is this installation sound, what can this machine do, and (with
`--calibrate`) how fast is it?
"""

import json
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
    from separatrix.errors import SeparatrixError

    facts = examine()
    if as_json:
        print(json.dumps(facts, indent=1))
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
    """Measure this machine, keep what comes out for estimates, and show how well it explains what
    was measured.
    """
    from rich.table import Table

    from separatrix.cli.commands import progress_bar, terminal
    from separatrix.engine import find_device
    from separatrix.engine.calibration import calibrate
    from separatrix.engine.speed import keep_speed, machine

    device = find_device(workers)
    with progress_bar(as_json) as show:
        found = calibrate(device, show)
    rows = found.rows()
    file = keep_speed(found.speed, device.workers, times=rows)
    if as_json:
        print(
            json.dumps(
                {
                    "machine": machine(device.workers),
                    "speed": found.speed.message(),
                    "times": rows,
                    "file": str(file),
                },
                indent=1,
            )
        )
        return
    table = Table(box=None, pad_edge=False)
    columns = ("kind", "steps", "ms", "predicted", "ratio", "compiling, s", "predicted", "ratio")
    for column in columns:
        table.add_column(column, justify="left" if column == "kind" else "right")
    for row in rows:
        run, compiling = (
            (row["seconds"], row["predicted"]),
            (row["compile_seconds"], row["compile_predicted"]),
        )
        table.add_row(
            *(row["kind"], str(row["steps"])),
            *(*(f"{1e3 * each:.1f}" for each in run), f"{row['ratio']:.2f}"),
            *(*(f"{each:.1f}" for each in compiling), f"{row['compile_ratio']:.2f}"),
        )
    terminal().print(table)
    whose = f"{device.workers} worker{'s' if device.workers > 1 else ''}"
    print(f"calibrated for {whose}; `--dry-run` now estimates with it ({file})")
