"""The image experiments in plain PyTorch: a model, an optimizer and a loop over steps, with the
data on the device.
"""

import time
from typing import Any


def settle(device: str, tf32: bool) -> None:
    """One thread on a CPU; on a GPU the same precision of products as ours."""
    import torch

    if device == "cpu":
        torch.set_num_threads(1)
    else:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = True


def sequence_model(kind: str, filters: int, digits: int, height: int, across: int) -> Any:
    """One hidden layer over sequences of digits: windows of three digits, one digit apart, or the
    whole image.
    """
    import torch
    from torch import nn

    windows = digits - 2

    class Local(nn.Module):
        def __init__(self):
            super().__init__()
            span = height * 3 * across
            self.weight = nn.Parameter(torch.randn(windows, span, filters) * (2 / span) ** 0.5)
            self.bias = nn.Parameter(torch.zeros(windows, 1, filters))
            self.readout = nn.Linear(windows * filters, 1)

        def forward(self, x):
            seen = (
                x[:, 0]
                .unfold(2, 3 * across, across)
                .permute(2, 0, 1, 3)
                .reshape(windows, len(x), -1)
            )
            hidden = torch.relu(torch.baddbmm(self.bias, seen, self.weight))
            return self.readout(hidden.transpose(0, 1).reshape(len(x), -1))

    if kind == "LCN":
        return Local()
    if kind == "CNN":
        first = [
            nn.Conv2d(1, filters, (height, 3 * across), stride=(height, across)),
            nn.ReLU(),
            nn.Flatten(),
        ]
        return nn.Sequential(*first, nn.Linear(windows * filters, 1))
    return nn.Sequential(
        nn.Flatten(), nn.Linear(height * across * digits, filters), nn.ReLU(), nn.Linear(filters, 1)
    )


def image_model(
    kind: str, width: int, pools: tuple[int, ...], side: int, channels: int, classes: int
) -> Any:
    """CNN with 3x3 filters around the edges and mean pooling, or FCN, with as many hidden layers as
    there are `pools`.
    """
    from torch import nn
    from torch.nn import functional

    class Around(nn.Module):
        def forward(self, x):
            return functional.pad(x, (0, 2, 0, 2), mode="circular")

    layers: list[Any] = []
    if kind == "CNN":
        inputs = channels
        for pool in pools:
            layers += [
                Around(),
                nn.Conv2d(inputs, width, 3),
                nn.ReLU(),
                *([nn.AvgPool2d(pool)] if pool > 1 else []),
            ]
            inputs, side = width, side // pool
        units = width * side * side
        layers.append(nn.Flatten())
    else:
        units = side * side * channels
        layers.append(nn.Flatten())
        for _ in pools:
            layers += [nn.Linear(units, width), nn.ReLU()]
            units = width
    return nn.Sequential(*layers, nn.Linear(units, classes))


def sequence_batch(data: dict[str, Any], digits: int, device: str) -> Any:
    """A function that draws a batch of sequences and their labels on the device."""
    import torch

    images = torch.as_tensor(data["train_x"].copy(), device=device)
    values = torch.as_tensor(data["train_y"].astype("int64"), device=device)
    middle = digits // 2

    def batch(rows: int) -> Any:
        chosen = torch.randint(len(images), (rows, digits), device=device)
        pixels = images[chosen].float() / 255.0
        x = pixels.permute(0, 2, 1, 3).reshape(rows, 1, images.shape[1], -1)
        return x, 1.0 - 2.0 * (values[chosen[:, middle - 1 : middle + 2]].sum(1) % 2).float()

    return batch


def image_batch(data: dict[str, Any], device: str) -> Any:
    """A function that draws a batch of images and their classes on the device."""
    import torch

    images = torch.as_tensor(data["train_x"].copy(), device=device).permute(0, 3, 1, 2).contiguous()
    classes = torch.as_tensor(data["train_y"].astype("int64"), device=device)
    mean, spread = (
        torch.as_tensor(data[name].copy(), device=device).reshape(1, -1, 1, 1)
        for name in ("mean", "spread")
    )

    def batch(rows: int) -> Any:
        chosen = torch.randint(len(images), (rows,), device=device)
        return (images[chosen].float() / 255.0 - mean) / spread, classes[chosen]

    return batch


def train_seconds(
    build: Any,
    batch: Any,
    rows: int,
    steps: int,
    optimizer: str,
    rate: float,
    device: str,
    several: bool,
) -> dict[str, Any]:
    """Seconds of `steps` steps after a few that warm up, with the number of parameters and the last
    loss.
    """
    import torch
    from torch.nn import functional

    model = build().to(device)
    made = {
        "adadelta": lambda p: torch.optim.Adadelta(p, lr=rate, rho=0.9, eps=1e-6),
        "rmsprop": lambda p: torch.optim.RMSprop(p, lr=rate, alpha=0.9, eps=1e-8),
    }[optimizer](model.parameters())

    def step() -> Any:
        x, y = batch(rows)
        made.zero_grad()
        scores = model(x)
        loss = (
            functional.cross_entropy(scores, y)
            if several
            else functional.softplus(-y * scores[:, 0]).mean()
        )
        loss.backward()
        made.step()
        return loss

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    for _ in range(3 if device == "cpu" else 20):
        step()
    wait()
    begin = time.perf_counter()
    for _ in range(steps - 1):
        step()
    loss = step()
    wait()
    return {
        "seconds": time.perf_counter() - begin,
        "parameters": sum(part.numel() for part in model.parameters()),
        "loss": float(loss.detach()),
    }
