"""The recommended network as Equinox code that runs on its own."""

from separatrix.diagnosis.bench import Arm, Bench
from separatrix.diagnosis.export_deep import DEEP, DEEP_FULL
from separatrix.diagnosis.networks import deep_of
from separatrix.diagnosis.sights import sight
from separatrix.diagnosis.verdict import Diagnosis

HEAD = '''"""The network that `separatrix diagnose` recommends for {name!r}: {network}.

Verdict: {verdict}. Inputs are one row of shape {shape} (standardise them as for training); call jax.vmap(model) on batches.
Run this file to see it learn random labels: python THIS_FILE
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

SHAPE, OUTPUTS, WIDTH = {shape}, {outputs}, {width}
'''

WINDOWS = '''FIELD, STRIDE = {field}, {stride}


def places():
    """The pixels that every window sees: (windows, pixels of a window)."""
    space = SHAPE[:-1]
    axes = [STRIDE * np.arange((n - FIELD) // STRIDE + 1)[:, None] + np.arange(FIELD) for n in space]
    if len(axes) == 1:
        return axes[0]
    grid = axes[0][:, None, :, None] * space[1] + axes[1][None, :, None, :]
    return grid.reshape(len(axes[0]) * len(axes[1]), -1)


def pool():
    """The mean over the windows of every region: (regions, windows)."""
    counts = [(n - FIELD) // STRIDE + 1 for n in SHAPE[:-1]]
    group = 0
    for axis, count in enumerate(counts):
        regions = max(1, min({regions}, count // 2))
        here = np.arange(count) * regions // count
        group = here if axis == 0 else (group[:, None] * regions + here).reshape(-1)
    member = (group[None, :] == np.arange(group.max() + 1)[:, None]).astype(np.float32)
    return member / member.sum(1, keepdims=True)


class Recommended(eqx.Module):
    """Windows {sharing}, ReLU, the mean over regions, and a readout for every region."""

    weights: jax.Array
    bias: jax.Array
    readout: jax.Array
    offset: jax.Array

    def __init__(self, key):
        first, second = jax.random.split(key)
        windows, regions, span = len(places()), len(pool()), places().shape[1] * SHAPE[-1]
        groups = {groups}
        self.weights = jax.random.normal(first, (groups, span, WIDTH)) * (2 / span) ** 0.5
        self.bias = jnp.zeros((groups, WIDTH))
        self.readout = jax.random.normal(second, (regions, WIDTH, OUTPUTS)) * (regions * WIDTH) ** -0.5
        self.offset = jnp.zeros(OUTPUTS)

    def __call__(self, x):
        seen = x.reshape(-1, SHAPE[-1])[places()].reshape(len(places()), -1)
        hidden = jax.nn.relu(jnp.einsum("ps,psw->pw", seen, jnp.broadcast_to(self.weights, (len(seen), *self.weights.shape[1:]))) + self.bias)
        return jnp.einsum("gw,gwo->o", pool() @ hidden, self.readout) + self.offset
'''

FULL = '''

class Recommended(eqx.Module):
    """One fully connected hidden layer: neither neighbourhoods nor sharing were seen to pay."""

    hidden: eqx.nn.Linear
    readout: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.hidden = eqx.nn.Linear(int(np.prod(SHAPE)), WIDTH, key=first)
        self.readout = eqx.nn.Linear(WIDTH, OUTPUTS, key=second)

    def __call__(self, x):
        return self.readout(jax.nn.relu(self.hidden(x.reshape(-1))))
'''

TAIL = '''

def loss(model, x, y):
    """{loss_words} over a batch."""
    out = jax.vmap(model)(x)
    return {loss}


def fit(model, x, y, steps={steps}, rate={rate}, batch={batch}, seed=0):
    """Adam with a falling rate, as in the diagnosis."""
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))
    state = optimiser.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state, x, y):
        value, slope = eqx.filter_value_and_grad(loss)(model, x, y)
        change, state = optimiser.update(slope, state)
        return eqx.apply_updates(model, change), state, value

    rng = np.random.default_rng(seed)
    for _ in range(steps):
        chosen = rng.integers(0, len(x), batch)
        model, state, value = step(model, state, x[chosen], y[chosen])
    return model, float(value)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, *SHAPE)).astype(np.float32)
    y = {labels}
    model = Recommended(jax.random.key(0))
    before = float(loss(model, x, y))
    model, _ = fit(model, x, y, steps=50)
    print(f"loss on 64 random rows: {{before:.3f}} before, {{float(loss(model, x, y)):.3f}} after 50 steps")
'''


def export_code(bench: Bench, found: Diagnosis) -> str:
    """The recommended network as the text of a Python file.

    >>> import numpy as np
    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis import Diagnosis, Gain, Settings
    >>> data = as_labelled(np.random.default_rng(0).normal(size=(40, 8)), np.arange(40) % 2)
    >>> none = Gain("locality", "a", "b", None, (), "cannot tell")
    >>> found = Diagnosis("x", "convolution pays", (), none, none, None, 3, {}, {}, {}, {}, {}, ())
    >>> "class Recommended" in export_code(Bench(data, Settings(), Lab()), found)
    True
    """
    arm = Arm(found.recommended)
    net, shape = bench.net(arm, found.receptive_field), bench.data.shape
    # Names come from files and people: nothing of them may end the docstring or begin an escape.
    name = "".join(c if c.isalnum() or c in " .-_" else "?" for c in found.name)[:80]
    words = {
        "full": "a fully connected network",
        "local": "a locally connected network",
        "shared": "a convolutional network",
    }[arm.network]
    head = HEAD.format(
        name=name,
        network=words,
        verdict=found.verdict,
        shape=tuple(shape),
        outputs=net.outputs,
        width=net.width,
    )
    if arm.network == "full":
        body = DEEP_FULL if net.second else FULL
    else:
        view = sight(shape, found.receptive_field)
        shared = arm.network == "shared"
        words = {
            "sharing": "that share their weights" if shared else "with weights of their own",
            "groups": "1" if shared else "windows",
        }
        if net.second:
            deep = deep_of(net.counts)
            body = _filled(
                DEEP,
                field=view.field,
                stride=view.stride,
                pool=deep.pool,
                side=deep.side,
                second=net.second,
                **words,
            )
        else:
            body = _filled(
                WINDOWS,
                field=view.field,
                stride=view.stride,
                regions=4 if len(shape) == 3 else 8,
                **words,
            )
    recipe, classes = bench.settings.recipe, bool(bench.data.classes)
    tail = TAIL.format(
        loss_words="The cross-entropy" if classes else "The mean squared error",
        loss="optax.softmax_cross_entropy_with_integer_labels(out, y).mean()"
        if classes
        else "jnp.square(out[:, 0] - y).mean()",
        steps=recipe.steps,
        rate=recipe.rates[-1],
        batch=recipe.batch,
        labels="rng.integers(0, OUTPUTS, 64)"
        if classes
        else "rng.normal(size=64).astype(np.float32)",
    )
    return head + body + tail


def _filled(text: str, **parts: object) -> str:
    for key, part in parts.items():
        text = text.replace("{" + key + "}", str(part))
    return text
