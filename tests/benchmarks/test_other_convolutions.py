"""The convolutions that only the benchmark times compute the same as the package's."""

import importlib
from pathlib import Path

import pytest

from convolution_cases import GRIDS, check_batched_filters, check_gradients, check_outputs


@pytest.mark.parametrize("name", ["shifts", "in turn"])
def test_other_implementations_are_convolutions_too(monkeypatch, name):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    implementation = importlib.import_module("other_convolutions").IMPLEMENTATIONS[name]
    for stride, field in GRIDS:
        check_outputs(implementation, stride, field)
    check_gradients(implementation)
    check_batched_filters(implementation)
