"""The verdicts of the part `sphere` on made-up rows: supported, refuted and undecided."""

import math

import numpy as np
import pytest
from made_up import S, row, several, sphere, spread

from separatrix.studies.stability import sphere_verdicts as v
from separatrix.studies.stability.coupling_verdicts import judge_couples
from separatrix.studies.stability.trials import StabilityCell, at_edge


@pytest.mark.parametrize(
    "power, wide, verdict",
    [(0.1, 0.05, "supported"), (-0.3, 0.05, "refuted"), (-0.1, 0.4, "undecided")],
)
def test_the_full_network_fails_where_its_gap_does_not_fall(power, wide, verdict):
    rows = sphere(lambda d, m, n: 1.5 * n**power, "FCN", wide=wide)
    assert v.judge_fcn_fails(S, rows).verdict == verdict


@pytest.mark.parametrize(
    "power, wide, verdict",
    [(-0.6, 0.05, "supported"), (0.1, 0.05, "refuted"), (-0.06, 0.5, "undecided")],
)
def test_the_shared_rate_is_an_upper_bound(power, wide, verdict):
    # The reconstructed exponent lies between .1 (m = d/4) and .17 here.
    rows = sphere(lambda d, m, n: m * n**power, wide=wide)
    assert v.judge_generalizes(S, rows).verdict == verdict


def test_interpolating_cells_are_before_the_rate_and_named():
    def gap(d, m, n):
        return 1.4 if n < 1000 else 40 / n

    rows = sphere(gap, mse=lambda d, m, n: 0.01 if n < 1000 else 0.9)
    found = v.judge_generalizes(S, rows)
    assert "before n*, interpolating: m = 5, n = 64, d = 40" in found.reason
    assert found.verdict == "supported"
    # Only m ≤ d/4 with n = 1024 and 4096: (40, 5), (40, 10), (80, ·) and (160, ·).
    assert "covers all 16 cells" in found.reason


@pytest.mark.parametrize(
    "in_m, in_d, wide, verdict",
    [
        (1.0, 0.0, 0.05, "supported"),
        (1.0, 0.6, 0.05, "refuted"),
        (-0.5, 0.0, 0.05, "refuted"),
        (0.2, 0.0, 0.5, "undecided"),
    ],
)
def test_the_receptive_field_decides_in_m_and_not_in_d(in_m, in_d, wide, verdict):
    rows = sphere(lambda d, m, n: 0.01 * m**in_m * d**in_d, wide=wide)
    assert v.judge_decides(S, rows).verdict == verdict


def test_steps_between_cells_that_do_not_generalize_are_left_out():
    def gap(d, m, n):
        return 1.4 if m > 5 else 0.1  # m = 10 and 20 are at the ceiling

    found = v.judge_decides(S, sphere(gap))
    assert found.verdict == "supported"
    assert "left out, as neither end generalizes: 12 steps in m" in found.reason
    # A step from a gap at the ceiling down to a small one counts, and refutes.
    down = v.judge_decides(S, sphere(lambda d, m, n: 0.1 if m > 5 else 1.4))
    assert (down.verdict, "neither end" in down.reason) == ("refuted", False)


@pytest.mark.parametrize(
    "power, wide, verdict",
    [(-0.2, 0.05, "supported"), (0.5, 0.05, "refuted"), (0.1, 0.5, "undecided")],
)
def test_the_control_of_unit_norm(power, wide, verdict):
    rows = sphere(lambda d, m, n: d**power, variant="unit", wide=wide)
    assert v.judge_unit_norm(S, rows).verdict == verdict
    assert v.judge_unit_norm(S, sphere(lambda d, m, n: 1.0)).verdict == "not measured"


def test_only_runs_at_the_edge_are_judged():
    rows = sphere(lambda d, m, n: 0.01 * m)
    for members in rows.values():
        members[0] |= {"sharpness": 5.0, "regression.gap": 1e6}
    found = v.judge_decides(S, rows)
    assert found.verdict == "supported"
    assert "only those are judged" in found.reason
    below = sphere(lambda d, m, n: 0.1 * m, sharpness=5.0)
    assert v.judge_decides(S, below).verdict == "not measured"
    assert at_edge(row(sharpness=10.4), 10.0)
    assert not at_edge(row(sharpness=10.6), 10.0)
    assert not at_edge(row(clipped_last=510), 10.0)  # no run counts while clipping acts
    assert at_edge(row(clipped_last=490), 10.0)


@pytest.mark.parametrize(
    "arrived, verdict", [(300, "supported"), (200, "refuted"), (275, "undecided")]
)
def test_the_share_at_the_edge_has_a_bar_of_nine_tenths(arrived, verdict):
    runs = [row(seed, sharpness=10.0 if seed < arrived else 7.0) for seed in range(300)]
    clipped = [row(seed, sharpness=7.0, clipped_steps=3) for seed in range(300)]
    rows = {StabilityCell("flat", "CNN"): runs, StabilityCell("mixing", "CNN"): clipped}
    found = v.judge_reaches(S, rows)
    assert found.verdict == verdict
    assert f"{arrived} of 300 runs" in found.reason  # clipped runs do not count
    assert v.judge_reaches(S, {StabilityCell("mixing", "CNN"): clipped}).verdict == "not measured"


