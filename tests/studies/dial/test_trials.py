"""The trials of the study `dial`, and how recipes are chosen."""

import dataclasses

import separatrix as sx
from separatrix.engine import Device
from separatrix.engine.frames import structure
from separatrix.engine.plan import make_plan
from separatrix.studies import find_study
from separatrix.studies.dial.settings import GEOMETRIES, SCALES, DialPlace, DialSettings
from separatrix.studies.dial.trials import DialCell, DialRecipe, network_of, pick, trial_of

SOURCE = "embedded-digits"


S = DialSettings(sources=(SOURCE,), depths=(1,))


PLACES = {place.name: place for place in S.places()}


def test_labels_order_and_tuning_share_a_program():
    cell = DialCell(PLACES["LCN"])
    trials = [
        trial_of(S, cell, 0.01, 0),
        trial_of(S, dataclasses.replace(cell, permuted=True), 0.03, 1),
        trial_of(S, dataclasses.replace(cell, labels=80), 0.01, 2, tuning=True),
    ]
    assert len({structure(trial.replace(seed=0)) for trial in trials}) == 1
    assert len({trial.identity for trial in trials}) == 3
    # Networks of a seed see the same rows.
    assert (
        len(
            {trial_of(S, DialCell(place), 0.01, 0).root()[0].tobytes() for place in PLACES.values()}
        )
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
                network = network_of(s, DialPlace(source, 1, field, groups))
                assert network.costs(shape).read == 4 * windows**2
                counts.append(network.parameter_count(shape))
                out = network.outputs * (4 * windows**2 + 1)
                assert counts[-1] == groups**2 * 4 * (field**2 * channels + 1) + out
        for depth in (2, 3):
            for place in DialSettings(sources=(source,), depths=(depth,)).places():
                assert network_of(s, place).costs(shape).read == 4 * windows**2


def test_a_batch_size_and_so_a_program_for_every_place_at_full_scale():
    s = SCALES["full"].replace(sources=(SOURCE,))
    heavy = s.replace(steps=10**9)  # as heavy as CIFAR-10's trials
    programs = set()
    for sweep in find_study("dial").sweeps(heavy).values():
        programs |= {
            (chunk.program, chunk.batch)
            for chunk in make_plan(sweep, Device("gpu", memory=8e10)).chunks
        }
    assert len(programs) == len(s.places()) == 9 + 3 + 3


def test_a_recipe_is_the_best_rate_and_its_last_moment_that_is_as_good():
    scores = {
        DialRecipe(0.1, 1): 0.30,
        DialRecipe(0.1, 2): 0.20,
        DialRecipe(0.1, 3): 0.21,
        DialRecipe(0.2, 3): 0.25,
    }
    assert pick(scores, images=400) == DialRecipe(
        0.1, 3
    )  # one error of 400 images at a risk of .2 is .02
    assert pick(scores, images=4000) == DialRecipe(0.1, 2)
