"""Networks with one hidden layer in PyTorch, trained in three ways: a plain loop over models,
`torch.func`, and that under `torch.compile`.

Every model has rows of its own, (positions, rows, span), laid out so that no program has to move
them: a hidden layer is one matrix product. Full-batch gradient descent with a constant rate. No
TF32. A program is the default one of its kind: `torch.compile` in its default mode, a compiled step
at a time, without CUDA graphs.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

PROGRAMS = ("PyTorch, loop over models", "PyTorch, torch.func", "PyTorch, torch.func compiled")
REPEATS = 3


@dataclasses.dataclass(frozen=True)
class How:
    """How networks compute and are trained; plain values, so that a compiler may look at them.

    `local` is whether every position has weights of its own, `threshold` that of an LSA activation
    (None: ReLU), `ball` whether every unit's weights are brought back into the unit ball after a
    step.
    """

    loss: str = "logistic"
    rate: float = 0.1
    local: bool = False
    threshold: float | None = None
    ball: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    """Models to train, as NumPy arrays with a leading axis over models.

    `weights` are (width, span) and `bias` is (width,); of local networks they are (positions, span,
    width) and (positions, 1, width). `readout` is (positions, width), or (width,) where units are
    averaged over positions; without one they are summed.
    """

    x: Any  # (models, positions, rows, span)
    y: Any  # (models, rows)
    params: dict[str, Any]
    how: How


def settle(platform: str) -> str:
    """Full float32 products; PyTorch's name for JAX's `platform`, which it refuses to leave."""
    import torch

    torch.set_float32_matmul_precision("highest")
    if platform == "cpu":
        torch.set_num_threads(1)
        return "cpu"
    if not torch.cuda.is_available():
        raise RuntimeError("this PyTorch cannot use the GPU that JAX uses")
    torch.cuda.synchronize()  # a program that was stopped may have left work
    return "cuda"


def model_of(case: Case, index: int, device: str) -> Any:
    """One model of a case as a module."""
    import torch
    from torch import nn

    how = case.how

    class Shallow(nn.Module):
        weights: nn.Parameter

        def __init__(self) -> None:
            super().__init__()
            for name, values in case.params.items():
                self.register_parameter(
                    name, nn.Parameter(torch.tensor(values[index], device=device))
                )

        def forward(self, x: Any) -> Any:
            bias = getattr(self, "bias", None)
            if how.local:
                z = (
                    torch.bmm(x, self.weights)
                    if bias is None
                    else torch.baddbmm(bias, x, self.weights)
                )
            else:
                z = nn.functional.linear(x, self.weights, bias)
            units = (
                torch.relu(z)
                if how.threshold is None
                else z - torch.clamp(z, -how.threshold, how.threshold)
            )
            readout = getattr(self, "readout", None)
            if readout is None:
                scores = units.sum((0, 2))
            elif readout.ndim == 1:
                scores = units.mean(0) @ readout
            else:
                scores = torch.bmm(units, readout[:, :, None]).sum((0, 2))
            offset = getattr(self, "offset", None)
            return scores if offset is None else scores + offset

    return Shallow()


def loss_of(how: How, scores: Any, y: Any) -> Any:
    """The mean loss."""
    from torch.nn import functional

    return (
        functional.softplus(-y * scores).mean()
        if how.loss == "logistic"
        else functional.mse_loss(scores, y)
    )


def into_ball(how: How, weights: Any) -> Any:
    """Each unit's weights, brought back into the unit ball; also for stacked models."""
    return weights / weights.norm(dim=-2 if how.local else -1, keepdim=True).clamp(min=1.0)


def loop_step(case: Case, index: int, device: str) -> tuple[Any, Callable[[], None]]:
    """One model, and the function that trains it for one step: backward and SGD, as is usual."""
    import torch

    model, how = model_of(case, index, device), case.how
    x, y = (torch.tensor(part[index], device=device) for part in (case.x, case.y))
    optimizer = torch.optim.SGD(model.parameters(), lr=how.rate)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss_of(how, model(x), y).backward()
        optimizer.step()
        if how.ball:
            with torch.no_grad():
                model.weights.copy_(into_ball(how, model.weights))

    return model, step


