"""One training step of networks with one hidden layer, without kernels and with kernels of several
tilings: ms per step, in one run.

    # on a GPU; a minute at most
    python benchmarks/fused_timing.py
    # tiny sizes, interpreted on a CPU: whether everything runs
    python benchmarks/fused_timing.py --interpret --seconds 300

A step is the gradient of the logistic loss of all networks together and their update, many in one
compiled loop; "forward" is the outputs alone. The error is that of one network's gradients in the
first step against float64, the largest of any parameter as a share of that parameter's largest
gradient. A variant that fails says why in its line, and the others are measured. For floors and
implementations see `floors.py` beside this file and `separatrix.networks.kernels`. A tiling has
(units per warp, columns per thread, steps read ahead) for the forward and for the backward pass;
see `separatrix.networks.kernels.streaming`.
"""

import argparse
import concurrent.futures
import itertools
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from separatrix.networks.kernels import fused, streaming
from separatrix.networks.kernels.streaming import Share


class Shape(NamedTuple):
    """Sizes of one of the benchmark's networks: `groups` is 1 where weights are shared."""

    networks: int
    groups: int
    positions: int
    width: int
    span: int
    rows: int
    bias: bool


SHAPES = {
    "LCN": Shape(256, 20, 20, 20, 20, 512, False),
    "CNN": Shape(256, 1, 20, 20, 20, 512, False),
    "sphere-CNN": Shape(5, 1, 40, 256, 10, 1024, True),
    "images-CNN": Shape(1, 1, 900, 1024, 27, 1024, True),
    "colours-CNN": Shape(16, 1, 196, 64, 75, 256, True),
    "FCN-20": Shape(256, 1, 1, 20, 400, 512, False),
    "FCN-64": Shape(256, 1, 1, 64, 400, 512, False),
    "FCN-400": Shape(256, 1, 1, 400, 400, 512, False),
    "signal-FCN": Shape(8, 1, 1, 30, 900, 27_000, False),
}
TINY = {
    "LCN": Shape(2, 3, 3, 5, 12, 20, False),
    "CNN": Shape(2, 1, 3, 5, 12, 20, False),
    "sphere-CNN": Shape(2, 1, 4, 6, 5, 33, True),
    "images-CNN": Shape(1, 1, 3, 6, 27, 33, True),
    "colours-CNN": Shape(2, 1, 3, 6, 75, 33, True),
    "FCN-20": Shape(2, 1, 1, 20, 130, 33, False),
    "FCN-64": Shape(2, 1, 1, 24, 130, 33, False),
    "FCN-400": Shape(2, 1, 1, 40, 130, 33, False),
    "signal-FCN": Shape(2, 1, 1, 30, 130, 200, False),
}
# Besides the package's own.
TILINGS: dict[str, list[tuple[Share, Share]]] = {
    "LCN": [(Share(20, 4, 10), Share(10, 10, 4))],
    "CNN": [(Share(20, 4, 10), Share(10, 10, 4))],
    "sphere-CNN": [(Share(32, 4, 10), Share(8, 10, 4))],
    "images-CNN": [(Share(32, 4, 9), Share(8, 9, 4))],
    "colours-CNN": [(Share(32, 4, 5), Share(8, 15, 4))],
    "FCN-20": [(Share(10, 8, 5), Share(10, 7, 4))],
    "FCN-64": [(Share(16, 8, 5), Share(16, 7, 4))],
    "FCN-400": [(Share(20, 8, 2), Share(20, 7, 4))],
    "signal-FCN": [(Share(10, 10, 5), Share(10, 10, 4)), (Share(15, 8, 5), Share(15, 5, 8))],
}
STEPS, RATE = 40, 0.1


def drawn(shape: Shape) -> tuple[Any, Any, Any]:
    """Parameters, patches and labels of all networks."""
    keys = jax.random.split(jax.random.key(0), 5)
    many, width = shape.networks, shape.width
    params = {
        "weights": jax.random.normal(keys[0], (many, shape.groups, width, shape.span))
        / shape.span**0.5,
        "coefficients": jax.random.normal(keys[1], (many, shape.positions, width))
        / (shape.positions * width) ** 0.5,
    }
    if shape.bias:
        params["bias"] = 0.1 * jax.random.normal(keys[2], (many, shape.groups, width))
    patches = jax.random.normal(keys[3], (many, shape.positions, shape.span, shape.rows))
    return params, patches, jnp.sign(jax.random.normal(keys[4], (many, shape.rows)))


