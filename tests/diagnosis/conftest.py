"""One short diagnosis that several tests look at."""

import numpy as np
import pytest

from separatrix.diagnosis import diagnose
from separatrix.engine import Lab

SHORT = {"steps": 16, "first": 2, "splits": 2, "field": 3, "test": 60, "check": 30}


def bumps(rows: int = 300, length: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """A bump or a dip at any place."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    x = 0.1 * rng.normal(size=(rows, length))
    x[np.arange(rows), rng.integers(0, length, rows)] += 2.0 * (2 * y - 1)
    return x, y


def short_diagnosis(folder):
    """A diagnosis of bumps in groups with the ledger in a folder, and the trials that it ran."""
    x, y = bumps()
    groups = np.arange(len(x)) % 12
    with Lab(folder, workers=0) as lab:
        found = diagnose(
            x,
            y,
            groups=groups,
            kind="signal",
            name="bumps",
            budget=600,
            target=0.9,
            lab=lab,
            **SHORT,
        )
        return found, lab.tally.trials


@pytest.fixture(scope="session")
def ledger(tmp_path_factory):
    """Where the short diagnosis keeps its trials."""
    return tmp_path_factory.mktemp("diagnosis")


@pytest.fixture(scope="session")
def found(ledger):
    return short_diagnosis(ledger)[0]
