"""Theorem 12: its bounds, its identity, and the separation of full networks from windows."""

import itertools
import math

import numpy as np
import pytest
from unit_draws import ACTIVATIONS, gaussian, names

from separatrix.theory.patterns import enumeration, hardness
from separatrix.theory.patterns.hardness import (
    crossing,
    separation_row,
    separation_table,
    support_average,
    theorem12,
)
from separatrix.theory.patterns.units import UnitActivation


def test_theorem12_in_closed_form_and_the_sharper_bound_is_sharper():
    bound = hardness.theorem12(10, 3, filters=7, ceiling=2.0)
    assert bound.first_layer == pytest.approx(7 * 10 / math.comb(9, 3))
    assert bound.readout == pytest.approx(4 * 7 / math.comb(10, 3))
    assert bound.sharper == pytest.approx(7 * 8 / math.comb(10, 3))
    n, k = np.meshgrid(np.arange(1, 60), np.arange(1, 60))
    keep = k <= n
    grid = hardness.theorem12(n[keep], k[keep])
    assert np.all(grid.log_sharper <= grid.log_first_layer + 1e-12)
    # k = n leaves one set, of n-1 bits for each coordinate; C(n-1, n) = 0 must not divide.
    assert hardness.theorem12(5, 5).first_layer == pytest.approx(5)
    assert hardness.theorem12(5, 5).sharper == pytest.approx(1)
    assert math.isfinite(hardness.theorem12(10**6, 10**4).log_first_layer)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=names)
@pytest.mark.parametrize("bits", [8, 10, 12])
def test_the_identity_of_theorem12_holds_to_machine_precision(activation, bits):
    w, b = gaussian(1, bits), 0.17
    for k in (1, 2, bits // 2, bits - 1, bits):
        supports = list(itertools.combinations(range(bits), k))
        spectrum = enumeration.walsh_hadamard(
            activation.derivative(enumeration.preactivations(w[0], b))
        )
        masks = np.array([sum(1 << i for i in s) for s in supports])
        direct = (spectrum[masks[:, None] ^ (1 << np.arange(bits))] ** 2).sum(1).mean()
        profile = enumeration.degree_profile(w[0], b, activation)
        value = enumeration.degree_profile(w[0], b, activation, derivative=False)
        average = support_average(
            bits, k, profile[k - 1], profile[k + 1] if k < bits else 0.0, value[k]
        )
        assert average.first_layer == pytest.approx(direct, rel=1e-11)
        readout = enumeration.walsh_hadamard(activation.value(enumeration.preactivations(w[0], b)))
        assert average.readout == pytest.approx((readout[masks] ** 2).mean(), rel=1e-11)
        assert (
            average.first_layer
            <= theorem12(bits, k).sharper * (1 + 1e-12)
            <= theorem12(bits, k).first_layer * (1 + 1e-11)
        )


def test_the_sharper_bound_is_attained_when_all_mass_sits_at_degree_k_minus_1():
    for n, k in ((9, 3), (12, 5)):
        assert support_average(n, k, 1.0, 0.0).first_layer == pytest.approx(theorem12(n, k).sharper)


@pytest.mark.parametrize("initialisation", ["gaussian", "sign", "theorem4"])
def test_theorem12_holds_in_the_separation_table_and_the_signal_dies_faster_than_any_polynomial(
    initialisation,
):
    rows = separation_table(
        [16, 64, 256, 1024], UnitActivation("clipped"), None, initialisation, draws=4, plain_draws=4
    )
    for row in rows:
        assert row.full.high <= row.sharper <= row.paper
        assert row.full_readout.high <= row.paper_readout
        assert row.full_error <= 0.05 * row.full.mean
    # The local exponent of n in E||grad||² grows with n: superpolynomial.
    logs = np.log([row.full.mean for row in rows])
    slopes = np.diff(logs) / np.log(4)
    assert np.all(np.diff(slopes) < 0)
    assert slopes[-1] < -7


def test_the_crossing_depends_on_what_is_held_fixed():
    rows = separation_table([8, 16, 32, 64], UnitActivation("relu"), plain_draws=2)
    assert crossing(rows, bounded=False) == 8
    assert crossing(rows) == 32
    network = rows[-1].network(filters=16, bounded=True)
    assert network["full"] / network["shared"] == pytest.approx(rows[-1].bounded_ratio)


def test_lattice_rows_equal_their_plain_draws():
    row = separation_row(64, 6, UnitActivation("relu"), "sign", 0.3, plain_draws=3)
    assert row.plain.mean == pytest.approx(row.full.mean, rel=1e-9)
    assert row.plain.high - row.plain.low < 1e-9 * row.plain.mean
