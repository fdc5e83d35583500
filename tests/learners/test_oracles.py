"""Where gradients come from: population, online and minibatches of a fixed sample, against NumPy on
the same streams.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import numpy_reference as reference
import separatrix as sx
from separatrix.streams import draw, named, numbered, root_key, uniform

TASK = sx.PatternTask(5, 2, start=1, probability=0.7)
NETWORK = sx.CNN(2, 3, activation=sx.Tanh())
STEPS = 3


def trial_with(checksum, samples=0, **learner):
    probes = ("weight_gradient_norm", "readout_gradient_norm", "readout_norm", checksum)
    return sx.Trial(
        TASK,
        NETWORK,
        sx.Learner(0.5, STEPS, loss="hinge", **learner),
        samples,
        7,
        sx.Measure(probes, test=50, times=STEPS),
    )


def initial(trial):
    params = jax.jit(lambda words: NETWORK.init(named(root_key(words[1]), "init"), TASK.shape))(
        trial.root()
    )
    return {
        name: np.asarray(part, np.float64)
        for name, part in params._asdict().items()
        if part is not None
    }


def compare(programs, trial, rows_at):
    """The trial's traces against hand-made steps on the rows of `rows_at(step)` = (x, y, weight)."""
    (row,) = programs.run([trial], trial)
    params = initial(trial)
    for step in range(STEPS + 1):
        x, y, weight = rows_at(step)
        patches = reference.patches_of(np.asarray(x, np.float64), 2, 1)
        loss, gradient = reference.loss_and_gradient(
            NETWORK, params, patches, np.asarray(y, np.float64), weight, "hinge"
        )
        group, unit, area, channel = np.indices((*params["weights"].shape, 1))
        places = np.cos(1.0 + 1.1 * group + 1.7 * unit + 0.3 * area + 2.3 * channel)
        expected = {
            "loss": loss,
            "weight_gradient_norm": np.linalg.norm(gradient["weights"]),
            "readout_gradient_norm": np.linalg.norm(gradient["readout"]),
            "readout_norm": np.linalg.norm(params["readout"]),
            "checksum": (params["weights"] * places[..., 0]).sum(),
        }
        for name, value in expected.items():
            assert row[f"trace.{name}"][step] == pytest.approx(value, rel=1e-4, abs=1e-5), (
                name,
                step,
            )
        params = {name: part - 0.5 * gradient[name] for name, part in params.items()}


def test_population_gradients_are_the_mean_over_every_input(programs, checksum):
    cube = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))
    weight = np.where(cube > 0, 0.7, 0.3).prod(1)
    compare(
        programs,
        trial_with(checksum, oracle="population"),
        lambda step: (cube[:, :, None], cube[:, 1] * cube[:, 2], weight),
    )


def test_online_gradients_see_fresh_rows_at_every_step(programs, checksum):
    trial = trial_with(checksum, oracle="online", batch=6)
    truth = jax.jit(TASK.truth)(
        jax.random.key(0)
    )  # the order is not hidden: the same for every key

    def rows(words):
        stream = named(root_key(words[0]), "online")
        return jax.vmap(lambda step: TASK.draw(numbered(stream, step), 6, truth))(
            jnp.arange(STEPS + 1)
        )

    fresh = jax.device_get(jax.jit(rows)(trial.root()))
    assert len({fresh.x[step].tobytes() for step in range(STEPS + 1)}) == STEPS + 1
    compare(programs, trial, lambda step: (fresh.x[step], fresh.y[step], np.full(6, 1 / 6)))


def test_minibatches_are_rows_of_the_one_training_set(programs, checksum):
    trial = trial_with(checksum, samples=10, batch=4)
    truth = jax.jit(TASK.truth)(jax.random.key(0))

    def rows(words):
        stream = named(root_key(words[1]), "batches")
        spots = jax.vmap(lambda step: draw(uniform, numbered(stream, step), (4,)))(
            jnp.arange(STEPS + 1)
        )
        return TASK.draw(named(root_key(words[0]), "train"), 10, truth), spots

    whole, spots = jax.device_get(jax.jit(rows)(trial.root()))
    chosen = np.floor(spots * 10).astype(int)
    assert chosen.min() >= 0
    assert chosen.max() <= 9
    assert len({tuple(row) for row in chosen.tolist()}) == STEPS + 1
    compare(
        programs,
        trial,
        lambda step: (whole.x[chosen[step]], whole.y[chosen[step]], np.full(4, 1 / 4)),
    )


def test_a_population_that_cannot_be_enumerated_is_one_sentence(programs):
    learner = sx.Learner(1.0, 1, oracle="population")
    for task, words in [
        (sx.SignalTask(4, 3, 0.3), "SignalTask cannot be enumerated"),
        (sx.PatternTask(21, 3), "too large to enumerate"),
    ]:
        trial = sx.Trial(task, sx.CNN(1), learner)
        with pytest.raises(sx.SeparatrixError, match=words):
            programs.run([trial], trial)
