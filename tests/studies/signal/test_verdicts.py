"""A curve that has stopped falling is told from one that has not."""

import numpy as np
import pandas as pd
import pytest

from separatrix.studies.signal.verdicts import fall, is_flat


def rows(slope: float, noise: float = 0.002, each: int = 20) -> pd.DataFrame:
    """Trials whose risk is .12 at 256 samples and falls by `slope` with each doubling."""
    rng = np.random.default_rng(5)
    sizes = np.repeat([64, 256, 512, 1024, 2048], each)
    return pd.DataFrame(
        {
            "samples": sizes,
            "risk": 0.12 - slope * (np.log2(sizes) - 8) + noise * rng.normal(size=len(sizes)),
        }
    )


@pytest.mark.parametrize("slope", [0.0, 0.003, 0.02, -0.01])
def test_the_fall_of_a_line_is_its_slope(slope):
    found = fall(rows(slope))
    assert found is not None
    assert found.low < slope < found.high
    # 60 trials over three doublings of sd .002: a standard error of .002 / sqrt(60 * 2/3) = .0003
    assert found.high - found.low < 0.0016


def test_only_a_line_that_is_known_to_be_level_is_flat():
    assert is_flat(rows(0.001), target=0.11, margin=0.05)
    assert not is_flat(rows(0.02), target=0.11, margin=0.05)
    assert not is_flat(rows(0.001, noise=0.2), target=0.11, margin=0.05)  # not known
    assert not is_flat(rows(0.001), target=0.16, margin=0.05)  # reached long ago
    assert not is_flat(
        rows(0.001), target=0.02, margin=0.05
    )  # far from the target: no threshold hangs on it


def test_too_little_is_not_judged():
    assert fall(rows(0.0, each=1)) is None
    assert fall(pd.DataFrame({"samples": [], "risk": []})) is None
    assert fall(pd.DataFrame({"samples": [64] * 30, "risk": [0.1] * 30})) is None
