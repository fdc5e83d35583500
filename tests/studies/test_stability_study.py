"""The stability study: its cells, its verdicts on made-up rows that could go either way, and one
part run from end to end.
"""

import dataclasses

import numpy as np
import pytest

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.stability import verdicts as j
from separatrix.studies.stability.patches import judge_patches
from separatrix.studies.stability.recipes import CellKey, cells, matched
from separatrix.studies.stability.settings import SCALES, StabilitySettings
from separatrix.studies.stability.trials import at_edge, exponent_between, ratio_of, slope_interval

S = StabilitySettings(dimensions=(20, 80), samples=(64, 256), mix_views=(0, 20, 40))


def row(seed=0, **changes):
    base = {
        "status": "exhausted",
        "seed": seed,
        "edge_step": 100,
        "sharpness": 10.0,
        "loss": 0.1,
        "risk": 0.5,
        "regression.gap": 1.0,
        "regression.mse": 0.1,
        "regression.noise": 1.0,
        "regression.fitted": 0.9,
        "regression.excess": 0.5,
        "regression.constant": 0.2,
        "trace.loss": [1.0, 0.5, 0.3, 0.2, 0.1],
        "trace.risk": [1.0, 0.3, 0.5],
        "trace.sharpness": [8.0, 10.0],
        "trace.weighted_path_norm": [1.0, 2.0],
        "trace.weighted_path_norm.allowance": [0.5, 0.4],
    }
    return base | changes


def several(values, name="regression.gap", **changes):
    return [row(seed, **{name: value}, **changes) for seed, value in enumerate(values)]


def spread(mean, seeds=6, seed=0, wide=0.05):
    return (mean * np.exp(wide * np.random.default_rng(seed).standard_normal(seeds))).tolist()


def sphere(gaps, **changes):
    """Rows of the sphere part from a function of (network, d, n)."""
    return {
        CellKey("sphere", name, d, n): several(spread(gaps(name, d, n)), **changes)
        for name in ("CNN", "FCN")
        for d in S.dimensions
        for n in S.samples
    }


@pytest.mark.parametrize(
    "power, patch, full",
    [
        (0.0, "supported", "undecided"),
        (1.0, "refuted", "supported"),
        (-1.0, "supported", "refuted"),
    ],
)
def test_gap_verdicts_follow_the_growth_in_d(power, patch, full):
    rows = sphere(lambda name, d, n: d**power)
    assert j.judge_gap(S, rows, "CNN").verdict == patch
    assert j.judge_gap(S, rows, "FCN").verdict == full
    assert j.judge_gap(S, rows, "CNN").conditions_met is True


def test_runs_before_the_edge_are_said_to_be_outside():
    rows = sphere(lambda *_: 1.0, edge_step=-1)
    found = j.judge_gap(S, rows, "CNN")
    assert found.conditions_met is False
    assert "0 of 12 runs ended within 5 % of the edge" in found.outside
    assert j.judge_reaches(S, rows).verdict == "refuted"
    assert j.judge_reaches(S, sphere(lambda *_: 1.0)).verdict == "supported"
    assert at_edge(row(sharpness=10.4), 10.0)
    assert not at_edge(row(sharpness=10.6), 10.0)
    assert not at_edge(row(clipped_last=95, steps=100), 10.0)  # no run counts while clipping acts
    assert at_edge(row(clipped_last=90, steps=100), 10.0)


@pytest.mark.parametrize(
    "share, trace, edge, verdict",
    [
        (0.01, [1.0, 0.5, 0.01], 100, "supported"),
        (0.01, [1.0, 0.5, 0.01], -1, "undecided"),
        (0.5, [1.0, 0.8, 0.5], 100, "undecided"),
        (0.5, [1.0, 0.5, 0.5], 100, "refuted"),
    ],
)
def test_interpolation_is_refuted_only_where_the_loss_has_settled(share, trace, edge, verdict):
    rows = {
        CellKey("flat", "CNN", 0, S.flat_samples): several(
            spread(share), "regression.mse", edge_step=edge, **{"trace.loss": trace}
        )
    }
    assert j.judge_flat(S, rows).verdict == verdict


