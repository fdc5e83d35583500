"""The study `dial`: its task, the reading of labels, its verdicts, and a tiny run."""

import dataclasses
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import Device
from separatrix.engine.frames import structure
from separatrix.engine.plan import make_plan
from separatrix.errors import SeparatrixError
from separatrix.streams import named, numbered
from separatrix.studies import find_study
from separatrix.studies.dial.labels import Needed, label_ratio, labels_needed
from separatrix.studies.dial.settings import CORNERS, GEOMETRIES, SCALES, DialSettings, Place
from separatrix.studies.dial.task import LabelledImages, every
from separatrix.studies.dial.trials import (
    Cell,
    Measured,
    Recipe,
    Results,
    network_of,
    pick,
    trial_of,
    tuning_cells,
)
from separatrix.studies.dial.verdicts import findings, locality_share, needed
from separatrix.studies.tuning import Choice

SOURCE = "embedded-digits"
S = DialSettings(sources=(SOURCE,), depths=(1,))
PLACES = {place.name: place for place in S.places()}


def bound(task, seed=0):
    key = jax.random.key(seed)
    return task.bind(task.truth(named(key, "truth")), task.arrays())


def numbers_of(task, rows):
    """The training images that rows (with their pixels in order) are; -1 for none."""
    arrays = task.arrays()
    known = {image.tobytes(): number for number, image in enumerate(np.asarray(arrays["train_x"]))}
    assert len(known) == len(arrays["train_x"])  # no image is there twice
    pixels = np.rint((np.asarray(rows.x) * arrays["spread"] + arrays["mean"]) * 255).astype(
        np.uint8
    )
    return np.array([known.get(image.tobytes(), -1) for image in pixels])


def test_only_labelled_images_are_drawn_and_none_that_is_kept_apart():
    task = LabelledImages(SOURCE, labels=20)
    truth = bound(task)
    seen = set()
    for step in range(6):
        seen |= set(
            numbers_of(task, task.draw(numbered(jax.random.key(1), step), 64, truth)).tolist()
        )
    # 384 draws from 20 images: one is missed with probability 20·(19/20)^384 < 1e-7.
    assert len(seen) == 20
    gap = every(1297)
    assert all(number >= 0 and number % gap for number in seen)
    other = set(np.asarray(bound(task, seed=5).labelled)[:20].tolist())
    assert (
        seen == set(np.asarray(truth.labelled)[:20].tolist()) != other
    )  # another trial labels other images
    assert len(set(np.asarray(truth.labelled).tolist())) == S.all_labels(SOURCE) == 972


def test_tuning_is_judged_on_the_images_that_are_kept_apart_and_results_on_test_images():
    tuning, result = LabelledImages(SOURCE, tuning=1), LabelledImages(SOURCE)
    rows = tuning.draw_test(jax.random.key(0), 325, bound(tuning))
    found = numbers_of(tuning, rows)
    assert sorted(found.tolist()) == list(range(0, 1297, 4))
    np.testing.assert_array_equal(rows.y, tuning.arrays()["train_y"][found])
    tests = result.draw_test(jax.random.key(0), 500, bound(result))
    np.testing.assert_array_equal(tests.y, result.arrays()["test_y"])
    assert result.baselines()["constant"] == pytest.approx(
        1 - np.bincount(result.arrays()["test_y"]).max() / 500
    )


def test_permuted_pixels_are_one_order_for_training_and_test_rows():
    task = LabelledImages(SOURCE, labels=972, permuted=1)
    truth = bound(task)
    order = np.asarray(truth.order)
    assert sorted(order.tolist()) == list(range(64))
    assert (order != np.arange(64)).sum() > 50
    back = np.argsort(order)
    straight = truth._replace(order=jnp.arange(64))
    for draw in (task.draw, task.draw_test):
        mixed, plain = (
            np.asarray(draw(jax.random.key(3), 40, each).x) for each in (truth, straight)
        )
        np.testing.assert_array_equal(mixed.reshape(40, 64)[:, back], plain.reshape(40, 64))
    assert (np.asarray(bound(task.replace(permuted=0)).order) == np.arange(64)).all()


def test_labels_order_and_tuning_share_a_program():
    cell = Cell(PLACES["LCN"])
    trials = [
        trial_of(S, cell, 0.01, 0),
        trial_of(S, dataclasses.replace(cell, permuted=True), 0.03, 1),
        trial_of(S, dataclasses.replace(cell, labels=80), 0.01, 2, tuning=True),
    ]
    assert len({structure(trial.replace(seed=0)) for trial in trials}) == 1
    assert len({trial.identity for trial in trials}) == 3
    # Networks of a seed see the same rows.
    assert (
        len({trial_of(S, Cell(place), 0.01, 0).root()[0].tobytes() for place in PLACES.values()})
        == 1
    )


