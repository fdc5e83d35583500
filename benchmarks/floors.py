"""How far training is from what the device allows: measured ceilings, floors of each shape, the
package, and three PyTorch programs.

    python benchmarks/floors.py --out floors.json                 # every shape; minutes on a GPU
    python benchmarks/floors.py --shapes LCN,CNN --limit 20       # in pieces
    python benchmarks/floors.py --implementation fused                  # with kernels only (short
    programs have none in the package)

Shapes: the five of `networks.py`; the FCN of the study `signal` at its full scale (30 patches of
30, 27,000 rows, 8 networks); CNN and FCN on the sphere of the study `stability` at its full scale
(d = 400, n = 1024, 5 seeds). The image trainings draw fresh minibatches and keep an optimizer's
state, which the counts and PyTorch programs here do not know; `images.py` compares those.

Ceilings, measured in the same process: the best float32 matrix product, and the bytes a second,
read and written, of adding 1 to a large array.

Floors, in seconds a step of all networks together:

- products: operations of the hidden layer's matrix products, forward and weight gradient, at the
  peak. The readout's are left out.
- bytes: parameters read once and written once, inputs read once forward and once for the gradient,
  at the copy bandwidth. Hidden activations not at all: they could stay on chip. Networks share no
  data: each trial draws its own rows, so inputs count once a network.
- bytes, with activations: those, and hidden activations written once on the way there and read once
  on the way back. No law, but what a program that stores its activations needs.

Bytes are those of device memory. Where all inputs and parameters (`resident_megabytes`) fit the
device's cache, as on the sphere, steps may be faster than that floor; and a kernel that held a tile
of rows from the forward product to the gradient's would read them once.

The package runs as it does in a study: drawing rows, initialising and two measurements of the loss
are part of its time, spread over the steps (the studies' shapes take more steps, so that they weigh
little). For PyTorch only steps are timed, on rows and from parameters that the package draws; its
LSA threshold is constant, the package's is ramped up. Shares and floors are of the float32 peak,
also for TF32.
"""

import argparse
import contextlib
import dataclasses
import json
import math
import os
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

NETWORKS, STEPS, LIMIT = 256, 300, 40.0
SIGNAL = {"patches": 30, "dimension": 30, "rows": 27_000}
SPHERE = {"dimension": 400, "rows": 1024}
# The most networks of a shape (0: as asked for), and how many times the steps asked for it takes.
SHAPES = {
    "FCN-20": (0, 1),
    "FCN-64": (0, 1),
    "FCN-400": (0, 1),
    "LCN": (0, 1),
    "CNN": (0, 1),
    "signal-FCN": (8, 3),
    "sphere-CNN": (5, 10),
    "sphere-FCN": (5, 10),
}


class TimeUp(BaseException):
    """A program's limit has passed; not an Exception, which compilers catch and go on."""


@dataclasses.dataclass(frozen=True)
class Counts:
    """What one step of one network takes: operations of matrix products, and bytes by what must go
    through memory.
    """

    flops: float
    parameter_bytes: float
    input_bytes: float
    hidden_bytes: float

    def floors(self, networks: int, peak: float, bandwidth: float) -> dict[str, float]:
        """Seconds a step of so many networks, by the name of the floor."""
        least = 2 * self.parameter_bytes + 2 * self.input_bytes
        return {
            "products": networks * self.flops / peak,
            "bytes": networks * least / bandwidth,
            "bytes, with activations": networks * (least + 2 * self.hidden_bytes) / bandwidth,
        }


def counts_of(trial: Any) -> Counts:
    """The counts of a trial with one hidden layer that takes all its rows at each step."""
    shape, rows = trial.task.shape, trial.samples
    costs = trial.network.costs(shape)
    parameters = trial.network.parameter_count(shape)
    return Counts(
        4.0 * rows * costs.products,
        4.0 * parameters,
        4.0 * rows * math.prod(shape),
        4.0 * rows * costs.hidden,
    )


