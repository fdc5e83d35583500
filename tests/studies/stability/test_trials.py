"""The cells of the study `stability`, and the numbers taken from rows."""

import pytest

from separatrix.studies.stability.settings import SCALES, StabilitySettings
from separatrix.studies.stability.trials import cells, interval_of, matched, values


def test_cells_and_matched_networks():
    full = matched(50, 10, 10_500)
    counts = [network.parameter_count((500, 1)) for network in full.values()]
    assert max(counts) / min(counts) < 1.02
    for scale, settings in SCALES.items():
        chosen = cells(settings.replace(images={"source": "embedded-photographs"}))
        assert {cell.part for cell in chosen} == set(settings.parts) - {"geometry"}, scale
        assert all(len(sweep) >= 3 for sweep in chosen.values())  # never one seed
    # The networks of the paper have the paper's numbers of parameters, and enough teachers.
    images = {
        cell.network: sweep
        for cell, sweep in cells(SCALES["full"]).items()
        if cell.part == "images"
    }
    assert images["CNN"].trials[0].network.parameter_count((32, 32, 3)) == 29_697
    assert images["FCN"].trials[0].network.parameter_count((32, 32, 3)) == 3_147_777
    assert all(len(sweep) >= 12 for sweep in images.values())


def test_the_sphere_is_a_factorial_with_its_controls():
    full = SCALES["full"].replace(parts=("sphere",))
    found = cells(full)
    pairs = {(c.number, c.patch) for c in found if (c.network, c.variant) == ("CNN", "")}
    assert pairs == {
        (d, m) for d in (50, 100, 200, 400) for m in (5, 10, 20, 40, 100) if 2 * m <= d
    }
    assert {c.samples for c in found if c.number == 200} == {256, 1024, 4096, 16_384}
    assert {c.samples for c in found if c.number == 400} == {256, 1024, 4096}
    assert {(c.network, c.patch) for c in found if c.network != "CNN"} == {("LCN", 10), ("FCN", 0)}
    # The recorded experiment, m = 10 and n up to 1024, is a part of the grid.
    assert {(c.number, c.samples) for c in found if c.patch == 10} >= {(50, 256), (400, 1024)}
    for cell, sweep in found.items():
        task = sweep.trials[0].task
        assert task.radius == pytest.approx(
            (cell.number / cell.patch) ** 0.5 if cell.variant else 1
        )
        assert sweep.trials[0].learner.clip is None
    long = cells(full.replace(sphere={"long_steps": 500_000}))
    extra = {cell for cell in long if cell not in found}
    assert {(c.variant, c.number, c.samples) for c in extra} == {
        ("long", 50, 256),
        ("long", 50, 1024),
    }
    assert all(long[cell].trials[0].learner.steps == 500_000 for cell in extra)


def test_the_quick_scale_needs_few_programs_and_many_sizes_of_the_full_network():
    from separatrix.engine import policy
    from separatrix.engine.frames import CPU_ROUNDING, cost_of, framed

    quick = cells(SCALES["quick"])
    programs = {
        program for sweep in quick.values() for _, program, _ in framed(sweep, CPU_ROUNDING)
    }
    assert len(programs) == 6
    sizes = {c.samples for c in quick if c.network == "FCN"}
    assert max(sizes) >= 3 * min(sizes)
    assert len(sizes) >= 5  # a slope and its scatter need degrees of freedom
    frames = [
        frame
        for cell, sweep in quick.items()
        if cell.part == "sphere"
        for _, _, frame in framed(sweep, CPU_ROUNDING)
    ]
    assert {frame.samples for frame in frames} == {128}
    assert max(cost_of(frame).flops for frame in frames) < policy.LIGHT_PROGRAM["cpu"]


def test_every_seed_has_views_of_its_own_in_one_program():
    import jax
    import numpy as np

    from separatrix.engine.frames import structure

    mixing = cells(StabilitySettings(parts=("mixing",)))
    (sweep,) = [sweep for cell, sweep in mixing.items() if cell.number == 40]
    assert len({structure(trial) for trial in sweep}) == 1
    task = sweep.trials[0].task
    views = [
        np.asarray(task.truth(jax.random.key(seed)).axes).argsort(axis=1)[:, : task.patch]
        for seed in (0, 1)
    ]
    assert views[0].shape == (40, 9)
    assert not np.array_equal(*views)


def test_runs_that_diverged_are_left_out():
    rows = [{"status": "exhausted", "x": 1.0}, {"status": "diverged", "x": 9.0}]
    assert values(rows, "x") == [1.0]
    assert interval_of(rows[1:], "x") is None
