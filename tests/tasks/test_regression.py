"""Regression tasks: the teacher, the noise, and the risks that trials report."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sphere_tasks import TASKS, drawn

import separatrix as sx
from separatrix.probes import clean_risk, constant_risk, noise_energy
from separatrix.streams import named, root_key


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{type(task).__name__} {task.teacher}")
def test_labels_are_the_teacher_spelled_out_plus_noise_of_the_stated_size(task):
    truth, sample, clean = drawn(task)
    x = np.asarray(sample.x, np.float64)[:, :, 0]
    assert x.shape == (3000, 12)
    clean = np.asarray(clean, np.float64)
    if not isinstance(task, sx.VocabularyTask):
        expected = np.zeros(50)
        for row in range(50):
            views = (
                [x[row]] if task.teacher == "dense" else [x[row][place] for place in task.places()]
            )
            for w, b, v in zip(*(np.asarray(part, np.float64) for part in truth[:3])):
                expected[row] += v * np.mean([max(w @ view - b, 0.0) for view in views])
        assert np.allclose(clean[:50], expected + float(truth.offset), atol=1e-5)
    noise = np.asarray(sample.y) - clean
    # 3000 draws: the mean is within 5 standard errors of 0, the variance within 5·√(2/3000) of σ².
    assert abs(noise.mean()) < 5 * task.noise / np.sqrt(3000)
    assert noise.var() == pytest.approx(task.noise**2, rel=5 * np.sqrt(2 / 3000))
    assert abs(np.corrcoef(noise, clean)[0, 1]) < 5 / np.sqrt(3000)


def test_teacher_and_inputs_are_independent():
    # They come from different streams: another teacher leaves the inputs as they are, bit for bit,
    # and other inputs the teacher ...
    for task in (TASKS[0], TASKS[2]):

        @jax.jit
        def with_teacher(key, task=task):
            truth = task.truth(key)
            return truth.weights, task.draw(named(jax.random.key(5), "rows"), 20, truth).x

        (one, x), (other, same) = (with_teacher(jax.random.key(seed)) for seed in (0, 1))
        assert bool((x == same).all())
        assert not bool((one == other).any())
    # ... and over many trials their directions are uncorrelated: 400 inner products of unit vectors
    # in 12 dimensions, mean 0 and variance 1/12 each (5 standard errors).
    task = sx.SphereTask(12, 12, units=1, teacher="dense")

    def inner(seed):
        trial = sx.Trial(task, sx.FCN(1), sx.Learner(0.1, 1, "squared"), 1, seed)
        return trial.root()[0]

    words = np.stack([inner(seed) for seed in range(400)])

    @jax.jit
    @jax.vmap
    def product(word):
        data = root_key(word)
        truth = task.truth(named(data, "truth"))
        return truth.weights[0] @ task.draw(named(data, "train"), 1, truth).x[0, :, 0]

    products = np.asarray(product(words))
    assert abs(products.mean()) < 5 * np.sqrt(1 / 12 / 400)
    assert products.var() == pytest.approx(1 / 12, rel=5 * np.sqrt(2 / 400))


def test_pure_noise_has_a_constant_that_is_perfect():
    task = sx.SphereTask(12, 3, teacher="none", noise=0.5)
    assert not np.asarray(drawn(task, 10)[2]).any()
    assert task.baselines() == {"constant": 0.0}


def test_a_trial_reports_excess_risk_with_its_baselines_and_both_gaps(programs):
    task, network = (
        sx.SphereTask(12, 3, noise=0.7, gain=3.0),
        sx.CNN(3, 5, stride=3, readout="pooled", offset=True),
    )
    probes = ("regression", "activation", "path_norm", "certificate")
    trial = sx.Trial(
        task, network, sx.Learner(0.1, 50, "squared"), 9, 2, sx.Measure(probes, test=500)
    )
    (row,) = programs.run(
        [trial], trial.replace(samples=16)
    )  # padded: the surplus rows must not count

    @jax.jit
    def spelled_out(roots):
        data, model = root_key(roots[0]), root_key(roots[1])
        truth = task.truth(named(data, "truth"))
        train, test = (
            task.draw(named(data, "train"), 9, truth),
            task.draw(named(data, "test"), 500, truth),
        )
        loss = lambda p: jnp.mean((network.apply(p, train.x) - train.y) ** 2)  # noqa: E731

        def step(_, p, loss=loss):
            return jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p))

        params = jax.lax.fori_loop(0, 50, step, network.init(named(model, "init"), task.shape))
        clean, clean_test = task.clean(train.x, truth), task.clean(test.x, truth)
        excess = jnp.mean((network.apply(params, test.x) - clean_test) ** 2)
        fitted = jnp.mean((network.apply(params, train.x) - clean) ** 2)
        return (
            params,
            train,
            excess,
            fitted,
            jnp.var(clean_test),
            jnp.mean((train.y - clean) ** 2),
            loss(params),
        )

    params, train, excess, fitted, constant, noise, mse = jax.device_get(spelled_out(trial.root()))
    expected = {
        "risk": excess,
        "loss": mse,
        "regression.excess": excess,
        "regression.fitted": fitted,
        "regression.constant": constant,
        "regression.noise": noise,
        "regression.mse": mse,
        "regression.gap": abs(excess + noise - mse),
        "regression.gap_nominal": abs(excess + 0.49 - mse),
    }
    z = (
        np.einsum(
            "nlm,km->nlk", np.asarray(train.x).reshape(9, 4, 3), np.asarray(params.weights)[0]
        )
        + np.asarray(params.bias)[0]
    )
    rates, sizes = (
        (z > 0).mean((0, 1)),
        np.abs(params.readout) * np.linalg.norm(np.asarray(params.weights)[0], axis=1),
    )
    expected |= {
        "activation": rates.mean(),
        "activation.weighted": (rates * sizes).sum() / sizes.sum(),
        "path_norm": sizes.sum(),
    }
    expected |= {"activation.rare": (rates < 0.05).mean(), "path_norm.largest": sizes.max()}
    for name, value in expected.items():
        assert row[name] == pytest.approx(float(value), rel=2e-4, abs=1e-5), name
    assert row["certificate.left"] < row["certificate.right"]
    assert row["certificate.radius"] == pytest.approx(
        np.linalg.norm(np.asarray(train.x).reshape(-1, 3), axis=1).max(), rel=1e-5
    )


def test_risks_of_rows_are_weighted():
    rows = sx.learners.Rows(
        None, jnp.array([2.0, 0.0, 9.0]), jnp.array([0.75, 0.25, 0.0]), jnp.array([1.0, 1.0, 5.0])
    )
    assert float(noise_energy(rows)) == 1.0
    assert float(constant_risk(rows)) == 0.0
    assert float(clean_risk(jnp.array([1.0, 3.0, 0.0]), rows)) == 1.0