def outputs_of(tiling: Any) -> Callable[..., Any]:
    """Outputs of one network from its parameters and patches: in kernels with this tiling, or
    (None) without kernels.
    """

    def call(params: Any, patches: Any, by_row: Any = None) -> Any:
        parts = params["weights"], params.get("bias"), params["coefficients"], patches
        return (
            fused.unfused(jax.nn.relu, *parts)
            if tiling is None
            else fused.outputs(*parts, by_row=by_row, tiling=tiling)
        )

    return call


def loss_of(tiling: Any) -> Callable[..., Any]:
    """The logistic loss of one network."""
    return lambda params, patches, y, by_row=None: jax.nn.softplus(
        -y * outputs_of(tiling)(params, patches, by_row)
    ).mean()


def programs_of(tiling: Any, steps: int) -> list[Any]:
    """So many steps (parameters, and the gradient before the first), and so many times the outputs,
    of all networks.
    """
    outputs, loss = outputs_of(tiling), loss_of(tiling)

    def moved(params: Any, gradient: Any) -> Any:
        return jax.tree.map(lambda p, g: p - RATE * g, params, gradient)

    # Loops of a known length: others ask the host after every step whether to go on.
    def train(params: Any, patches: Any, y: Any) -> Any:
        by_row = fused.row_by_row(patches) if tiling is not None and tiling.long else None

        def step(_: Any, so_far: Any) -> Any:
            return moved(so_far, jax.grad(loss)(so_far, patches, y, by_row))

        first = jax.grad(loss)(params, patches, y, by_row)
        return jax.lax.fori_loop(0, steps - 1, step, moved(params, first)), first

    def forward(params: Any, patches: Any, _: Any) -> Any:
        def again(_: Any, coefficients: Any) -> Any:
            found = outputs(params | {"coefficients": coefficients}, patches)
            return coefficients * (
                1 + 1e-9 * found[0]
            )  # depends on the time before, or it would be computed once

        return jax.lax.fori_loop(0, steps, again, params["coefficients"])

    return [jax.jit(jax.vmap(each)) for each in (train, forward)]


def compiled(tiling: Any, steps: int, given: Any) -> list[Any]:
    """Both programs, compiled."""
    with jax.default_matmul_precision("float32"):
        return [program.lower(*given).compile() for program in programs_of(tiling, steps)]


def best_of(program: Any, given: Any, steps: int) -> float:
    """Seconds a step, the best of three runs."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        jax.block_until_ready(program(*given))
        seconds.append(time.perf_counter() - begin)
    return min(seconds) / steps


def in_float64(data: Any) -> Any:
    """The first step's gradient of the first network, without kernels, in float64."""
    one = jax.device_get(jax.tree.map(lambda leaf: leaf[0], data))
    with jax.enable_x64(True):
        exact = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), one)
        return jax.device_get(jax.jit(jax.grad(loss_of(None)))(*exact))


def difference(found: Any, expected: Any) -> float:
    """The largest over parameters of the largest difference of the first network, as a share of the
    largest entry.
    """
    shares = jax.tree.map(
        lambda many, exact: np.abs(np.asarray(many[0]) - exact).max() / np.abs(exact).max(),
        found,
        expected,
    )
    return float(max(jax.tree.leaves(shares)))


def words_of(tiling: Any) -> str:
    """A tiling in a few words."""
    if tiling is None:
        return "product"
    forward, backward = (
        f"{share.units} units, {share.columns} columns, {share.ahead} ahead"
        for share in (tiling.forward, tiling.backward)
    )
    return f"kernels: {forward}; backward {backward}"


