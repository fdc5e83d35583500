"""The report's first screen: what was run, and one card per paper with its question and answer."""

import dataclasses
from collections.abc import Iterable

from separatrix.report.content import ClaimView, FigureView, Report, StudyView, counts_of
from separatrix.report.kept import DECIDED, Kept, KeptFigure, kept_evidence
from separatrix.report.read import VERDICTS
from separatrix.studies import SCALES, Figure

# What each scale is for.
SCALE_WORDS = {
    "quick": "a smoke test, minutes on a laptop. It decides few claims.",
    "laptop": "a first answer, up to an hour on a laptop.",
    "full": "results to quote: minutes to hours on a GPU.",
}
BESIDE = " Kept verdicts are beside its own."
PAPER_QUESTIONS = {
    "malach": "Can gradient descent learn short patterns with a convolutional network where it "
    "cannot with a fully connected one?",
    "lahoti": "How many samples do local windows and shared weights save?",
    "liang": "At the edge of stability, does the generalization gap follow the size of the patch "
    "or that of the whole input?",
    "ours": "What holds beyond the papers?",
    "diagnosis": "Would local windows and shared weights pay on this data set?",
}


@dataclasses.dataclass(frozen=True)
class Card:
    """One paper on the first screen.

    Attributes:
        paper: the paper's key.
        name: how tables cite it.
        citation: its full citation.
        question: what it asks.
        sentence: what this run says, in one sentence.
        figure: the headline figure of this run, if any.
        study: the study of the figure, if any.
        kept_figure: the same figure of the kept run, if any.
        counts: (verdict, claims here, the same claims in the kept runs).
        kept: how many of the claims have a kept verdict by their present rule.
        kept_scales: the scales of those verdicts, in words.
        contradictions: claims that this run and the kept runs decide differently.
        refuted: the claims that this run refutes.
    """

    paper: str
    name: str
    citation: str
    question: str
    sentence: str
    figure: FigureView | None
    study: StudyView | None
    kept_figure: KeptFigure | None
    counts: tuple[tuple[str, int, int], ...]
    kept: int
    kept_scales: str
    contradictions: tuple[ClaimView, ...]
    refuted: tuple[ClaimView, ...]


def banner_of(report: Report) -> tuple[str, str]:
    """The scale of a run and what that means, in words.

    >>> banner_of(Report((), (), (), (), (), None))
    ('', '')
    """
    scales = list(dict.fromkeys(study.scale for study in report.studies if study.scale))
    if len(scales) != 1:
        return (" and ".join(scales), "") if scales else ("", "")
    words = SCALE_WORDS.get(scales[0], "")
    beside = any(claim.kept and claim.kept.current for claim in report.claims)
    return scales[0], words + (BESIDE if words and beside and scales[0] != "full" else "")


def cards_of(report: Report, kept: Kept | None = None) -> tuple[Card, ...]:
    """One card per paper, in the order of its claims; questions of our own come last.

    Args:
        report: the report.
        kept: the kept evidence; None for that of this package.

    Returns:
        The cards.

    >>> cards_of(Report((), (), (), (), (), None))
    ()
    """
    beside = kept_evidence() if kept is None else kept
    cards: list[Card] = []
    for paper in sorted(report.papers, key=lambda paper: paper[0] == "ours"):
        shown = {card.figure.anchor for card in cards if card.figure}
        cards.append(_card(report, beside, shown, *paper))
    return tuple(cards)


def _card(
    report: Report, kept: Kept, shown: set[str], paper: str, name: str, citation: str
) -> Card:
    claims = [claim for claim in report.claims if claim.paper == paper]
    studies = [
        study for study in report.studies if any(claim.paper == paper for claim in study.claims)
    ]
    study, figure = headline_of(studies, shown)
    current = [claim.kept for claim in claims if claim.kept and claim.kept.current]
    known = [each.verdict for each in current]
    return Card(
        paper=paper,
        name=name,
        citation=citation,
        question=PAPER_QUESTIONS.get(paper) or (studies[0].question if studies else name),
        sentence=_sentence(
            study, [claim for claim in claims if study and claim.study == study.name]
        )
        or _sentence(None, claims),
        figure=figure,
        study=study,
        kept_figure=_larger(kept.figures.get(study.name), study.scale) if study else None,
        counts=tuple(
            (verdict, here, known.count(verdict))
            for verdict, here in counts_of(claims)
            if here or known.count(verdict) or verdict in DECIDED
        ),
        kept=len(known),
        kept_scales=" and ".join(sorted({each.place for each in current})),
        contradictions=tuple(claim for claim in claims if claim.contradicts),
        refuted=tuple(claim for claim in claims if claim.verdict == "refuted"),
    )


def _larger(figure: KeptFigure | None, scale: str) -> KeptFigure | None:
    """A kept figure, if its run was larger than one of this scale."""
    sizes = {name: size for size, name in enumerate(SCALES)}
    larger = figure is not None and sizes.get(figure.scale, 0) > sizes.get(scale, 0)
    return figure if larger else None


def headline_of(
    studies: Iterable[StudyView], shown: Iterable[str] = ()
) -> tuple[StudyView | None, FigureView | None]:
    """The headline figure among those of some studies, and its study.

    Figures in `shown`, by their anchors, are on other cards already. A figure of several curves
    with two logarithmic axes, which shows how something grows, comes before others with or without
    a marker (older runs have none).

    >>> headline_of(())
    (None, None)
    """
    views = [
        (study, view) for study in studies for view in study.figures if view.anchor not in shown
    ]

    def rank(pair: tuple[StudyView, FigureView]) -> tuple[bool, bool]:
        figure = pair[1].figure
        curves = isinstance(figure, Figure) and len(figure.series) > 1
        return not figure.headline, not (curves and figure.x.log and figure.y.log)

    return min(views, key=rank, default=(None, None))


def _sentence(study: StudyView | None, claims: list[ClaimView]) -> str:
    """A study's answer, or what is said of its first decided claim (else of its first claim)."""
    if study is not None and study.answer:
        return study.answer
    if not claims:
        return ""
    first = min(claims, key=lambda claim: claim.verdict not in DECIDED)
    there = f"; {first.kept.words}" if first.kept is not None else ""
    return f"“{first.statement}” — {first.verdict} here{there}."


def groups_of(report: Report) -> tuple[tuple[StudyView | None, tuple[ClaimView, ...]], ...]:
    """The measured claims by study, those of no study last; groups without claims are left out.

    >>> groups_of(Report((), (), (), (), (), None))
    ()
    """
    groups: list[tuple[StudyView | None, tuple[ClaimView, ...]]] = [
        (study, study.claims) for study in report.studies
    ]
    groups.append((None, report.orphans))
    shown = ((study, tuple(c for c in own if c.verdict != VERDICTS[-1])) for study, own in groups)
    return tuple((study, own) for study, own in shown if own)
