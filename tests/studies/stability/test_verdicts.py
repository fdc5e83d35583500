"""The verdicts of the other parts on made-up rows: supported, refuted and undecided."""

import pytest
from made_up import S, row, several, spread

from separatrix.studies.stability import verdicts as v
from separatrix.studies.stability.trials import StabilityCell


@pytest.mark.parametrize(
    "share, trace, sharpness, verdict",
    [
        (0.01, [1.0, 0.5, 0.01], 10.0, "supported"),
        (0.01, [1.0, 0.5, 0.01], 6.0, "not measured"),  # no run is at the edge
        (0.5, [1.0, 0.8, 0.5], 10.0, "undecided"),  # the loss still falls
        (0.5, [1.0, 0.5, 0.5], 10.0, "refuted"),
        (0.1, [1.0, 0.1, 0.1], 10.0, "undecided"),
    ],
)
def test_interpolation_is_refuted_only_where_the_loss_has_settled(share, trace, sharpness, verdict):
    cell = StabilityCell("flat", "CNN", 0, S.flat.samples)
    runs = several(
        spread(share, wide=0.2), "regression.mse", sharpness=sharpness, **{"trace.loss": trace}
    )
    assert v.judge_flat(S, {cell: runs}).verdict == verdict


def test_mixing_is_paired_and_must_fall_at_every_step():
    def rows(shares, wide=0.05):
        return {
            StabilityCell("mixing", "CNN", r, S.mixing.samples): several(
                spread(share, seed=r, wide=wide), "regression.fitted"
            )
            for r, share in zip(S.mixing.views, shares)
        }

    assert v.judge_mixing(S, rows([1.0, 0.6, 0.3])).verdict == "supported"
    assert v.judge_mixing(S, rows([1.0, 0.5, 0.8])).verdict == "refuted"
    assert v.judge_mixing(S, rows([1.0, 0.6, 0.55], wide=0.3)).verdict == "undecided"
    broken = rows([1.0, 0.6, 0.3])
    for broken_row in broken[StabilityCell("mixing", "CNN", 40, S.mixing.samples)]:
        broken_row["status"] = "diverged"
    found = v.judge_mixing(S, broken)
    assert (found.verdict, len(found.evidence)) == ("undecided", 1)  # the pair that is left
    early = rows([1.0, 0.5, 0.8])
    for members in early.values():
        members[0]["sharpness"] = 5.0
    assert v.judge_mixing(S, early).verdict == "undecided"  # outside the paper's conditions


def test_the_vocabulary_needs_both_other_networks_to_be_worse():
    def rows(cnn, lcn, fcn, wide=0.05):
        return {
            StabilityCell("vocabulary", name, 0, S.vocabulary.samples): several(
                spread(error**2, seed=place, wide=wide), "regression.excess"
            )
            for place, (name, error) in enumerate({"CNN": cnn, "LCN": lcn, "FCN": fcn}.items())
        }

    found = v.judge_vocabulary(S, rows(0.1, 0.4, 0.4))
    assert (found.verdict, found.conditions_met) == ("supported", False)  # a reconstruction
    # The contrary outside the paper's conditions refutes nothing.
    assert v.judge_vocabulary(S, rows(0.3, 0.1, 0.4)).verdict == "undecided"
    assert (
        v.VOCABULARY.kind.decide(
            {"LCN": v._ratio({0: 0.3, 1: 0.31, 2: 0.29}, {0: 0.1, 1: 0.1, 2: 0.11})}
        ).verdict
        == "refuted"
    )
    assert v.judge_vocabulary(S, rows(0.1, 0.11, 0.4, wide=0.6)).verdict == "undecided"


def test_images_are_judged_against_the_full_network_and_against_a_constant():
    paper = S.replace(images={"side": 32, "samples": 1024, "width": 1024})

    def rows(cnn, fcn, wide=0.1):
        return {
            StabilityCell("images", name, 0, 1024): several(
                spread(risk, 12, seed=place, wide=wide), "regression.excess"
            )
            for place, (name, risk) in enumerate({"CNN": cnn, "FCN": fcn}.items())
        }

    assert v.judge_images(paper, rows(0.1, 0.4), "cifar10@x").verdict == "supported"
    assert v.judge_images(paper, rows(0.6, 0.3), "cifar10@x").verdict == "refuted"
    assert v.judge_images(paper, rows(0.3, 0.31, wide=0.5), "cifar10@x").verdict == "undecided"
    elsewhere = v.judge_images(paper, rows(0.6, 0.3), "embedded-photographs@x")
    assert (elsewhere.verdict, elsewhere.conditions_met) == ("undecided", False)
    assert "embedded-photographs" in elsewhere.outside
    # The best constant has a risk of 0.2.
    for cnn, verdict in ((0.1, "supported"), (0.3, "refuted"), (0.2, "undecided")):
        found = v.judge_images(paper, rows(cnn, 0.6), "cifar10@x", v.IMAGES_CONSTANT)
        assert found.verdict == verdict


def test_one_violation_refutes_the_certificate():
    good = {StabilityCell("flat", "CNN"): [row()]}
    assert v.judge_certificate(S, good).verdict == "supported"  # 1 ≤ 8/4 + .5 and 2 ≤ 10/4 + .4
    bad = {
        StabilityCell("flat", "CNN"): [row(), row(1, **{"trace.weighted_path_norm": [1.0, 3.0]})]
    }
    found = v.judge_certificate(S, bad)
    assert found.verdict == "refuted"
    assert "flat CNN seed 1" in found.reason
    assert v.judge_certificate(S, {}).verdict == "not measured"


def test_patches_are_low_dimensional_and_schemes_are_alike():
    def schemes(local=4.0, placed=4.0, shuffle=41.0, wide=0.03):
        means = dict.fromkeys(v.LOCAL, local) | dict.fromkeys(v.PLACED, placed)
        means["global shuffle"] = shuffle
        return {
            name: {"elbow": spread(mean, 8, seed=place, wide=wide)}
            for place, (name, mean) in enumerate(means.items())
        }

    assert v.judge_patches(schemes(), "cifar10").verdict == "supported"
    assert v.judge_patches(schemes(shuffle=5.0), "cifar10").verdict == "refuted"
    assert v.judge_patches(schemes(placed=9.0), "cifar10").verdict == "refuted"
    assert v.judge_patches(schemes(placed=5.9, wide=0.2), "cifar10").verdict == "undecided"
    assert v.judge_patches(schemes(shuffle=5.0), "photos").verdict == "undecided"  # not CIFAR-10


def test_long_training_is_judged_by_the_ratio_of_gaps():
    long = S.replace(sphere={"long_steps": 500_000})

    def rows(shared, full=1.5, wide=0.05):
        cells = {}
        for place, (network, m, gap) in enumerate((("CNN", 5, shared), ("FCN", 0, full))):
            for n in (256, 1024):
                cell = StabilityCell("sphere", network, 40, n, m, "long")
                cells[cell] = several(spread(gap, 4, seed=place + n, wide=wide))
        return cells

    assert v.judge_long(long, rows(0.2)).verdict == "supported"
    assert v.judge_long(long, rows(3.0)).verdict == "refuted"
    assert v.judge_long(long, rows(1.4, wide=0.5)).verdict == "undecided"
    both = rows(0.2) | {StabilityCell("sphere", "CNN", 40, 256, 5): several(spread(0.1, 4))}
    assert (
        "to 500000 steps the shared gap goes from 0.1 to 0.2 (m = 5, n"
        in v.judge_long(long, both).reason
    )
    assert "--set sphere.long_steps=500000" in v.judge_long(long, {}).reason
