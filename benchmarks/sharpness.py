"""What a Hessian-vector product of the sharpness probe costs, in gradient steps: a ratio of times
on the same network and rows; JSON on stdout.

A gradient step is one step of the training loop (gradient and update); a product is one iteration
of Lanczos, orthogonalisation and the small eigenproblem included. The two are timed in turn,
several times, and the median of the ratios is reported.
"""

import json
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

import separatrix as sx
from separatrix.probes.lanczos import fixed_noise, lanczos

CASES = {
    "shared, study 2 (m = 10, L = 8, n = 512, K = 1024)": (
        sx.CNN(10, 1024, stride=10, readout="pooled", offset=True),
        80,
        512,
    ),
    "full (d = 100, n = 512, K = 512)": (sx.FCN(512, offset=True), 100, 512),
    "shared, small (m = 5, d = 50, n = 128, K = 48)": (
        sx.CNN(5, 48, stride=5, readout="pooled", offset=True),
        50,
        128,
    ),
}


def measure(
    network: sx.Network, length: int, rows: int, count: int = 20, repeats: int = 7
) -> dict[str, Any]:
    """Seconds of `count` gradient steps and of `count` Lanczos iterations, and the median ratio."""
    layout = network.layout((length, 1))
    params = network.init(jax.random.key(0), (length, 1))
    x = jax.random.normal(jax.random.key(1), (rows, length, 1)) / jnp.sqrt(length)
    y = jax.random.normal(jax.random.key(2), (rows,))
    patches = layout.cut(x)
    flat, restore = ravel_pytree(params)

    def loss(p: jax.Array) -> jax.Array:
        return jnp.mean((network.scores(restore(p), patches, layout) - y) ** 2)

    @jax.jit
    def steps(p: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, count, lambda _, q: q - 1e-3 * jax.grad(loss)(q), p)

    @jax.jit
    def products(p: jax.Array) -> Any:
        _, product = jax.linearize(jax.grad(loss), p)
        return lanczos(product, fixed_noise(p.size), 1, 0.0, count)[
            :3
        ]  # tolerance 0: all iterations are made

    jax.block_until_ready((steps(flat), products(flat)))
    times = []
    for _ in range(repeats):
        pair = []
        for run in (steps, products):
            begin = time.perf_counter()
            jax.block_until_ready(run(flat))
            pair.append((time.perf_counter() - begin) / count)
        times.append(pair)
    ratios = [b / a for a, b in times]
    return {
        "parameters": int(flat.size),
        "gradient_step_seconds": statistics.median(a for a, _ in times),
        "product_seconds": statistics.median(b for _, b in times),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "products_made": int(products(flat)[2]),
    }


def main() -> None:
    figures = [{"case": name} | measure(*case) for name, case in CASES.items()]
    print(
        json.dumps(
            {"benchmark": "sharpness", "device": jax.devices()[0].device_kind, "figures": figures},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
