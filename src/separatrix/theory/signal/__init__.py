"""Lahoti et al.: risks of rules that know the signal, sample-size bounds, and estimators to compare
learners with.
"""

from separatrix.theory.signal.batched import (
    EstimatorFrame,
    TrainingSet,
    batched_alignments,
    estimator_frame,
)
from separatrix.theory.signal.bounds import BOUNDS, Condition, SampleBound, bounds_for
from separatrix.theory.signal.estimators import (
    ESTIMATORS,
    drawn_alignments,
    estimate_signal,
    estimator_alignment,
    estimator_risk,
)
from separatrix.theory.signal.floors import (
    efficiency,
    floor_alignment,
    floor_risk,
    floor_samples,
    information_share,
)
from separatrix.theory.signal.risks import Estimate, bayes_risk, best_linear_risk, true_signal_risk

__all__ = [
    "BOUNDS",
    "ESTIMATORS",
    "Condition",
    "Estimate",
    "EstimatorFrame",
    "SampleBound",
    "TrainingSet",
    "batched_alignments",
    "bayes_risk",
    "best_linear_risk",
    "bounds_for",
    "drawn_alignments",
    "efficiency",
    "estimate_signal",
    "estimator_alignment",
    "estimator_frame",
    "estimator_risk",
    "floor_alignment",
    "floor_risk",
    "floor_samples",
    "information_share",
    "true_signal_risk",
]
