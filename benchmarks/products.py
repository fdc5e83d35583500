"""Products of many small matrices in several precisions: ms for the two products of a training step, and how exact they are.

    python benchmarks/products.py                      # on a GPU; half a minute
    python benchmarks/products.py --networks 2         # anywhere; what a device does not know says so in its line

The shapes are those of the fully connected networks of `networks.py`: z = w x forward and z xᵀ for the gradient, of all networks together,
many in one compiled loop. "float32" is what the package pins. The next two make a float32 product of several on tensor cores: three of
TF32 parts, or six of bfloat16 parts. The error is the largest of z, against float64, as a share of its root mean square.
"""

import argparse
import concurrent.futures
import functools
import json
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PRECISIONS = {"float32": "float32", "3 of TF32": "TF32_TF32_F32_X3", "6 of bfloat16": "BF16_BF16_F32_X6", "TF32": "TF32_TF32_F32"}
WIDTHS, INPUTS, ROWS, STEPS = (64, 400), 400, 512, 40


def drawn(networks: int, width: int) -> tuple[Any, Any]:
    """Weights and inputs of all networks."""
    keys = jax.random.split(jax.random.key(width))
    return jax.random.normal(keys[0], (networks, width, INPUTS)) / INPUTS**0.5, jax.random.normal(keys[1], (networks, INPUTS, ROWS))


def steps_of(precision: str, w: Any, x: Any) -> tuple[Any, Any]:
    """Weights after the steps, and the first step's product."""
    product = functools.partial(jnp.matmul, precision=precision)

    def step(_: Any, now: Any) -> Any:
        return now + 1e-9 * product(product(now, x), x.mT)  # depends on the time before, or it would be computed once

    return jax.lax.fori_loop(0, STEPS, step, w), product(w[0], x[0])


def compiled(precision: str, given: Any) -> Any:
    """The program, or the sentence that says why there is none."""
    try:
        return jax.jit(functools.partial(steps_of, precision)).lower(*given).compile()
    except Exception as error:  # a device that does not know a precision is a result, too
        return f"{type(error).__name__}: " + " ".join(str(error).split()).replace("|", "/")[:120]


def measure(program: Any, given: Any) -> dict[str, float]:
    """Milliseconds a step, the best of three runs, and the error of a product."""
    w, x = (np.asarray(each[0], np.float64) for each in given)
    found, seconds = np.asarray(program(*given)[1], np.float64), []
    for _ in range(3):
        begin = time.perf_counter()
        jax.block_until_ready(program(*given))
        seconds.append(time.perf_counter() - begin)
    return {"step_ms": 1e3 * min(seconds) / STEPS, "error": float(np.abs(found - w @ x).max() / np.sqrt(np.mean((w @ x) ** 2)))}


def main() -> None:
    """Measure, print a table, and write JSON where that is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--networks", type=int, default=256, help="networks together")
    arguments.add_argument("--out", default="", help="a file for the figures as JSON")
    given = arguments.parse_args()
    if given.networks < 1:
        arguments.error("--networks must be at least 1")
    data = {width: drawn(given.networks, width) for width in WIDTHS}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        making = {(w, name): pool.submit(compiled, spelled, data[w]) for w in WIDTHS for name, spelled in PRECISIONS.items()}
    print(
        f"{jax.devices()[0].device_kind}, JAX {jax.__version__}\n\n| width | precision | ms a step | TFLOP/s | error |\n|---|---|---|---|---|"
    )
    found = []
    for (width, name), future in making.items():
        program = future.result()
        one: dict[str, Any] = {"width": width, "precision": name}
        found.append(one)
        if isinstance(program, str):
            one["failed"] = program
            print(f"| {width} | {name} | {program} | | |", flush=True)
            continue
        one |= measure(program, data[width])
        rate = 4e-9 * given.networks * width * INPUTS * ROWS / one["step_ms"]
        print(f"| {width} | {name} | {one['step_ms']:.4f} | {rate:.1f} | {one['error']:.1e} |", flush=True)
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump({"benchmark": "products", "device": jax.devices()[0].device_kind, "found": found}, file, indent=1)


if __name__ == "__main__":
    main()
