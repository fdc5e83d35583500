"""The image experiments against plain PyTorch, and the implementations of a convolution, timed in
one run on one device.

    # the same training in both, for one seed and for five
    python benchmarks/images.py --device cuda --out images.json
    # a finished run of the study `cifar` against the loop that would do the same
    python benchmarks/images.py --study results/cifar
    # implementations of a convolution under vmap
    python benchmarks/images.py --implementations
    # the same, compiled as light programs are: the compiler times no algorithms
    python benchmarks/images.py --implementations --untried

Both programs train the same networks on the same stored images, drawn on the device, with the same
optimizer, batch and precision of matrix products. PyTorch trains seeds one after another; ours
trains the five of a batch at once on a GPU, and one after another on a CPU, where both use one
core. A trial-step is one optimizer step of one seed. Compilation is timed apart.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import sys
import time
from typing import Any

SEEDS = 5


def one_core() -> None:
    """Before JAX or PyTorch start: one core, one thread."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    )
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def cases(small: bool) -> dict[str, dict[str, Any]]:
    """The trainings by name: those of the studies' full scale, or smaller ones for a CPU."""
    from separatrix.studies.cifar.settings import POOLS

    out: dict[str, dict[str, Any]] = {}
    filters, digits = (64, 9) if small else (1024, 19)
    for kind in ("CNN", "LCN", "FCN"):
        out[f"digits {kind}, n = {digits}"] = {
            "what": "digits",
            "kind": kind,
            "filters": filters,
            "digits": digits,
            "rows": 128,
        }
    for kind, depth, width in (
        (("CNN", 2, 8), ("CNN", 4, 4), ("FCN", 4, 64))
        if small
        else (("CNN", 2, 64), ("CNN", 4, 64), ("CNN", 6, 64), ("FCN", 4, 2048))
    ):
        out[f"cifar {kind}, depth {depth}, width {width}"] = {
            "what": "cifar",
            "kind": kind,
            "width": width,
            "pools": POOLS[depth],
            "rows": 64 if small else 256,
        }
    return out


def ours(case: dict[str, Any], steps: int, tf32: bool) -> list[Any]:
    """The case as trials, through the package's front door."""
    import separatrix as sx
    from separatrix.studies.cifar.settings import POOLS, CifarSettings
    from separatrix.studies.cifar.trials import CifarCell
    from separatrix.studies.cifar.trials import network_of as image_network
    from separatrix.studies.digits.settings import DigitsSettings
    from separatrix.studies.digits.trials import network_of

    measure = sx.Measure(probes=(), test=1)
    precision = "tf32" if tf32 else "float32"
    if case["what"] == "digits":
        source = "mnist" if "mnist" in sx.data.available() else "embedded-digits"
        task: Any = sx.DigitSequenceTask.labelled(case["digits"], "centre", source=source)
        network = network_of(
            DigitsSettings(source=source, height=24, filters=case["filters"]), case["kind"]
        )
        learner = sx.Learner(1.0, steps, oracle="online", batch=case["rows"], optimizer="adadelta")
    else:
        source = "cifar10" if "cifar10" in sx.data.available() else "embedded-photographs"
        settings = CifarSettings(source=source)
        depth = next(depth for depth, pools in POOLS.items() if pools == case["pools"])
        network = image_network(settings, CifarCell(case["kind"], depth, case["width"]))
        task = sx.ImageTask(source, network.outputs)
        learner = sx.Learner(0.001, steps, oracle="online", batch=case["rows"], optimizer="rmsprop")
    return [sx.Trial(task, network, learner, 0, seed, measure, precision) for seed in range(SEEDS)]


def time_ours(trials: list[Any], batch: int) -> dict[str, Any]:
    """Seconds for all trials in batches (the better of two runs), and seconds to compile."""
    from separatrix.engine import Programs

    programs = Programs()
    programs.run(trials[:batch], trials[0], batch)
    compiled, seconds, rows = programs.tally.compile_seconds, [], []
    for _ in range(2):
        programs.tally.run_seconds = 0.0
        rows = programs.run(trials, trials[0], batch)
        seconds.append(programs.tally.run_seconds)
    return {
        "seconds": min(seconds),
        "compile_seconds": round(compiled, 2),
        "loss": sum(row["loss"] for row in rows) / len(rows),
    }


