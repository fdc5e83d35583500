"""Which programs are traced with kernels, and that they end where others do."""

import itertools

import jax
import numpy as np
import pytest

import separatrix as sx
from kernel_cases import trial_below_the_edge
from separatrix.engine import policy
from separatrix.networks import kernels as door
from separatrix.networks.kernels import fused, streaming


def test_a_whole_batch_of_trials_ends_where_the_unfused_implementation_does(monkeypatch):
    trial, rows = trial_below_the_edge(), {}
    asked = []
    monkeypatch.setattr(
        streaming, "call", lambda *given, own=streaming.call: asked.append(given[1]) or own(*given)
    )
    for name, operations in {"product": np.inf, "fused": 0.0}.items():
        monkeypatch.setitem(policy.KERNELS, jax.default_backend(), operations)
        programs = sx.engine.Programs()
        rows[name] = programs.run(trial.at_seeds(range(4)), trial, 2)  # two batches, one program
        assert programs.tally.kernels == (name == "fused")
        assert set(asked) == (set() if name == "product" else {"units_forward", "units_backward"})
    for name, i in itertools.product(("loss", "sharpness"), range(2)):
        # Thirty steps below the edge of stability do not make errors grow; Lanczos stops at a
        # residual of 1e-3, an error of about its square.
        np.testing.assert_allclose(
            rows["fused"][i][f"trace.{name}"], rows["product"][i][f"trace.{name}"], rtol=1e-4
        )


def test_where_kernels_do_not_compile_a_program_is_made_without_them_and_says_so(monkeypatch):
    def fail(*_):
        raise NotImplementedError("no such device")

    trial = trial_below_the_edge().replace(measure=sx.Measure((), test=1))
    expected = sx.engine.Programs().run([trial], trial, 1)
    monkeypatch.setitem(policy.KERNELS, jax.default_backend(), 0.0)
    monkeypatch.setattr(streaming, "call", fail)
    programs = sx.engine.Programs()
    with pytest.warns(
        UserWarning,
        match="a program was made without kernels, which did not compile: no such device",
    ):
        assert programs.run([trial], trial, 1)[0]["loss"] == expected[0]["loss"]
    assert programs.tally.kernels == 0


def test_small_programs_have_no_kernels(monkeypatch):
    monkeypatch.setitem(policy.KERNELS, jax.default_backend(), 1e13)
    monkeypatch.setattr(streaming, "call", lambda *_: pytest.fail("a kernel"))
    trial = trial_below_the_edge().replace(measure=sx.Measure((), test=1))
    sx.engine.Programs().run([trial], trial, 1)


@pytest.mark.parametrize(
    ("network", "precision", "kernels"),
    [
        (sx.FCN(8, activation=sx.LSA(0.4)), "float32", True),
        (sx.FCN(8, bias=False), "float32", True),
        (sx.FCN(8), "tf32", False),  # in less precision the library's products are faster
        (sx.FCN(64), "float32", False),  # as they are where a network is not thin
    ],
)
def test_a_thin_full_network_with_many_inputs_has_kernels_and_ends_where_others_do(
    monkeypatch, network, precision, kernels
):
    learner = sx.Learner(0.1, 6, "logistic")
    trial = sx.Trial(
        sx.SignalTask(8, 16, 0.3),
        network,
        learner,
        samples=40,
        precision=precision,
        measure=sx.Measure((), test=16),
    )
    expected = sx.engine.Programs().run(trial.at_seeds(range(2)), trial, 2)
    turned = []
    for module in (door, fused):
        monkeypatch.setattr(
            module,
            "row_by_row",
            lambda patches, own=fused.row_by_row: turned.append(patches) or own(patches),
        )
    for least in (policy.KERNELS, policy.KERNELS_OF_FULL):
        monkeypatch.setitem(least, jax.default_backend(), 0.0)
    programs = sx.engine.Programs()
    found = programs.run(trial.at_seeds(range(2)), trial, 2)
    assert programs.tally.kernels == kernels
    assert len(turned) == kernels  # once, outside of the steps
    for name in ("loss", "risk"):
        np.testing.assert_allclose(
            [row[name] for row in found], [row[name] for row in expected], rtol=1e-5
        )


@pytest.mark.parametrize(
    ("task", "least"), [(sx.SphereTask(10, 5, 0.5), 0.0), (sx.SignalTask(8, 16, 0.3), 5e14)]
)
def test_a_full_network_with_few_inputs_or_less_to_do_has_no_kernels(monkeypatch, task, least):
    monkeypatch.setitem(policy.KERNELS, jax.default_backend(), 0.0)
    monkeypatch.setitem(policy.KERNELS_OF_FULL, jax.default_backend(), least)
    trial, programs = (
        trial_below_the_edge().replace(
            task=task, network=sx.FCN(8), measure=sx.Measure((), test=1)
        ),
        sx.engine.Programs(),
    )
    programs.run([trial], trial, 1)
    assert programs.tally.kernels == 0


def test_a_network_with_scores_of_its_own_knows_nothing_of_kernels(monkeypatch):
    class Loud(sx.Network):
        """Twice the outputs."""

        def scores(self, params, patches, layout):
            return 2 * super().scores(params, patches, layout)

    trial = sx.Trial(
        sx.SignalTask(8, 16, 0.3),
        Loud("full", 8),
        sx.Learner(0.1, 2),
        samples=40,
        measure=sx.Measure((), test=16),
    )
    for least in (policy.KERNELS, policy.KERNELS_OF_FULL):
        monkeypatch.setitem(least, jax.default_backend(), 0.0)
    programs = sx.engine.Programs()
    assert np.isfinite(programs.run([trial], trial, 1)[0]["loss"])
    assert programs.tally.kernels == 0
