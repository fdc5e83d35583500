"""Which numbers of labels are compared."""

import time

import numpy as np

from separatrix.data.handed import labelled_from
from separatrix.diagnosis import Settings
from separatrix.diagnosis.api import conclude, splitting_of
from separatrix.diagnosis.data_splits import LEAST
from separatrix.diagnosis.rounds import CLASS_ROWS, Bench, lower_labels
from separatrix.engine import Lab

from .conftest import SHORT


def bench_of(x, y, **changes):
    data = labelled_from(x, y, kind="signal", name="rows")
    s = Settings(**{"budget": 600.0, "splits": 2, "first": 2, **changes})
    return Bench(data, splitting_of(data), s, Lab(workers=0), time.monotonic())


def shifted(share: float = 0.5, rows: int = 2400, by: float = 5.0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes so far apart that a linear model needs a handful of labels."""
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < share).astype(int)
    return rng.normal(size=(rows, 16)) + by * y[:, None], y


def test_labels_stay_where_there_is_room_for_a_gain():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2400, 16))
    bench = bench_of(x, x @ rng.normal(size=16) + 2.0 * rng.normal(size=2400) > 0)
    before = bench.sizes
    lower_labels(bench)
    assert bench.sizes == before
    assert bench.ceiling is None


def test_fewer_labels_are_compared_where_a_simple_model_is_near_perfect():
    bench = bench_of(*shifted())
    small, large = bench.sizes.labels
    lower_labels(bench)
    low, top = bench.sizes.labels
    assert LEAST <= low < small
    assert top // 4 == low
    assert top < large
    assert low // 4 < LEAST  # here no number of labels leaves room: the fewest are compared
    assert bench.ceiling is not None
    assert bench.ceiling.score >= 0.99


def test_the_rarest_class_keeps_some_labels():
    bench = bench_of(*shifted(share=0.03))
    lower_labels(bench)
    assert 0.03 * bench.sizes.labels[0] >= CLASS_ROWS - 1
    before = bench_of(*shifted(share=0.03)).sizes.labels
    assert bench.ceiling is not None
    assert bench.sizes.labels <= before


def test_without_time_or_with_one_number_of_labels_nothing_is_looked_at():
    x, y = shifted()
    late = bench_of(x, y, budget=1e-9)
    lower_labels(late)
    assert late.ceiling is None
    few = bench_of(x[:40], y[:40])
    lower_labels(few)
    assert few.sizes.labels[0] >= LEAST


def test_the_reader_is_told():
    x, y = shifted(rows=600)
    found = conclude(bench_of(x, y, **SHORT))
    (note,) = [note for note in found.notes if note.code == "near-perfect"]
    assert note.severity == "warning"
    assert "near perfect" in note.message
