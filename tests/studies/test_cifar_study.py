"""The study `cifar`: its verdict, and a tiny run."""

import dataclasses
import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.errors import SeparatrixError
from separatrix.studies import find_study
from separatrix.studies.cifar.settings import POOLS, SCALES, CifarSettings
from separatrix.studies.cifar.trials import Cell, Measured, cells, network_of
from separatrix.studies.cifar.verdicts import cnn_ahead, gaps, widest

S = CifarSettings(source="embedded-digits", depths=(2,))


def made(cnn, fcn, spread=0.005, seeds=4):
    """Cells with these mean accuracies by number of parameters."""
    noise = spread * np.linspace(-1, 1, seeds)
    out = {}
    for name, points in (("CNN", cnn), ("FCN", fcn)):
        for width, (count, mean) in enumerate(points.items(), 1):
            out[Cell(name, 2, width)] = Measured(
                count, 1, mean + noise * (1 if name == "CNN" else -1), mean + noise, 1.0
            )
    return out


@pytest.mark.parametrize(
    "cnn, verdict",
    [
        ({100: 0.6, 1000: 0.7, 10000: 0.8}, "supported"),
        ({100: 0.6, 1000: 0.4, 10000: 0.8}, "refuted"),
        ({100: 0.6, 1000: 0.501, 10000: 0.8}, "undecided"),
        ({10: 0.9, 100_000: 0.9}, "undecided"),  # nowhere comparable
    ],
)
def test_the_cnn_must_be_ahead_everywhere(cnn, verdict):
    found = made(cnn, {100: 0.4, 10000: 0.6})
    assert cnn_ahead(S, found, 0.1).verdict == verdict


@pytest.mark.parametrize(
    "most, verdict", [(0.6, "supported"), (0.8, "refuted"), (0.7, "undecided")]
)
def test_the_cnn_must_be_ahead_of_the_fcn_with_the_most_parameters_too(most, verdict):
    # At 1000 parameters, between 100 and 10000, the CNN is ahead of the FCN in all three.
    found = made({100: 0.6, 1000: 0.7}, {100: 0.2, 10000: 0.3, 1000000: most})
    result = cnn_ahead(S, found, 0.1)
    assert result.verdict == verdict
    assert "1000 parameters less the FCN's with 1000000" in result.evidence[-1].name
    # A control on permuted pixels is not the widest, and an FCN with fewer parameters says nothing
    # of more.
    control = {Cell("FCN", 2, 9, True): Measured(10**7, 1, np.ones(4), np.ones(4), 1.0)}
    assert widest(found | control, 2)[:2] == (1000, 10**6)
    assert widest(made({1000: 0.7}, {100: 0.4}), 2) is None


def test_gaps_interpolate_in_the_logarithm_of_parameters():
    found = gaps(made({1000: 0.7}, {100: 0.4, 10000: 0.6}, spread=0.0), 2)
    np.testing.assert_allclose(found[1000], 0.2)
    assert gaps(made({1000: 0.7}, {}), 2) == {}
    # Controls on permuted pixels are no part of the comparison.
    control = {Cell("CNN", 2, 9, True): Measured(1000, 1, np.zeros(4), np.zeros(4), 1.0)}
    assert list(gaps(made({500: 0.7}, {100: 0.4, 10000: 0.6}) | control, 2)) == [500]


def test_networks_have_the_papers_depths_and_fit_the_images():
    for source, shape in (("cifar10", (32, 32, 3)), ("embedded-digits", (8, 8, 1))):
        for depth in POOLS:
            for name in ("CNN", "FCN"):
                network = network_of(CifarSettings(source=source), Cell(name, depth, 4))
                network.fits(shape)
                assert network.depth == depth - 1
    full = SCALES["full"]
    counts = [
        network_of(CifarSettings(source="cifar10"), cell).parameter_count((32, 32, 3))
        for cell in cells(full)
        if cell.network == "FCN"
    ]
    assert max(counts) / min(counts) >= 1000  # three orders of magnitude


def test_conditions_and_settings():
    assert "embedded-digits instead of CIFAR-10" in S.outside()
    assert (
        CifarSettings(source="cifar10", depths=(2, 4, 6), epochs=125, most_steps=0).outside() == ""
    )
    assert S.steps() == 487  # 24 passes over 1297 images in batches of 64
    assert "24 epochs instead of 125" in S.outside()
    short = dataclasses.replace(S, most_steps=100)  # 6400 rows
    assert short.steps() == 100
    assert "4.9 epochs instead of 125" in short.outside()
    assert not SCALES["full"].most_steps
    with pytest.raises(
        SeparatrixError, match="the `cnn_widths` of cifar must be an integer >= 1, got 0"
    ):
        find_study("cifar").settings("quick", 0, {"cnn_widths": "0"})


def test_a_tiny_run():
    changes = {
        "source": "embedded-digits",
        "depths": "2",
        "cnn_widths": "1",
        "fcn_widths": "1,3",
        "seeds": "2",
        "epochs": "1",
        "test": "50",
        "times": "1",
        "batch": "256",
    }
    s = find_study("cifar").settings("quick", 0, changes)
    plain = json.loads(
        json.dumps(find_study("cifar").conclude(sx.Lab(workers=0), s).plain(), allow_nan=False)
    )
    assert [each["id"] for each in plain["findings"]] == ["malach.cifar.cnn-ahead"]
    assert len(plain["tables"][0]["rows"]) == len(cells(s)) == 5
    assert [series["label"] for series in plain["figures"][0]["series"]] == [
        "CNN, depth 2",
        "FCN, depth 2",
        "best constant answer",
    ]
    assert plain["findings"][0]["conditions_met"] is False


def test_without_trials_it_is_undecided():
    assert find_study("cifar").conclude(sx.Lab(budget=0.0), S).findings[0].verdict == "undecided"
