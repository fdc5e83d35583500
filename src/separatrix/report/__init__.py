"""Reports: the page, the same as Markdown, files for papers, two runs compared, a run watched."""

from separatrix.report.compare import RunComparison, compare_runs
from separatrix.report.explanation import Explanation, explain
from separatrix.report.figure.draw import draw, save
from separatrix.report.kept import kept_evidence, with_kept
from separatrix.report.live import Watcher
from separatrix.report.numbers import interval, number
from separatrix.report.own_claim import NetworkComparison, sampled_baselines
from separatrix.report.terminal import matters, owner_lines, summary_rows
from separatrix.report.write import write_evidence, write_figures, write_report

__all__ = [
    "Explanation",
    "NetworkComparison",
    "RunComparison",
    "Watcher",
    "compare_runs",
    "draw",
    "explain",
    "interval",
    "kept_evidence",
    "matters",
    "number",
    "owner_lines",
    "sampled_baselines",
    "save",
    "summary_rows",
    "with_kept",
    "write_evidence",
    "write_figures",
    "write_report",
]
