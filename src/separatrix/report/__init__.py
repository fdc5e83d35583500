"""Reports: the page, its Markdown twin, and figures drawn from data."""

from separatrix.report.evidence import write_evidence
from separatrix.report.figures import draw, save
from separatrix.report.numbers import interval, number
from separatrix.report.summary import summary_rows
from separatrix.report.write import write_report

__all__ = ["draw", "interval", "number", "save", "summary_rows", "write_evidence", "write_report"]
