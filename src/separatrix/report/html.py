"""The page: one HTML file that needs no other file and never runs anything that comes from data."""

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

MOST_TABLE_ROWS = 1000  # of one table on the page; its CSV file has all
_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("separatrix.report", "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
)
EVIDENCE_COLUMNS = (
    "quantity",
    "estimate [interval]",
    "count",
    "interval's level and method",
    "compared with",
    "baselines",
)


def lead_of(report: Report) -> str:
    """The first sentence of a report: what it is.

    >>> lead_of(Report((), (), (), (), (), None))
    'What 0 studies, run as stated below, say of 0 sentences of 0 papers on when ...'
    """

    def counted(count: int, one: str, many: str) -> str:
        return f"{count} {one if count == 1 else many}"

    if report.claims and {claim.paper for claim in report.claims} == {"diagnosis"}:
        return (
            "Whether local windows and shared weights would pay on one data set: each question "
            "with its answer, the gain and its interval."
        )
    studies = counted(len(report.studies), "study", "studies")
    verb = "says" if len(report.studies) == 1 else "say"
    claims = counted(len(report.claims), "sentence", "sentences")
    papers = counted(len(report.papers), "paper", "papers")
    return (
        f"What {studies}, run as stated below, {verb} of {claims} of {papers} on when "
        "convolutional networks learn and locally or fully connected ones do not: each sentence "
        "with its verdict, the measured effect and its interval."
    )


@dataclasses.dataclass(frozen=True)
class FigureOnPage:
    """A figure on the page: its drawing, its legend and its data.

    An entry of `legend` is (text, series, role, small drawing). `missing` says how many rows of the
    data are only in the CSV file.
    """

    svg: Markup
    legend: tuple[tuple[str, str, str, Markup], ...]
    data: dict[str, Any]
    missing: str


def figure_on_page(view: FigureView, drawing: Drawing) -> FigureOnPage:
    """What the page shows of a figure.

    >>> from separatrix.studies import Axis, Figure, Series
    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), (Series("CNN", (1,), (0.5,)),))
    >>> view, drawing = FigureView("a", "a.svg", figure, ""), Drawing("<svg></svg>", "", ())
    >>> on_page = figure_on_page(view, drawing)
    >>> [entry[:3] for entry in on_page.legend], on_page.data["head"][2:4]
    ([('CNN', '0', 'measured')], ('m', 'risk'))
    """
    data = data_of(view.figure)
    plain = page_data(data, drawing.places)
    included = {group["s"] for group in plain["groups"]}
    left_out = [part for part in data.series if part.series not in included]
    legend = tuple(
        (entry.label, " ".join(map(str, entry.series)), entry.role, Markup(entry.swatch))
        for entry in entries_of(view.figure)
    )
    missing = f"{sum(len(part) for part in left_out):,} of {data.rows:,}" if left_out else ""
    return FigureOnPage(Markup(drawing.inline), legend, plain, missing)


def html_page(report: Report, drawings: Mapping[str, Drawing]) -> str:
    """The report as HTML; `drawings` holds the drawing of each figure by its anchor.

    >>> facts = (("device", "<script>alert(1)</script>"),)
    >>> "<script>alert" in html_page(Report((), (), (), (), facts, None), {})
    False
    """
    # Only these are trusted: the package's own style and script, and SVG in which all text was
    # escaped when it was written.
    style, script = template_source("page.css"), template_source("page.js")
    return render(
        "page.html.jinja",
        report=report,
        lead=lead_of(report),
        marks=MARKS,
        evidence_columns=EVIDENCE_COLUMNS,
        drawn={
            view.anchor: figure_on_page(view, drawings[view.anchor])
            for study in report.studies
            for view in study.figures
        },
        most_rows=MOST_TABLE_ROWS,
        style=Markup(style),
        script=Markup(script),
        script_hash=source_hash(script),
    )


def render(template: str, **values: Any) -> str:
    """A template of this package with its values, which are escaped unless they are `Markup`."""
    return _ENVIRONMENT.get_template(template).render(**values)


def template_source(name: str) -> str:
    """The text of a file among the templates.

    >>> template_source("page.js").startswith("<")
    False
    """
    assert _ENVIRONMENT.loader is not None
    return _ENVIRONMENT.loader.get_source(_ENVIRONMENT, name)[0]


def source_hash(text: str) -> str:
    """The hash by which a security policy allows a script or a style.

    >>> source_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
