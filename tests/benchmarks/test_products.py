"""The ways of `benchmarks/products.py` to make a product are all the same product."""

import importlib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture
def products(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("products")


def test_parts_are_numbers_of_tf32_and_hold_a_float32_number_to_its_last_bits(products):
    numbers = jnp.asarray(np.random.default_rng(0).standard_normal(1000), jnp.float32)
    large, small = (np.asarray(part) for part in products.parts(numbers))
    for part in (large, small):  # 13 of the 23 bits of the mantissa are 0
        assert not (part.view(np.uint32) & 0x1FFF).any()
    # The second part has 11 bits of what is left, which begins at least 11 bits further down: half
    # a bit of 23.
    np.testing.assert_allclose(
        large.astype(np.float64) + small, np.asarray(numbers, np.float64), rtol=2.0**-23
    )


# XLA's own algorithm is not for a CPU.
WAYS = [
    "float32",
    "three of TF32",
    "one of TF32",
    "one of TF32 (inputs once)",
    "blocks",
    "rows first",
    "rows first in blocks",
    "TF32",
]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_the_product_and_its_gradient(products, way):
    assert set(products.WAYS) == {*WAYS, "TF32 x 3 (XLA's)"}
    given = products.drawn(2, 140, 150, 40)  # units and inputs that a tile of 128 does not divide
    _, found = jax.jit(lambda *given: products.steps_of(way, 1, *given))(*given)
    # On a CPU parts are multiplied in float32. Sums of at most 450 products round by about 6e-8 of
    # their size each time, √450 times that in all: 1.3e-6. A part left out would be 2^-12, 2.4e-4.
    assert max(map(abs, products.errors_of(found, given))) < 1e-5


def test_nonsense_gets_a_sentence(products, monkeypatch, capsys):
    for wrong, sentence in (
        (["--shapes", "cube"], "the shapes must be among"),
        (["--ways", "none"], "the ways must be among"),
        (["--steps", "0"], "--steps must be at least 1"),
    ):
        monkeypatch.setattr("sys.argv", ["products.py", *wrong])
        with pytest.raises(SystemExit):
            products.main()
        assert sentence in capsys.readouterr().err
