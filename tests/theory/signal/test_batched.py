"""Estimators as compiled programs against the same algorithms in NumPy."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.streams import draw, named, normal, root_key, root_words, uniform
from separatrix.theory.signal import batched, estimate_signal, estimator_alignment
from separatrix.theory.signal.batched import (
    TrainingSet,
    batch_size,
    batched_alignments,
    batches_of,
    estimator_frame,
)

programmed = functools.partial(batched_alignments, compiled=True)
SIZES = {"patches": 4, "dimension": 8, "noise": 0.4}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(batched, "MOST_AT_ONCE", 4)


def rows_of(one: TrainingSet):
    """The training set that a program draws, as NumPy takes it, and its signal."""
    key = root_key(root_words("signal-estimator", *one))
    k, d = one.patches, one.dimension
    shape = (one.samples, k * d) if one.network == "FCN" else (one.samples, k, d)
    x = one.noise * np.asarray(draw(normal, named(key, "noise"), shape), float)
    x = x.reshape(one.samples, k, d)
    spot = np.asarray(draw(uniform, named(key, "places"), (one.samples,)))
    places = np.minimum((spot * np.float32(k)).astype(int), k - 1)
    x[np.arange(one.samples), places, 0] += 1.0
    return x, np.ones(one.samples), places


@pytest.mark.parametrize("network", ["CNN", "LCN"])
@pytest.mark.parametrize("estimator", ["em", "lsa"])
def test_windows_are_estimated_as_in_numpy_whatever_the_padding(network, estimator):
    # 40 or 120 rows of 3 or 4 patches share one frame of 128 rows and 16 patches.
    sets = [
        TrainingSet(estimator, network, patches, 8, 0.4, samples, seed)
        for patches, samples in ((3, 40), (4, 120))
        for seed in range(3)
    ]
    assert len({estimator_frame(one) for one in sets}) == 1
    for one, found in zip(sets, programmed(sets, bias=0.3), strict=True):
        x, y, places = rows_of(one)
        filters = estimate_signal(x, y, places, one.noise, estimator, network, bias=0.3)
        # Thirty rounds of single precision, stopped at a change of 1e-4.
        assert found == pytest.approx(filters[:, 0].mean(), abs=2e-3)


def test_full_networks_are_estimated_as_well_as_in_numpy():
    sizes = (4, 8, 0.4, 150)
    ours = programmed([TrainingSet("em", "FCN", *sizes, seed) for seed in range(16)])
    theirs = [estimator_alignment("em", "FCN", *sizes, seed).mean() for seed in range(16)]
    error = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(16)
    # The two start at other random rows: means agree within four standard errors.
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * error


def test_a_full_estimate_stays_where_expectation_maximisation_is_at_rest():
    """From many rows with little noise there is one answer, whatever the start."""
    one = TrainingSet("em", "FCN", 4, 8, 0.1, 150, seed=2)
    x, y, places = rows_of(one)
    filters = estimate_signal(x, y, places, 0.1, "genie", "FCN").reshape(4, 4, 8)
    expected = filters[np.arange(4), np.arange(4), 0].mean()
    assert programmed([one])[0] == pytest.approx(expected, abs=1e-3)


def test_padding_and_company_change_nothing(monkeypatch):
    one = TrainingSet("em", "FCN", **SIZES, samples=100, seed=5)
    alone = programmed([one])[0]
    among = programmed([one._replace(seed=9), one, one._replace(samples=120)])[1]
    assert among == pytest.approx(alone, abs=1e-6)
    monkeypatch.setattr(batched, "FIRST_ROWS", 256)
    assert programmed([one])[0] == pytest.approx(alone, abs=2e-3)


def test_an_orthonormal_basis_has_the_same_span():
    columns = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    used = jnp.arange(4) < 3
    basis = np.asarray(batched._orthonormal(jnp.asarray(columns * np.asarray(used)), used))
    np.testing.assert_allclose(basis.T @ basis, np.diag([1.0, 1.0, 1.0, 0.0]), atol=1e-5)
    projected = basis @ (basis.T @ columns[:, :3])
    np.testing.assert_allclose(projected, columns[:, :3], atol=1e-4)


def test_batches_share_a_frame_and_fit():
    sets = [TrainingSet("em", "CNN", **SIZES, samples=m, seed=0) for m in (8, 500, 16, 2000)]
    batches = list(batches_of(sets))
    assert sorted(place for _, places in batches for place in places) == [0, 1, 2, 3]
    for frame, places in batches:
        assert len(places) <= batch_size(frame)
        assert {estimator_frame(sets[place]) for place in places} == {frame}


def test_without_a_compiler_the_numpy_reference_answers():
    one = TrainingSet("lsa", "LCN", **SIZES, samples=60, seed=3)
    found = batched_alignments([one], bias=0.3, compiled=False)[0]
    assert found == estimator_alignment(*one, bias=0.3).mean()


@pytest.mark.parametrize(
    "changes",
    [
        {"patches": 0},
        {"noise": 0.0},
        {"samples": 0},
        {"network": "RNN"},
        {"estimator": "genie"},
        {"estimator": "lsa", "network": "FCN"},
    ],
)
def test_what_makes_no_sense_is_refused(changes):
    one = TrainingSet("em", "CNN", **SIZES, samples=9, seed=0)
    with pytest.raises(SeparatrixError, match=next(iter(changes))):
        batched_alignments([one._replace(**changes)])
