"""The verdicts of the study `stability` on made-up rows that could go either way."""

import numpy as np
import pytest

from separatrix.studies.stability import verdicts as v
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.trials import StabilityCell, at_edge

S = StabilitySettings().replace(
    sphere={"dimensions": (20, 80), "samples": (64, 256)}, mixing={"views": (0, 20, 40)}
)


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
        StabilityCell("sphere", name, d, n): several(spread(gaps(name, d, n)), **changes)
        for name in ("CNN", "FCN")
        for d in S.sphere.dimensions
        for n in S.sphere.samples
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
    assert v.judge_gap(S, rows, "CNN").verdict == patch
    assert v.judge_gap(S, rows, "FCN").verdict == full
    assert v.judge_gap(S, rows, "CNN").conditions_met is True


def test_runs_before_the_edge_are_said_to_be_outside():
    rows = sphere(lambda *_: 1.0, edge_step=-1)
    found = v.judge_gap(S, rows, "CNN")
    assert found.conditions_met is False
    assert "0 of 12 runs ended within 5 % of the edge" in found.outside
    assert v.judge_reaches(S, rows).verdict == "refuted"
    assert v.judge_reaches(S, sphere(lambda *_: 1.0)).verdict == "supported"
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
        StabilityCell("flat", "CNN", 0, S.flat.samples): several(
            spread(share), "regression.mse", edge_step=edge, **{"trace.loss": trace}
        )
    }
    assert v.judge_flat(S, rows).verdict == verdict


def test_mixing_is_paired_and_must_fall_at_every_step():
    def rows(shares):
        cells = zip(S.mixing.views, shares)
        return {
            StabilityCell("mixing", "CNN", r, S.mixing.samples): several(
                spread(share, seed=3), "regression.fitted"
            )
            for r, share in cells
        }

    assert v.judge_mixing(S, rows([1.0, 0.6, 0.3])).verdict == "supported"
    assert v.judge_mixing(S, rows([1.0, 0.6, 0.7])).verdict == "refuted"
    broken = rows([1.0, 0.6, 0.3])
    for broken_row in broken[StabilityCell("mixing", "CNN", 40, S.mixing.samples)]:
        broken_row["status"] = "diverged"
    found = v.judge_mixing(S, broken)
    assert len(found.evidence) == 1  # the pair that is left


def test_the_vocabulary_needs_both_other_networks_to_be_worse():
    def rows(cnn, lcn, fcn):
        cells = {"CNN": cnn, "LCN": lcn, "FCN": fcn}.items()
        return {
            StabilityCell("vocabulary", n, 0, S.vocabulary.samples): several(
                spread(e**2, seed=len(n)), "regression.excess"
            )
            for n, e in cells
        }

    assert v.judge_vocabulary(S, rows(0.1, 0.4, 0.4)).verdict == "supported"
    assert v.judge_vocabulary(S, rows(0.1, 0.12, 0.4)).verdict == "refuted"
    assert (
        v.judge_vocabulary(S, rows(0.1, 0.4, 0.4)).conditions_met is False
    )  # the label is a reconstruction


def test_images_are_judged_against_the_constant_too():
    def rows(cnn, fcn):
        cells = {"CNN": cnn, "FCN": fcn}.items()
        return {
            StabilityCell("images", name, 0, S.images.samples): several(
                spread(e, seed=len(name)), "regression.excess"
            )
            for name, e in cells
        }

    assert v.judge_images(S, rows(0.1, 0.4), "cifar10@x").verdict == "supported"
    found = v.judge_images(S, rows(0.3, 0.6), "embedded-photographs@x")
    assert found.verdict == "refuted"  # better than the full network, worse than a constant (0.2)
    assert "embedded-photographs" in found.outside


def test_one_violation_refutes_the_certificate():
    good = {StabilityCell("flat", "CNN"): [row()]}
    assert v.judge_certificate(S, good).verdict == "supported"  # 1 ≤ 8/4 + .5 and 2 ≤ 10/4 + .4
    bad = {StabilityCell("flat", "CNN"): [row(), row(**{"trace.weighted_path_norm": [1.0, 3.0]})]}
    assert v.judge_certificate(S, bad).verdict == "refuted"


def test_rates_are_never_refuted_by_a_few_sizes():
    assert v.judge_rates(S, sphere(lambda name, d, n: n**-0.5)).verdict == "supported"
    found = v.judge_rates(S, sphere(lambda name, d, n: n**-0.01))
    assert found.verdict == "undecided"
    assert "[reconstruction]" in found.reason
    assert found.conditions_met is False


def test_geometry_needs_locality_and_not_the_grid():
    def scheme(elbow, area):
        return {"elbow": spread(elbow, seed=1), "area": spread(area, seed=2)}

    found = {
        "conv": scheme(4, 0.034),
        "random placement": scheme(4, 0.034),
        "global shuffle": scheme(41, 0.01),
    }
    assert v.judge_patches(found, "cifar10").verdict == "supported"
    assert (
        v.judge_patches(found | {"random placement": scheme(20, 0.01)}, "cifar10").verdict
        == "refuted"
    )
    assert (
        v.judge_patches(found | {"global shuffle": scheme(4, 0.034)}, "cifar10").verdict
        == "refuted"
    )