def test_places_have_equally_many_units_and_the_corner_is_the_full_network():
    for source, geometry in GEOMETRIES.items():
        side, _, channels = shape = sx.ImageTask(source, 2).shape
        windows = geometry.windows(side)
        assert (geometry.fields[-1], geometry.groups[0], geometry.groups[-1]) == (side, 1, windows)
        s = DialSettings(sources=(source,), filters=4)
        for field in geometry.fields:
            counts = []
            for groups in geometry.groups:
                network = network_of(s, Place(source, 1, field, groups))
                assert network.costs(shape).read == 4 * windows**2
                counts.append(network.parameter_count(shape))
                out = network.outputs * (4 * windows**2 + 1)
                assert counts[-1] == groups**2 * 4 * (field**2 * channels + 1) + out
        for depth in (2, 3):
            for place in DialSettings(sources=(source,), depths=(depth,)).places():
                assert network_of(s, place).costs(shape).read == 4 * windows**2


def test_a_batch_size_and_so_a_program_for_every_place_at_full_scale():
    s = dataclasses.replace(SCALES["full"], sources=(SOURCE,))
    heavy = dataclasses.replace(s, steps=10**9)  # as heavy as CIFAR-10's trials
    programs = set()
    for sweep in find_study("dial").sweeps(heavy).values():
        programs |= {
            (chunk.program, chunk.batch)
            for chunk in make_plan(sweep, Device("gpu", memory=8e10)).chunks
        }
    assert len(programs) == len(s.places()) == 9 + 3 + 3


def test_a_recipe_is_the_best_rate_and_its_last_moment_that_is_as_good():
    scores = {
        Recipe(0.1, 1): 0.30,
        Recipe(0.1, 2): 0.20,
        Recipe(0.1, 3): 0.21,
        Recipe(0.2, 3): 0.25,
    }
    assert pick(scores, images=400) == Recipe(
        0.1, 3
    )  # one error of 400 images at a risk of .2 is .02
    assert pick(scores, images=4000) == Recipe(0.1, 2)


def test_labels_are_read_between_the_rungs():
    # Accuracy .3 + .1·log2(m/100): .55 is passed at 100·2^2.5.
    ladder = {
        m: 0.3 + 0.1 * math.log2(m / 100) + np.array([-0.001, 0.001]) for m in (100, 200, 400, 800)
    }
    assert labels_needed(ladder, 0.55).interval().estimate == pytest.approx(100 * 2**2.5)
    assert labels_needed(ladder, 0.2).interval().high == 0  # passed before the first rung
    assert labels_needed(ladder, 0.7).interval().low == math.inf
    assert (
        labels_needed(ladder | {200: np.array([0.29, 0.29])}, 0.3).log_labels == -math.inf
    )  # a fall is noise
    with pytest.raises(SeparatrixError, match="at least two rungs"):
        labels_needed({100: np.array([0.1, 0.2])}, 0.5)


def test_intervals_of_labels_cover():
    rng = np.random.default_rng(0)
    rungs, hits, ratios = (100, 400, 1600), 0, 0
    for turn in range(300):
        noisy = [
            {m: 0.5 + slope * math.log(m / 400) + 0.02 * rng.standard_normal(6) for m in rungs}
            for slope in (0.1, 0.1)
        ]
        first, second = (
            labels_needed(each, 0.52, stream=2 * turn + i) for i, each in enumerate(noisy)
        )
        hits += first.interval().contains(400 * math.exp(0.2))
        ratios += label_ratio(first, second).contains(1.0)
    # 95 % of 300 is 285, its standard deviation 3.8; intervals of six seeds may be somewhat wide.
    assert hits >= 270
    assert ratios >= 270
    assert hits < 300


def test_ratios_with_an_end_out_of_reach_are_bounds():
    known, beyond = (
        Needed(math.log(100), math.log(100) + np.linspace(-0.1, 0.1, 99), 6),
        Needed(math.inf, np.full(99, math.inf), 6),
    )
    ratio = label_ratio(beyond, known)
    assert (math.isnan(ratio.estimate), ratio.high) == (True, math.inf)
    both = label_ratio(beyond, beyond)
    assert (both.low, both.high) == (0.0, math.inf)


PLAIN, MIXED = {"FCN": 0.50, "LCN": 0.56, "CNN": 0.64}, {"FCN": 0.50, "LCN": 0.47, "CNN": 0.46}


def made(plain=PLAIN, mixed=MIXED, spread=0.004, seeds=6):
    """Results with these mean accuracies."""
    noise = spread * np.linspace(-1, 1, seeds)
    turns = {"FCN": noise, "LCN": noise[::-1], "CNN": np.roll(noise, 2)}
    cells, recipes = {}, {}
    for permuted, means in ((False, plain), (True, mixed)):
        for name, mean in means.items():
            values = mean + turns[name]
            cells[Cell(PLACES[name], permuted)] = Measured(values, values, 1.0)
            recipes[Cell(PLACES[name], permuted)] = Choice(Recipe(0.01, 1), {})
    return Results(cells, recipes)


