"""The signal task: moments of every variant, places of the signal, padding."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.streams import named
from separatrix.theory.signal import bayes_risk, best_linear_risk

ROWS = 20_000
KEY = jax.random.key(11)


@functools.cache
def program(task, within, rows):

    def both(key):
        truth = task.truth(named(key, "truth"), within)
        return truth, task.draw(named(key, "rows"), rows, truth, within)

    return jax.jit(both)


def drawn(task, within=None, rows=ROWS, key=KEY):
    """Signal vector, inputs and labels as float64 arrays."""
    truth, sample = jax.device_get(program(task, within, rows)(key))
    assert sample.weight is None
    return (
        np.asarray(truth, np.float64),
        np.asarray(sample.x, np.float64),
        np.asarray(sample.y, np.float64),
    )


def residuals(task):
    """The noise alone, (rows, patches, dimension), for tasks that carry exactly one signal."""
    w, x, y = drawn(task)
    place = (
        np.zeros(ROWS, int) if task.position == "fixed" else np.argmax((x @ w) * y[:, None], axis=1)
    )
    x = x.copy()
    x[np.arange(ROWS), place] -= y[:, None] * w
    return x


def test_inputs_are_the_signal_in_one_uniform_patch_plus_noise():
    # The noise is far below the signal, so that the patch that carries it is seen without doubt (20
    # standard deviations).
    task = sx.SignalTask(patches=5, dimension=4, noise=0.05)
    w, x, y = drawn(task)
    assert x.shape == (ROWS, 5, 4)
    assert set(np.unique(y)) == {-1.0, 1.0}
    assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-6)
    strength = x @ w * y[:, None]
    assert ((strength > 0.5).sum(1) == 1).all()
    place = np.argmax(strength, 1)
    # Tolerances: 4.5 standard errors of a mean over 20,000 rows, for a fixed key.
    for sign in (-1, 1):
        counts = np.bincount(place[y == sign], minlength=5) / (y == sign).sum()
        assert np.abs(counts - 0.2).max() < 4.5 * np.sqrt(0.2 * 0.8 / (ROWS / 2))
    assert abs(y.mean()) < 4.5 / np.sqrt(ROWS)
    # The mean of y·x is w*/k in every patch, the noise's variance σ² in every entry.
    assert np.abs((y[:, None, None] * x).mean(0) - w / 5).max() < 4.5 * np.sqrt(
        (0.05**2 + 0.25) / ROWS
    )
    noise = residuals(task)
    assert np.abs(noise.var(0) / 0.05**2 - 1).max() < 4.5 * np.sqrt(2 / ROWS)
    assert np.abs(np.corrcoef(noise.reshape(ROWS, -1).T) - np.eye(20)).max() < 4.5 / np.sqrt(ROWS)


def test_fixed_position_always_uses_the_first_patch():
    w, x, y = drawn(sx.SignalTask(3, 4, 0.05, position="fixed"))
    strength = x @ w * y[:, None]
    assert (strength[:, 0] > 0.5).all()
    assert (np.abs(strength[:, 1:]) < 0.5).all()


def test_several_signals_sit_in_distinct_patches_uniformly():
    w, x, y = drawn(sx.SignalTask(5, 4, 0.05, signals=3))
    carries = x @ w * y[:, None] > 0.5
    assert (carries.sum(1) == 3).all()
    assert np.abs(carries.mean(0) - 0.6).max() < 4.5 * np.sqrt(0.6 * 0.4 / ROWS)
    # Every one of the ten sets of three patches is equally likely.
    codes = np.bincount(carries @ 2 ** np.arange(5), minlength=32) / ROWS
    assert (codes > 0).sum() == 10
    assert np.abs(codes[codes > 0] - 0.1).max() < 4.5 * np.sqrt(0.1 * 0.9 / ROWS)


def test_product_labels_are_the_product_of_two_independent_signs():
    w, x, y = drawn(sx.SignalTask(4, 3, 0.05, signals=2, label="product"))
    strength = x @ w
    seen = np.sign(strength) * (np.abs(strength) > 0.5)
    assert ((seen != 0).sum(1) == 2).all()
    signs = np.sort(seen, 1)[:, [0, -1]]
    both_equal = (
        signs[:, 0] * signs[:, 1] != -1
    )  # sorted ends are -1 and 1 exactly when the signs differ
    np.testing.assert_array_equal(np.where(both_equal, 1.0, -1.0), y)
    assert abs(y.mean()) < 4.5 / np.sqrt(ROWS)
    assert abs(seen.sum(1).mean()) < 4.5 * np.sqrt(
        2 / ROWS
    )  # no single sign is favoured: no linear rule helps
    assert abs((y * seen.sum(1)).mean()) < 4.5 * np.sqrt(2 / ROWS)


@pytest.mark.parametrize(
    "distribution, fourth", [("laplace", 6.0), ("uniform", 1.8), ("sign", 1.0)]
)
def test_other_noises_have_the_same_variance_and_their_own_fourth_moment(distribution, fourth):
    noise = residuals(sx.SignalTask(2, 3, 0.05, distribution=distribution)) / 0.05
    eighth = {"laplace": 2520.0, "uniform": 9.0, "sign": 1.0}[distribution]
    assert abs(noise.mean()) < 4.5 / np.sqrt(noise.size)
    # Standard errors from the fourth and eighth moments; 1e-5 for float32 where the variance of a
    # square is 0.
    assert abs((noise**2).mean() - 1.0) < 4.5 * np.sqrt((fourth - 1.0) / noise.size) + 1e-5
    assert abs((noise**4).mean() - fourth) < 4.5 * np.sqrt((eighth - fourth**2) / noise.size) + 1e-4


def test_uneven_noise_runs_linearly_over_the_patches():
    noise = residuals(sx.SignalTask(5, 4, 0.05, unevenness=0.8))
    measured = (noise**2).mean((0, 2)) / 0.05**2
    expected = 1 + 0.8 * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    assert np.abs(measured / expected - 1).max() < 4.5 * np.sqrt(2 / (4 * ROWS))


def test_dependent_noise_shares_its_variance_between_patches():
    noise = residuals(sx.SignalTask(4, 3, 0.05, dependence=0.3)) / 0.05
    assert np.abs(noise.var(0) - 1).max() < 4.5 * np.sqrt(2 / ROWS)
    for d in range(3):
        correlations = np.corrcoef(noise[:, :, d].T)[np.triu_indices(4, 1)]
        assert np.abs(correlations - 0.3).max() < 4.5 * (1 - 0.3**2) / np.sqrt(ROWS)
    assert abs(np.corrcoef(noise[:, 0, 0], noise[:, 1, 1])[0, 1]) < 4.5 / np.sqrt(
        ROWS
    )  # coordinates stay independent


@pytest.mark.parametrize(
    "options",
    [{}, {"signals": 3, "dependence": 0.5, "unevenness": 0.5}, {"signals": 2, "label": "product"}],
    ids=str,
)
def test_padding_keeps_the_rows_and_adds_zeros(options):
    task = sx.SignalTask(patches=5, dimension=3, noise=0.3, **options)
    frame = task.replace(patches=8, dimension=4)
    w, x, y = drawn(task, rows=50)
    wide_w, wide_x, wide_y = drawn(task, within=frame, rows=80)
    np.testing.assert_array_equal(wide_y[:50], y)
    np.testing.assert_allclose(wide_w[:3], w, rtol=1e-6)  # the norm may be summed in another order
    np.testing.assert_allclose(wide_x[:50, :5, :3], x, rtol=1e-5, atol=1e-7)
    assert not wide_w[3:].any()
    assert not wide_x[:, 5:].any()
    assert not wide_x[:, :, 3:].any()


def test_sizes_and_noise_may_be_traced_numbers():
    task = sx.SignalTask(5, 3, 0.3)
    frame = task.replace(patches=8, dimension=4)

    def rows(task):
        return task.draw(named(KEY, "rows"), 80, task.truth(named(KEY, "truth"), frame), frame).x

    np.testing.assert_allclose(
        jax.jit(rows)(task), drawn(task, within=frame, rows=80)[1], rtol=1e-5, atol=1e-7
    )


def test_another_key_gives_another_signal_and_direction_is_the_signal():
    task = sx.SignalTask(5, 3, 0.3)
    assert not np.allclose(drawn(task, rows=50)[0], drawn(task, rows=50, key=jax.random.key(12))[0])
    w = jnp.array([1.0, 0.0, 0.0])
    assert task.direction(w) is w


def test_baselines_are_given_where_they_are_known_and_only_there():
    assert sx.SignalTask(8, 3, 0.3).baselines() == {
        "constant": 0.5,
        "linear": best_linear_risk(8, 0.3),
        "bayes": bayes_risk(8, 0.3).risk,
    }
    assert sx.SignalTask(8, 3, 0.3, position="fixed").baselines()["bayes"] == pytest.approx(
        best_linear_risk(1, 0.3)
    )
    assert sx.SignalTask(8, 3, 0.3, signals=2).baselines()["linear"] == best_linear_risk(8, 0.3, 2)
    for options in [
        {"distribution": "laplace"},
        {"unevenness": 0.5},
        {"dependence": 0.5},
        {"signals": 2, "label": "product"},
    ]:
        assert sx.SignalTask(8, 3, 0.3, **options).baselines() == {"constant": 0.5}
    assert "bayes" in sx.SignalTask(8, 3, 0.3, unevenness=0.0, dependence=0.0).baselines()


def test_the_signal_task_cannot_be_enumerated_and_says_so():
    with pytest.raises(sx.SeparatrixError, match="SignalTask cannot be enumerated"):
        sx.SignalTask(2, 2, 0.3).population(None)
