"""The page: one HTML file with everything inside, in which nothing that comes from data is ever
run.
"""

import base64
import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import jinja2
from markupsafe import Markup

from separatrix.report.content import MARKS, FigureView, Report
from separatrix.report.figure.data import data_of, page_data
from separatrix.report.figure.draw import Drawing
from separatrix.report.figure.legend import entries_of

MOST_TABLE_ROWS = 1000  # of one table on the page; the file beside it has all
EVIDENCE_COLUMNS = (
    "quantity",
    "estimate [interval]",
    "count",
    "interval's level and method",
    "compared with",
    "baselines",
)


def lead_of(report: Report) -> str:
    """What the report is, in one sentence.

    >>> lead_of(Report((), (), (), (), (), None))
    'What 0 studies, run as stated below, say of 0 sentences of 0 papers on when convolutional networks learn and ...'
    """

    def some(count: int, one: str, many: str) -> str:
        return f"{count} {one if count == 1 else many}"

    if report.claims and {claim.paper for claim in report.claims} == {"diagnosis"}:
        return "Whether local windows and shared weights would pay on one data set: each question with its answer, the gain and its interval."
    return (
        f"What {some(len(report.studies), 'study', 'studies')}, run as stated below, say{'s' if len(report.studies) == 1 else ''} of "
        f"{some(len(report.claims), 'sentence', 'sentences')} of {some(len(report.papers), 'paper', 'papers')} on when convolutional "
        "networks learn and locally or fully connected ones do not: each sentence with its verdict, the measured effect and its interval."
    )


@dataclasses.dataclass(frozen=True)
class Shown:
    """A figure on the page: its drawing, its legend (text, series, role, small drawing), its data
    and what the page lacks of them.

    >>> Shown(Markup("<svg></svg>"), (), {}, "").missing
    ''
    """

    svg: Markup
    legend: tuple[tuple[str, str, str, Markup], ...]
    data: dict[str, Any]
    missing: str


def shown_of(view: FigureView, drawing: Drawing) -> Shown:
    """What the page shows of a figure.

    >>> from separatrix.studies import Axis, Figure, Series
    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), (Series("CNN", (1,), (0.5,)),))
    >>> shown = shown_of(FigureView("a", "a.svg", figure, ""), Drawing("<svg></svg>", "", ()))
    >>> [entry[:3] for entry in shown.legend], shown.data["head"][2:4]
    ([('CNN', '0', 'measured')], ('m', 'risk'))
    """
    data = data_of(view.figure)
    plain = page_data(data, drawing.places)
    kept = {group["s"] for group in plain["groups"]}
    gone = [group for group in data.groups if group.series not in kept]
    legend = tuple(
        (
            entry.label,
            " ".join(str(each) for each in entry.series),
            entry.role,
            Markup(entry.swatch),
        )
        for entry in entries_of(view.figure)
    )
    missing = f"{sum(len(group) for group in gone):,} of {data.rows:,}" if gone else ""
    return Shown(Markup(drawing.inline), legend, plain, missing)


def html_page(report: Report, drawn: Mapping[str, Drawing]) -> str:
    """The report as HTML; `drawn` holds the drawing of each figure by its anchor.

    >>> "<script>alert" in html_page(Report((), (), (), (), (("device", "<script>alert(1)</script>"),), None), {})
    False
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("separatrix.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )

    def part(name: str) -> str:
        return environment.loader.get_source(environment, name)[0]  # pyright: ignore[reportOptionalMemberAccess]

    # Only these are trusted: the package's own style and script, and SVG in which all text was
    # escaped when it was written.
    script = part("page.js")
    return environment.get_template("page.html.jinja").render(
        report=report,
        lead=lead_of(report),
        marks=MARKS,
        evidence_columns=EVIDENCE_COLUMNS,
        drawn={
            view.anchor: shown_of(view, drawn[view.anchor])
            for study in report.studies
            for view in study.figures
        },
        most_rows=MOST_TABLE_ROWS,
        style=Markup(part("page.css")),
        script=Markup(script),
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
    )