def time_torch(case: dict[str, Any], trial: Any, steps: int, device: str) -> dict[str, Any]:
    """Seconds of the plain loop for one seed."""
    import images_torch as plain

    data, place = trial.task.arrays(), "cpu" if device == "cpu" else "cuda"
    if case["what"] == "digits":
        height, across = data["train_x"].shape[1:]
        batch = plain.sequence_batch(data, case["digits"], place)

        def build() -> Any:
            return plain.sequence_model(
                case["kind"], case["filters"], case["digits"], height, across
            )
    else:
        side, _, channels = trial.task.shape
        batch = plain.image_batch(data, place)

        def build() -> Any:
            return plain.image_model(
                case["kind"], case["width"], case["pools"], side, channels, trial.network.outputs
            )

    several = trial.network.outputs > 1
    return plain.train_seconds(
        build,
        batch,
        case["rows"],
        steps,
        trial.learner.optimizer,
        trial.learner.rate.level,
        place,
        several,
    )


def settle(device: str, tf32: bool) -> None:
    """Prepare PyTorch, or end with a sentence where there is none."""
    try:
        import images_torch

        images_torch.settle(device, tf32)
    except ImportError:
        sys.exit("this comparison needs PyTorch: pip install torch")


def compare(device: str, steps: int, small: bool, names: str) -> dict[str, Any]:
    """Every case in both programs."""
    tf32 = device != "cpu"
    settle(device, tf32)
    out: dict[str, Any] = {}
    for name, case in cases(small).items():
        if names and names not in name:
            continue
        trials = ours(case, steps, tf32)
        loop = time_torch(case, trials[0], steps, device)
        one = time_ours(trials[:1], 1)
        five = time_ours(trials, 1 if device == "cpu" else SEEDS)
        mine = trials[0].network.parameter_count(trials[0].task.shape)
        if mine != loop["parameters"]:
            sys.exit(
                f"{name}: our network has {mine} parameters and PyTorch's {loop['parameters']}"
            )
        rates = {
            "torch": steps / loop["seconds"],
            "ours, one seed": steps / one["seconds"],
            "ours, five seeds": SEEDS * steps / five["seconds"],
        }
        out[name] = {
            "parameters": mine,
            "rows": case["rows"],
            "source": trials[0].task.source,
            "trial_steps_per_second": {k: round(v, 1) for k, v in rates.items()},
            "ratio_one_seed": round(rates["ours, one seed"] / rates["torch"], 2),
            "ratio_five_seeds": round(rates["ours, five seeds"] / rates["torch"], 2),
            "compile_seconds": {"one": one["compile_seconds"], "five": five["compile_seconds"]},
            "loss": {"torch": round(loop["loss"], 3), "ours": round(five["loss"], 3)},
        }
        print(
            f"| {name} | {' | '.join(f'{rate:.0f}' for rate in rates.values())} | "
            f"{out[name]['ratio_one_seed']} | {out[name]['ratio_five_seeds']} |",
            flush=True,
        )
    return out


def rows_of(folder: str) -> Any:
    """What the study needs of the rows that a results folder holds; nothing is written there."""
    from separatrix.engine import Ledger

    if not os.path.isdir(os.path.join(folder, "ledger")):
        sys.exit(f"{folder} is no folder of results")
    names = [
        "task.type",
        "task.permuted",
        "network.connectivity",
        "network.depth",
        "network.width",
        "learner.steps",
        "run.seconds",
    ]
    return Ledger.open(folder).read().to_pandas().reindex(columns=names)


