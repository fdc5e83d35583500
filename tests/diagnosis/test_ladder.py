"""The ladder that a budget raises: who gets one, how high, and that nothing of the pilot is taken
for its results.
"""

import dataclasses

import numpy as np
import pytest

import separatrix as sx
from separatrix.data.labelled import as_labelled
from separatrix.diagnosis import Settings
from separatrix.diagnosis.api import conclude
from separatrix.diagnosis.bench import FULL, LOCAL, SHARED, SHARED_PIXELS, Bench, Result, Unit
from separatrix.diagnosis.data_splits import sizes_of
from separatrix.diagnosis.ladder import highest, planned, raise_ladder, raised
from separatrix.diagnosis.rounds import settle_neighbours
from separatrix.diagnosis.training import Recipe

PACES = {"full": 0.004, "shared": 0.004}
SMALL = Settings(
    budget=600.0,
    first=2,
    splits=2,
    width=2,
    growth=2,
    field=5,
    most=40,
    test=50,
    check=30,
    recipe=Recipe(8, 8, 2, (1e-2,)),
    explain=False,
)


def images(count=2000, side=16):
    rng = np.random.default_rng(0)
    return as_labelled(
        rng.normal(size=(count, side, side)).astype(np.float32), np.arange(count) % 2
    )


@pytest.mark.parametrize("seconds", [1.0, 3.0, 10.0, 30.0])
def test_the_ladder_is_the_highest_that_fits(seconds):
    times = highest(Settings(), 10**6, PACES, 2, seconds)
    fits = {
        t: planned(PACES, raised(Settings(), t), sizes_of(10**6, raised(Settings(), t)).ladder, 2)
        <= seconds
        for t in (times, 2 * times)
    }
    assert times == 1 or fits[times]
    assert not fits[2 * times]


def test_the_data_bound_the_ladder():
    assert highest(Settings(), 60_000, PACES, 1, 1e9) == 32  # 51200 labels, 3000 + 300 rows besides
    assert highest(Settings(), 60_000, PACES, 1, 1e9) * Settings().most < 60_000


def test_more_threads_or_more_time_never_lower_it():
    found = [
        [highest(Settings(), 10**6, PACES, threads, seconds) for seconds in (5, 20, 80, 320)]
        for threads in (1, 2, 8)
    ]
    assert (np.diff(found, axis=0) >= 0).all()
    assert (np.diff(found, axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("data", "budget"),
    [
        (images(), 60.0),
        (images(side=8), 600.0),
        (as_labelled(np.random.default_rng(0).normal(size=(900, 16)), np.arange(900) % 2), 600.0),
    ],
)
def test_short_budgets_small_images_and_signals_keep_the_ladder(data, budget):
    bench = Bench(data, dataclasses.replace(SMALL, budget=budget), sx.Lab())
    bench.run([Unit(arm, 5, bench.sizes.learn, 0) for arm in (SHARED, LOCAL)])
    before = bench.sizes
    raise_ladder(bench, 5)
    assert (bench.sizes, len(bench.results)) == (before, 2)


def test_a_raised_ladder_begins_anew_and_is_found_again(tmp_path):
    """Results of the pilot belong to other splits: they serve the comparison of fields and nothing
    else.
    """
    settings = dataclasses.replace(SMALL, field=3)
    with sx.Lab(tmp_path / "out") as lab:
        bench = Bench(images(), settings, lab)
        bench.run(
            [Unit(arm, 3, 40, split) for arm in (SHARED, LOCAL) for split in range(2)]
        )  # as a pilot would
        found = conclude(bench)
    assert len(found.about["ladder"]) == 2
    assert found.about["ladder"][-1] > 40 == found.about["field_labels"]
    assert {unit.size for unit in bench.results} <= set(found.about["ladder"])
    assert {unit.size for unit in bench.tried} == {40}
    assert list(found.fields) == [3]
    assert all(len(result.rows) > 50 for result in bench.results.values())  # on more test rows
    with sx.Lab(tmp_path / "out") as lab:
        again = conclude(Bench(images(), settings, lab))
    assert (again.about["ladder"], again.gains) == (found.about["ladder"], found.gains)


def test_without_the_pilots_clock_two_trainings_are_timed_again(tmp_path):
    """A folder of a diagnosis that was broken off before it had noted what a training costs."""
    with sx.Lab(tmp_path / "out") as lab:
        bench = Bench(images(), SMALL, lab)
        bench.run([Unit(arm, 5, 40, 0) for arm in (SHARED, LOCAL)])
        other = Bench(images(), SMALL, lab)
        other.run([Unit(arm, 5, 40, 0) for arm in (SHARED, LOCAL)])
        assert other.pace(SHARED, 5) is None
        raise_ladder(other, 5)
        assert other.pace(SHARED, 5) is not None
        assert other.sizes.learn > 40


@pytest.mark.parametrize(("sure", "splits"), [(True, 2), (False, 6)])
def test_whether_neighbours_count_is_settled_first(monkeypatch, sure, splits):
    """As many splits as that takes, or as there are; local networks and permuted patches wait."""
    bench, rng = (
        Bench(images(), dataclasses.replace(SMALL, splits=6), sx.Lab()),
        np.random.default_rng(0),
    )

    def run(units, share):
        assert share < 1
        for unit in units:
            rows = (
                np.full(50, float(unit.arm.control == ""))
                if sure
                else (rng.random(50) < 0.5).astype(float)
            )
            bench.results.setdefault(unit, Result(rows.mean(), rows, 0.01, 1, 0.5))

    monkeypatch.setattr(bench, "run", run)
    settle_neighbours(bench, 5)
    assert {unit.arm for unit in bench.results} == {FULL, SHARED, SHARED_PIXELS}
    assert {unit.split for unit in bench.results} == set(range(splits))
