"""Speed of training many small networks, as shares and ratios measured in one run; JSON on standard
output.

256 networks x 300 full-batch steps, 512 rows, 400 inputs (20 patches of 20): FCN with 20, 64 and
400 hidden units, LCN and CNN with 20 filters a patch (400 hidden units), ReLU, both layers trained,
logistic loss. Compared with the peak of float32 matrix products timed in the same process, and with
a plain PyTorch loop over models on the same device (if PyTorch is installed).

On a CPU everything runs on one core, one network at a time, so fewer networks are timed and the
time per network is what counts.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

ROWS, PATCHES, SPAN, FILTERS, STEPS, NETWORKS = 512, 20, 20, 20, 300, 256


def one_core() -> None:
    """Before JAX or PyTorch start: one core, one thread."""
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    )
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def matmul_peak(device: str) -> float:
    """FLOP/s of the best of several float32 products."""
    import jax
    import jax.numpy as jnp

    best = 0.0
    for side in (512, 1024, 2048) if device == "cpu" else (4096, 8192):
        a = jax.random.normal(jax.random.key(side), (side, side))
        product = jax.jit(lambda a: jnp.matmul(a, a, precision="float32"))
        product(a).block_until_ready()
        for _ in range(5):
            begin = time.perf_counter()
            product(a).block_until_ready()
            best = max(best, 2 * side**3 / (time.perf_counter() - begin))
    return best


def trials(name: str, count: int, precision: str) -> list:
    """The benchmark's trials, through the package's front door."""
    import separatrix as sx

    task = sx.SignalTask(PATCHES, SPAN, 0.3)
    network = {
        "FCN-20": sx.FCN(20, bias=False),
        "FCN-64": sx.FCN(64, bias=False),
        "FCN-400": sx.FCN(400, bias=False),
        "LCN": sx.LCN(1, FILTERS, bias=False),
        "CNN": sx.CNN(1, FILTERS, bias=False),
    }[name]
    learner = sx.Learner(rate=0.1, steps=STEPS)
    return [
        sx.Trial(task, network, learner, ROWS, seed, sx.Measure(probes=(), test=1), precision)
        for seed in range(count)
    ]


def products(name: str) -> float:
    """FLOPs of one step's matrix products: forward and weight gradient (inputs need none)."""
    if name.startswith("FCN"):
        return 4.0 * ROWS * int(name[4:]) * PATCHES * SPAN
    return 4.0 * ROWS * PATCHES * FILTERS * SPAN


def time_package(name: str, count: int, batch: int, precision: str) -> tuple[float, float]:
    """Seconds per network, and seconds to compile."""
    from separatrix.engine import Programs

    programs = Programs()
    some = trials(name, count, precision)
    programs.run(some[:batch], some[0], batch)
    compiled = programs.tally.compile_seconds
    seconds = []
    for _ in range(3):
        programs.tally.run_seconds = 0.0
        programs.run(some, some[0], batch)
        seconds.append(programs.tally.run_seconds / count)
    return statistics.median(seconds), compiled


def time_torch(name: str, count: int, device: str) -> float | None:
    """Seconds per network of a plain loop over models; None without PyTorch."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    if device != "cpu":
        torch.backends.cuda.matmul.allow_tf32 = False
    place = "cpu" if device == "cpu" else "cuda"
    x = torch.randn(ROWS, PATCHES, SPAN, device=place)
    y = torch.sign(torch.randn(ROWS, device=place))

    class Local(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(PATCHES, SPAN, FILTERS) / SPAN**0.5)
            self.readout = torch.nn.Linear(PATCHES * FILTERS, 1, bias=False)

        def forward(self, x):
            hidden = torch.relu(torch.bmm(x.transpose(0, 1), self.weight))
            return self.readout(hidden.transpose(0, 1).reshape(len(x), -1))

    def build():
        if name == "LCN":
            return Local(), x
        if name == "CNN":
            units, inputs = PATCHES * FILTERS, x.reshape(ROWS, 1, -1)
            hidden = torch.nn.Conv1d(1, FILTERS, SPAN, stride=SPAN, bias=False)
        else:
            units, inputs = int(name[4:]), x.reshape(ROWS, -1)
            hidden = torch.nn.Linear(PATCHES * SPAN, units, bias=False)
        layers = [
            hidden,
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(units, 1, bias=False),
        ]
        return torch.nn.Sequential(*layers), inputs

    def train(steps: int) -> None:
        model, inputs = build()
        model = model.to(place)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.softplus(-y * model(inputs)[:, 0]).mean().backward()
            optimizer.step()
        if place == "cuda":
            torch.cuda.synchronize()

    train(10)
    begin = time.perf_counter()
    for _ in range(count):
        train(STEPS)
    return (time.perf_counter() - begin) / count


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--networks",
        type=int,
        default=0,
        help="networks to time (default: 5 on a CPU, 256 on a GPU)",
    )
    given = arguments.parse_args()
    if "cuda" not in os.environ.get("JAX_PLATFORMS", "") and not os.path.exists("/dev/nvidia0"):
        one_core()
    import jax

    device = jax.devices()[0].platform
    count = given.networks or (5 if device == "cpu" else NETWORKS)
    batch = 1 if device == "cpu" else count
    peak = matmul_peak(device)
    result = {
        "what": f"{NETWORKS} networks x {STEPS} steps, {ROWS} rows, {PATCHES} patches of {SPAN}",
        "device": str(jax.devices()[0].device_kind) if device != "cpu" else platform.machine(),
        "cores": 1 if device == "cpu" else None,
        "matmul_peak_gflops": round(peak / 1e9, 1),
        "networks_timed": count,
        "versions": {"python": platform.python_version(), "jax": jax.__version__},
        "networks": {},
    }
    for name in ("FCN-20", "FCN-64", "FCN-400", "LCN", "CNN"):
        seconds, compiled = time_package(name, count, batch, "float32")
        reference = time_torch(name, 3, device)
        share = products(name) * STEPS / seconds / peak
        result["networks"][name] = {
            "seconds_all": round(seconds * NETWORKS, 3),
            "share_of_peak": round(share, 3),
            "compile_seconds": round(compiled, 2),
            "torch_loop_seconds_all": None if reference is None else round(reference * NETWORKS, 1),
            "times_torch_loop": None if reference is None else round(reference / seconds, 1),
        }
        if device != "cpu":
            fast, _ = time_package(name, count, batch, "tf32")
            ratio = None if reference is None else round(reference / fast, 1)
            result["networks"][name]["tf32"] = {
                "seconds_all": round(fast * NETWORKS, 3),
                "times_torch_loop": ratio,
            }
        print(
            f"{name}: {share:.0%} of peak, {result['networks'][name]['times_torch_loop']} x the "
            "PyTorch loop",
            file=sys.stderr,
        )
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
