"""Studies: the sweeps, claims and figures that reproduce one theorem or figure."""

from separatrix.studies.cells import run_cells
from separatrix.studies.claims import (
    PAPERS,
    Claim,
    Evidence,
    Finding,
    judge,
    register_paper,
)
from separatrix.studies.outcome import (
    Axis,
    Figure,
    Heatmap,
    Outcome,
    Picture,
    Series,
    TableData,
    figure_from,
)
from separatrix.studies.registry import STUDIES, find_study
from separatrix.studies.runner import Job, jobs, plan_jobs, run_jobs, run_shard, split_changes
from separatrix.studies.settings import SCALES, Settings, at_scales, change_settings, setting
from separatrix.studies.study import Study, seeds_from

__all__ = [
    "PAPERS",
    "SCALES",
    "STUDIES",
    "Axis",
    "Claim",
    "Evidence",
    "Figure",
    "Finding",
    "Heatmap",
    "Job",
    "Outcome",
    "Picture",
    "Series",
    "Settings",
    "Study",
    "TableData",
    "at_scales",
    "change_settings",
    "figure_from",
    "find_study",
    "jobs",
    "judge",
    "plan_jobs",
    "register_paper",
    "run_cells",
    "run_jobs",
    "run_shard",
    "seeds_from",
    "setting",
    "split_changes",
]
