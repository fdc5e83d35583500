"""Study `equivariance`: what the lower bounds of Lahoti et al. rest on, measured as a number."""

from separatrix.engine import Lab
from separatrix.studies.equivariance import verdicts as c
from separatrix.studies.equivariance.figures import gap_figure, gap_table
from separatrix.studies.equivariance.settings import SCALES, EquivarianceSettings
from separatrix.studies.equivariance.trials import audit_all
from separatrix.studies.outcome import Outcome
from separatrix.studies.study import Study


class Equivariance(Study[EquivarianceSettings]):
    """Which networks and learners respect which symmetries."""

    name = "equivariance"
    title = "Equivariance audit: which algorithms the lower bounds speak of"
    question = "Which symmetries does training respect, so that the lower bounds speak of it?"
    summary = (
        "For each group, network and learner: how far training and transforming are from "
        "commuting (Lahoti et al.)"
    )
    claims = (c.FCN_GD, c.FCN_ADAPTIVE, c.LCN_GD, c.CNN_GD, c.SMALLER)
    scales = SCALES
    beside_trials = "symmetry gaps"
    # Last measured with 32 draws, 40 minutes.
    full_minutes = 15
    full_machine = "two CPU cores, estimated"

    def conclude(self, lab: Lab, settings: EquivarianceSettings) -> Outcome:
        gaps = audit_all(lab, settings)
        return Outcome(c.judge_all(gaps), (gap_figure(gaps),), (gap_table(gaps),))
