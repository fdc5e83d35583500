"""The rule, on measurements that are made up."""

import numpy as np
import pytest

from separatrix.diagnosis.rounds import BLIND, Answer, Bench, arm_name
from separatrix.diagnosis.settings import Settings
from separatrix.diagnosis.verdict import UNSETTLED, beaten_by, held_back, judge

TWISTED = arm_name("shared", "twisted")


class MadeUp(Bench):
    """A bench whose answers are drawn about given scores."""

    def __init__(self, scores: dict[str, float], splits: int = 6, spread: float = 0.004):
        rng = np.random.default_rng(0)
        self.settings = Settings(splits=splits)
        self.sizes = type("Sizes", (), {"labels": (400, 1600)})()
        self.constant, self.answers = 0.5, {}
        self.reserve, self.balanced, self.metric = 2.0, False, "accuracy"
        rows = np.arange(splits * 1000).reshape(splits, 1000)
        arrays = type("SplitRows", (), {"test": rows, "learn": rows})()
        self.arrays = type("ArrayData", (), {"rows": arrays})()
        for split in range(splits):
            luck = rng.random(1000)  # the same rows are hard for every model
            for model, score in scores.items():
                for labels in (400, 1600):
                    right = luck < score + spread * rng.normal()
                    self.answers[model, labels, split] = Answer(right.astype(float), 0.0)


def scores(**changes: float) -> dict[str, float]:
    out = {"shared": 0.9, "local": 0.8, TWISTED: 0.7, **dict.fromkeys(BLIND, 0.7)}
    return out | {name.replace("_", " "): score for name, score in changes.items()}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "convolution pays"),
        ({"local": 0.92}, "locality pays, sharing does not"),
        ({"shared, twisted": 0.9}, "locality pays, sharing does not"),
        ({"boosted trees": 0.9}, "neither pays"),
        ({"shared": 0.7, "local": 0.7}, "neither pays"),
        ({"shared, scrambled": 0.9, "local": 0.7}, "neither pays"),
        ({"linear": 0.95}, "neither pays"),
    ],
)
def test_verdicts(changes, verdict):
    assert judge(MadeUp(scores(**changes))).verdict == verdict


def test_what_is_not_sure_is_left_open():
    assert judge(MadeUp(scores(local=0.885), splits=2, spread=0.03)).verdict in (
        UNSETTLED,
        "cannot tell",
    )
    told = judge(MadeUp(dict.fromkeys(scores(), 0.5), splits=2, spread=0.05))
    assert told.verdict != "convolution pays"
    assert not told.learned or told.verdict == "cannot tell"


def test_a_simple_model_that_beats_every_network():
    assert beaten_by(MadeUp(scores(linear=0.97))) == "linear"
    assert beaten_by(MadeUp(scores())) == ""


def test_neither_pays_is_held_back_where_the_data_do_not_bear_it():
    bench = MadeUp(scores(linear=0.95))
    sure = judge(bench)
    assert held_back(bench, sure) == sure
    bench.reserve = 40.0
    held = held_back(bench, sure)
    assert (held.verdict, held.locality, held.held) == ("cannot tell", "cannot tell", True)
    # The longest budget compares as many labels as are ever compared.
    bench.settings = Settings(budget=60.0 * 8**3)
    assert held_back(bench, sure) == sure
    bench.balanced = True  # accuracy on skewed classes
    skewed = held_back(bench, sure)
    assert (skewed.verdict, skewed.held) == ("cannot tell", False)
    pays = judge(MadeUp(scores()))
    bench.reserve = 40.0
    assert held_back(bench, pays) == pays
