"""The page: one HTML file with everything inside, in which nothing that comes from data is ever run."""

import base64
import hashlib
from collections.abc import Mapping

import jinja2
from markupsafe import Markup

from separatrix.report.content import MARKS, Report

EVIDENCE_COLUMNS = ("quantity", "estimate [interval]", "count", "interval's level and method", "compared with", "baselines")


def lead_of(report: Report) -> str:
    """What the report is, in one sentence.

    >>> lead_of(Report((), (), (), (), (), None))
    'What 0 studies, run as stated below, say of 0 sentences of 0 papers on when convolutional networks learn and ...'
    """

    def some(count: int, one: str, many: str) -> str:
        return f"{count} {one if count == 1 else many}"

    return (
        f"What {some(len(report.studies), 'study', 'studies')}, run as stated below, say{'s' if len(report.studies) == 1 else ''} of "
        f"{some(len(report.claims), 'sentence', 'sentences')} of {some(len(report.papers), 'paper', 'papers')} on when convolutional "
        "networks learn and locally or fully connected ones do not: each sentence with its verdict, the measured effect and its interval."
    )


def html_page(report: Report, drawn: Mapping[str, str]) -> str:
    """The report as HTML; `drawn` holds the SVG text of each figure by its anchor.

    >>> "<script>alert" in html_page(Report((), (), (), (), (("device", "<script>alert(1)</script>"),), None), {})
    False
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("separatrix.report", "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )

    def part(name: str) -> str:
        return environment.loader.get_source(environment, name)[0]  # pyright: ignore[reportOptionalMemberAccess]

    # Only these three are trusted: the package's own style and script, and SVG in which matplotlib escaped all text.
    script = part("page.js")
    return environment.get_template("page.html.jinja").render(
        report=report,
        lead=lead_of(report),
        marks=MARKS,
        evidence_columns=EVIDENCE_COLUMNS,
        drawn={anchor: Markup(svg) for anchor, svg in drawn.items()},
        style=Markup(part("page.css")),
        script=Markup(script),
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
    )
