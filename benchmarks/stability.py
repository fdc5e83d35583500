"""Training below the edge against a plain PyTorch loop, in one run on one device.

    python benchmarks/stability.py --steps 20000 --out stability.json

Study 1 of Liang et al.: shared local networks and fully connected ones on the sphere, full-batch
gradient descent with a constant step, for every dimension and sample size of the study's full
scale. PyTorch trains one network at a time, as the authors' notebooks do; ours trains the seeds and
sample sizes of a program together, planned as for the study's own number of steps (`--sizes own`:
each sample size by itself, nothing padded). A trial-step is one gradient step of one network. The
same float32 precision of products in both, nothing measured on the way; compilation is timed apart.

    python benchmarks/stability.py --implementation product,fused --kinds CNN

times shared networks twice, with units kept in memory ("product") and in kernels that keep them on
chip ("fused"), however much there is to do; "plan" is what the package does.
"""

import argparse
import contextlib
import itertools
import json
import sys
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

IMPLEMENTATIONS = ("plan", "product", "fused")


def torch_rate(
    kind: str, dimension: int, patch: int, width: int, rows: int, steps: int, device: str
) -> float:
    """Steps a second of the plain loop for one network."""
    import torch
    from torch import nn

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(patch, width)
            self.readout = nn.Linear(width, 1)

        def forward(self, x: Any) -> Any:
            return self.readout(torch.relu(self.hidden(x.view(len(x), -1, patch))).mean(1))

    full = nn.Sequential(nn.Linear(dimension, width), nn.ReLU(), nn.Linear(width, 1))
    model = (Shared() if kind == "CNN" else full).to(device)
    x = nn.functional.normalize(torch.randn(rows, dimension, device=device))
    y = torch.randn(rows, 1, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    def train(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    train(20)
    return steps / train(steps)


def trials_of(settings: Any, kind: str, dimension: int) -> list[Any]:
    """The study's own trials of one network and dimension with m = 10, with nothing measured on the
    way.
    """
    import separatrix as sx
    from separatrix.studies.stability.trials import cells

    out = []
    for key, sweep in cells(settings).items():
        sizes = key.network, key.number, key.patch in (0, 10), key.variant
        if sizes == (kind, dimension, True, ""):
            out += [t.replace(measure=sx.Measure(probes=(), test=1)) for t in sweep]
    return out


def chunks_of(trials: list[Any], steps: int, sizes: str) -> list[tuple[list[Any], Any, int]]:
    """What runs together, with its frame and batch, cut to so many steps: as the whole study is
    planned, or each sample size by itself.
    """
    from separatrix.engine import find_device, make_plan
    from separatrix.engine.sweep import Sweep

    def cut(trial: Any) -> Any:
        return trial.replace(learner=trial.learner.replace(steps=steps))

    if sizes == "plan":
        chunks = make_plan(Sweep(tuple(trials)), find_device()).chunks
        return [([cut(t) for t in chunk.trials], cut(chunk.frame), chunk.batch) for chunk in chunks]
    groups: dict[int, list[Any]] = {}
    for trial in trials:
        groups.setdefault(trial.samples, []).append(cut(trial))
    return [(group, group[0].replace(seed=0), len(group)) for group in groups.values()]


@contextlib.contextmanager
def as_planned(steps: int, of: int) -> Iterator[None]:
    """Within, a program with so many steps has kernels if the study's, with so many, would have
    them.
    """
    from separatrix.engine import policy

    with mock.patch.dict(
        policy.KERNELS,
        {backend: least * steps / of for backend, least in policy.KERNELS.items()},
    ):
        yield


def our_rate(chunks: list[tuple[list[Any], Any, int]]) -> dict[str, float]:
    """Trial-steps a second of all chunks one after the other (the better of two runs), and seconds
    to compile.
    """
    from separatrix.engine import Programs

    programs = Programs()
    programs.prepare(((trials[0], frame, batch) for trials, frame, batch in chunks), threads=4)
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        for trials, frame, batch in chunks:
            programs.run(trials, frame, batch)
        seconds.append(time.perf_counter() - begin)
    done = sum(len(trials) for trials, _, _ in chunks) * chunks[0][1].learner.steps
    return {
        "rate": done / min(seconds[1:]),
        "compile_seconds": programs.tally.compile_seconds,
        "programs": programs.tally.programs,
    }


def main() -> None:
    """Measure, print a table, and write JSON where that is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--steps", type=int, default=5000, help="steps of ours (PyTorch: a tenth, at least 300)"
    )
    arguments.add_argument("--dimensions", default="50,100,200,400", help="dimensions to compare")
    arguments.add_argument("--kinds", default="CNN,FCN", help="networks to compare")
    arguments.add_argument(
        "--implementation",
        default="plan",
        help="implementations of shared networks among plan (what the package does), product and "
        "fused",
    )
    arguments.add_argument(
        "--sizes",
        default="plan",
        choices=["plan", "own", "both"],
        help="padded as the study's plan does, or not at all",
    )
    arguments.add_argument("--out", default="", help="a file for the figures as JSON")
    given = arguments.parse_args()
    if given.steps < 1:
        sys.exit("--steps must be at least 1")
    try:
        import torch
    except ImportError:
        sys.exit("this comparison needs PyTorch: pip install torch")
    import jax

    import floors
    from separatrix.studies.stability.settings import SCALES

    device = "cuda" if jax.default_backend() == "gpu" else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    settings = SCALES["full"].replace(parts=("sphere",))
    kinds, dimensions = given.kinds.split(","), given.dimensions.split(",")
    if unknown := [each for each in kinds if each not in ("CNN", "FCN")] + [
        each for each in dimensions if each not in map(str, settings.sphere.dimensions)
    ]:
        sys.exit(
            "networks are CNN and FCN, dimensions "
            f"{', '.join(map(str, settings.sphere.dimensions))}; got {', '.join(unknown)}"
        )
    figures = []
    names = given.implementation.split(",")
    if unknown := [each for each in names if each not in IMPLEMENTATIONS]:
        sys.exit(f"implementations are {', '.join(IMPLEMENTATIONS)}; got {', '.join(unknown)}")
    sizes = ["plan", "own"] if given.sizes == "both" else [given.sizes]
    print(
        "| network | d | implementation | sizes | trials | PyTorch, steps/s (n = 64 … 1024) | "
        "ours, trial-steps/s | ratio to the mean |\n|---|---|---|---|---|---|---|---|"
    )
    for kind in kinds:
        for dimension in map(int, dimensions):
            loops = [
                torch_rate(
                    kind,
                    dimension,
                    10,
                    settings.sphere.width,
                    rows,
                    max(300, given.steps // 10),
                    device,
                )
                for rows in settings.sphere.samples
            ]
            mean = len(loops) / sum(
                1 / rate for rate in loops
            )  # the loop's rate over all sample sizes, as it would run them
            trials = trials_of(settings, kind, dimension)
            for name, size in itertools.product(names if kind == "CNN" else ["plan"], sizes):
                with (
                    as_planned(given.steps, trials[0].learner.steps)
                    if name == "plan"
                    else floors.implemented_by(name)
                ):
                    ours = our_rate(chunks_of(trials, given.steps, size))
                ratio = ours["rate"] / mean
                figures.append(
                    {
                        "network": kind,
                        "dimension": dimension,
                        "implementation": name,
                        "sizes": size,
                        "trials": len(trials),
                        "torch": loops,
                        "ours": ours,
                        "ratio": ratio,
                    }
                )
                print(
                    f"| {kind} | {dimension} | {name} | {size} | {len(trials)} | {min(loops):.0f} "
                    f"… {max(loops):.0f} | {ours['rate']:.0f} | {ratio:.0f} |",
                    flush=True,
                )
    versions = {"jax": jax.__version__, "torch": torch.__version__}
    whole = {
        "benchmark": "stability",
        "device": jax.devices()[0].device_kind,
        "versions": versions,
        "steps": given.steps,
        "figures": figures,
    }
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=1)


if __name__ == "__main__":
    main()
