"""The recommended network as code of Equinox or PyTorch that runs on its own.

The code is made from the network itself: its windows, readout and layers. `load` takes the arrays
of the same network in Separatrix.
"""

from typing import TYPE_CHECKING

from separatrix.diagnosis.networks import Candidate, second_layer
from separatrix.errors import check_choice

if TYPE_CHECKING:
    from separatrix.diagnosis.result import Diagnosis

# What the two libraries call the same operations.
WORDS = {
    "equinox": {
        "head": ("import equinox as eqx", "import jax", "import jax.numpy as jnp"),
        "relu": "jax.nn.relu",
        "lib": "jnp",
        "join": "jnp.concatenate([{}], 1)",
        "highest": "{}.max({})",
        "index": "jnp.array({})",
        "matrix": "jnp.array({}, jnp.float32)",
    },
    "torch": {
        "head": ("import torch",),
        "relu": "torch.relu",
        "lib": "torch",
        "join": "torch.cat([{}], 1)",
        "highest": "{}.amax({})",
        "index": "torch.tensor({})",
        "matrix": "torch.tensor({}, dtype=torch.float32)",
    },
}


def export_code(found: "Diagnosis", framework: str) -> str:
    """The code of the recommended network; of the dense one where another model is recommended."""
    check_choice("export", "framework", framework, tuple(WORDS))
    arm = found.recommended if found.recommended in found.networks else "full"
    if not found.networks:
        arm, candidate = "full", Candidate("full", 1e-3, width=64)
    else:
        candidate = found.networks[arm]
    classes = found.about["classes"]
    title = f"{found.name}: {candidate.words(len(found.about['shape']) - 1)}."
    return network_code(
        candidate,
        tuple(found.about["shape"]),
        classes if classes > 2 else 1,
        framework,
        f"{title}\n\n{found.headline[:1].upper()}{found.headline[1:]}.\n",
    )


def network_code(
    candidate: Candidate, shape: tuple[int, ...], outputs: int, framework: str, title: str = ""
) -> str:
    """The code of a network.

    Args:
        candidate: which one.
        shape: the shape of one input, channels last.
        outputs: the scores per row; 1 for two classes and for a regression.
        framework: "equinox" or "torch".
        title: the first lines of the file.
    """
    words, body, sizes = WORDS[framework], _Body(candidate, shape, outputs, framework), {}
    forward = body.lines()
    sizes = body.sizes
    shown = "".join(c if c.isprintable() or c == "\n" else "?" for c in title).replace('"""', "'''")
    torch = framework == "torch"
    names = ", ".join(sizes)
    out = [
        f'"""{shown}' if shown else '"""A network.',
        f"Inputs are (rows, {', '.join(map(str, shape))}), standardised as for training; one "
        "score per",
        "row (or one per class) comes out. Run this file to see it learn random labels.",
        '"""',
        "",
        "import numpy as np",
        *words["head"],
        "",
        f"SIZES = {sizes!r}",
        *body.constants,
        "",
        "",
        f"class Network({'torch.nn.Module' if torch else 'eqx.Module'}):",
        *([] if torch else [f"    {name}: jax.Array" for name in sizes] + [""]),
        "    def __init__(self, seed=0):",
        *(["        super().__init__()"] if torch else []),
        "        rng = np.random.default_rng(seed)",
        "        for name, size in SIZES.items():",
        '            fan = np.prod(size[:-1]) if name == "readout" else size[-1]',
        '            scale = 0.0 if "bias" in name or name == "offset" else (2.0 / fan) ** 0.5',
        "            array = (scale * rng.standard_normal(size)).astype(np.float32)",
        "            setattr(self, name, torch.nn.Parameter(torch.tensor(array)))"
        if torch
        else "            setattr(self, name, jnp.array(array))",
        "",
        "    def load(self, arrays):",
        f'        """This network with the given arrays: {names}."""',
        *(
            [
                "        for name, array in arrays.items():",
                "            getattr(self, name).data = torch.tensor(np.array(array, np.float32))",
                "        return self",
            ]
            if torch
            else [
                "        parts = lambda net: [getattr(net, name) for name in arrays]",
                "        return eqx.tree_at(parts, self, [jnp.array(a) for a in arrays.values()])",
            ]
        ),
        "",
        f"    def {'forward' if torch else '__call__'}(self, x):",
        *(f"        {line}" for line in forward),
        "",
        "",
        'if __name__ == "__main__":',
        f"    x = np.random.default_rng(0).normal(size=(32, *{shape!r})).astype(np.float32)",
        *_demo(outputs, torch),
    ]
    return "\n".join(out) + "\n"


def _demo(outputs: int, torch: bool) -> list[str]:
    labels = f"np.arange(32) % {outputs}" if outputs > 1 else "np.arange(32) % 2"
    if torch:
        loss = (
            "torch.nn.functional.cross_entropy(net(x), y)"
            if outputs > 1
            else "torch.nn.functional.binary_cross_entropy_with_logits(net(x), y.float())"
        )
        return [
            f"    x, y, net = torch.tensor(x), torch.tensor({labels}), Network()",
            "    adam = torch.optim.Adam(net.parameters(), 1e-2)",
            "    for step in range(101):",
            "        adam.zero_grad()",
            f"        loss = {loss}",
            "        loss.backward()",
            "        adam.step()",
            '    print(f"loss after 100 steps: {loss.item():.3f}")',
        ]
    loss = (
        "-jnp.take_along_axis(jax.nn.log_softmax(net(x)), y[:, None], 1).mean()"
        if outputs > 1
        else "jax.nn.softplus(jnp.where(y == 1, -1, 1) * net(x)).mean()"
    )
    return [
        "    import optax",
        "",
        f"    y, net, adam = jnp.array({labels}), Network(), optax.adam(1e-2)",
        "",
        "    def loss(net):",
        f"        return {loss}",
        "",
        "    state = adam.init(net)",
        "    for step in range(100):",
        "        updates, state = adam.update(jax.grad(loss)(net), state)",
        "        net = optax.apply_updates(net, updates)",
        '    print(f"loss after 100 steps: {loss(net):.3f}")',
    ]


