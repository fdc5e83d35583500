"""The calculations of the equivariance audit: gaps for every network and optimizer."""

from separatrix.engine import Lab
from separatrix.errors import check_choice
from separatrix.learners import Learner, Ramp
from separatrix.studies.equivariance.settings import EquivarianceSettings
from separatrix.studies.settings import plain_settings
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal.trials import signal_network
from separatrix.studies.study import seeds_from
from separatrix.studies.symmetry import equivariance_gaps
from separatrix.tasks import SignalTask

LEARNERS = ("sgd", "adam", "rmsprop", "adadelta")
PAIRS = (
    *(("FCN", optimizer) for optimizer in LEARNERS),
    *((network, optimizer) for network in ("LCN", "CNN") for optimizer in ("sgd", "adam")),
)
Gaps = dict[tuple[str, str], dict[str, list[float]]]  # by network and optimizer, then by group


def audit(s: EquivarianceSettings, network: str, optimizer: str) -> dict[str, list[float]]:
    """The equivariance gaps of a network with an optimizer, for every group, over independent
    draws.

    >>> small = EquivarianceSettings(patches=3, dimension=2, samples=30, steps=5, draws=2)
    >>> audit(small, "FCN", "sgd")["orthogonal"][0] < 0.01
    True
    """
    check_choice("audit", "network", network, NETWORKS)
    check_choice("audit", "optimizer", optimizer, LEARNERS)
    rates = {
        "sgd": {"CNN": 3.0, "LCN": 1.5 * s.patches, "FCN": 3.0 * s.patches}[network],
        "adadelta": 30.0,
    }
    learner = Learner(
        rate=rates.get(optimizer, 0.02),
        steps=s.steps,
        optimizer=optimizer,
        projection="ball",
        lsa_bias=Ramp(0.0, s.bias),
    )
    task = SignalTask(s.patches, s.dimension, s.noise)
    return equivariance_gaps(
        task,
        signal_network(network, s.patches, s.bias),
        learner,
        s.samples,
        seeds_from(s.seed, s.draws),
    )


def audit_all(lab: Lab, s: EquivarianceSettings) -> Gaps:
    """The gaps of every pair of a network and an optimizer, computed once per settings."""
    gaps: Gaps = {}
    for done, (network, optimizer) in enumerate(PAIRS):
        parameters = plain_settings(s) | {
            "network": network,
            "optimizer": optimizer,
            "precision": "float64",
        }
        gaps[network, optimizer] = lab.remember(
            "equivariance", parameters, lambda n=network, o=optimizer: audit(s, n, o)
        )
        lab.report_progress("equivariance", done + 1, len(PAIRS))
    return gaps