def study(folder: str, device: str, steps: int) -> dict[str, Any]:
    """The trials of `cifar` that a folder holds: the seconds they took, and those of the loop, from
    so many of its steps on each network.

    Rows do not say where they ran: all of a folder's should have run on this kind of device.
    """
    from separatrix.engine import Trial
    from separatrix.studies.cifar.settings import POOLS, SCALES
    from separatrix.studies.cifar.trials import cells, trials_of

    settings = SCALES["full"]
    if device == "cpu" or settings.chosen_source() != "cifar10":
        sys.exit(
            "the study at its full scale needs a GPU and CIFAR-10 (`separatrix data get cifar10`)"
        )
    rows = rows_of(folder)
    rows = rows[(rows["task.type"] == "ImageTask") & (rows["learner.steps"] == settings.steps())]
    if rows.empty:
        sys.exit(f"{folder} has no trials of the study `cifar` at its full scale")
    settle(device, tf32=True)
    out: dict[str, Any] = {}
    print("| network | trials | PyTorch's loop, seconds | ours | ratio |\n|---|---|---|---|---|")
    for cell in cells(settings):
        trial: Trial = trials_of(settings, cell)[0]
        network = trial.network
        same = (rows["network.connectivity"] == network.connectivity) & (
            rows["network.depth"] == network.depth
        )
        mine = rows[
            same
            & (rows["network.width"] == network.width)
            & (rows["task.permuted"] == cell.permuted)
        ]
        if mine.empty:
            continue
        case = {
            "what": "cifar",
            "kind": cell.network,
            "width": cell.width,
            "pools": POOLS[cell.depth],
            "rows": settings.batch,
        }
        loop = (
            time_torch(case, trial, steps, device)["seconds"] / steps * settings.steps() * len(mine)
        )
        took = float(mine["run.seconds"].sum())
        name = (
            f"{cell.network}, depth {cell.depth}, width "
            f"{cell.width}{', permuted' if cell.permuted else ''}"
        )
        out[name] = {
            "trials": len(mine),
            "torch_seconds": round(loop, 1),
            "seconds": round(took, 1),
            "ratio": round(loop / took, 2),
        }
        print(f"| {name} | {len(mine)} | {loop:.0f} | {took:.0f} | {loop / took:.1f} |", flush=True)
    loop, took = (sum(each[name] for each in out.values()) for name in ("torch_seconds", "seconds"))
    print(
        f"| all | {sum(each['trials'] for each in out.values())} | {loop:.0f} | {took:.0f} | "
        f"{loop / took:.1f} |",
        flush=True,
    )
    return out


def implementations(small: bool, trials: int, untried: bool) -> dict[str, Any]:
    """Seconds per gradient step of a batch of trials, for every implementation of the convolutions
    of the study `cifar`.
    """
    import jax
    import jax.numpy as jnp

    import other_convolutions
    import separatrix as sx
    from separatrix.engine.policy import LIGHT_PROGRAM_OPTIONS
    from separatrix.networks import convolutions, layers

    backend, rows, steps = jax.default_backend(), 32 if small else 256, 2 if small else 10
    shape, kept = (32, 32, 3), (4, 16) if small else (16, 64, 128)
    before, whole = dict(convolutions.FASTEST), layers.convolves
    convolutions.IMPLEMENTATIONS.update(other_convolutions.IMPLEMENTATIONS)
    waiting: dict[tuple[int, str], Any] = {}
    given: dict[int, Any] = {}
    for width in kept:
        network = sx.CNN(3, width, depth=3, pool=(2, 1, 2), border="wrap", outputs=10, offset=True)
        x, y = jax.random.normal(jax.random.key(0), (rows, *shape)), jnp.arange(rows) % 10.0
        start = jax.vmap(lambda key, network=network: network.init(key, shape))(
            jax.random.split(jax.random.key(1), trials)
        )
        given[width] = (start, x, y)

        def train(params: Any, x: Any, y: Any, network: Any = network) -> Any:
            from separatrix.learners import Rows, empirical_loss

            layout = network.layout(shape)
            batch = Rows(layout.cut(x), y, jnp.full(rows, 1.0 / rows))
            slope = jax.grad(
                lambda now: empirical_loss(sx.Learner(0.1, 1), network, layout, now, batch)
            )

            def step(_, now, slope=slope):
                return jax.tree.map(lambda a, b: a - 0.01 * b, now, slope(now))

            return jax.lax.fori_loop(0, steps, step, params)

        with jax.default_matmul_precision("tensorfloat32"):
            names = *convolutions.IMPLEMENTATIONS, "patches", "convolution, one trial at a time"
            for name in names:
                # Tracing reads which implementation to use, so programs are traced here, one after
                # another.
                convolutions.FASTEST[backend] = (
                    name if name in convolutions.IMPLEMENTATIONS else "convolution"
                )
                layers.convolves = (lambda *_: False) if name == "patches" else whole

                def in_turn(p, x, y, train=train):
                    return jax.lax.map(lambda one: train(one, x, y), p)

                together = jax.vmap(train, (0, None, None))
                program = jax.jit(in_turn if "at a time" in name else together)
                waiting[width, name] = program.lower(*given[width])
    convolutions.FASTEST.clear()
    convolutions.FASTEST.update(before)
    layers.convolves = whole
    with concurrent.futures.ThreadPoolExecutor() as pool:
        options = LIGHT_PROGRAM_OPTIONS.get(backend) if untried else None
        made = dict(zip(waiting, pool.map(functools.partial(_compiled, options), waiting.values())))
    out: dict[str, Any] = {}
    for (width, name), program in made.items():
        if isinstance(program, str):
            out.setdefault(f"width {width}", {})[name] = program
            continue
        try:
            best = min(_seconds(program, given[width]) for _ in range(3)) / steps
        except Exception as error:  # not fitting the memory is a result, too
            out.setdefault(f"width {width}", {})[name] = str(error).splitlines()[0][:80]
            continue
        out.setdefault(f"width {width}", {})[name] = round(1000 * best, 4)
        print(
            f"| width {width} | {name} | {1000 * best:.3f} ms a step of {trials} trials |",
            flush=True,
        )
    return {
        "rows": rows,
        "trials": trials,
        "shape": shape,
        "untried": untried,
        "milliseconds_a_step": out,
    }


