"""The map study: its network is every network between FCN and CNN, and its claims follow its
thresholds.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.engine.plan import Device, make_plan
from separatrix.errors import SeparatrixError
from separatrix.inference import Tally, estimate_threshold
from separatrix.learners import project
from separatrix.networks import LSA, Network, Params
from separatrix.studies import Axis, Heatmap, Outcome, figure_from, find_study
from separatrix.studies.search import SearchResult
from separatrix.studies.signal.trials import SignalRecipe, signal_learner, signal_network
from separatrix.studies.signal_map import verdicts as c
from separatrix.studies.signal_map.figures import map_figure
from separatrix.studies.signal_map.network import map_network
from separatrix.studies.signal_map.settings import SCALES, MapRecipe, MapSettings, MapTuning, Spot
from separatrix.studies.signal_map.trials import base_norm, base_rate, map_trial

K, D = 6, 3
PLACES = [(1, 1), (1, 3), (1, 6), (2, 1), (2, 6), (3, 2), (4, 4), (6, 1), (6, 6)]


def found_at(
    sizes: dict[tuple[int, int], float], censored: dict[tuple[int, int], str] | None = None
) -> dict[Spot, SearchResult]:
    """Sharp thresholds: every trial below fails and every trial above succeeds."""
    out = {}
    for place, size in sizes.items():
        tallies = [Tally(0.8 * size, 0, 40), Tally(1.25 * size, 40, 40)]
        side = (censored or {}).get(place)
        tallies = tallies[:1] if side == "right" else tallies[1:] if side == "left" else tallies
        out[Spot(*place)] = SearchResult(estimate_threshold(tallies), pd.DataFrame())
    return out


@pytest.mark.parametrize("reach, groups", PLACES)
def test_a_place_is_the_grouped_network_with_wrapped_windows(reach, groups):
    mine = map_network(K, reach, groups, bias=0.2, norm=0.9)
    params = mine.init(jax.random.key(0), (K, D))
    other = Network(
        "shared",
        1,
        reach,
        activation=LSA(0.2),
        readout="sum",
        bias=False,
        groups=groups,
        border="wrap",
    )
    weights = (
        params.weights[0, :groups]
        .reshape(groups, 1, K, D)[:, :, :reach]
        .reshape(groups, 1, reach * D)
    )
    x = jax.random.normal(jax.random.key(1), (40, K, D))
    np.testing.assert_allclose(
        mine.apply(params, x), other.apply(Params(weights), x), rtol=1e-5, atol=1e-5
    )
    assert (
        other.parameter_count((K, D))
        == reach * groups * D
        == int((np.asarray(params.weights) != 0).sum())
    )
    np.testing.assert_allclose(np.linalg.norm(params.weights[0, :groups], axis=-1), 0.9, rtol=1e-5)


@pytest.mark.parametrize("name, reach, groups", [("CNN", 1, 1), ("LCN", 1, K)])
def test_the_left_corners_are_the_papers_networks(name, reach, groups):
    mine, other = map_network(K, reach, groups, bias=0.5, norm=0.7), signal_network(name, K, 0.5)
    params = mine.init(jax.random.key(0), (K, D))
    x = jax.random.normal(jax.random.key(1), (40, K, D))
    same = Params(params.weights[0, :groups, :D].reshape(groups, 1, D))
    np.testing.assert_allclose(mine.apply(params, x), other.apply(same, x), rtol=1e-5, atol=1e-5)


def test_the_upper_right_corner_is_the_fcn_up_to_relabelling():
    mine, other = map_network(K, K, K, bias=0.2, norm=0.9), signal_network("FCN", K, 0.2)
    full = np.asarray(
        jax.random.normal(jax.random.key(2), (K, K, D))
    )  # any weights of the FCN: unit, patch, channel
    filters = np.stack(
        [np.roll(full[unit], -unit, axis=0) for unit in range(K)]
    )  # seen from the unit's own patch
    x = jax.random.normal(jax.random.key(1), (40, K, D))
    want = other.apply(Params(jnp.asarray(full.reshape(1, K, K * D))), x)
    np.testing.assert_allclose(
        mine.apply(Params(jnp.asarray(filters.reshape(1, K, K * D))), x), want, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("reach, groups", [(1, 1), (2, 3), (6, 2)])
def test_training_stays_on_its_place(reach, groups):
    """Gradients reach nothing beyond the field or the last group, and equal those of the grouped
    network.
    """
    mine = map_network(K, reach, groups, bias=0.1, norm=0.9)
    params = mine.init(jax.random.key(0), (K, D))
    other = Network(
        "shared",
        1,
        reach,
        activation=LSA(0.1),
        readout="sum",
        bias=False,
        groups=groups,
        border="wrap",
    )
    x = jax.random.normal(jax.random.key(1), (40, K, D))

    def small(weights):
        return (
            weights[0, :groups].reshape(groups, 1, K, D)[:, :, :reach].reshape(groups, 1, reach * D)
        )

    slope = jax.grad(lambda w: jnp.square(mine.apply(Params(w), x)).mean())(params.weights)
    want = jax.grad(lambda w: jnp.square(other.apply(Params(w), x)).mean())(small(params.weights))
    np.testing.assert_allclose(small(slope), want, rtol=1e-3, atol=1e-4)
    moved = project(Params(params.weights - 10.0 * slope), "ball").weights
    assert np.array_equal(np.asarray(moved) != 0, np.asarray(params.weights) != 0)


def test_wrong_places_are_refused():
    with pytest.raises(
        SeparatrixError, match="the `reach` of MapNetwork must be at most its units"
    ):
        map_network(4, 5, 1, 0.5, 0.05)
    with pytest.raises(SeparatrixError, match="the `fields` of signal-map"):
        MapSettings(fields=(1, 9))
    with pytest.raises(SeparatrixError, match="at least two different numbers"):
        MapSettings(groups=(1, 1))


def test_corners_have_the_recipes_of_the_signal_study():
    for name, place in (("CNN", (1, 1)), ("LCN", (1, 8)), ("FCN", (8, 8))):
        recipe = signal_learner(name, 8, 100, SignalRecipe())
        assert base_rate(Spot(*place), 8) == pytest.approx(recipe.rate.level)
        assert base_norm(Spot(*place), 8) == pytest.approx(
            signal_network(name, 8, 0.5).initial.scale
        )


@pytest.mark.parametrize("scale", SCALES)
def test_one_program_serves_the_whole_map(scale):
    s = SCALES[scale]
    trials = [map_trial(s, spot, recipe, 64, 0) for spot in s.spots() for recipe in s.recipes()]
    assert make_plan(sx.Sweep(tuple(trials)), Device("cpu")).programs == 1
    assert make_plan(sx.Sweep(tuple(trials)), Device("gpu")).programs == 1


def grid(function) -> dict[tuple[int, int], float]:
    return {(r, g): function(r, g) for r in (1, 2, 8) for g in (1, 2, 8)}


def test_growth_is_supported_refuted_or_undecided():
    s = MapSettings()
    rising = found_at(grid(lambda r, g: 10.0 * r**2 * g**2))
    assert c.judge_growth(s, rising, c.SHARING, "groups").verdict == "supported"
    assert c.judge_growth(s, rising, c.LOCALITY, "field").verdict == "supported"
    assert len(c.judge_growth(s, rising, c.SHARING, "groups").evidence) == 3
    # Falling with g at one field, although it rises at the others.
    falling = found_at(grid(lambda r, g: 10.0 * r**2 * (g**-1.0 if r == 2 else g**2)))
    assert c.judge_growth(s, falling, c.SHARING, "groups").verdict == "refuted"
    # The ends rise, but a step between neighbours falls.
    bent = found_at(grid(lambda r, g: {1: 10.0, 2: 400.0, 8: 40.0}[g] * r**2))
    assert c.judge_growth(s, bent, c.SHARING, "groups").verdict == "refuted"
    flat = found_at(grid(lambda r, g: 10.0 * r**2))
    assert c.judge_growth(s, flat, c.SHARING, "groups").verdict == "undecided"
    assert (
        c.judge_growth(s, flat, c.SHARING, "groups").conditions_met is False
    )  # the paper knows the corners only


def test_parts_of_the_whole_factor():
    s = MapSettings()
    finding = c.judge_parts(s, found_at({(1, 1): 10.0, (1, 8): 80.0, (8, 8): 640.0}))
    assert finding.verdict == "supported"
    assert finding.conditions_met is True
    sharing, locality, whole, share = finding.evidence
    assert sharing.estimate == pytest.approx(8.0, rel=0.02)
    assert locality.estimate == pytest.approx(8.0, rel=0.02)
    assert whole.estimate == pytest.approx(64.0, rel=0.02)
    assert share.estimate == pytest.approx(0.5, abs=0.01)
    assert share.low < 0.5 < share.high
    assert sharing.baselines == {"ratio of the laws": 8.0}
    assert (
        c.judge_parts(s, found_at({(1, 1): 10.0, (1, 8): 80.0, (8, 8): 20.0})).verdict == "refuted"
    )
    censored = c.judge_parts(
        s, found_at({(1, 1): 10.0, (1, 8): 80.0, (8, 8): 640.0}, {(1, 1): "left"})
    )
    assert censored.verdict == "supported"  # a bound on the side that matters is enough
    assert len(censored.evidence) == 3
    assert "no value" in censored.reason
    outside = c.judge_parts(
        MapSettings(patches=16, fields=(1, 16), groups=(1, 16)),
        found_at({(1, 1): 9.0, (1, 16): 99.0, (16, 16): 999.0}),
    )
    assert outside.conditions_met is False


def test_the_map_marks_what_is_censored_and_missing():
    s = MapSettings(fields=(1, 8), groups=(1, 8))
    figure = map_figure(
        s, found_at({(1, 1): 10.0, (8, 1): 50.0, (8, 8): 640.0}, {(1, 1): "left", (8, 8): "right"})
    )
    assert figure.columns == (1, 8)
    assert figure.hatched == ((True, False), (False, True))
    assert figure.texts[0][0].startswith("≤")
    assert figure.texts[1] == ("not run", figure.texts[1][1])
    assert figure.texts[1][1].startswith("≥")
    assert figure.values[1][0] is None
    assert figure.values[0][1] == pytest.approx(50.0, rel=0.02)
    (plain,) = Outcome((), (figure,)).plain()["figures"]
    assert figure_from(plain) == figure


def test_a_map_is_drawn_in_every_format_and_damage_is_named(tmp_path):
    from separatrix.report.figure import draw as figures
    from separatrix.report.read import _figure

    axis = Axis("m*", log=True)
    cells = Heatmap(
        "m",
        "A map",
        axis,
        axis,
        axis,
        (1, 2),
        (1, 2),
        ((1.0, 9.0), (None, 81.0)),
        (("1", "9"), ("?", "81")),
        ((False, True),) * 2,
    )
    svg = figures.draw(cells)
    assert all(f">{text}<" in svg.replace(" ", "") for text in ("1", "9", "?", "81"))
    for suffix in (".png", ".pdf", ".svg"):
        assert figures.save(cells, tmp_path / f"map{suffix}").stat().st_size > 1000
    (plain,) = Outcome((), (cells,)).plain()["figures"]
    assert _figure(plain, "outcomes/x.json") == cells
    with pytest.raises(SeparatrixError, match="do not fit its rows and columns"):
        _figure(plain | {"texts": [["1"]]}, "outcomes/x.json")
    with pytest.raises(SeparatrixError, match="must hold numbers"):
        _figure(plain | {"values": [["1", 2.0], [1.0, 2.0]]}, "outcomes/x.json")


def test_a_tiny_map_runs_to_its_findings():
    tiny = MapSettings(
        patches=3,
        dimension=2,
        fields=(1, 3),
        groups=(1, 3),
        steps=10,
        test=64,
        largest=64,
        trials=8,
        round=64,
        tune=MapTuning(seeds=2),
    )
    study = find_study("signal-map")
    lab = sx.Lab(workers=0)
    outcome = study.conclude(lab, tiny)
    assert [finding.claim for finding in outcome.findings] == list(study.claims)
    assert len(outcome.tables[0].rows) == 4
    assert len(outcome.tables[1].rows) == 4 * len(tiny.recipes())
    for row in outcome.tables[0].rows:
        assert row[3] == row[0] * row[1] * 2  # parameters
    planned = study.sweeps(tiny)
    assert len(planned) == 8
    again = study.conclude(lab, tiny)
    assert again.plain() == outcome.plain()
    assert math.isfinite(tiny.target)
    assert dataclasses.asdict(MapRecipe()) == {"rate": 1.0, "norm": 1.0}