def test_mixing_is_paired_and_must_fall_at_every_step():
    def rows(shares):
        cells = zip(S.mix_views, shares)
        return {
            CellKey("mixing", "CNN", r, S.mix_samples): several(
                spread(share, seed=3), "regression.fitted"
            )
            for r, share in cells
        }

    assert j.judge_mixing(S, rows([1.0, 0.6, 0.3])).verdict == "supported"
    assert j.judge_mixing(S, rows([1.0, 0.6, 0.7])).verdict == "refuted"
    broken = rows([1.0, 0.6, 0.3])
    for each in broken[CellKey("mixing", "CNN", 40, S.mix_samples)]:
        each["status"] = "diverged"
    found = j.judge_mixing(S, broken)
    assert len(found.evidence) == 1  # the pair that is left


def test_the_vocabulary_needs_both_other_networks_to_be_worse():
    def rows(cnn, lcn, fcn):
        cells = {"CNN": cnn, "LCN": lcn, "FCN": fcn}.items()
        return {
            CellKey("vocabulary", n, 0, S.word_samples): several(
                spread(e**2, seed=len(n)), "regression.excess"
            )
            for n, e in cells
        }

    assert j.judge_vocabulary(S, rows(0.1, 0.4, 0.4)).verdict == "supported"
    assert j.judge_vocabulary(S, rows(0.1, 0.12, 0.4)).verdict == "refuted"
    assert (
        j.judge_vocabulary(S, rows(0.1, 0.4, 0.4)).conditions_met is False
    )  # the label is a reconstruction


def test_images_are_judged_against_the_constant_too():
    def rows(cnn, fcn):
        cells = {"CNN": cnn, "FCN": fcn}.items()
        return {
            CellKey("images", name, 0, S.image_samples): several(
                spread(e, seed=len(name)), "regression.excess"
            )
            for name, e in cells
        }

    assert j.judge_images(S, rows(0.1, 0.4), "cifar10@x").verdict == "supported"
    found = j.judge_images(S, rows(0.3, 0.6), "embedded-photographs@x")
    assert found.verdict == "refuted"  # better than the full network, worse than a constant (0.2)
    assert "embedded-photographs" in found.outside


def test_one_violation_refutes_the_certificate():
    good = {CellKey("flat", "CNN"): [row()]}
    assert j.judge_certificate(S, good).verdict == "supported"  # 1 ≤ 8/4 + .5 and 2 ≤ 10/4 + .4
    bad = {CellKey("flat", "CNN"): [row(), row(**{"trace.weighted_path_norm": [1.0, 3.0]})]}
    assert j.judge_certificate(S, bad).verdict == "refuted"


def test_rates_are_never_refuted_by_a_few_sizes():
    assert j.judge_rates(S, sphere(lambda name, d, n: n**-0.5)).verdict == "supported"
    found = j.judge_rates(S, sphere(lambda name, d, n: n**-0.01))
    assert found.verdict == "undecided"
    assert "[reconstruction]" in found.reason
    assert found.conditions_met is False


def test_slopes_and_exponents():
    exact = slope_interval([(n, [2.0 * n**-0.4] * 3) for n in (10, 100, 1000)])
    assert exact.estimate == pytest.approx(-0.4)
    # Coverage: 300 repetitions with true slope -0.5; the 95 % interval must hold it in at least 90
    # % (binomial, 4 standard errors).
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        found = slope_interval(
            [(n, (n**-0.5 * (1 + 0.2 * rng.standard_normal(5))).tolist()) for n in (10, 30, 90)]
        )
        held += found.contains(-0.5)
    assert held / 300 >= 0.90
    assert slope_interval([(10, [1.0])]) is None
    assert ratio_of([1.0, 0.0], [1.0]) is None
    doubled = exponent_between(2, 8, ratio_of([4.0] * 3, [1.0] * 3))
    assert (doubled.estimate, doubled.low, doubled.high) == pytest.approx((1.0, 1.0, 1.0))


