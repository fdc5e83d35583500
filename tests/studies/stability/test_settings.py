"""The settings of the study `stability`."""

import pytest

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.settings import plain_settings
from separatrix.studies.stability.settings import StabilitySettings


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"rate": "0"}, "the `rate` of stability must be a number > 0, got 0.0"),
        ({"rate": "1.5"}, "training diverges at the rate 1.5: .* take a rate below 1"),
        (
            {"sphere.patches": "5,40"},
            "the `patches` of stability.sphere must be at most 16, half of the largest dimension",
        ),
        (
            {"sphere.samples": "0,5"},
            "the `samples` of stability.sphere must be an integer >= 1, got 0",
        ),
        (
            {"sphere.samples": "50,5"},
            "the `samples` of stability.sphere must be at least one number, in rising order",
        ),
        (
            {"sphere.full_samples": "50,5"},
            "the `full_samples` of stability.sphere must be in rising order",
        ),
        (
            {"sphere.patches": "50", "sphere.dimensions": "40"},
            "the `patches` of stability.sphere must be at most 20, half of the largest dimension",
        ),
        (
            {"sphere.most_numbers": "10"},
            "the `most_numbers` of stability.sphere must be at least 456, the smallest n·d, got 10",
        ),
        ({"sphere.unshared": "7"}, "the `unshared` of stability.sphere must be among `patches`"),
        (
            {"sphere.long_samples": "50,50"},
            "the `long_samples` of stability.sphere must be in rising order",
        ),
        (
            {"mixing.views": "40,20"},
            "the `views` of stability.mixing must be at least two numbers, in rising order",
        ),
        ({"mixing.views": "40"}, "the `views` of stability.mixing must be at least two numbers"),
        ({"images.side": "2"}, "the `side` of stability.images must be an integer >= 3, got 2"),
        ({"edge_distance": "2"}, "the `edge_distance` of stability must be .*0.5.*got 2"),
        ({"parts": "sphere,flta"}, "the `parts` of stability must be one of"),
    ],
)
def test_bad_settings_are_one_sentence(changes, words):
    with pytest.raises(sx.SeparatrixError, match=words):
        find_study("stability").settings("quick", 0, changes)


def test_outcomes_write_the_settings_of_parts_with_a_prefix():
    names = set(plain_settings(StabilitySettings()))
    assert {"sphere_dimensions", "flat_steps", "mix_views", "word_rate", "image_side"} <= names
    study = find_study("stability")
    written = study.settings("quick", 0, {"mix_steps": "7", "patch_images": "9"})
    dotted = {"mixing.steps": "7", "geometry.images": "9"}
    assert written == study.settings("quick", 0, dotted) != study.settings("quick", 0)
