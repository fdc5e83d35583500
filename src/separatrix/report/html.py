"""The pages: HTML files that need no other file and never run anything that comes from data."""

import base64
import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jinja2
from markupsafe import Markup

from separatrix.report.content import MARKS, FigureView, Report, StudyView
from separatrix.report.figure.data import MOST_ROWS, data_of, page_data
from separatrix.report.figure.draw import Drawing
from separatrix.report.figure.legend import MOST_LABELS, entries_of
from separatrix.report.figure.svg import image_address
from separatrix.report.landing import banner_of, cards_of, groups_of
from separatrix.studies import Figure

MOST_TABLE_ROWS = 1000  # of one table on a page; its CSV file has all
MOST_PAGE_BYTES = 300_000  # of a study
# A page that is larger shows fewer rows per table, then holds fewer points per figure for tooltips
# and downloads; the CSV files beside it have all.
SMALLER = (
    (MOST_TABLE_ROWS, MOST_ROWS),
    (200, MOST_ROWS),
    (60, MOST_ROWS),
    (60, 500),
    (20, 200),
    (20, 50),
)
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
    '0 studies tested 0 sentences of 0 papers.'
    """

    def counted(count: int, one: str, many: str) -> str:
        return f"{count} {one if count == 1 else many}"

    if report.claims and {claim.paper for claim in report.claims} == {"diagnosis"}:
        return (
            "Whether local windows and shared weights would pay on one data set: each question "
            "with its answer, the gain and its interval."
        )
    studies = counted(len(report.studies), "study", "studies")
    claims = counted(len(report.claims), "sentence", "sentences")
    papers = [key for key, _, _ in report.papers]
    others = counted(len(papers) - papers.count("ours"), "paper", "papers")
    owners = [others] if len(papers) > papers.count("ours") else []
    owners += ["our own questions"] if "ours" in papers else []
    return f"{studies} tested {claims} of {' and '.join(owners) or others}."


@dataclasses.dataclass(frozen=True)
class FigureOnPage:
    """A figure on the page: its drawing, its legend and its data.

    An entry of `legend` is (text, series, role, small drawing). `missing` says how many rows of the
    data are only in the CSV file. `labelled` says that baselines have their names at the edge.
    """

    svg: Markup
    legend: tuple[tuple[str, str, str, Markup], ...]
    data: dict[str, Any]
    missing: str
    labelled: bool = False


def figure_on_page(view: FigureView, drawing: Drawing, most: int = MOST_ROWS) -> FigureOnPage:
    """What the page shows of a figure, with the data of at most `most` points.

    >>> from separatrix.studies import Axis, Figure, Series
    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), (Series("CNN", (1,), (0.5,)),))
    >>> view, drawing = FigureView("a", "a.svg", figure, ""), Drawing("<svg></svg>", "", ())
    >>> on_page = figure_on_page(view, drawing)
    >>> [entry[:3] for entry in on_page.legend], on_page.data["head"][2:4]
    ([('CNN', '0', 'measured')], ('m', 'risk'))
    """
    data = data_of(view.figure)
    plain = page_data(data, drawing.places, most)
    included = {group["s"] for group in plain["groups"]}
    left_out = [part for part in data.series if part.series not in included]
    legend = tuple(
        (entry.label, " ".join(map(str, entry.series)), entry.role, Markup(entry.swatch))
        for entry in entries_of(view.figure)
    )
    missing = f"{sum(len(part) for part in left_out):,} of {data.rows:,}" if left_out else ""
    baselines = sum(role == "baseline" for _, _, role, _ in legend)
    panels = view.figure.panels if isinstance(view.figure, Figure) else ("",)
    labelled = 0 < baselines <= MOST_LABELS and len(panels) == 1
    return FigureOnPage(Markup(drawing.inline), legend, plain, missing, labelled)


def html_pages(report: Report, drawings: Mapping[str, Drawing]) -> dict[str, str]:
    """The report as HTML by file name: `index.html` and one page per study.

    Args:
        report: the report.
        drawings: the drawing of each figure, by its anchor.

    Returns:
        The pages. Each needs no other file; links lead from one to another.

    >>> facts = (("device", "<script>alert(1)</script>"),)
    >>> "<script>alert" in html_pages(Report((), (), (), (), facts, None), {})["index.html"]
    False
    """
    # Only these are trusted: the package's own style and script, and SVG in which all text was
    # escaped when it was written.
    style, script = template_source("page.css"), template_source("page.js")
    common: dict[str, Any] = {
        "report": report,
        "marks": MARKS,
        "evidence_columns": EVIDENCE_COLUMNS,
        "most_rows": MOST_TABLE_ROWS,
        "style": Markup(style),
        "script": Markup(script),
        "script_hash": source_hash(script),
    }

    def drawn(views: Iterable[FigureView], most: int = MOST_ROWS) -> dict[str, FigureOnPage]:
        return {view.anchor: figure_on_page(view, drawings[view.anchor], most) for view in views}

    pages = {study.page: _study_page(study, common, drawn) for study in report.studies}
    cards = cards_of(report)
    scale, scale_words = banner_of(report)
    pages["index.html"] = render(
        "index.html.jinja",
        **common,
        lead=lead_of(report),
        scale=scale,
        scale_words=scale_words,
        cards=cards,
        kept_images={
            card.study.name: image_address(card.kept_figure.svg)
            for card in cards
            if card.study and card.kept_figure
        },
        groups=groups_of(report),
        unmeasured=tuple(claim for claim in report.claims if claim.verdict == "not measured"),
        pages={study.name: study.page for study in report.studies},
        drawn=drawn(card.figure for card in cards if card.figure),
    )
    return pages


def _study_page(
    study: StudyView,
    values: dict[str, Any],
    drawn: Callable[[Iterable[FigureView], int], dict[str, FigureOnPage]],
) -> str:
    """The page of a study, as small as it has to be."""
    html = ""
    for rows, points in SMALLER:
        more = {"most_rows": rows, "drawn": drawn(study.figures, points)}
        html = render("study.html.jinja", study=study, **(values | more))
        if len(html.encode()) <= MOST_PAGE_BYTES:
            break
    return html


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