def verdicts(results, s=S):
    return {
        each.claim.id.removeprefix("lahoti.dial."): each.verdict for each in findings(s, results)
    }


def test_each_verdict_follows_its_accuracies():
    assert set(verdicts(made()).values()) == {"supported"}
    assert verdicts(made(PLAIN | {"LCN": 0.45}))["locality-pays"] == "refuted"
    assert verdicts(made(PLAIN | {"LCN": 0.501}))["locality-pays"] == "undecided"
    assert verdicts(made(PLAIN | {"CNN": 0.53}))["sharing-pays"] == "refuted"
    assert verdicts(made(mixed=MIXED | {"LCN": 0.60}))["permuted-loses-locality"] == "refuted"
    assert verdicts(made(mixed=MIXED | {"FCN": 0.45}))["permuted-fcn-indifferent"] == "refuted"
    assert verdicts(made(mixed=MIXED | {"FCN": 0.48}))["permuted-fcn-indifferent"] == "undecided"
    assert set(verdicts(made(spread=0.5)).values()) == {"undecided"}


def test_a_missing_corner_leaves_everything_undecided():
    results = made()
    fewer = {
        cell: each for cell, each in results.cells.items() if cell != Cell(PLACES["LCN"], True)
    }
    assert set(verdicts(Results(fewer, results.recipes)).values()) == {"undecided"}


def test_the_share_of_locality():
    share = locality_share(made(), SOURCE, 1)
    assert share.estimate == pytest.approx(0.06 / 0.14)
    assert share.low < 0.06 / 0.14 < share.high
    assert locality_share(made(PLAIN | {"CNN": 0.5}), SOURCE, 1) is None
    # Without spread the share is known exactly.
    exact = locality_share(made(spread=0.0), SOURCE, 1)
    assert exact.high - exact.low == pytest.approx(0.0, abs=1e-12)


def test_settings_are_checked():
    for changes, words in [
        ({"sources": "mnistt"}, "there is no data set `mnistt`"),
        (
            {"sources": "auto,mnist"},
            "the `sources` of dial must be auto, or different names of data sets",
        ),
        ({"depths": "0"}, r"the `depths` of dial must be an integer in \[1, 6\], got 0"),
        ({"seeds": "1"}, "the `seeds` of dial must be an integer >= 2, got 1"),
        ({"rates": "0.0"}, "the `rates` of dial must be a number > 0, got 0.0"),
    ]:
        with pytest.raises(SeparatrixError, match=words):
            find_study("dial").settings("quick", 0, changes)


def test_auto_takes_what_is_there(monkeypatch):
    from separatrix.studies.dial import settings

    for there, chosen in (
        (["mnist", "cifar10"], ["cifar10", "mnist"]),
        (["mnist"], ["mnist"]),
        ([], [SOURCE]),
    ):
        monkeypatch.setattr(settings, "available", lambda there=there: there)
        assert DialSettings().chosen_sources() == chosen


@pytest.fixture(scope="module")
def tiny():
    changes = {
        "sources": SOURCE,
        "depths": "1",
        "filters": "1",
        "rates": "0.01,0.1",
        "tune_seeds": "1",
        "seeds": "2",
        "steps": "6",
        "batch": "8",
        "test": "40",
        "times": "2",
    }
    s = find_study("dial").settings("quick", 0, changes)
    return s, find_study("dial").conclude(sx.Lab(workers=0), s)


def test_a_tiny_run_measures_every_cell(tiny):
    s, outcome = tiny
    plain = json.loads(json.dumps(outcome.plain(), allow_nan=False))
    assert [each["id"] for each in plain["findings"]] == [
        claim.id for claim in find_study("dial").claims
    ]
    assert [each["name"] for each in plain["figures"]] == [
        f"decomposition-{SOURCE}",
        f"labels-{SOURCE}",
        f"map-{SOURCE}",
        f"map-{SOURCE}-permuted",
    ]
    rows = plain["tables"][2]["rows"]
    assert len(rows) == len(tuning_cells(s)) + 4 * 4 == 24
    assert {row[2] for row in rows} == {*CORNERS, "shared, whole field"}
    assert {row[9] for row in rows} == {2}
    first = plain["figures"][0]["series"][0]
    told = {
        row[2]: float(row[7].split()[0]) for row in rows if row[5] == "in order" and row[6] == 972
    }
    assert dict(zip(first["x"], first["y"])) == pytest.approx(
        {name: told[name] for name in CORNERS}, abs=6e-4
    )
    assert plain["findings"][0]["conditions_met"] is False


def test_without_trials_everything_is_undecided():
    outcome = find_study("dial").conclude(sx.Lab(budget=0.0), S)
    assert {each.verdict for each in outcome.findings} == {"undecided"}
    assert needed(S, Results({}, {}), SOURCE, "CNN") is None
