"""Synthetic learners: success against resource is known exactly, so that estimators can be held to
the truth.
"""

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from scipy import special

from separatrix.errors import check_choice, check_number
from separatrix.inference.placement import SearchPlan, propose
from separatrix.inference.psychometric import Tally, merge


@dataclasses.dataclass(frozen=True)
class SyntheticLearner:
    """A learner that succeeds with a known probability; its threshold for success in half of the
    trials is exact.

    The curves are coded here anew, not taken from the estimator, and `probit` is one that the
    estimator does not know.

    >>> learner = SyntheticLearner(threshold=100.0, scale=0.2, lapse=0.1, shape="weibull")
    >>> round(float(learner.chance(100.0)), 9)
    0.5
    """

    threshold: float
    scale: float = 0.25
    lapse: float = 0.0
    shape: str = "logistic"

    def __post_init__(self):
        check_number("SyntheticLearner", "threshold", self.threshold, low=0, open_low=True)
        check_number("SyntheticLearner", "scale", self.scale, low=0, open_low=True)
        check_number("SyntheticLearner", "lapse", self.lapse, low=0, high=0.45)
        check_choice("SyntheticLearner", "shape", self.shape, ["logistic", "weibull", "probit"])

    def chance(self, resource: float) -> float:
        """The probability that a trial with this resource succeeds."""
        share = 0.5 / (1 - self.lapse)
        distance = (math.log(resource) - math.log(self.threshold)) / self.scale
        if self.shape == "logistic":
            rise = special.expit(distance + special.logit(share))
        elif self.shape == "probit":
            rise = special.ndtr(distance / 1.7 + special.ndtri(share))
        else:
            rise = -math.expm1(-math.exp(min(distance, 50.0)) * -math.log1p(-share))
        return float((1 - self.lapse) * rise)

    def run(self, resource: float, repetitions: int, generator: np.random.Generator) -> Tally:
        """The tally of some independent trials."""
        return Tally(
            resource, int(generator.binomial(repetitions, self.chance(resource))), repetitions
        )

    def sweep(
        self, grid: Iterable[float], repetitions: int, generator: np.random.Generator
    ) -> tuple[Tally, ...]:
        """The same number of trials at each resource of a grid."""
        return tuple(self.run(resource, repetitions, generator) for resource in grid)

    def search(
        self, plan: SearchPlan, batch: int, generator: np.random.Generator
    ) -> tuple[Tally, ...]:
        """All trials that adaptive placement asks for until it stops.

        >>> trials = SyntheticLearner(100.0).search(SearchPlan(8, 4096, width=0.7), 16, np.random.default_rng(0))
        >>> trials[0].resource
        8.0
        """
        observed: tuple[Tally, ...] = ()
        while wanted := propose(observed, batch, plan):
            observed = merge((*observed, *(self.run(*proposal, generator) for proposal in wanted)))
        return observed