def trials_of(name: str, networks: int, steps: int) -> list[Any]:
    """The trials of a shape, nothing measured on the way."""
    import networks as small
    import separatrix as sx

    most, longer = SHAPES[name]
    count, steps = min(networks, most or networks), steps * longer
    if name.startswith("signal"):
        from separatrix.studies.signal.settings import SCALES
        from separatrix.studies.signal.trials import SignalRecipe, signal_trial

        task = SCALES["full"].task("fixed", SIGNAL["patches"], SIGNAL["dimension"])
        one = signal_trial(
            task, "FCN", SignalRecipe(), steps, SIGNAL["rows"], 0, sx.Measure(probes=(), test=1)
        )
        return one.at_seeds(range(count))
    if name.startswith("sphere"):
        import stability
        from separatrix.studies.stability.settings import SCALES

        settings = SCALES["full"].replace(
            parts=("sphere",),
            sphere={
                "dimensions": (SPHERE["dimension"],),
                "samples": (SPHERE["rows"],),
                "seeds": 5,
            },
        )
        found = stability.trials_of(settings, name.removeprefix("sphere-"), SPHERE["dimension"])
        return [
            trial.replace(learner=trial.learner.replace(steps=steps)) for trial in found[:count]
        ]
    return [
        trial.replace(learner=trial.learner.replace(steps=steps))
        for trial in small.trials(name, count, "float32")
    ]


def copy_bandwidth(platform: str) -> float:
    """Bytes a second, read and written, of adding 1 to a large array, into another one or in place;
    the best of ten each.
    """
    import jax
    import jax.numpy as jnp

    best, x = math.inf, jnp.zeros(2**26 if platform == "cpu" else 2**30, jnp.float32)
    for given_up in ((), (0,)):
        add = jax.jit(lambda x: x + 1.0, donate_argnums=given_up)
        x = add(x).block_until_ready()
        for _ in range(10):
            begin = time.perf_counter()
            x = add(x).block_until_ready()
            best = min(best, time.perf_counter() - begin)
    return 2 * x.nbytes / best


def time_package(trials: list[Any], precision: str) -> dict[str, float]:
    """Seconds a step of all trials in one batch, the median of three warm runs; and seconds to
    compile.
    """
    from separatrix.engine import Programs

    some, programs = [trial.replace(precision=precision) for trial in trials], Programs()
    programs.run(some, some[0], len(some))
    compiled, seconds = programs.tally.compile_seconds, []
    for _ in range(3):
        programs.tally.run_seconds = 0.0
        programs.run(some, some[0], len(some))
        seconds.append(programs.tally.run_seconds)
    return {
        "seconds_a_step": statistics.median(seconds) / some[0].learner.steps,
        "compile_seconds": compiled,
    }


def case_of(trials: list[Any]) -> Any:
    """The trials for PyTorch: each its own rows and initial parameters, drawn by the package's task
    and network.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    import floors_torch
    from separatrix.networks import LSA

    task, network, learner, rows = (
        trials[0].task,
        trials[0].network,
        trials[0].learner,
        trials[0].samples,
    )

    def one(key: Any) -> Any:
        sample = task.sample(key, rows)
        patches = network.layout(task.shape).cut(sample.x).by_span
        return jnp.swapaxes(patches, 1, 2), sample.y, network.init(key, task.shape)

    x, y, drawn = jax.device_get(
        jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), len(trials)))
    )
    local = network.connectivity == "local"
    params = {
        "weights": np.swapaxes(drawn.weights, 2, 3) if local else drawn.weights[:, 0],
        "bias": None
        if drawn.bias is None
        else drawn.bias[:, :, None]
        if local
        else drawn.bias[:, 0],
        "readout": drawn.readout,
        "offset": drawn.offset,
    }
    params = {
        name: np.ascontiguousarray(values) for name, values in params.items() if values is not None
    }
    threshold = float(network.activation.bias) if isinstance(network.activation, LSA) else None
    how = floors_torch.How(
        learner.loss, float(learner.rate.level), local, threshold, learner.projection == "ball"
    )
    return floors_torch.Case(x, y, params, how)


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `TimeUp` within, once so many seconds have passed and Python has the word (a compiler
    written in C++ is not interrupted).
    """

    def ring(*_: Any) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(
        signal.ITIMER_REAL, seconds, 5.0
    )  # again and again: what is raised inside a finalizer is lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def attempt(program: Callable[[], dict[str, Any]], limit: float) -> dict[str, Any]:
    """What a program measures, or a sentence that says why it did not."""
    try:
        with limited(limit):
            return program()
    except TimeUp:
        return {"not_measured": f"stopped after {limit:g} s"}
    except ImportError as error:
        return {"not_measured": f"{error.name or error} is not installed"}
    except Exception as error:  # whatever ends one program, the others are measured
        words = " ".join(str(error).split()).replace("|", "/")
        return {"not_measured": f"{type(error).__name__}: {words[:160]}"}


