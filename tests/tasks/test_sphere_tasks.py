"""The regression tasks: where inputs lie, what teachers compute, and which random streams they come
from.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.probes import clean_risk, constant_risk, noise_energy
from separatrix.streams import named, root_key

TASKS = [
    sx.SphereTask(12, 3),
    sx.SphereTask(12, 3, teacher="dense", radius=2.0, stride=1),
    sx.PatchSphereTask(4, 3, teacher="local"),
    sx.RepeatedPointTask(4, 3, teacher="local"),
    sx.VocabularyTask(4, 3),
    sx.ConeTask(4, 3, clusters=2, spread=0.05, teacher="local"),
]


@functools.cache
def drawn(task, rows=3000):
    """A truth, rows of it and their noiseless labels."""

    @jax.jit
    def make(key):
        truth = task.truth(named(key, "truth"))
        sample = task.draw(named(key, "rows"), rows, truth)
        return truth, sample, task.clean(sample.x, truth)

    return make(jax.random.key(7))


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


def test_inputs_lie_where_they_should():
    _, sphere, _ = drawn(TASKS[1])
    x = np.asarray(sphere.x)[:, :, 0]
    assert np.allclose(np.linalg.norm(x, axis=1), 2.0, atol=1e-5)
    # Uniform on the sphere of radius 2: mean 0, covariance 4/12·I (5 standard errors; a
    # coordinate's fourth moment is below 3·(1/3)²).
    assert np.abs(x.mean(0)).max() < 5 * np.sqrt(1 / 3 / 3000)
    assert np.abs(x.T @ x / 3000 - np.eye(12) / 3).max() < 5 * np.sqrt(2) / 3 / np.sqrt(3000)
    _, patches, _ = drawn(TASKS[2])
    assert np.allclose(
        np.linalg.norm(np.asarray(patches.x).reshape(-1, 4, 3), axis=-1), 1.0, atol=1e-5
    )
    p = np.asarray(patches.x).reshape(-1, 4, 3)
    assert np.abs(np.einsum("nij,nkj->ik", p, p) / 3000 - np.eye(4)).max() < 5 / np.sqrt(
        3 * 3000
    )  # patches are independent
    _, repeated, _ = drawn(TASKS[3])
    copies = np.asarray(repeated.x).reshape(-1, 4, 3)
    assert np.all(copies == copies[:, :1])
    truth, cones, _ = drawn(TASKS[5])
    nearest = (np.asarray(cones.x).reshape(-1, 3) @ np.asarray(truth.axes).T).max(1)
    assert nearest.min() > np.cos(0.25)  # spread .05 and five standard deviations


def test_the_vocabulary_label_counts_words():
    task = sx.VocabularyTask(views=9, patch=4)
    truth, sample, clean = drawn(task, 400)
    patches = np.asarray(sample.x).reshape(400, 9, 4)
    second = np.abs(patches - np.asarray(truth.axes)[1]).max(-1) < 1e-6
    first = np.abs(patches - np.asarray(truth.axes)[0]).max(-1) < 1e-6
    assert np.all(first ^ second)
    assert np.allclose(clean, (2 * second.sum(1) - 9) / 3, atol=1e-6)
    assert abs(second.mean() - 0.5) < 5 * 0.5 / 60


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


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda: sx.SphereTask(4, 5),
            r"the `patch` of SphereTask must be an integer in \[1, 4\], got 5",
        ),
        (
            lambda: sx.SphereTask(8, 4, noise=-1.0),
            "the `noise` of SphereTask must be a number >= 0, got -1.0",
        ),
        (
            lambda: sx.SphereTask(8, 4, teacher="remote"),
            "the `teacher` of SphereTask must be one of 'local', 'dense', 'none', got 'remote'",
        ),
        (
            lambda: sx.PatchSphereTask(0, 4),
            "the `views` of PatchSphereTask must be an integer >= 1, got 0",
        ),
        (
            lambda: sx.Trial(sx.SphereTask(8, 4), sx.FCN(2), sx.Learner(0.1, 1), 0),
            "the `samples` of Trial must be at least 1 .* got 0",
        ),
        (
            lambda: sx.Trial(sx.SphereTask(8, 4), sx.CNN(9), sx.Learner(0.1, 1), 4),
            r"the `field` of Network must be at most .* got \(9,\)",
        ),
        (
            lambda: sx.Trial(
                sx.PatternTask(8, 3),
                sx.CNN(3),
                sx.Learner(0.1, 1),
                4,
                measure=sx.Measure(("regression",)),
            ),
            "the `probes` of Measure must be without regression probes unless the task has noiseless labels, got 'regression'",
        ),
    ],
)
def test_bad_values_are_one_sentence(make, words):
    with pytest.raises(sx.ParameterError, match=words):
        make()


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
        step = lambda _, p: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p))  # noqa: E731
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


def test_image_regression_labels_different_images_by_windows():
    task = sx.ImageRegressionTask(side=8, noise=0.0, units=3)

    @jax.jit
    def make(key):
        truth = task.bind(task.truth(named(key, "truth")), task.arrays())
        train, test = (
            task.draw(named(key, "train"), 40, truth),
            task.draw_test(named(key, "test"), 30, truth),
        )
        return truth.teacher, train, test

    teacher, train, test = jax.device_get(make(jax.random.key(3)))
    x = train.x.astype(np.float64)
    assert x.shape == (40, 8, 8, 3)
    expected = []
    for image in x[:10]:
        windows = [image[r : r + 3, c : c + 3].ravel() for r in range(6) for c in range(6)]
        hidden = np.maximum(np.array(windows) @ teacher.weights.T - teacher.bias, 0).mean(0)
        expected.append(hidden @ teacher.readout + teacher.offset)
    assert np.allclose(train.y[:10], expected, atol=1e-5)
    stored = task.arrays()
    # Training rows are different images of the training split, test rows images of the test split.
    places = [int(np.argmin(np.abs(stored["train_x"] - image).max((1, 2, 3)))) for image in train.x]
    assert len(set(places)) == 40
    assert np.allclose(stored["train_x"][places], train.x, atol=1e-6)
    assert all(np.abs(stored["test_x"] - image).max((1, 2, 3)).min() < 1e-6 for image in test.x)
    # Pixels of the whole collection have unit variance; `scale` multiplies them.
    assert (stored["train_x"] ** 2).mean() == pytest.approx(1.0, abs=1e-3)
    twice = task.replace(scale=2.0)
    doubled = twice.draw(named(jax.random.key(3), "train"), 40, twice.bind(teacher, twice.arrays()))
    assert np.allclose(doubled.x, 2 * train.x, atol=1e-6)
