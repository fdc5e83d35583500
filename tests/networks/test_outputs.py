"""Networks of several outputs: scores, losses, risks and training against NumPy; one output stays
what it was.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.learners.losses import logistic, squared
from separatrix.networks import embed
from separatrix.probes import class_risk


class Arms(sx.Task):
    """Three classes: which of three coordinates is the largest."""

    classes: int = sx.static(low=2, default=3)

    @property
    def shape(self):
        return (3, 1)

    def draw(self, key, rows, truth=None, within=None):
        x = jax.random.normal(key, (rows, 3, 1))
        return sx.Sample(x, jnp.argmax(x[:, :, 0], 1).astype(jnp.float32))


@pytest.mark.parametrize("readout", ["positions", "pooled"])
@pytest.mark.parametrize(
    "make",
    [lambda **o: sx.CNN(2, 3, **o), lambda **o: sx.LCN(2, 3, **o), lambda **o: sx.FCN(3, **o)],
)
def test_every_output_is_the_network_with_its_own_readout(make, readout):
    several, one = (make(readout=readout, offset=True, outputs=n) for n in (4, 1))
    shape, x = (5, 2), jax.random.normal(jax.random.key(1), (6, 5, 2))

    def run(key):
        params = several.init(key, shape)
        params = params._replace(offset=jnp.arange(4.0))
        singles = [
            params._replace(readout=params.readout[..., c], offset=params.offset[c])
            for c in range(4)
        ]
        wide, big = embed(several, params, shape, to="full")
        return (
            params,
            several.apply(params, x),
            jnp.stack([one.apply(p, x) for p in singles], 1),
            wide.apply(big, x),
        )

    params, scores, expected, embedded = jax.jit(run)(jax.random.key(0))
    assert scores.shape == (6, 4)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(embedded, expected, rtol=1e-5, atol=1e-5)
    assert several.parameter_count(shape) == sum(np.size(part) for part in params)
    assert several.flops(shape) == one.flops(shape) + 3 * (
        one.flops(shape) // (several.windows(shape).span + 1)
    )


def test_losses_of_several_outputs_against_numpy():
    rng = np.random.default_rng(0)
    scores, y = rng.standard_normal((20, 5)) * 3, rng.integers(0, 5, 20)
    softmax = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    given = jnp.asarray(scores, jnp.float32), jnp.asarray(y, jnp.float32)
    np.testing.assert_allclose(
        logistic(*given), -np.log(softmax[np.arange(20), y]), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(squared(*given), ((scores - np.eye(5)[y]) ** 2).sum(1), rtol=1e-5)
    # The gradient of the cross-entropy is softmax minus the label's unit vector.
    slope = jax.grad(lambda s: logistic(s, given[1]).sum())(given[0])
    np.testing.assert_allclose(slope, softmax - np.eye(5)[y], rtol=1e-4, atol=1e-6)
    # Two classes with scores (0, h) are the logistic loss of h with the label ±1.
    h, sign = jnp.asarray(scores[:, 0], jnp.float32), jnp.asarray(2.0 * (y > 1) - 1, jnp.float32)
    pair = jnp.stack([jnp.zeros(20), h], 1)
    np.testing.assert_allclose(
        logistic(pair, (sign + 1) / 2), logistic(h, sign), rtol=1e-5, atol=1e-6
    )


def test_the_risk_of_classes_shares_ties_fairly():
    rng = np.random.default_rng(1)
    scores, y, weight = (
        rng.integers(0, 3, (60, 4)),
        rng.integers(0, 4, 60),
        rng.dirichlet(np.ones(60)),
    )
    expected = 0.0
    for row, label, w in zip(scores, y, weight):
        best = np.flatnonzero(row == row.max())
        expected += w * (1 - (label in best) / len(best))
    measured = class_risk(
        jnp.asarray(scores, jnp.float32),
        jnp.asarray(y, jnp.float32),
        jnp.asarray(weight, jnp.float32),
    )
    assert float(measured) == pytest.approx(expected, rel=1e-5)
    assert float(
        class_risk(jnp.zeros((3, 4)), jnp.arange(3.0), jnp.full(3, 1 / 3))
    ) == pytest.approx(0.75)


def test_a_trial_of_three_classes_learns_them(programs):
    measure = sx.Measure(("risk", "train_risk"), test=500)
    trial = sx.Trial(
        Arms(), sx.FCN(16, offset=True, outputs=3), sx.Learner(0.5, 200), 400, 0, measure
    )
    (row,) = programs.run([trial], trial)
    assert row["trace.loss"][0] > 0.5
    # Which coordinate is largest is a linear rule for three outputs; chance is 2/3.
    assert row["risk"] < 0.1
    assert row["train_risk"] < 0.1


def test_outputs_that_do_not_fit_are_one_sentence():
    learner = sx.Learner(1.0, 1)
    for call, words in [
        (lambda: sx.FCN(3, outputs=0), "the `outputs` of Network must be an integer >= 1, got 0"),
        (
            lambda: sx.FCN(3, outputs=3, readout="sum"),
            "the `readout` of Network must be trained when there are several outputs",
        ),
        (
            lambda: sx.Trial(Arms(), sx.FCN(3, outputs=4), learner, 8),
            r"the `outputs` of Network must be the number of the task's classes \(3\), got 4",
        ),
        (
            lambda: sx.Trial(Arms(), sx.FCN(3), learner, 8),
            r"the `outputs` of Network must be the number of the task's classes \(3\), got 1",
        ),
        (
            lambda: sx.Trial(sx.PatternTask(4, 2), sx.FCN(3, outputs=2), learner, 8),
            "the `outputs` of Network must be 1 for labels of ±1, got 2",
        ),
        (
            lambda: sx.Trial(Arms(), sx.FCN(3, outputs=3), sx.Learner(1.0, 1, "hinge"), 8),
            "the `loss` of Learner must be one of logistic, squared",
        ),
        (
            lambda: sx.FCN(3, outputs=3, start=sx.CNN(1)),
            "the `start` of Network must be a network with the same `outputs`",
        ),
    ]:
        with pytest.raises(sx.ParameterError, match=words):
            call()