def test_geometry_needs_locality_and_not_the_grid():
    def each(elbow, area):
        return {"elbow": spread(elbow, seed=1), "area": spread(area, seed=2)}

    found = {
        "conv": each(4, 0.034),
        "random placement": each(4, 0.034),
        "global shuffle": each(41, 0.01),
    }
    assert judge_patches(found, "cifar10", True).verdict == "supported"
    assert (
        judge_patches(found | {"random placement": each(20, 0.01)}, "cifar10", True).verdict
        == "refuted"
    )
    assert (
        judge_patches(found | {"global shuffle": each(4, 0.034)}, "cifar10", True).verdict
        == "refuted"
    )


def test_cells_and_matched_networks():
    full = matched(50, 10, 10_500)
    counts = [network.parameter_count((500, 1)) for network in full.values()]
    assert max(counts) / min(counts) < 1.02
    for scale, settings in SCALES.items():
        chosen = cells(dataclasses.replace(settings, image_source="embedded-photographs"))
        assert {cell.part for cell in chosen} == set(settings.parts) - {"geometry"}, scale
        assert all(len(sweep) >= 4 for sweep in chosen.values())  # never one seed
    # The networks of the paper have the paper's numbers of parameters.
    image = {
        cell.network: sweep.trials[0].network
        for cell, sweep in cells(SCALES["full"]).items()
        if cell.part == "images"
    }
    assert image["CNN"].parameter_count((32, 32, 3)) == 29_697
    assert image["FCN"].parameter_count((32, 32, 3)) == 3_147_777


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"rate": "0"}, "the `rate` of the stability study must be a number > 0, got 0.0"),
        (
            {"patch": "30"},
            r"the `patch` of the stability study must be an integer in \[1, 20\], got 30",
        ),
        ({"samples": "0,5"}, "the `samples` of the stability study must be an integer >= 1, got 0"),
        ({"parts": "sphere,flta"}, "the `parts` of the stability study must be one of"),
    ],
)
def test_bad_settings_are_one_sentence(changes, words):
    with pytest.raises(sx.SeparatrixError, match=words):
        find_study("stability").settings("quick", 0, changes)


def test_two_parts_from_end_to_end():
    study = find_study("stability")
    small = {
        "parts": "flat,geometry",
        "flat_views": "2",
        "flat_patch": "4",
        "flat_samples": "8",
        "flat_width": "24",
        "flat_steps": "400",
        "flat_seeds": "3",
        "times": "8",
        "flat_times": "8",
        "test": "64",
        "patch_images": "80",
        "patch_points": "30",
        "patch_directions": "20",
        "patch_seeds": "3",
        "image_source": "embedded-photographs",
    }
    settings = study.settings("quick", 1, small)
    assert {name: len(sweep) for name, sweep in study.sweeps(settings).items()} == {"flat": 3}
    with sx.Lab(workers=0) as lab:
        outcome = study.conclude(lab, settings)
    verdicts = {finding.claim.id: finding.verdict for finding in outcome.findings}
    assert set(verdicts) == {claim.id for claim in study.claims}
    assert verdicts["liang.certificate.holds"] == "supported"  # a theorem
    assert verdicts["liang.gap-follows-patch"] == "undecided"  # its part was not run
    names = {figure.name for figure in outcome.figures}
    assert {"flat-sharpness", "flat", "activation", "patch-elbow", "patch-area"} <= names
    (line,) = [
        series
        for figure in outcome.figures
        if figure.name == "flat-sharpness"
        for series in figure.series
        if series.label == "2/η"
    ]
    assert line.y == (10.0, 10.0)
    assert any(note.code == "no-cifar10" for note in outcome.notes)
