"""Every probe on whole trials, against NumPy; probes that do not fit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import numpy_reference as reference
import separatrix as sx
from moments import moment
from separatrix.networks import Params
from separatrix.streams import named, root_key


@pytest.fixture(scope="module")
def ingredients(signal_trials):
    """The data of the trials (networks with one seed see the same) and each one's initial weights,
    drawn from their streams.
    """
    roots = {name: trial.root() for name, trial in signal_trials.items()}
    some = signal_trials["CNN"]
    task = some.task

    def draw(roots):
        data = root_key(roots["CNN"][0])
        truth = task.truth(named(data, "truth"))
        train = task.draw(named(data, "train"), some.samples, truth)
        test = task.draw(named(data, "test"), some.measure.test, truth)
        starts = {
            name: t.network.init(named(root_key(roots[name][1]), "init"), task.shape).weights
            for name, t in signal_trials.items()
        }
        return (truth, train.x, train.y, test.x, test.y), starts

    return jax.tree.map(
        lambda item: np.asarray(item, np.float64), jax.device_get(jax.jit(draw)(roots))
    )


def expected_row(trial, step, weights, initial, truth, train, test, level):
    """What every probe should say at one moment, spelled out unit by unit."""
    network, (x, y), (tx, ty) = trial.network, train, test
    patches = reference.patches_of(x, network.field, 1)
    params = {"weights": weights}
    loss, gradient = reference.loss_and_gradient(
        network, params, patches, y, np.full(len(y), 1 / len(y)), "logistic", level
    )
    dimension = len(truth)
    aligned, drifts, pushes = [], [], []
    for w, g in zip(
        weights.reshape(-1, weights.shape[-1]), gradient["weights"].reshape(-1, weights.shape[-1])
    ):
        inner = w.reshape(-1, dimension) @ truth
        best = int(np.argmax(inner))
        aligned.append(inner[best] / np.linalg.norm(w))
        rest = w.reshape(-1, dimension).copy()
        rest[best] -= inner[best] * truth
        drifts.append(np.linalg.norm(rest))
        pushes.append(-(g.reshape(-1, dimension) @ truth)[best])
    group, unit, area, channel = np.indices(
        (*weights.shape[:2], weights.shape[-1] // dimension, dimension)
    )
    places = np.cos(1.0 + 1.1 * group + 1.7 * unit + 0.3 * area + 2.3 * channel)
    return {
        "step": step,
        "loss": loss,
        "risk": reference.risk(network, params, reference.patches_of(tx, network.field, 1), ty),
        "train_risk": reference.risk(network, params, patches, y),
        "alignment": np.mean(aligned),
        "drift": np.mean(drifts),
        "signal_gradient": np.mean(pushes),
        "weight_norm": np.linalg.norm(weights),
        "weight_shift": np.linalg.norm(weights - initial),
        "weight_gradient_norm": np.linalg.norm(gradient["weights"]),
        "readout_norm": 0.0,
        "checksum": (weights.reshape(places.shape) * places).sum(),
    }


@pytest.mark.parametrize("name", ["CNN", "LCN", "FCN"])
def test_a_whole_trial_is_the_numpy_training_loop_with_every_probe(
    programs, signal_trials, ingredients, name
):
    trial = signal_trials[name]
    (truth, x, y, tx, ty), starts = ingredients
    weights = starts[name]
    (row,) = programs.run([trial], trial)
    patches = reference.patches_of(x, trial.network.field, 1)
    rows = patches, y, np.full(len(y), 1 / len(y))

    def level(step):
        return 0.3 * min(step / 10, 1.0)

    params = {"weights": weights}
    for index, step in enumerate([0, 4, 8, 12, 16, 20]):
        if step:
            begin = step - 4
            params = reference.descend(
                trial.network,
                params,
                lambda _: rows,
                4,
                2.0,
                "logistic",
                "ball",
                lambda s, begin=begin: level(begin + s),
            )
        expected = expected_row(
            trial, step, params["weights"], weights, truth, (x, y), (tx, ty), level(step)
        )
        for probe, value in expected.items():
            # Float32 against float64 over 20 steps; a risk may differ by one test row whose score
            # is next to 0.
            tolerance = 1.01 / 200 if probe == "risk" else 1e-4
            assert row[f"trace.{probe}"][index] == pytest.approx(value, rel=1e-4, abs=tolerance), (
                probe,
                step,
            )
    for probe in trial.measure.probes:
        assert row[probe] == row[f"trace.{probe}"][-1]
    assert row["status"] == "exhausted"
    assert row["steps"] == 20
    assert row["loss"] < row["trace.loss"][0] - 0.05  # it did learn


def test_probes_that_do_not_fit_the_trial_are_one_sentence():
    learner = sx.Learner(rate=1.0, steps=1)
    for name in ("alignment", "drift", "signal_gradient"):
        with pytest.raises(
            sx.ParameterError,
            match=f"the `probes` of Measure must be without alignment probes .* got '{name}'",
        ):
            sx.Trial(sx.PatternTask(8, 3), sx.CNN(3), learner, 8, measure=sx.Measure((name,)))
    for name in ("off_locality", "off_sharing"):
        with pytest.raises(
            sx.ParameterError,
            match=f"the `probes` of Measure must be without subspace probes .* got '{name}'",
        ):
            sx.Trial(sx.SignalTask(4, 3, 0.3), sx.FCN(3), learner, 8, measure=sx.Measure((name,)))
        with pytest.raises(
            sx.SeparatrixError, match="subspace probes need a network that starts inside another"
        ):
            sx.PROBES[name].measure(moment(Params(jnp.zeros((1, 1, 2))), sx.FCN(1), (2, 1), None))
    with pytest.raises(
        sx.SeparatrixError, match="alignment probes need a task with a signal direction"
    ):
        sx.PROBES["alignment"].measure(
            moment(Params(jnp.zeros((1, 1, 2))), sx.FCN(1), (2, 1), None)
        )
