"""Training one network on one split, at several learning rates at once: the only compiled code of a
diagnosis.

Sample size, rows, windows and rates are data, so one program serves every rung of the ladder, every
split and every control: the controls change only which pixels a window sees. The rate and the
moment to stop are chosen on validation rows; test rows are looked at once, with the parameters so
chosen.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from separatrix.diagnosis.networks import Net, Weights, outputs_of
from separatrix.learners.losses import logistic, squared


class Rows(NamedTuple):
    """Rows to learn from or to test on: (rows, pixels, channels), labels, and how many of the rows
    are real.

    >>> Rows(jnp.zeros((3, 4, 1)), jnp.zeros(3), 3).count
    3
    """

    x: Any
    y: Any
    count: Any


class Recipe(NamedTuple):
    """How every network is trained: Adam over `steps` batches of `batch` rows, looked at `looks`
    times; rates fall as a cosine.

    `steps` are those of the largest sample size; smaller ones take fewer, as the root of the size.

    >>> Recipe().steps % Recipe().looks
    0
    """

    steps: int = 240
    batch: int = 64
    looks: int = 8
    rates: tuple[float, ...] = (3e-3, 1e-2)


def score(
    outputs: Float[Array, "rows outputs"], y: Float[Array, " rows"], count: Any
) -> tuple[Array, Array, Array]:
    """Accuracy over the first `count` rows, the loss there, and what every row adds to the
    accuracy, which is their mean.

    For classes a row adds 1 or 0. For one output the accuracy is the share of the variance that is
    explained, and a row adds 1 - (its squared error)/(variance of the rows).

    >>> accuracy, _, rows = score(jnp.array([[0.0, 1.0], [1.0, 0.0]]), jnp.array([1.0, 1.0]), 2)
    >>> float(accuracy), rows.tolist()
    (0.5, [1.0, 0.0])
    """
    real = jnp.arange(y.shape[0]) < count
    weight = real / jnp.maximum(count, 1)
    if outputs.shape[1] > 1:
        rows, losses = (
            (jnp.argmax(outputs, -1) == y.astype(jnp.int32)).astype(jnp.float32),
            logistic(outputs, y),
        )
    else:
        losses = squared(outputs[:, 0], y)
        rows = 1.0 - losses / jnp.maximum(jnp.square(y - y @ weight) @ weight, 1e-12)
    return rows @ weight, losses @ weight, rows


def train(
    net: Net,
    recipe: Recipe,
    start: Weights,
    order: Int[Array, "steps batch"],
    places: Int[Array, "positions area"],
    pool: Float[Array, "regions positions"],
    every: Any,
    learn: Rows,
    check: Rows,
    test: Rows,
) -> dict[str, Any]:
    """Train at every rate, choose rate and moment on `check`, and test once.

    `order` says which training rows every step takes, `every` is the number of steps between two
    looks.

    >>> rows, net = Rows(jnp.zeros((8, 3, 1)), jnp.zeros(8), 8), Net(True, 4, 2)
    >>> import numpy as np
    >>> from separatrix.diagnosis.networks import initial
    >>> start = initial(net, 1, 3, 1, np.random.default_rng(0))
    >>> out = train(net, Recipe(8, 4, 2), start, jnp.zeros((8, 4), int), jnp.array([[0, 1, 2]]), jnp.ones((1, 1)), 4, rows, rows, rows)
    >>> float(out["accuracy"])
    1.0
    """
    rates = jnp.array(recipe.rates)
    # Parameters are one vector: an optimizer's step is then a handful of operations, and compiles
    # faster.
    flat, shaped = ravel_pytree(jax.tree.map(jnp.asarray, start))

    def loss(params: Array, x: Array, y: Array) -> Array:
        found = outputs_of(net, shaped(params), x, places, pool)
        return (logistic(found, y) if net.outputs > 1 else squared(found[:, 0], y)).mean()

    def judged(params: Array, rows: Rows) -> tuple[Array, Array, Array]:
        return score(outputs_of(net, shaped(params), rows.x, places, pool), rows.y, rows.count)

    adam = optax.scale_by_adam()

    def step(rate: Array, state: Any, number: Array) -> Any:
        params, memory = state
        chosen = order[number]
        slope = jax.grad(loss)(params, learn.x[chosen], learn.y[chosen])
        change: Any
        change, memory = adam.update(slope, memory)
        fall = 0.5 * (1.0 + jnp.cos(jnp.pi * number / (every * recipe.looks)))
        return params - rate * fall * change, memory

    def one(rate: Array) -> tuple[Array, Array, Array]:
        def look(carry: Any, number: Array) -> tuple[Any, Array]:
            state, best, kept, moment = carry
            state = jax.lax.fori_loop(
                number * every, (number + 1) * every, lambda i, s: step(rate, s, i), state
            )
            accuracy, cost, _ = judged(state[0], check)
            # Ties of the accuracy, which is coarse, are broken by the loss; a loss that is not a
            # number loses.
            merit = jnp.where(
                jnp.isfinite(cost), accuracy - 1e-3 * jnp.minimum(cost, 100.0), -jnp.inf
            )
            better = merit > best
            kept = jnp.where(better, state[0], kept)
            return (
                state,
                jnp.maximum(merit, best),
                kept,
                jnp.where(better, (number + 1) * every, moment),
            ), accuracy

        first = ((flat, adam.init(flat)), jnp.float32(-jnp.inf), flat, jnp.int32(0))
        (_, best, kept, moment), _ = jax.lax.scan(look, first, jnp.arange(recipe.looks))
        return best, kept, moment

    best, kept, moment = jax.vmap(one)(rates)
    winner = jnp.argmax(best)
    chosen = kept[winner]
    accuracy, _, rows = judged(chosen, test)
    return {
        "accuracy": accuracy,
        "rows": rows,
        "check": best[winner],
        "rate": rates[winner],
        "steps": moment[winner],
        "params": shaped(chosen),
    }
