"""Steps of many fully connected networks with their products made in several ways: ms a step, and
how exact the products are.

    python benchmarks/products.py                                  # on a GPU; a minute
    python benchmarks/products.py --shapes tiny --steps 3          # anywhere; what a device does
    not know says so in its line

A step is the gradient of the logistic loss of all networks together (rectifiers, a trained readout)
and their update, many in one compiled loop. Its two large products are z = w x forward and g xᵀ for
the weights' gradient. "float32" is what the package pins; "blocks" is the same with the weights'
gradient in blocks that a library's tiles of 128 divide, "rows first" with inputs stored row by row,
and "rows first in blocks" with both for the gradient. Those with TF32 in their names, but for the
last, make a float32 product on tensor cores, of numbers split into two parts that TF32 can hold:
XLA's own algorithm; three products of parts that are added; and one product three times as long,
with parts side by side along the axis that is summed over ("inputs once": they are split before the
loop).

Errors are the largest of z and of the gradient of the first network, against float64, as a share of
the root mean square; "z too large" is the mean of its error away from zero. The share of the peak
is that of the two products.
"""

import argparse
import concurrent.futures
import functools
import json
import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import DotAlgorithmPreset, Precision

from networks import matmul_peak

# networks, units, inputs, rows: those of `floors.py`
SHAPES = {
    "FCN-20": (256, 20, 400, 512),
    "FCN-64": (256, 64, 400, 512),
    "FCN-400": (256, 400, 400, 512),
    "signal-FCN": (8, 30, 900, 27_000),
    "sphere-FCN": (5, 256, 400, 1024),
    "tiny": (2, 140, 150, 32),
}
WAYS = (
    "float32",
    "blocks",
    "rows first",
    "rows first in blocks",
    "TF32 x 3 (XLA's)",
    "three of TF32",
    "one of TF32",
    "one of TF32 (inputs once)",
    "TF32",
)
TILE = 128
Product = Callable[
    [Any, Any, int], Any
]  # of two arrays of all networks, summed over their last axis and over the given one of the second


def dot(precision: Any, a: Any, b: Any, axis: int) -> Any:
    """The plain product."""
    return jax.lax.dot_general(a, b, (((2,), (axis,)), ((0,), (0,))), precision=precision)


def parts(numbers: Any) -> tuple[Any, Any]:
    """Two numbers that TF32 can hold, the second rounded."""
    large = jax.lax.reduce_precision(numbers, exponent_bits=8, mantissa_bits=10)
    return large, jax.lax.reduce_precision(numbers - large, exponent_bits=8, mantissa_bits=10)


def three(a: Any, b: Any, axis: int) -> Any:
    """Three products of parts, added; that of the small parts is left out."""
    (large, small), (other, little) = parts(a), parts(b)
    one = functools.partial(dot, Precision.HIGH)
    return one(large, other, axis) + (one(small, other, axis) + one(large, little, axis))


def beside(b: Any, axis: int) -> Any:
    """The second array of one long product: its parts along the axis that is summed over."""
    large, small = parts(b)
    return jnp.concatenate([large, large, small], axis)


def long(a: Any, b: Any, axis: int) -> Any:
    """One product with an array whose parts lie side by side already."""
    large, small = parts(a)
    return dot(Precision.HIGH, jnp.concatenate([large, small, large], 2), b, axis)


def blocks(a: Any, b: Any, axis: int) -> Any:
    """The weights' gradient in blocks; other products as they are."""
    return dot(Precision.HIGHEST, a, b, axis) if axis != 2 else in_blocks(a, b, 2)


