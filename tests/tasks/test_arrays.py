"""Labelled arrays as a task: splits, weights, and trials that choose their moment."""

import jax
import numpy as np
import pytest

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.errors import SeparatrixError
from separatrix.learners import Cosine, Learner
from separatrix.networks import FCN
from separatrix.tasks.arrays import ArrayData, ArrayTask, SplitRows


def array_data(weight=None) -> ArrayData:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(90) % 9 == 0, 1.0, -1.0).astype(np.float32)
    x = (rng.normal(size=(90, 6, 1)) + 2 * y[:, None, None]).astype(np.float32)
    orders = np.stack([rng.permutation(90) for _ in range(2)]).astype(np.int32)
    learn = orders[:, :50]
    return ArrayData(
        SplitRows(
            x=x,
            y=y,
            learn=learn,
            check=orders[:, 50:70],
            test=orders[:, 70:],
            mean=np.zeros((2, 1), np.float32),
            scale=np.full((2, 1), 2.0, np.float32),
            weight=np.ones((2, 50), np.float32) if weight is None else weight(y[learn]),
            check_weight=np.full((2, 20), 0.05, np.float32),
        )
    )


def draw(task, rows):
    return task.draw(jax.random.key(1), rows, task.bind(None, task.arrays()))


def test_only_labelled_rows_of_the_split_are_drawn():
    data = array_data()
    task = ArrayTask(data.name, (6, 1), split=1, labels=7)
    x = np.asarray(draw(task, 400).x)[:, 0, 0]
    allowed = data.rows.x[data.rows.learn[1, :7], 0, 0] / 2
    assert set(np.round(x, 4)) == set(np.round(allowed, 4))


def test_weights_make_rare_classes_as_frequent():
    data = array_data(lambda y: np.where(y > 0, 8.0, 1.0).astype(np.float32))
    task = ArrayTask(data.name, (6, 1), labels=50)
    assert 0.3 < float((draw(task, 2000).y > 0).mean()) < 0.7


def test_a_trial_reports_the_moment_that_its_check_rows_choose():
    data = array_data()
    task = ArrayTask(data.name, (6, 1), labels=50)
    learner = Learner(Cosine(0.05), 16, oracle="online", batch=8, optimizer="adam")
    measure = Measure(test=20, times=4, check_rows=20, outcomes=True)
    trials = [Trial(task.replace(split=split), FCN(4), learner, 0, 0, measure) for split in (0, 1)]
    rows = Lab().run(Sweep(tuple(trials))).arrow.to_pylist()
    for row, split in zip(rows, (0, 1)):
        moment = int(np.argmin(row["trace.check"]))
        assert row["check"] == row["trace.check"][moment]
        assert row["risk"] == row["trace.risk"][moment]
        right = np.sign(row["outcomes.test"]) == data.rows.y[data.rows.test[split]]
        assert np.isclose(1 - right.mean(), row["risk"], atol=1e-6)
        assert len(row["outcomes.check"]) == 20


def test_the_moment_before_training_can_be_left_out():
    rows = array_data().rows
    y = rows.y.copy()
    y[rows.check[0]] *= -1  # what is learnt is wrong on the check rows
    data = ArrayData(rows._replace(y=y))
    task = ArrayTask(data.name, (6, 1), labels=50)
    learner = Learner(Cosine(0.05), 16, oracle="online", batch=8, optimizer="adam")
    whole = Measure(test=20, times=4, check_rows=20)
    trial = Trial(task, FCN(4), learner, 0, 0, whole)
    trained = trial.replace(measure=whole.replace(start_counts=False))
    first, second = Lab().run(Sweep((trial, trained))).arrow.to_pylist()
    assert np.argmin(first["trace.check"]) == 0
    assert first["check"] == first["trace.check"][0]
    assert second["trace.check"] == first["trace.check"]
    assert second["check"] == min(second["trace.check"][1:])


def test_arrays_that_are_gone_are_refused():
    with pytest.raises(SeparatrixError, match="no arrays 'nowhere' in this process"):
        ArrayTask("nowhere", (6, 1))
