"""What all tests share."""

import os
import signal
import tempfile

import jax
import jax.numpy as jnp
import pytest
from hypothesis import settings

import separatrix as sx
from browsing import browser, open_page  # noqa: F401 - fixtures
from running import compilation_cache  # noqa: F401 - a fixture
from separatrix.engine import Programs

# A shell that starts the tests in the background lets them ignore Ctrl-C, and their children
# inherit that; some tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests see no data sets of the user's, so that they find the same with and without MNIST.
_NO_DATA = tempfile.TemporaryDirectory(prefix="separatrix-tests-")
os.environ["SEPARATRIX_DATA"] = _NO_DATA.name

# Most of the tests' time is XLA compiling small programs that run for a millisecond: compile them
# without optimising.
jax.config.update("jax_disable_most_optimizations", True)

# The same examples every time: a test that fails, fails for everyone.
settings.register_profile("separatrix", deadline=None, derandomize=True, database=None)
settings.load_profile("separatrix")


@pytest.fixture(scope="session")
def programs():
    """Compiled trials, shared by all tests that run the same structure."""
    return Programs()


@pytest.fixture(scope="session")
def checksum():
    """The name of a probe that sees every weight: Σ w·cos(own place), blind to padding; registered
    while the tests run.
    """

    def measure(moment):
        w = moment.params.weights
        w = w.reshape(*w.shape[:2], -1, moment.layout.windows.channels)
        group, unit, area, channel = jnp.meshgrid(*(jnp.arange(n) for n in w.shape), indexing="ij")
        return (w * jnp.cos(1.0 + 1.1 * group + 1.7 * unit + 0.3 * area + 2.3 * channel)).sum()

    sx.probe("checksum")(measure)
    yield "checksum"
    del sx.PROBES["checksum"]


@pytest.fixture(scope="session")
def signal_trials(checksum):
    """One trial of each connectivity on the signal task, with every probe; sizes that rounding
    would pad.
    """
    common = {
        "activation": sx.LSA(0.3),
        "readout": "sum",
        "bias": False,
        "initial": sx.Initial("directions", scale=0.7),
    }
    networks = {"CNN": sx.CNN(1, **common), "LCN": sx.LCN(1, **common), "FCN": sx.FCN(9, **common)}
    learner = sx.Learner(
        rate=2.0, steps=20, projection="ball", lsa_bias=sx.Ramp(0.0, 0.3, share=0.5)
    )
    probes = (
        "risk",
        "train_risk",
        "alignment",
        "drift",
        "signal_gradient",
        "weight_norm",
        "weight_shift",
        "weight_gradient_norm",
        "readout_norm",
    )
    measure = sx.Measure((*probes, checksum), test=200, times=5)
    return {
        name: sx.Trial(sx.SignalTask(9, 9, 0.3), n, learner, 20, 3, measure)
        for name, n in networks.items()
    }