def in_blocks(a: Any, b: Any, axis: int) -> Any:
    """A product in blocks that a library's tiles divide, and what is left over."""
    whole, (units, others) = (
        functools.partial(dot, Precision.HIGHEST),
        (a.shape[1] // TILE * TILE, b.shape[3 - axis] // TILE * TILE),
    )
    parts = [part for part in jnp.split(b, [others], 3 - axis) if part.size]
    return jnp.concatenate(
        [
            jnp.concatenate([whole(some, part, axis) for part in parts], 2)
            for some in jnp.split(a, [units], 1)
            if some.size
        ],
        1,
    )


def product_of(way: str, x: Any) -> Product:
    """The product of some array with the inputs, in one of the ways."""
    plain = {
        "float32": Precision.HIGHEST,
        "TF32": Precision.HIGH,
        "TF32 x 3 (XLA's)": DotAlgorithmPreset.TF32_TF32_F32_X3,
    }
    if way in plain:
        return functools.partial(dot, plain[way])
    exact = functools.partial(dot, Precision.HIGHEST)
    if way == "rows first":
        first = jax.lax.optimization_barrier(jnp.swapaxes(x, 1, 2))
        return lambda a, _, axis: exact(a, first, 3 - axis)
    if way == "rows first in blocks":
        turned = jax.lax.optimization_barrier(jnp.swapaxes(x, 1, 2))
        return lambda a, b, axis: in_blocks(a, turned, 1) if axis == 2 else exact(a, b, axis)
    if way == "one of TF32 (inputs once)":
        split = {axis: beside(x, axis) for axis in (1, 2)}
        return lambda a, _, axis: long(a, split[axis], axis)
    return {
        "three of TF32": three,
        "one of TF32": lambda a, b, axis: long(a, beside(b, axis), axis),
        "blocks": blocks,
    }[way]


def steps_of(way: str, steps: int, w: Any, c: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Parameters after the steps; z and the weights' gradient of the first network before."""
    product = product_of(way, x)

    def slopes(w: Any, c: Any) -> Any:
        z = product(w, x, 1)
        active = jnp.maximum(z, 0)
        out = jnp.einsum("nu,nur->nr", c, active, precision="highest")
        pull = -y * jax.nn.sigmoid(-y * out) / y.shape[1]
        through = jnp.where(z > 0, c[:, :, None] * pull[:, None, :], 0)
        return (
            z,
            product(through, x, 2),
            jnp.einsum("nr,nur->nu", pull, active, precision="highest"),
        )

    def step(_: Any, now: Any) -> Any:
        _, of_w, of_c = slopes(*now)
        return now[0] - 0.1 * of_w, now[1] - 0.1 * of_c

    z, of_w, _ = slopes(w, c)
    return jax.lax.fori_loop(0, steps, step, (w, c)), (z[0], of_w[0])


def drawn(networks: int, width: int, inputs: int, rows: int) -> tuple[Any, ...]:
    """Weights, readouts, inputs and labels of all networks."""
    keys = jax.random.split(jax.random.key(1), 4)
    w = jax.random.normal(keys[0], (networks, width, inputs)) / inputs**0.5
    c = jax.random.normal(keys[1], (networks, width)) / width**0.5
    return (
        w,
        c,
        jax.random.normal(keys[2], (networks, inputs, rows)),
        jnp.sign(jax.random.normal(keys[3], (networks, rows))),
    )


def compiled(way: str, steps: int, given: Any, tried: bool) -> Any:
    """The program, or the sentence that says why there is none; with the ways to write each product
    tried on the device, or not.
    """
    from separatrix.engine.programs import compiled as with_options

    try:
        return with_options(
            jax.jit(functools.partial(steps_of, way, steps)).lower(*given),
            operations=math.inf if tried else 1.0,
        )
    except Exception as error:  # a device that does not know a way is a result, too
        return f"{type(error).__name__}: " + " ".join(str(error).split()).replace("|", "/")[:120]


def errors_of(found: Any, given: Any) -> tuple[float, float, float]:
    """How far z and the gradient are from float64, the gradient at the signs of the z that was
    found; and by how much z is too large on the average.
    """
    w, c, x, y = (np.asarray(each[0], np.float64) for each in given)
    z, of_w = (np.asarray(each, np.float64) for each in found)
    exact = w @ x
    pull = -y / (1 + np.exp(y * (c @ np.maximum(exact, 0)))) / y.size
    slope = np.where(z > 0, c[:, None] * pull, 0) @ x.T
    return (
        _share(z, exact),
        _share(of_w, slope),
        float(np.mean((z - exact) * np.sign(exact)) / np.sqrt(np.mean(exact**2))),
    )


def _share(found: Any, exact: Any) -> float:
    return float(np.abs(found - exact).max() / np.sqrt(np.mean(exact**2)))


def measure(program: Any, given: Any, steps: int) -> dict[str, float]:
    """Milliseconds a step, the best of three runs, and the errors."""
    of_z, of_gradient, too_large = errors_of(program(*given)[1], given)
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        jax.block_until_ready(program(*given))
        seconds.append(time.perf_counter() - begin)
    return {
        "step_ms": 1e3 * min(seconds) / (steps + 1),
        "error_of_z": of_z,
        "error_of_gradient": of_gradient,
        "too_large": too_large,
    }


def main() -> None:
    """Measure, print a table, and write JSON where that is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--shapes",
        default="FCN-20,FCN-64,FCN-400,signal-FCN,sphere-FCN",
        help=f"shapes among {', '.join(SHAPES)}",
    )
    arguments.add_argument("--ways", default=",".join(WAYS), help=f"ways among {', '.join(WAYS)}")
    arguments.add_argument(
        "--tried",
        action="store_true",
        help="let XLA try the ways to write each product, as for the package's longest programs",
    )
    arguments.add_argument("--steps", type=int, default=40, help="steps of a run")
    arguments.add_argument("--out", default="", help="a file for the figures as JSON")
    given = arguments.parse_args()
    wanted = given.shapes.split(",")
    if unknown := [name for name in wanted if name not in SHAPES]:
        arguments.error(f"the shapes must be among {', '.join(SHAPES)}, got {', '.join(unknown)}")
    ways = given.ways.split(",")
    if unknown := [way for way in ways if way not in WAYS]:
        arguments.error(f"the ways must be among {', '.join(WAYS)}, got {', '.join(unknown)}")
    if given.steps < 1:
        arguments.error("--steps must be at least 1")
    peak, data = matmul_peak(jax.default_backend()), {name: drawn(*SHAPES[name]) for name in wanted}
    with concurrent.futures.ThreadPoolExecutor(1 if given.tried else 8) as pool:
        making = {
            (name, way): pool.submit(compiled, way, given.steps, data[name], given.tried)
            for name in wanted
            for way in ways
        }
    print(
        f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, {peak / 1e12:.3g} TFLOP/s in "
        "float32 products\n"
    )
    print(
        "| shape | way | ms a step | share of peak | error of z | error of the gradient | z too "
        "large |\n|---|---|---|---|---|---|---|"
    )
    found = []
    for (name, way), future in making.items():
        program, (networks, width, inputs, rows) = future.result(), SHAPES[name]
        one: dict[str, Any] = {"shape": name, "way": way}
        found.append(one)
        if isinstance(program, str):
            one["failed"] = program
            print(f"| {name} | {way} | {program} | | | | |", flush=True)
            continue
        one |= measure(program, data[name], given.steps)
        one["share_of_peak"] = 4e3 * networks * width * inputs * rows / one["step_ms"] / peak
        errors = (
            f"{one['error_of_z']:.1e} | {one['error_of_gradient']:.1e} | {one['too_large']:.1e}"
        )
        print(
            f"| {name} | {way} | {one['step_ms']:.4f} | {one['share_of_peak']:.1%} | {errors} |",
            flush=True,
        )
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "benchmark": "products",
                    "device": jax.devices()[0].device_kind,
                    "peak": peak,
                    "found": found,
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
