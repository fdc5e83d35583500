"""What the floors count, against counts by hand; the PyTorch programs against each other and
against the package; failures as sentences.
"""

import functools
import importlib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.learners import Rows, empirical_loss
from separatrix.learners.descent import project
from separatrix.networks import Params, Patches

SMALL = {  # each connectivity, readout and activation that the shapes have
    "full": (sx.SignalTask(3, 4, 0.3), sx.FCN(5, bias=False), sx.Learner(0.1, 2)),
    "local": (sx.SignalTask(3, 4, 0.3), sx.LCN(1, 5), sx.Learner(0.1, 2)),
    "pooled": (
        sx.SphereTask(12, patch=4, noise=1.0),
        sx.CNN(4, 5, stride=4, readout="pooled", offset=True),
        sx.Learner(0.2, 2, "squared"),
    ),
    "summed": (
        sx.SignalTask(3, 4, 0.3),
        sx.FCN(3, activation=sx.LSA(0.1), readout="sum", bias=False),
        sx.Learner(9.0, 2, projection="ball"),
    ),
}


@pytest.fixture
def floors(monkeypatch):
    """The benchmark, which finds its neighbours as a script does."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("floors")


@pytest.fixture
def plain(floors):
    pytest.importorskip("torch")
    return importlib.import_module("floors_torch")


def trials_of(which, count=2):
    task, network, learner = SMALL[which]
    return [
        sx.Trial(task, network, learner, 7, seed, sx.Measure(probes=(), test=1))
        for seed in range(count)
    ]


def test_counts_are_those_by_hand(floors):
    # 512 rows of 400 inputs into 64 units: 400 multiply-adds a unit, two operations each, forward
    # and for the gradient; no biases.
    found = floors.counts_of(floors.trials_of("FCN-64", 2, 3)[0])
    assert found == floors.Counts(
        flops=2 * 2 * 512 * 64 * 400,
        parameter_bytes=4 * (64 * 400 + 64),
        input_bytes=4 * 512 * 400,
        hidden_bytes=4 * 512 * 64,
    )
    # 40 disjoint windows of 10 numbers, 256 filters with a bias, a readout a filter and an offset.
    found = floors.counts_of(floors.trials_of("sphere-CNN", 2, 3)[0])
    assert found == floors.Counts(
        4 * 1024 * 40 * 256 * 10, 4 * (256 * 11 + 256 + 1), 4 * 1024 * 400, 4 * 1024 * 40 * 256
    )
    # 30 units over 30 patches of 30, and no readout to train.
    found = floors.counts_of(floors.trials_of("signal-FCN", 2, 3)[0])
    assert found == floors.Counts(
        4 * 27_000 * 30 * 900, 4 * 30 * 900, 4 * 27_000 * 900, 4 * 27_000 * 30
    )


def test_products_are_those_of_the_other_benchmark(floors):
    networks = importlib.import_module("networks")
    for name in ("FCN-20", "FCN-64", "FCN-400", "LCN", "CNN"):
        assert floors.counts_of(floors.trials_of(name, 1, 3)[0]).flops == networks.products(name)


def test_floors_are_counts_over_ceilings(floors):
    found = floors.Counts(
        flops=100.0, parameter_bytes=1.0, input_bytes=10.0, hidden_bytes=1000.0
    ).floors(3, peak=50.0, bandwidth=2.0)
    assert found == {"products": 6.0, "bytes": 3 * 22 / 2, "bytes, with activations": 3 * 2022 / 2}


@pytest.mark.parametrize(
    ("name", "networks", "steps"), [("LCN", 7, 3), ("signal-FCN", 7, 9), ("sphere-FCN", 5, 30)]
)
def test_a_shape_has_the_networks_and_steps_that_fit_it(floors, name, networks, steps):
    found = floors.trials_of(name, 7, 3)
    assert len({trial.identity for trial in found}) == networks
    assert {trial.learner.steps for trial in found} == {steps}


def test_what_ends_a_program_becomes_a_sentence(floors):
    def fails():
        raise ValueError("a | b\nc")

    def forever():
        while True:
            pass

    assert floors.attempt(fails, 60.0) == {"not_measured": "ValueError: a / b c"}
    assert floors.attempt(forever, 0.01) == {"not_measured": "stopped after 0.01 s"}
    assert floors.attempt(lambda: {"seconds_a_step": 1.0}, 60.0) == {"seconds_a_step": 1.0}


def test_the_package_is_timed(floors):
    found = floors.time_package(trials_of("full"), "float32")
    assert found["seconds_a_step"] > 0


def test_pytorch_programs_take_the_same_step(plain):
    plain.check("cpu")


def test_programs_that_take_another_step_are_refused(plain):
    import torch

    before, right = {"weights": torch.zeros(3)}, {"weights": torch.tensor([1.0, 2.0, 3.0])}
    plain.close({"weights": right["weights"] + 1e-4}, right, before)
    for wrong in (right["weights"] + 1e-2, right["weights"] * torch.nan):
        with pytest.raises(AssertionError, match="weights of two programs differ"):
            plain.close({"weights": wrong}, right, before)


def as_package(which, params):
    """The parameters of PyTorch's stacked models as the package lays them out."""
    axes = {name: np.asarray(part) for name, part in params.items()}
    if which == "local":
        return Params(
            **axes
            | {"weights": np.swapaxes(axes["weights"], 2, 3)}
            | {"bias": axes["bias"][:, :, 0]}
        )
    return Params(
        **axes | {name: axes[name][:, None] for name in ("weights", "bias") if name in axes}
    )


