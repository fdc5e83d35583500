"""The look of series."""

import itertools
import re
from importlib import resources

import numpy as np
import pytest

from separatrix.report.figure.style import GREY, NETWORKS, OTHERS, looks_of
from separatrix.studies import Series


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return np.dot(
        [0.2126, 0.7152, 0.0722],
        [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts],
    )


def test_every_colour_stands_out_on_both_grounds_of_the_page():
    css = resources.files("separatrix.report").joinpath("templates/page.css").read_text()
    grounds = re.findall(r"--ground: (#[0-9a-f]{6})", css)
    assert len(grounds) == 2
    for ground, colour in itertools.product(
        grounds, [GREY, *(c for c, _ in (*NETWORKS.values(), *OTHERS))]
    ):
        light, dark = sorted([luminance(ground), luminance(colour)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, (ground, colour)


@pytest.mark.parametrize("order", list(itertools.permutations(["CNN", "LCN", "FCN"])))
def test_networks_keep_their_colour_and_marker(order):
    looks = looks_of([Series("other", (), ()), *(Series(name, (), ()) for name in order)])
    for name in order:
        assert (looks[name, "measured"].colour, looks[name, "measured"].marker) == NETWORKS[name]


def test_what_a_diagnosis_calls_its_networks_has_their_colours():
    labels = ("local", "shared, pixels permuted", "full", "shared", "fully booked", "local rule")
    looks = {
        label: look.colour
        for (label, _), look in looks_of([Series(label, (), ()) for label in labels]).items()
    }
    assert looks["local"] == NETWORKS["LCN"][0]
    assert looks["shared, pixels permuted"] == looks["shared"] == NETWORKS["CNN"][0]
    assert looks["full"] == NETWORKS["FCN"][0]
    assert {looks["fully booked"], looks["local rule"]} == {OTHERS[0][0], OTHERS[1][0]}


def test_series_of_one_network_differ_in_line_and_filling():
    looks = looks_of([Series(f"CNN, k = {k}", (), ()) for k in (2, 4, 8)])
    assert len({look.colour for look in looks.values()}) == 1
    assert len({(str(look.line), look.fill) for look in looks.values()}) == 3
