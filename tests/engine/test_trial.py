"""Trials: identity, data, rows in frames and batches; the gradient oracles against NumPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import numpy_reference as reference
import separatrix as sx
from separatrix.engine import Rounding, frame_of
from separatrix.errors import ParameterError
from separatrix.streams import draw, named, numbered, root_key, uniform

BASE = sx.Trial(
    sx.SignalTask(4, 3, 0.3), sx.CNN(1, 2), sx.Learner(0.5, 7), 16, 5, sx.Measure(("risk",), 100, 2)
)


def test_the_identity_of_a_trial_is_stable():
    # A fixed hash, on purpose: ledgers on users' disks find their rows by it. If this fails, either
    # a field was renamed or got another default (then old rows are recomputed: is that wanted?) or
    # the meaning of a trial changed (then REVISION must be raised as well).
    assert BASE.identity == "c61ac22ec4b11f0336ceeae16a9b2c12"
    again = sx.Trial(
        sx.SignalTask(4, 3, 0.3),
        sx.CNN(1, 2),
        sx.Learner(0.5, 7),
        16,
        5,
        sx.Measure(("risk",), 100, 2),
    )
    assert again.identity == BASE.identity


def test_other_seeds_are_the_same_trials_as_those_made_one_by_one():
    seeds = [0, 1, 7, 2**31]
    for base in (BASE, BASE.replace(seed=0)):
        for quick, slow in zip(
            base.at_seeds(seeds), [base.replace(seed=seed) for seed in seeds], strict=True
        ):
            assert quick == slow
            assert hash(quick) == hash(slow)
            assert (quick.identity, quick.row_head()) == (slow.identity, slow.row_head())
            np.testing.assert_array_equal(quick.root(), slow.root())
    with pytest.raises(ParameterError, match="seed"):
        BASE.at_seeds([-1])


CHANGES = {
    "task": [
        sx.SignalTask(5, 3, 0.3),
        sx.SignalTask(4, 4, 0.3),
        sx.SignalTask(4, 3, 0.31),
        sx.SignalTask(4, 3, 0.3, position="fixed"),
        sx.SignalTask(4, 3, 0.3, signals=2),
        sx.SignalTask(4, 3, 0.3, signals=2, label="product"),
        sx.SignalTask(4, 3, 0.3, distribution="laplace"),
        sx.SignalTask(4, 3, 0.3, unevenness=0.0),
        sx.SignalTask(4, 3, 0.3, dependence=0.0),
        sx.PatternTask(4, 3),
        sx.PatternTask(5, 3),
        sx.PatternTask(4, 2),
        sx.PatternTask(4, 3, start=1),
        sx.PatternTask(4, 3, rule="random"),
        sx.PatternTask(4, 3, rule="random", rule_seed=1),
        sx.PatternTask(4, 1, rule="table", table=(1, -1)),
        sx.PatternTask(4, 3, probability=0.4),
        sx.PatternTask(4, 3, spread=True),
        sx.PatternTask(4, 3, hidden=True),
    ],
    "network": [
        sx.CNN(2, 2),
        sx.CNN(1, 3),
        sx.LCN(1, 2),
        sx.FCN(2),
        sx.CNN(1, 2, stride=2),
        sx.CNN(1, 2, activation=sx.Tanh()),
        sx.CNN(1, 2, activation=sx.LSA(0.1)),
        sx.CNN(1, 2, activation=sx.LSA(0.2)),
        sx.CNN(1, 2, readout="pooled"),
        sx.CNN(1, 2, bias=False),
        sx.CNN(1, 2, offset=True),
        sx.CNN(1, 2, initial=sx.Initial("normal")),
        sx.CNN(1, 2, initial=sx.Initial(scale=1.0)),
        sx.CNN(1, 2, initial=sx.Initial(readout=0.5)),
        sx.FCN(8, start=sx.CNN(1, 2)),
        sx.FCN(8, start=sx.CNN(1, 2, initial=sx.Initial(scale=1.0))),
    ],
    "learner": [
        sx.Learner(0.6, 7),
        sx.Learner(0.5, 8),
        sx.Learner(sx.Ramp(0.5, 0.5), 7),
        sx.Learner(sx.Stages(0.5, 0.5), 7),
        sx.Learner(0.5, 7, "hinge"),
        sx.Learner(0.5, 7, batch=4),
        sx.Learner(0.5, 7, optimizer="adam"),
        sx.Learner(0.5, 7, options=(("momentum", 0.5),)),
        sx.Learner(0.5, 7, projection="ball"),
        sx.Learner(0.5, 7, train=("weights",)),
        sx.Learner(0.5, 7, stop=sx.Stop(target=0.1)),
        sx.Learner(0.5, 7, stop=sx.Stop(metric="loss")),
        sx.Learner(0.5, 7, stop=sx.Stop(plateau=0.1)),
        sx.Learner(0.5, 7, stop=sx.Stop(patience=4)),
        sx.Learner(0.5, 7, stop=sx.Stop(ceiling=10.0)),
    ],
    "samples": [15, 17],
    "seed": [0, 6],
    "measure": [
        sx.Measure(("loss",), 100, 2),
        sx.Measure(("risk",), 101, 2),
        sx.Measure(("risk",), 100, 3),
        sx.Measure(("risk",), 100, 2, "log"),
    ],
    "precision": ["tf32"],
}


def test_the_identity_changes_with_every_field_of_every_part():
    trials = [
        BASE,
        *(BASE.replace(**{name: item}) for name, items in CHANGES.items() for item in items),
    ]
    assert len({trial.identity for trial in trials}) == len(trials)
    assert set(CHANGES) == {name for name in BASE.describe() if name != "type"}


def test_networks_and_learners_with_one_seed_see_the_same_data_and_other_sizes_fresh_ones():
    data, model = BASE.root()
    for network in CHANGES["network"]:
        other = BASE.replace(network=network).root()
        np.testing.assert_array_equal(other[0], data)
        assert (other[1] != model).any()
    for learner in CHANGES["learner"]:
        np.testing.assert_array_equal(BASE.replace(learner=learner).root(), BASE.root())
    for name in ("task", "samples", "seed"):
        for item in CHANGES[name]:
            assert (BASE.replace(**{name: item}).root()[0] != data).any()
    assert (data != model).any()


def test_columns_name_the_trial_and_every_plain_value():
    columns = BASE.row_head()
    assert columns["trial"] == BASE.identity
    assert columns["task.noise"] == 0.3
    assert columns["network.initial.weights"] == "scaled"
    assert columns["learner.train"] == '["weights", "bias", "readout", "offset"]'
    assert not any(isinstance(item, list | dict) for item in columns.values())


@pytest.mark.parametrize("spacing", ["even", "log"])
def test_measurements_begin_before_training_end_with_it_and_ascend(spacing):
    for steps in (1, 2, 7, 200):
        for times in (1, 2, 3, 10, 500):
            schedule = sx.Measure(times=times, spacing=spacing).schedule(steps)
            assert schedule[0] == 0
            assert schedule[-1] == steps
            assert (np.diff(schedule) > 0).all()
            assert len(schedule) <= times + 1
    np.testing.assert_array_equal(sx.Measure(times=3, spacing="log").schedule(100), [0, 1, 10, 100])


def same_numbers(a, b, tolerance):
    assert a.keys() == b.keys()
    for name, item in a.items():
        if name != "run.seconds" and not isinstance(item, str | None):
            np.testing.assert_allclose(item, b[name], rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("name", ["CNN", "LCN", "FCN"])
def test_a_padded_frame_gives_the_same_row(programs, signal_trials, name):
    trial = signal_trials[name]
    frame = frame_of(trial, Rounding(samples=4.0, sizes=2.0))
    assert frame.samples > trial.samples
    assert frame.task.patches > trial.task.patches
    assert frame.task.dimension > trial.task.dimension
    (exact,), (padded,) = programs.run([trial], trial), programs.run([trial], frame)
    # Sums over more (zero) terms in float32, over 20 steps.
    same_numbers(exact, padded, 1e-5)


def test_seeds_in_a_batch_give_the_rows_that_they_give_alone(programs, signal_trials):
    trials = [signal_trials["LCN"].replace(seed=seed) for seed in range(3)]
    alone = programs.run(trials, trials[0])
    together = programs.run(trials, trials[0], batch=3)
    for one, other in zip(alone, together):
        same_numbers(one, other, 1e-5)
    assert len({row["loss"] for row in alone}) == 3


def test_values_change_rows_without_changing_the_program(programs, signal_trials):
    trial = signal_trials["CNN"]
    (base,) = programs.run([trial], trial)
    before = programs.tally.programs
    others = [
        trial.replace(task=trial.task.replace(noise=0.2)),
        trial.replace(learner=trial.learner.replace(rate=1)),  # an integer is as good as a float
        trial.replace(network=trial.network.replace(activation=sx.LSA(0.2))),
        trial.replace(network=trial.network.replace(initial=sx.Initial("directions", scale=0.1))),
    ]
    rows = programs.run(others, trial)
    assert programs.tally.programs == before
    assert len({base["loss"], *(row["loss"] for row in rows)}) == 5


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
    """The trial's traces against hand-made steps on the rows `rows_at(step)` = (x, y, weight)."""
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
