"""Why the networks and the random streams are implemented as they are: alternatives timed in one
run on one core; JSON out.

LCN and CNN of benchmarks/networks.py (20 patches of 20, 20 filters, 512 rows, 30 steps) in several
implementations of the same sums, and 4096 x 20 x 20 normal draws by `separatrix.streams` and by
`jax.random`.
"""

import json
import time
from collections.abc import Callable
from typing import Any

from networks import FILTERS, PATCHES, ROWS, SPAN, matmul_peak, one_core

STEPS = 30


def clock(run: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of a few runs, in seconds."""
    import jax

    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(run())
        best = min(best, time.perf_counter() - begin)
    return best


def implementations() -> dict[str, tuple[Callable[..., Any], Any, Any]]:
    """Name to (scores of parameters and data, parameters, data)."""
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], (ROWS, PATCHES, SPAN))
    weights = jax.random.normal(keys[1], (PATCHES, FILTERS, SPAN)) / 5
    readout = jax.random.normal(keys[2], (PATCHES, FILTERS)) / 20
    last, middle = x.transpose(1, 2, 0), x.transpose(1, 0, 2)
    columns, rows = x.transpose(2, 1, 0).reshape(SPAN, -1), x.reshape(ROWS * PATCHES, SPAN)
    relu = jax.nn.relu

    def ours(p: Any, x: Any) -> Any:
        shape = (PATCHES, FILTERS, SPAN)
        return p[1].reshape(-1) @ relu(jnp.broadcast_to(p[0], shape) @ x).reshape(
            PATCHES * FILTERS, ROWS
        )

    def lcn_einsum(p: Any, x: Any) -> Any:
        return jnp.einsum("pf,pfm->m", p[1], relu(jnp.einsum("pfs,psm->pfm", p[0], x)))

    def lcn_rows_middle(p: Any, x: Any) -> Any:
        return jnp.einsum("pf,pmf->m", p[1], relu(jnp.einsum("pms,pfs->pmf", x, p[0])))

    def lcn_loop(p: Any, x: Any) -> Any:
        return sum(p[1][i] @ relu(p[0][i] @ x[i]) for i in range(PATCHES))

    def cnn_columns(p: Any, x: Any) -> Any:
        return p[1].T.reshape(-1) @ relu(p[0] @ x).reshape(FILTERS * PATCHES, ROWS)

    def cnn_rows(p: Any, x: Any) -> Any:
        return relu(x @ p[0].T).reshape(ROWS, PATCHES * FILTERS) @ p[1].reshape(-1)

    local, shared = (weights, readout), (weights[0], readout)
    return {
        "LCN, ours": (ours, local, last),
        "LCN, einsum": (lcn_einsum, local, last),
        "LCN, rows in the middle": (lcn_rows_middle, local, middle),
        "LCN, loop over patches": (lcn_loop, local, last),
        "CNN, ours": (ours, shared, last),
        "CNN, one product, columns": (cnn_columns, shared, columns),
        "CNN, one product, rows": (cnn_rows, shared, rows),
    }


def main() -> None:
    """Measure and print."""
    one_core()
    import jax
    import jax.numpy as jnp

    from separatrix.streams import draw, normal

    peak = matmul_peak("cpu")
    y = jnp.sign(jax.random.normal(jax.random.key(1), (ROWS,)))
    result: dict[str, Any] = {"share_of_peak": {}, "normal_draws": {}}
    for name, (scores, params, data) in implementations().items():

        def train(params: Any, data: Any, scores: Any = scores) -> Any:
            slope = jax.grad(lambda p: jnp.mean(jax.nn.softplus(-y * scores(p, data))))
            return jax.lax.fori_loop(
                0, STEPS, lambda _, p: jax.tree.map(lambda a, b: a - 0.01 * b, p, slope(p)), params
            )

        run = jax.jit(train)
        jax.block_until_ready(run(params, data))
        work = 4.0 * ROWS * PATCHES * FILTERS * SPAN * STEPS
        result["share_of_peak"][name] = round(
            work / clock(lambda run=run, p=params, d=data: run(p, d)) / peak, 3
        )
    shape, key = (4096, 20, 20), jax.random.key(0)
    for name, make in {
        "ours": lambda k: draw(normal, k, shape),
        "jax.random": lambda k: jax.random.normal(k, shape),
    }.items():
        lowered = jax.jit(make).lower(key)
        begin = time.perf_counter()
        program = lowered.compile()
        compiled = time.perf_counter() - begin
        jax.block_until_ready(program(key))
        run_ms = 1e3 * clock(lambda program=program: program(key))
        result["normal_draws"][name] = {
            "compile_seconds": round(compiled, 2),
            "run_ms": round(run_ms, 1),
        }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