def test_onsets_are_interpolated_and_censored():
    # gap = ½·(n*/n): n* is where it is half of the noise energy 1.
    rows = sphere(lambda d, m, n: 0.5 * (30 * m**2 / d) ** 2 / n, wide=1e-3)
    truth = {(d, m): (30 * m**2 / d) ** 2 for d in S.sphere.dimensions for m in (5, 10, 20)}
    found = v.onsets(S, rows)
    assert set(found) == set(truth)
    for key, cell in found.items():
        if truth[key] < 64:
            assert (cell.censoring, math.exp(cell.value)) == ("left", pytest.approx(64))
        elif truth[key] > 4096:
            assert (cell.censoring, math.exp(cell.value)) == ("right", pytest.approx(4096))
        else:
            assert cell.censoring == "none"
            # The spread of .001 moves n* by about as much, in 4 seeds and two cells.
            assert math.exp(cell.value) == pytest.approx(truth[key], rel=0.005)


@pytest.mark.parametrize(
    "onset, wide, verdict",
    [
        (lambda d, m: 8 * m**1.5 / (d / 40) ** 0.5, 0.05, "supported"),
        (lambda d, m: 1500 / (m / 5) ** 0.7, 0.05, "refuted"),
        (lambda d, m: 3 * m * (d / 40) ** 1.2 * 4, 0.05, "refuted"),
        (lambda d, m: 30 * m**0.9, 0.6, "undecided"),
    ],
)
def test_the_law_of_the_onset(onset, wide, verdict):
    rows = sphere(lambda d, m, n: 0.5 * onset(d, m) / n, wide=wide)
    assert v.judge_onset(S, rows).verdict == verdict


def test_the_onset_law_has_the_planted_exponents():
    rows = sphere(lambda d, m, n: 0.5 * 8 * m**1.5 / (d / 40) ** 0.5 / n, wide=0.02)
    words, (of_m, of_d) = v.onset_law(list(v.onsets(S, rows).values()))
    assert words.startswith("n* goes as m^1.5")
    assert of_m.low - 0.05 < 1.5 < of_m.high + 0.05
    assert of_d.low - 0.05 < -0.5 < of_d.high + 0.05


def coupled(inside, rank, active, seeds=6, wide=0.02):
    """Rows of shared and unshared networks, pairs of means each."""
    rows = {}
    for place, name in enumerate(("CNN", "LCN")):
        columns = {
            "coupling.inside": spread(inside[place], seeds, place, wide),
            "coupling.rank": spread(rank[place], seeds, place + 2, wide),
            "coupling.angle": spread(40.0, seeds, place + 4, wide),
        }
        rows[StabilityCell("vocabulary", name, 0, S.vocabulary.samples)] = [
            row(i, **{key: values[i] for key, values in columns.items()}) for i in range(seeds)
        ]
        rows[StabilityCell("sphere", name, 80, 256, 10)] = several(
            spread(active[place], seeds, place + 6, wide), "activation.weighted"
        )
    return rows


def test_coupling_needs_all_three_numbers():
    good = coupled((0.8, 0.4), (2.0, 4.0), (0.5, 0.3))
    assert judge_couples(S, good).verdict == "supported"
    assert judge_couples(S, coupled((0.8, 0.4), (2.0, 4.0), (0.3, 0.5))).verdict == "refuted"
    assert judge_couples(S, coupled((0.8, 0.4), (4.0, 2.0), (0.5, 0.3))).verdict == "refuted"
    vague = coupled((0.8, 0.79), (2.0, 4.0), (0.5, 0.3), wide=0.3)
    assert judge_couples(S, vague).verdict == "undecided"
    half = {cell: members for cell, members in good.items() if cell.part == "sphere"}
    assert judge_couples(S, half).verdict == "undecided"  # two parts were not measured


def test_activation_is_decided_with_few_seeds_over_many_cells():
    """Three seeds by themselves have two degrees of freedom, too few for any verdict at 99.9 %."""
    few = coupled((0.8, 0.4), (2.0, 4.0), (0.5, 0.3), seeds=12)
    for place, name in enumerate(("CNN", "LCN")):
        few.pop(StabilityCell("sphere", name, 80, 256, 10))
        for i, d in enumerate((40, 80, 120, 160, 200, 240)):
            few[StabilityCell("sphere", name, d, 256, 10)] = several(
                spread((0.5, 0.3)[place], 3, 10 * i + place, 0.02), "activation.weighted"
            )
    assert judge_couples(S, few).verdict == "supported"


def test_full_networks_that_cannot_fit_the_noise_are_named_and_not_judged():
    s = S.replace(sphere={"width": 64})  # at d = 40, 2689 parameters: too few for 1024 samples
    rows = sphere(lambda d, m, n: 1.5 if 64 * (d + 2) + 1 >= 3 * n else 0.2, "FCN")
    found = v.judge_fcn_fails(s, rows)
    assert found.verdict == "supported"
    assert "fewer than 3 parameters per sample: n = 1024 at d = 40" in found.reason
    wide = s.replace(sphere={"width": 4096})  # there the same numbers would count
    assert v.judge_fcn_fails(wide, rows).verdict != "supported"


def test_the_law_of_the_claim_is_that_of_the_theory():
    design = {name: np.array([size]) for name, size in (("n", 100.0), ("d", 50.0), ("m", 10.0))}
    assert v.RATE.values(design)[0] == pytest.approx(100 ** -v.rate_of(10, 50))