class _Body:
    """The lines of a forward pass, with the constants and the parameters that they need."""

    def __init__(self, candidate: Candidate, shape: tuple[int, ...], outputs: int, framework: str):
        self.candidate, self.shape, self.outputs = candidate, shape, outputs
        self.words, self.constants = WORDS[framework], list[str]()
        self.sizes: dict[str, tuple[int, ...]] = {}

    def lines(self) -> list[str]:
        full = self.candidate.connectivity == "full"
        out = self._full() if full else self._windowed()
        self.sizes["offset"] = (self.outputs,)
        return [*out, "return scores" if self.outputs > 1 else "return scores[:, 0]"]

    def _full(self) -> list[str]:
        numbers, width, lib = 1, self.candidate.width, self.words["lib"]
        for n in self.shape:
            numbers *= n
        out, inputs = [f"h = x.reshape(-1, {numbers})"], numbers
        for layer in range(self.candidate.depth):
            self.sizes |= {f"weights{layer}": (width, inputs), f"bias{layer}": (width,)}
            product = f'{lib}.einsum("rs,ws->rw", h, self.weights{layer})'
            out.append(f"h = {self.words['relu']}({product} + self.bias{layer})")
            inputs = width
        self.sizes["readout"] = (width, self.outputs)
        return [*out, "scores = h @ self.readout + self.offset"]

    def _windowed(self) -> list[str]:
        c, (*space, channels) = self.candidate, self.shape
        counts = [(n - c.side) // c.stride + 1 for n in space]
        out = [f"h = x.reshape(len(x), -1, {channels})"]
        out += self._layer(0, space, counts, c.side, c.stride, channels)
        if c.depth > 1:
            pool, last = second_layer(counts)
            if pool > 1:
                high, wide = (n // pool for n in counts)
                out += [
                    f"h = h.reshape(len(x), {counts[0]}, {counts[1]}, {c.width})",
                    f"h = h[:, :{high * pool}, :{wide * pool}]",
                    f"h = h.reshape(len(x), {high}, {pool}, {wide}, {pool}, {c.width})",
                    "h = " + self.words["highest"].format("h", "(2, 4)"),
                    f"h = h.reshape(len(x), -1, {c.width})",
                ]
            cells = [n // pool for n in counts]
            out += self._layer(1, cells, last, 3, 1, c.width)
            counts = last
        return out + self._heads(counts)

    def _layer(
        self, layer: int, space: list[int], counts: list[int], side: int, stride: int, channels: int
    ) -> list[str]:
        c, name, lib = self.candidate, f"WINDOWS{layer}", self.words["lib"]
        axes = "np.arange({0})[:, None] * {1} + np.arange({2})"
        if len(space) == 1:
            places = axes.format(counts[0], stride, side)
        else:
            rows, columns = (axes.format(n, stride, side) for n in counts)
            grid = f"({rows})[:, None, :, None] * {space[1]} + ({columns})[None, :, None, :]"
            places = f"({grid}).reshape({counts[0] * counts[1]}, -1)"
        self.constants.append(f"{name} = {self.words['index'].format(places)}")
        windows, span = 1, side ** len(space) * channels
        for n in counts:
            windows *= n
        shared = c.connectivity == "shared"
        self.sizes[f"weights{layer}"] = (c.width, span) if shared else (windows, c.width, span)
        own = not shared or (c.place_bias and layer == 0)
        self.sizes[f"bias{layer}"] = (windows, c.width) if own else (c.width,)
        formula = '"rps,ws->rpw"' if shared else '"rps,pws->rpw"'
        product = f"{lib}.einsum({formula}, h, self.weights{layer})"
        return [
            f"h = h[:, {name}].reshape(len(x), {windows}, {span})",
            f"h = {self.words['relu']}({product} + self.bias{layer})",
        ]

    def _heads(self, counts: list[int]) -> list[str]:
        c, lib = self.candidate, self.words["lib"]
        parts, features, out = [], 0, []
        if c.means and c.connectivity == "shared":
            regions = _regions(counts, c.regions)
            self.constants.append(f"REGIONS = {self.words['matrix'].format(regions)}")
            out.append(f'means = {lib}.einsum("gp,rpw->rgw", REGIONS, h)')
            parts.append("means")
            features += len(regions)
        elif c.means:
            parts.append("h")
            features += counts[0] if len(counts) == 1 else counts[0] * counts[1]
        if c.maximum:
            parts.append(self.words["highest"].format("h", 1) + "[:, None]")
            features += 1
        self.sizes["readout"] = (features, c.width, self.outputs)
        joined = parts[0] if len(parts) == 1 else self.words["join"].format(", ".join(parts))
        out.append(f"features = {joined}")
        product = f'{lib}.einsum("rfw,fwo->ro", features, self.readout)'
        return [*out, f"scores = {product} + self.offset"]


def _regions(counts: list[int], along: tuple[int, ...]) -> list[list[float]]:
    import numpy as np

    from separatrix.networks.pooling import region_means

    windows = int(np.prod(counts))
    matrix = np.asarray(region_means(tuple(counts), along, windows), float)
    return [[round(x, 6) for x in row] for row in matrix.tolist()]