def test_pytorch_takes_the_steps_of_the_package(floors, plain):
    def stepped(which, start, x, y):
        task, network, learner = SMALL[which]
        layout, rows = (
            network.layout(task.shape),
            Rows(Patches(jnp.swapaxes(x, 1, 2)), y, jnp.full(7, 1 / 7)),
        )
        slope = jax.grad(lambda params: empirical_loss(learner, network, layout, params, rows))(
            start
        )
        return project(
            jax.tree.map(lambda p, g: p - learner.rate.level * g, start, slope), learner.projection
        )

    cases = {which: floors.case_of(trials_of(which)) for which in SMALL}
    given = {
        which: (as_package(which, case.params), case.x, case.y) for which, case in cases.items()
    }
    every = jax.jit(
        lambda given: {
            which: jax.vmap(functools.partial(stepped, which))(*given[which]) for which in given
        }
    )(given)
    for which, expected in every.items():
        assert np.abs(expected.weights - given[which][0].weights).max() > 1e-3
        params, step, x, y = plain.stacked_step(cases[which], "cpu")
        # Sums of at most 12 terms in float32, at numbers of about 1; a wrong step is off by its
        # length, more than 1e-3.
        close = functools.partial(np.testing.assert_allclose, atol=2e-6, err_msg=which)
        jax.tree.map(close, as_package(which, step(params, x, y)), expected)


@pytest.mark.parametrize("program", [0, 1])
def test_pytorch_is_timed(plain, program):
    found = plain.measure(
        plain.PROGRAMS[program], plain.tiny_cases()[0], steps=2, limit=10.0, platform="cpu"
    )
    assert found["seconds_a_step"] > 0


def test_other_implementations_are_timed_beside_the_packages(floors, monkeypatch):
    monkeypatch.setattr(floors, "case_of", lambda trials: None)
    names = {
        which: list(floors.programs_of(trials_of(which), 1, 60.0, "cpu", ("product", "fused")))
        for which in ("full", "local")
    }
    assert (
        names["full"][:3]
        == names["local"][:3]
        == ["Separatrix, float32", "Separatrix, tf32", "Separatrix, float32, fused"]
    )
    wide = [trial.replace(network=trial.network.replace(width=8)) for trial in trials_of("local")]
    assert floors.time_implementation(wide, "float32", "fused")["seconds_a_step"] > 0
    with pytest.raises(
        RuntimeError, match="no program had kernels"
    ):  # with few units there are none
        floors.time_implementation(trials_of("local"), "float32", "fused")