@contextlib.contextmanager
def implemented_by(name: str) -> Iterator[None]:
    """Within, programs are made with kernels ("fused") or without ("product"), however much they
    have to do; an error where they do not compile.
    """
    from separatrix.engine import policy
    from separatrix.networks import kernels

    least = dict.fromkeys(("cpu", "gpu"), 0.0 if name == "fused" else math.inf)
    with (
        mock.patch.dict(policy.KERNELS, least),
        mock.patch.dict(policy.KERNELS_OF_FULL, least),
        mock.patch.object(kernels, "outputs", wraps=kernels.outputs) as made,
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("error", "a program was made without kernels")
        yield
    if name == "fused" and not made.called:
        raise RuntimeError("no program had kernels")


def time_implementation(trials: list[Any], precision: str, implementation: str) -> dict[str, float]:
    """The package in one of its implementations."""
    with implemented_by(implementation):
        return time_package(trials, precision)


def programs_of(
    trials: list[Any],
    steps: int,
    limit: float,
    platform: str,
    implementations: tuple[str, ...] = ("product",),
) -> dict[str, Callable[[], dict[str, Any]]]:
    """The programs of a shape by name.

    What PyTorch takes is drawn here, so that no program's time is spent on it.
    """
    import floors_torch

    drawn = attempt(lambda: {"case": case_of(trials)}, limit)

    def torch_program(which: str) -> dict[str, Any]:
        return (
            floors_torch.measure(which, drawn["case"], steps, limit, platform)
            if "case" in drawn
            else drawn
        )

    ours: dict[str, Callable[[], dict[str, Any]]] = {}
    for implementation in implementations:
        for precision in ("float32", "tf32") if implementation == "product" else ("float32",):
            name = f"Separatrix, {precision}" + (
                "" if implementation == "product" else f", {implementation}"
            )
            ours[name] = lambda precision=precision, implementation=implementation: (
                time_implementation(trials, precision, implementation)
            )
    return ours | {
        which: lambda which=which: torch_program(which) for which in floors_torch.PROGRAMS
    }


def row(*cells: str) -> None:
    """Print one line of the table, at once."""
    print("| " + " | ".join(cells) + " |", flush=True)


def measure_shape(
    name: str, given: argparse.Namespace, platform: str, peak: float, bandwidth: float
) -> dict[str, Any]:
    """Every program of a shape, a line each."""
    trials = trials_of(name, given.networks, given.steps)
    counts, networks = counts_of(trials[0]), len(trials)
    floors = counts.floors(networks, peak, bandwidth)
    larger = max(floors["products"], floors["bytes"])
    size = f"{networks} × {trials[0].samples} × {math.prod(trials[0].task.shape)}"
    for floor, seconds in floors.items():
        row(
            name, size, f"floor: {floor}", f"{1e3 * seconds:.4g}", f"{seconds / larger:.2f}", "", ""
        )
    found: dict[str, Any] = {}
    for program, call in programs_of(
        trials, given.steps, given.limit, platform, tuple(given.implementation.split(","))
    ).items():
        one = found[program] = attempt(call, given.limit)
        if "not_measured" in one:
            row(name, size, program, f"not measured: {one['not_measured']}", "", "", "")
            continue
        seconds = one["seconds_a_step"]
        one |= {
            "times_larger_floor": seconds / larger,
            "share_of_peak": floors["products"] / seconds,
        }
        shares = (
            f"{one['times_larger_floor']:.2f}",
            f"{one['share_of_peak']:.1%}",
            f"{one['compile_seconds']:.1f}",
        )
        row(name, size, program, f"{1e3 * seconds:.4g}", *shares)
    resident = networks * (counts.parameter_bytes + counts.input_bytes) / 1e6
    return {
        "networks": networks,
        "rows": trials[0].samples,
        "inputs": math.prod(trials[0].task.shape),
        "package_steps": trials[0].learner.steps,
        "a_step_of_one_network": dataclasses.asdict(counts),
        "resident_megabytes": resident,
        "floor_seconds": floors,
        "programs": found,
    }


def surroundings(commit: str) -> dict[str, Any]:
    """The machine, versions, and the commit, `+dirty` where a tracked file was changed."""
    from importlib import metadata

    import jax

    import separatrix as sx

    manifest = sx.Lab().manifest()
    with contextlib.suppress(metadata.PackageNotFoundError):
        manifest["versions"]["torch"] = metadata.version("torch")
    kept = {name: manifest[name] for name in ("started", "versions", "platform", "flags")}
    stated = manifest["commit"] or commit
    dirty = stated.endswith("+dirty") if stated else None
    return {
        "device": str(jax.devices()[0].device_kind),
        "cores": os.cpu_count(),
        "commit": stated or "unknown",
        "dirty": dirty,
    } | kept


def main() -> None:
    """Measure, print a table, and write JSON where that is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--shapes", default=",".join(SHAPES), help=f"shapes among {', '.join(SHAPES)}"
    )
    arguments.add_argument(
        "--networks",
        type=int,
        default=NETWORKS,
        help="networks of a shape (signal: at most 8, sphere: 5)",
    )
    arguments.add_argument(
        "--steps",
        type=int,
        default=STEPS,
        help="steps of a run (signal: 3 times as many, sphere: 10 times, but for PyTorch)",
    )
    arguments.add_argument(
        "--limit",
        type=float,
        default=LIMIT,
        help="seconds a program may take, with its compilation",
    )
    arguments.add_argument(
        "--implementation",
        default="",
        help="implementations: product (activations in memory), fused (kernels, where there are "
        "any; by default on GPUs)",
    )
    arguments.add_argument(
        "--commit", default="", help="the commit to state where the source tree has no git folder"
    )
    arguments.add_argument(
        "--out", default="", help="a file for the figures as JSON, written anew after every shape"
    )
    given = arguments.parse_args()
    wanted = given.shapes.split(",")
    if unknown := [name for name in wanted if name not in SHAPES]:
        sys.exit(f"the shapes must be among {', '.join(SHAPES)}, got {', '.join(unknown)}")
    if given.implementation and (
        unknown := [
            name for name in given.implementation.split(",") if name not in ("product", "fused")
        ]
    ):
        sys.exit(
            "the implementations must be among product and fused, got "
            f"{', '.join(map(repr, unknown))}"
        )
    if min(given.networks, given.steps) < 1 or not given.limit > 0:
        sys.exit("--networks and --steps must be at least 1, and --limit more than 0")
    import networks

    if "cuda" not in os.environ.get("JAX_PLATFORMS", "") and not os.path.exists("/dev/nvidia0"):
        networks.one_core()
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.5")  # the rest is for PyTorch
    os.environ.setdefault(
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1"
    )  # what an earlier run compiled is compiled again
    warnings.filterwarnings(
        "ignore", "dynamo_pgo force disabled"
    )  # which PyTorch says at every compilation
    import jax

    import floors_torch

    platform = jax.devices()[0].platform
    given.implementation = given.implementation or (
        "product" if platform == "cpu" else "product,fused"
    )  # interpreted kernels are slow
    whole: dict[str, Any] = (
        {"benchmark": "floors"} | surroundings(given.commit) | {"asked": vars(given)}
    )
    with contextlib.suppress(
        ImportError, RuntimeError
    ):  # a PyTorch that is missing or does not run is said at each program
        floors_torch.check(floors_torch.settle(platform))
    peak, bandwidth = networks.matmul_peak(platform), copy_bandwidth(platform)
    whole |= {
        "ceilings": {"float32_products_flops": peak, "copy_bytes_a_second": bandwidth},
        "shapes": {},
    }
    print(
        f"{whole['device']}, commit {whole['commit']}: {peak / 1e12:.3g} TFLOP/s in float32 "
        f"products, {bandwidth / 1e12:.3g} TB/s copying\n"
    )
    row(
        "shape",
        "networks × rows × inputs",
        "program",
        "ms a step",
        "× larger floor",
        "share of peak",
        "compiling, s",
    )
    row(*["---"] * 7)
    for name in wanted:
        whole["shapes"][name] = measure_shape(name, given, platform, peak, bandwidth)
        if given.out:
            with open(given.out, "w", encoding="utf-8") as file:
                json.dump(whole, file, indent=1)


if __name__ == "__main__":
    main()
