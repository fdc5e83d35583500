"""The text of exported networks with a second layer, as images get them."""

DEEP = '''FIELD, STRIDE, POOL, SIDE, SECOND = {field}, {stride}, {pool}, {side}, {second}


def places(space, field, stride):
    """The places that every window sees: (windows, places of a window)."""
    rows, columns = [stride * np.arange((n - field) // stride + 1)[:, None] + np.arange(field) for n in space]
    return (rows[:, None, :, None] * space[1] + columns[None, :, None, :]).reshape(len(rows) * len(columns), -1)


COUNTS = [(n - FIELD) // STRIDE + 1 for n in SHAPE[:-1]]
CELLS = [count // POOL for count in COUNTS]
LAST = [cell - SIDE + 1 for cell in CELLS]


def regions():
    """The mean over the last windows of every region: (regions, windows)."""
    along = [min(4, count) for count in LAST]
    rows, columns = [np.arange(count) * g // count for count, g in zip(LAST, along)]
    group = (rows[:, None] * along[1] + columns).reshape(-1)
    member = (group[None, :] == np.arange(along[0] * along[1])[:, None]).astype(np.float32)
    return member / member.sum(1, keepdims=True)


class Layer(eqx.Module):
    """Windows {sharing}, and ReLU."""

    weights: jax.Array
    bias: jax.Array

    def __init__(self, windows, span, width, key):
        groups = {groups}
        self.weights = jax.random.normal(key, (groups, span, width)) * (2 / span) ** 0.5
        self.bias = jnp.zeros((groups, width))

    def __call__(self, seen):
        return jax.nn.relu(jnp.einsum("ps,psw->pw", seen, jnp.broadcast_to(self.weights, (len(seen), *self.weights.shape[1:]))) + self.bias)


class Recommended(eqx.Module):
    """Two layers of windows {sharing}, max pooling between them, the mean over regions, and a readout for every region."""

    first: Layer
    second: Layer
    readout: jax.Array
    offset: jax.Array

    def __init__(self, key):
        one, two, three = jax.random.split(key, 3)
        self.first = Layer(COUNTS[0] * COUNTS[1], FIELD**2 * SHAPE[-1], WIDTH, one)
        self.second = Layer(LAST[0] * LAST[1], SIDE**2 * WIDTH, SECOND, two)
        self.readout = jax.random.normal(three, (len(regions()), SECOND, OUTPUTS)) * (len(regions()) * SECOND) ** -0.5
        self.offset = jnp.zeros(OUTPUTS)

    def __call__(self, x):
        seen = places(SHAPE[:-1], FIELD, STRIDE)
        hidden = self.first(x.reshape(-1, SHAPE[-1])[seen].reshape(len(seen), -1)).reshape(*COUNTS, WIDTH)
        hidden = hidden[: POOL * CELLS[0], : POOL * CELLS[1]].reshape(CELLS[0], POOL, CELLS[1], POOL, WIDTH).max((1, 3))
        seen = places(CELLS, SIDE, 1)
        hidden = self.second(hidden.reshape(-1, WIDTH)[seen].reshape(len(seen), -1))
        return jnp.einsum("gw,gwo->o", regions() @ hidden, self.readout) + self.offset
'''

DEEP_FULL = '''

class Recommended(eqx.Module):
    """Two fully connected hidden layers: neither neighbourhoods nor sharing were seen to pay."""

    layers: eqx.nn.MLP

    def __init__(self, key):
        self.layers = eqx.nn.MLP(int(np.prod(SHAPE)), OUTPUTS, WIDTH, 2, key=key)

    def __call__(self, x):
        return self.layers(x.reshape(-1))
'''