def _compiled(options: Any, lowered: Any) -> Any:
    try:
        return lowered.compile(compiler_options=options)
    except Exception as error:
        return str(error).splitlines()[0][:80]


def _seconds(program: Any, given: Any) -> float:
    import jax

    jax.block_until_ready(program(*given))
    begin = time.perf_counter()
    jax.block_until_ready(program(*given))
    return time.perf_counter() - begin


def main() -> None:
    """Measure, print a table, and write JSON where that is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cuda" if os.path.exists("/dev/nvidia0") else "cpu",
    )
    arguments.add_argument(
        "--steps", type=int, default=0, help="steps to time (default: 30 on a CPU, 500 on a GPU)"
    )
    arguments.add_argument("--small", action="store_true", help="small networks (always on a CPU)")
    arguments.add_argument("--only", default="", help="cases whose name contains this")
    arguments.add_argument(
        "--study",
        default="",
        help="the results of a run of the study `cifar` to compare with the loop",
    )
    arguments.add_argument(
        "--implementations",
        action="store_true",
        help="time the implementations of a convolution instead",
    )
    arguments.add_argument(
        "--untried",
        action="store_true",
        help="with --implementations: compile as light programs are",
    )
    arguments.add_argument(
        "--trials", type=int, default=3, help="trials of a batch for --implementations"
    )
    arguments.add_argument("--out", default="", help="a file for the figures as JSON")
    given = arguments.parse_args()
    if given.steps < 0 or given.trials < 1:
        arguments.error("--steps must be at least 0 and --trials at least 1")
    if given.untried and not given.implementations:
        arguments.error("--untried goes with --implementations")
    small = given.small or given.device == "cpu"
    if given.device == "cpu":
        one_core()
    import jax

    if given.implementations:
        found = implementations(small, given.trials, given.untried)
    elif given.study:
        found = study(given.study, given.device, given.steps or 200)
    else:
        print(
            "| training | PyTorch, trial-steps/s | ours, one seed | ours, five seeds | ratio, "
            "one | ratio, five |\n|---|---|---|---|---|---|"
        )
        found = compare(
            given.device, given.steps or (30 if given.device == "cpu" else 500), small, given.only
        )
    device = jax.devices()[0]
    versions = {"jax": jax.__version__} | (
        {"torch": sys.modules["torch"].__version__} if "torch" in sys.modules else {}
    )
    whole = {"device": device.device_kind, "versions": versions, "figures": found}
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=1)
    else:
        print(json.dumps(whole, indent=1))


if __name__ == "__main__":
    main()
