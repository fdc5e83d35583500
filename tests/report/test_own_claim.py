"""A claim of one's own: the verdict on planted truths, and the guard rails."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.errors import ParameterError
from separatrix.inference import SearchPlan, Tally, estimate_threshold
from separatrix.report.own_claim import (
    _figure,
    _guard_notes,
    _judged,
    _rankings,
    sampled_baselines,
)

SIZES = [(("d", 8.0),), (("d", 16.0),)]


def threshold(at):
    """A threshold near `at`, from many clear trials."""
    return estimate_threshold([Tally(at / 2, 0, 40), Tally(at, 20, 40), Tally(2 * at, 40, 40)])


@pytest.mark.parametrize(
    "factors, verdict",
    [((8, 8), "supported"), ((8, 1 / 8), "refuted"), ((8, 1), "undecided")],
)
def test_planted_ratios_come_out(factors, verdict):
    thresholds = {("A", size): threshold(64.0) for size in SIZES}
    thresholds |= {("B", size): threshold(64.0 * f) for size, f in zip(SIZES, factors)}
    found = _judged("", ["A", "B"], SIZES, thresholds)
    assert found.verdict == verdict
    assert found.claim.statement == "A needs fewer samples than B wherever measured."


class Coin(sx.Task):
    """The label is the sign of the first of two numbers; a linear rule knows it."""

    bits: int = sx.static(low=1, default=2)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.bits, 1)

    def draw(self, key, rows, truth=None, within=None):
        x = jax.random.normal(key, (rows, *self.shape))
        return sx.Sample(x, jnp.sign(x[:, 0, 0]))


def test_baselines_are_those_of_the_rules():
    risks = sampled_baselines(Coin(2), rows=1000)
    assert risks["linear"] < 0.03
    assert risks["nearest"] < 0.1
    # The rarer class has a share within four standard deviations of one half.
    assert abs(risks["constant"] - 0.5) < 4 * math.sqrt(0.25 / 1000)


def test_guard_rails_name_what_to_change():
    plan = SearchPlan(minimum=2, maximum=64, max_trials=12, width=0.1)
    ran_out = estimate_threshold([Tally(16, 2, 4), Tally(32, 2, 4), Tally(64, 4, 4)])
    never = estimate_threshold([Tally(64, 0, 40)])
    notes = _guard_notes(
        {("A", SIZES[0]): ran_out, ("B", SIZES[0]): never},
        plan,
        {SIZES[0]: 0.1},
        {SIZES[0]: {"constant": 0.5, "linear": 0.05, "nearest": 0.2}},
    )
    said = {note.code: note.message for note in notes}
    assert said["trials-ran-out"] == "A, d = 8: trials ran out (12); raise max_trials"
    assert "the linear rule" in said["goal-too-easy"]
    assert said["bound-only"].startswith("B, d = 8: 64 samples do not reach the goal")
    assert _rankings({}, [object()], ["A"], 2)[1][0].code == "too-few-cells"


def test_bounds_are_a_series_of_their_own():
    thresholds = {("A", SIZES[0]): threshold(64.0)}
    thresholds["A", SIZES[1]] = estimate_threshold([Tally(64, 0, 40)])
    roles = [series.role for series in _figure(["A"], ["d"], SIZES, thresholds, "").series]
    assert roles == ["measured", "bound"]


def test_one_call_from_tasks_to_a_page(tmp_path):
    learner = sx.Learner(rate=0.1, steps=30, optimizer="adam")
    found = sx.compare(
        lambda d: Coin(int(d)),
        {"narrow": lambda task: sx.FCN(width=4), "wide": sx.FCN(width=8)},
        over={"d": [2]},
        goal=0.2,
        learner=learner,
        samples=(2, 32),
        max_trials=8,
        lab=sx.Lab(workers=0),
        measure=sx.Measure(test=128),
    )
    assert found.verdict in ("supported", "refuted", "undecided")
    assert len(found.to_frame()) == 2
    assert len(repr(found).splitlines()) <= 10
    assert "<img" in found._repr_html_()
    assert found.verdict in found.report(tmp_path / "run").read_text(encoding="utf-8")
    assert found.plot(tmp_path / "figure.pdf").exists()


def test_without_a_learner_a_note_says_which_one_was_used(monkeypatch):
    monkeypatch.setattr("separatrix.report.own_claim.DEFAULT_RATE", 0.1)
    monkeypatch.setattr("separatrix.report.own_claim.DEFAULT_STEPS", 30)
    found = sx.compare(
        lambda d: Coin(int(d)),
        {"narrow": sx.FCN(width=4), "wide": sx.FCN(width=8)},
        over={"d": [2]},
        goal=0.2,
        samples=(2, 32),
        max_trials=8,
        lab=sx.Lab(workers=0),
        measure=sx.Measure(test=128),
    )
    assert "Adam, rate 0.1, 30 steps" in found.notes[-1].message


def test_one_network_is_not_a_comparison():
    with pytest.raises(ParameterError, match="at least two"):
        sx.compare(
            lambda d: Coin(d), {"A": sx.FCN(2)}, {"d": [2]}, 0.1, sx.Learner(rate=1.0, steps=1)
        )
    assert np.isfinite(threshold(64.0).estimate)
