"""Splits: stratified, by group, as given; identical rows on one side."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.data.labelled import as_labelled, read_labelled
from separatrix.diagnosis.data_splits import (
    Splitting,
    array_data,
    chosen_rows,
    sizes_of,
    split_rows,
)
from separatrix.diagnosis.settings import Settings
from separatrix.engine.programs import Programs
from separatrix.errors import SeparatrixError
from separatrix.tasks.arrays import ArrayTask

S = Settings(splits=5)


def data_of(rows=600, positives=0.1):
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < positives).astype(int)
    return as_labelled(rng.normal(size=(rows, 6)), y)


def test_sides_are_disjoint_and_stratified():
    data = data_of()
    how = Splitting(data.duplicate_groups)
    sizes = sizes_of(data, how, S)
    for number in range(5):
        split = split_rows(data.labels, how, sizes, 0, number)
        sides = (split.learn, split.check, split.test)
        assert len(set(np.concatenate(sides))) == sum(map(len, sides))
        for side in (*sides, split.learn[: sizes.labels[0]]):
            assert data.labels[side].mean() == pytest.approx(data.labels.mean(), abs=0.03)


def test_groups_stay_on_one_side():
    data = data_of()
    groups = np.arange(600) % 10
    how = Splitting(groups, by_group=True)
    for number in range(5):
        split = split_rows(data.labels, how, sizes_of(data, how, S), 0, number)
        sides = [set(groups[side]) for side in (split.learn, split.check, split.test)]
        assert sum(map(len, sides)) == len(set().union(*sides))
        assert min(map(len, sides)) >= 1


def test_tested_rows_are_the_users():
    data = data_of()
    tested = np.arange(600) >= 400
    split = split_rows(
        data.labels,
        Splitting(np.arange(600), tested=tested),
        sizes_of(data, Splitting(np.arange(600), tested=tested), S),
        0,
        3,
    )
    assert tested[split.test].all()
    assert not tested[np.concatenate([split.learn, split.check])].any()


def test_groups_of_tested_rows_are_not_learnt_from():
    data, tested = data_of(), np.arange(600) >= 400
    groups = np.arange(600) // 16  # one group has rows on both sides
    how = Splitting(groups, by_group=True, tested=tested)
    for number in range(5):
        split = split_rows(data.labels, how, sizes_of(data, how, S), 0, number)
        sides = [set(groups[side]) for side in (split.learn, split.check, split.test)]
        assert tested[split.test].all()
        assert sum(map(len, sides)) == len(set().union(*sides))
        assert len(split.learn) > 200


def test_identical_rows_stay_together():
    x = np.repeat(np.random.default_rng(0).normal(size=(150, 5)), 4, axis=0)
    data = as_labelled(x, np.arange(600) % 2)
    how = Splitting(data.duplicate_groups)
    for number in range(5):
        split = split_rows(data.labels, how, sizes_of(data, how, S), 0, number)
        groups = [set(how.groups[side]) for side in (split.learn, split.check, split.test)]
        assert not groups[0] & (groups[1] | groups[2])


def test_arrays_hold_balanced_weights_and_signs():
    data = data_of()
    how = Splitting(data.duplicate_groups)
    arrays, sizes = array_data(data, how, sizes_of(data, how, S), S, skewed=True)
    rows = arrays.rows
    assert set(rows.y) == {-1.0, 1.0}
    for split in range(5):
        y, weight = rows.y[rows.learn[split]], rows.weight[split]
        assert weight[y > 0].sum() == pytest.approx(0.5, abs=1e-4)
    assert rows.test.shape == (5, sizes.test)


def test_large_data_are_sampled_and_too_few_refused(monkeypatch):
    many = as_labelled(
        np.random.default_rng(0).integers(0, 255, (40_000, 3)), np.arange(40_000) % 2
    )
    how = Splitting(np.arange(40_000))
    small = Settings(splits=2, test=100, check=50)
    arrays, _ = array_data(many, how, sizes_of(many, how, small), small, skewed=False)
    assert len(arrays.rows.x) == 2 * (1600 + 50 + 100)
    assert arrays.rows.x.dtype == np.uint8
    monkeypatch.setattr("separatrix.diagnosis.data_splits.POOL_BYTES", 3 * 2000)
    grouped = Splitting(np.arange(40_000) // 400, by_group=True)
    arrays, _ = array_data(many, grouped, sizes_of(many, grouped, small), small, skewed=False)
    assert len(arrays.rows.x) == 2000
    rows = chosen_rows(many, grouped, sizes_of(many, grouped, small), small)
    assert len(set(grouped.groups[rows])) == 100  # and not the first groups only
    data, pair = data_of(), Splitting(np.arange(600) % 2, by_group=True)
    sizes = sizes_of(data, pair, S)
    with pytest.raises(SeparatrixError, match="too few groups"):
        array_data(data, pair, sizes, S, skewed=False)
    given = Splitting(np.arange(600) % 2, by_group=True, tested=np.arange(600) >= 400)
    with pytest.raises(SeparatrixError, match="groups of their own"):
        array_data(data, given, sizes, S, skewed=False)


def test_rows_of_a_memory_map_reach_the_device_as_bytes(tmp_path):
    values = np.random.default_rng(0).integers(0, 256, (8_000, 12, 12, 3), np.uint8)
    np.save(tmp_path / "x.npy", values)
    np.save(tmp_path / "y.npy", np.arange(8_000) % 2)
    data = read_labelled(tmp_path)
    assert isinstance(data.inputs, np.memmap)
    how, small = Splitting(data.duplicate_groups), Settings(splits=2, test=100, check=50)
    arrays, _ = array_data(data, how, sizes_of(data, how, small), small, skewed=False)
    used = 2 * (1600 + 50 + 100)
    rows = arrays.rows
    assert rows.x.shape == (used, 12, 12, 3)
    assert rows.x.dtype == Programs()._place(rows.x).dtype == np.uint8
    placed = jax.tree.map(jnp.asarray, rows)
    task = ArrayTask(arrays.name, (12, 12, 3), labels=1600)

    def drawn(x):
        return task.draw(jax.random.key(0), 64, placed._replace(x=x)).x

    made = jax.make_jaxpr(drawn)(rows.x)
    whole = [
        str(each.primitive)
        for each in made.eqns
        if each.outvars[0].aval.shape == rows.x.shape and each.outvars[0].aval.dtype != np.uint8
    ]
    assert whole == [], "rows become numbers once they are drawn"
    assert drawn(rows.x).dtype == np.float32