def stacked_step(case: Case, device: str) -> tuple[Any, Callable[[Any, Any, Any], Any], Any, Any]:
    """The stacked parameters, the function from parameters and rows to the parameters after a step
    of all models, and the rows.
    """
    import torch
    from torch.func import functional_call, grad, vmap

    skeleton, how = model_of(case, 0, "cpu").to("meta"), case.how
    params = {name: torch.tensor(values, device=device) for name, values in case.params.items()}
    x, y = (torch.tensor(part, device=device) for part in (case.x, case.y))

    def loss(params: Any, x: Any, y: Any) -> Any:
        return loss_of(how, functional_call(skeleton, params, (x,)), y)

    slopes = vmap(grad(loss))

    def step(params: Any, x: Any, y: Any) -> Any:
        moved = {
            name: params[name] - how.rate * slope for name, slope in slopes(params, x, y).items()
        }
        return moved | {"weights": into_ball(how, moved["weights"])} if how.ball else moved

    return params, step, x, y


def close(found: dict[str, Any], expected: dict[str, Any], before: dict[str, Any]) -> None:
    """Refuse parameters after one step that differ by more than rounding: 1e-3 of the largest
    change, 1e-5 of the largest number.
    """
    for name, right in expected.items():
        allowed = 1e-3 * (right - before[name]).abs().max() + 1e-5 * right.abs().max() + 1e-12
        apart = (found[name] - right).abs().max()
        if not apart <= allowed:
            raise AssertionError(
                f"after one step, {name} of two programs differ by {float(apart):.3g}, more than "
                f"{float(allowed):.3g}"
            )


def check(device: str, compiled: bool = False) -> None:
    """Refuse to go on where programs take different steps, on a tiny case of every network."""
    import torch

    for case in tiny_cases():
        params, step, x, y = stacked_step(case, device)
        after = (torch.compile(step) if compiled else step)(params, x, y)
        for index in range(len(case.y)):
            model, one = loop_step(case, index, device)
            before = {name: part.detach().clone() for name, part in model.named_parameters()}
            one()
            close(
                {name: part[index] for name, part in after.items()},
                {k: v.detach() for k, v in model.named_parameters()},
                before,
            )


def tiny_cases() -> list[Case]:
    """Two models of each kind: full, shared and pooled, local, and LSA with a sum."""
    import numpy as np

    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return rng.standard_normal((2, *shape)).astype(np.float32)

    y, x, full = np.sign(drawn(6)), drawn(3, 6, 4), drawn(1, 6, 12)
    return [
        Case(
            full,
            y,
            {"weights": drawn(5, 12), "bias": drawn(5), "readout": drawn(1, 5), "offset": drawn()},
            How("squared"),
        ),
        Case(
            x,
            y,
            {"weights": drawn(5, 4), "bias": drawn(5), "readout": drawn(5), "offset": drawn()},
            How("squared"),
        ),
        Case(
            x,
            y,
            {"weights": drawn(3, 4, 5), "bias": drawn(3, 1, 5), "readout": drawn(3, 5)},
            How(local=True),
        ),
        Case(full, y, {"weights": drawn(5, 12)}, How(threshold=0.5, ball=True)),
    ]


def seconds_a_step(step: Callable[[], Any], steps: int, budget: float, device: str) -> float:
    """Seconds of a step, over as many of `steps` steps as fit into about `budget` seconds (at least
    one).
    """
    import torch

    def timed(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    timed(2)
    count = max(1, min(steps, int(budget / timed(1))))
    return timed(count) / count


def measure(name: str, case: Case, steps: int, limit: float, platform: str) -> dict[str, float]:
    """Seconds a step of all models together by one of the programs, the median of three; and
    seconds to compile.
    """
    import torch

    device, models = settle(platform), len(case.y)
    budget = limit / (4 * REPEATS)
    if name == PROGRAMS[0]:  # a few of the models, scaled
        each = [
            seconds_a_step(loop_step(case, index % models, device)[1], steps, budget, device)
            for index in range(REPEATS)
        ]
        return {"seconds_a_step": models * sorted(each)[REPEATS // 2], "compile_seconds": 0.0}
    params, step, x, y = stacked_step(case, device)
    compile_seconds = 0.0
    if name == PROGRAMS[2]:
        torch.compiler.reset()  # or programs of earlier shapes count as recompilations
        plain, step = step, torch.compile(step, dynamic=False)
        begin = time.perf_counter()
        first = step(params, x, y)
        if device == "cuda":
            torch.cuda.synchronize()
        compile_seconds = time.perf_counter() - begin
        close(first, plain(params, x, y), params)
        del first
    now = params

    def advance() -> None:
        nonlocal now
        now = step(now, x, y)

    each = [seconds_a_step(advance, steps, budget, device) for _ in range(REPEATS)]
    return {"seconds_a_step": sorted(each)[REPEATS // 2], "compile_seconds": compile_seconds}
