"""The implementations of a convolution equal loops, also under vmap, and so do their gradients."""

import jax
import pytest

import separatrix as sx
from convolution_cases import GRIDS, check_batched_filters, check_gradients, check_outputs
from separatrix.networks.convolutions import FASTEST, IMPLEMENTATIONS, chosen

every = pytest.mark.parametrize("implementation", IMPLEMENTATIONS.values(), ids=IMPLEMENTATIONS)


@every
@pytest.mark.parametrize("stride, field", GRIDS)
def test_every_implementation_is_the_sum_over_windows(implementation, stride, field):
    check_outputs(implementation, stride, field)


@every
def test_gradients_of_a_batch_of_trials_are_those_of_each(implementation):
    check_gradients(implementation)


@every
def test_filters_alone_may_be_batched(implementation):
    check_batched_filters(implementation)


def test_the_choice_follows_the_kind_of_device(monkeypatch):
    for kind, name in FASTEST.items():
        monkeypatch.setattr(jax, "default_backend", lambda kind=kind: kind)
        assert chosen() is IMPLEMENTATIONS[name]
    monkeypatch.setattr(jax, "default_backend", lambda: "abacus")
    assert chosen() is IMPLEMENTATIONS["convolution"]
    assert sx.CNN(3, 8, depth=2).costs((32, 32, 3)).hidden == 8 * (30**2 + 28**2)
    # Columns hold the windows of both layers as well.
    monkeypatch.setitem(FASTEST, "abacus", "columns")
    assert sx.CNN(3, 8, depth=2).costs((32, 32, 3)).hidden == (8 + 27) * 30**2 + (8 + 72) * 28**2