def tilings_of(name: str, shape: Shape, interpret: bool) -> list[Any]:
    """No kernels (None), the package's tiling, and others that the sizes allow."""
    arrays = [
        jax.ShapeDtypeStruct(size, "float32")
        for size in (
            (shape.groups, shape.width, shape.span),
            (shape.positions, shape.span, shape.rows),
        )
    ]
    own, found = streaming.tiling_of(arrays[0], arrays[1], interpret), []
    for forward, backward in TILINGS[name]:
        whole = own.long or shape.span % backward.columns == 0
        if shape.width % forward.units == 0 and forward.units % backward.units == 0 and whole:
            found.append(own._replace(forward=forward, backward=backward))
    return [None, *dict.fromkeys([own, *found])]


def row(*cells: Any) -> None:
    """Print one line of the table, at once."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def measure(
    name: str, shape: Shape, given: argparse.Namespace, ends: float
) -> list[dict[str, Any]]:
    """Every variant of a shape, a line each."""
    data = drawn(shape)
    variants = tilings_of(name, shape, given.interpret)
    pool = concurrent.futures.ThreadPoolExecutor(given.threads)
    steps = 2 if given.interpret else given.steps
    making = [pool.submit(compiled, tiling, steps, data) for tiling in variants]
    concurrent.futures.wait(
        making, timeout=max(ends - time.monotonic(), 0.01)
    )  # or compiling would disturb what is timed
    expected, first, out = in_float64(data), None, []
    for tiling, future in zip(variants, making):
        words, one = (
            words_of(tiling),
            {
                "shape": name,
                "tiling": None
                if tiling is None
                else {"forward": tiling.forward, "backward": tiling.backward},
            },
        )
        out.append(one)
        try:
            train, forward = future.result(timeout=max(ends - time.monotonic(), 0.01))
            one["error"] = difference(train(*data)[1], expected)
            one["step_ms"], one["forward_ms"] = (
                1e3 * best_of(each, data, steps) for each in (train, forward)
            )
            first = first or one["step_ms"]
            times = (
                f"{one['step_ms']:.4f}",
                f"{one['forward_ms']:.4f}",
                f"{first / one['step_ms']:.2f}",
            )
            row(name, words, *times, f"{one['error']:.1e}")
        except Exception as error:  # whatever ends one variant, the others are measured
            one["failed"] = (
                f"{type(error).__name__}: " + " ".join(str(error).split()).replace("|", "/")[:300]
            )
            row(name, words, one["failed"], "", "", "")
    pool.shutdown(wait=False, cancel_futures=True)
    return out


def main() -> None:
    """Measure, print a table, and write JSON where that is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--shapes", default="LCN,CNN,sphere-CNN", help=f"shapes among {', '.join(SHAPES)}"
    )
    arguments.add_argument("--steps", type=int, default=STEPS, help="steps of a run")
    arguments.add_argument(
        "--seconds",
        type=float,
        default=55.0,
        help="after so many seconds, what is not compiled yet is left out",
    )
    arguments.add_argument("--threads", type=int, default=8, help="variants compiled at a time")
    arguments.add_argument(
        "--interpret",
        action="store_true",
        help="tiny sizes, interpreted: whether everything runs, on any device",
    )
    arguments.add_argument("--out", default="", help="a file for the figures as JSON")
    given = arguments.parse_args()
    wanted, sizes = given.shapes.split(","), TINY if given.interpret else SHAPES
    if unknown := [name for name in wanted if name not in sizes]:
        arguments.error(f"the shapes must be among {', '.join(sizes)}, got {', '.join(unknown)}")
    if min(given.steps, given.threads) < 1:
        arguments.error("--steps and --threads must be at least 1")
    if not given.interpret and jax.default_backend() != "gpu":
        arguments.error("without a GPU only --interpret")
    ends = time.monotonic() + given.seconds
    print(f"{jax.devices()[0].device_kind}, JAX {jax.__version__}\n")
    row(
        "shape",
        "implementation",
        "ms per step",
        "forward, ms",
        "times as fast",
        "error of gradients",
    )
    row(*["---"] * 6)
    found = list(
        itertools.chain.from_iterable(measure(name, sizes[name], given, ends) for name in wanted)
    )
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "benchmark": "fused",
                    "device": jax.devices()[0].device_kind,
                    "jax": jax.__version__,
                    "found": found,
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
