"""What a report says, in words and in order, before it is set as HTML or Markdown."""

import dataclasses
import json
import re
from collections.abc import Iterable
from typing import Any

from separatrix.report.facts import facts_of, history_of
from separatrix.report.figure.series import hidden_points
from separatrix.report.numbers import NOTHING, cell, interval, number
from separatrix.report.read import VERDICTS, RunFiles
from separatrix.studies import PAPERS, Figure, Heatmap

MARKS = {"supported": "✓", "refuted": "✗", "undecided": "?"}


@dataclasses.dataclass(frozen=True)
class ClaimView:
    """A claim as a reader sees it: `effects` are pairs of what was measured and its value with
    interval.

    >>> ClaimView("c-1", "lahoti.a", "lahoti", "Lahoti", "…", "", "supported", "", "", "", (), (), "", "").verdict
    'supported'
    """

    anchor: str
    id: str
    paper: str
    paper_name: str
    statement: str
    citation: str
    verdict: str
    reason: str
    conditions: str
    place: str  # inside or outside the paper's conditions, in words
    effects: tuple[tuple[str, str], ...]
    evidence: tuple[tuple[str, ...], ...]
    study: str
    command: str

    @property
    def outside(self) -> bool:
        """Whether the experiment lay outside the paper's conditions."""
        return self.place.startswith("outside")


@dataclasses.dataclass(frozen=True)
class FigureView:
    """A figure with its place on the page, its file and what it cannot show; its data lie in a file
    of the same name.

    >>> from separatrix.studies import Axis
    >>> FigureView("figure-1", "s-risk.svg", Figure("risk", "Risk", Axis("m"), Axis("risk"), ()), "").file
    's-risk.svg'
    """

    anchor: str
    file: str
    figure: Figure | Heatmap
    hidden: str

    @property
    def data_file(self) -> str:
        """The name of the CSV file with its data."""
        return self.file.removesuffix(".svg") + ".csv"


@dataclasses.dataclass(frozen=True)
class TableView:
    """A table of texts; `numeric` says which columns hold numbers, `file` is the name of the CSV
    file with all their digits.

    >>> TableView("Risks", ("network",), (("CNN",),), (False,)).title
    'Risks'
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    file: str = ""


@dataclasses.dataclass(frozen=True)
class StudyView:
    """A study: what it found and how to run it again; `conditions` are (text, place, claims).

    >>> StudyView("study-1", "s", "S", "", (), (), (), (), (), (), "").name
    's'
    """

    anchor: str
    name: str
    title: str
    summary: str
    figures: tuple[FigureView, ...]
    tables: tuple[TableView, ...]
    notes: tuple[tuple[str, str], ...]
    claims: tuple[ClaimView, ...]
    conditions: tuple[tuple[str, str, tuple[ClaimView, ...]], ...]
    settings: tuple[tuple[str, str], ...]
    command: str


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything on the page.

    >>> Report((), (), (), (), (), None).counts
    (('supported', 0), ('refuted', 0), ('undecided', 0))
    """

    claims: tuple[ClaimView, ...]
    studies: tuple[StudyView, ...]
    orphans: tuple[ClaimView, ...]  # claims whose study is not told
    papers: tuple[tuple[str, str, str], ...]  # key, short name, citation
    facts: tuple[tuple[str, str], ...]
    history: TableView | None

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """How many claims have each verdict."""
        return tuple(
            (verdict, sum(claim.verdict == verdict for claim in self.claims))
            for verdict in VERDICTS
        )


def compose(files: RunFiles) -> Report:
    """The report on a run.

    >>> compose(RunFiles([], {}, {}, [])).claims
    ()
    """
    names: set[str] = set()
    claims = tuple(_claim(plain, names) for plain in files.claims)
    order = [
        *dict.fromkeys(claim.study for claim in claims if claim.study in files.outcomes),
        *files.outcomes,
    ]
    studies = tuple(_study(files, name, claims, names) for name in dict.fromkeys(order))
    sources = {plain["paper"]: source_of(plain) for plain in reversed(files.claims)}
    papers = tuple(
        (key, short_name(key, sources[key]), sources[key])
        for key in dict.fromkeys(claim.paper for claim in claims)
    )
    history = (
        table_view("All runs, the newest first", *history_of(files.runs))
        if len(files.runs) > 1
        else None
    )
    facts = facts_of(files.runs[0]) if files.runs else ()
    return Report(
        claims,
        studies,
        tuple(each for each in claims if each.study not in files.outcomes),
        papers,
        facts,
        history,
    )


def source_of(claim: dict[str, Any]) -> str:
    """The citation of a claim's paper: that of the run, or for an older run that of this package;
    empty where neither knows it.

    >>> source_of({"paper": "mine", "source": "Notes on neighbours"}), source_of({"paper": "unheard-of"})
    ('Notes on neighbours', '')
    """
    return claim.get("source") or PAPERS.get(claim["paper"], "")


def short_name(paper: str, source: str) -> str:
    """A paper as one cites it in a table: the first author and the year, as far as its citation
    tells them.

    >>> short_name("lahoti", PAPERS["lahoti"]), short_name("doe", "Doe, A Title (2026)"), short_name("unheard-of", "")
    ('Lahoti et al. 2024', 'Doe 2026', 'unheard-of')
    >>> short_name("mine", "Notes on neighbours")
    'Notes on neighbours'
    """
    known = source
    if not known:
        return paper
    year = re.findall(r"\b(?:19|20)\d\d\b", known)
    authors = known.split(", ")
    first = (
        f"{authors[0]} et al."
        if "&" not in authors[0] and any("&" in each for each in authors[:-1])
        else authors[0]
    )
    if len(authors) == 1:
        first = re.sub(r"\s*\([^()]*\)$", "", first)  # a title alone
    preprint = re.search(r"arXiv (\d\d)", known)  # an arXiv number begins with the year
    return f"{first} {year[-1] if year else f'20{preprint.group(1)}' if preprint else ''}".strip()


def place_of(claim: dict[str, Any]) -> str:
    """Whether the experiment lay inside the paper's conditions, in words.

    >>> place_of({"conditions_met": False, "outside": "σ = 2"}), place_of({"conditions_met": True})
    ("outside the paper's conditions: σ = 2", 'inside')
    """
    if claim.get("conditions_met") is None:
        return "not known"
    if claim["conditions_met"]:
        return "inside"
    return "outside the paper's conditions" + (
        f": {claim['outside']}" if claim.get("outside") else ""
    )


def table_view(
    title: str, columns: Iterable[Any], rows: Iterable[Iterable[Any]], file: str = ""
) -> TableView:
    """A table with its numbers set for reading.

    >>> table_view("Risks", ["network", "risk"], [["CNN", 0.123456]]).rows
    (('CNN', '0.1235'),)
    """
    columns = tuple(str(column) for column in columns)
    rows = [list(row) for row in rows]
    numeric = tuple(
        any(isinstance(row[i], int | float) for row in rows)
        and all(
            row[i] is None or (isinstance(row[i], int | float) and not isinstance(row[i], bool))
            for row in rows
        )
        for i in range(len(columns))
    )
    return TableView(
        title,
        columns,
        tuple(tuple(cell(v, c) for v, c in zip(row, columns)) for row in rows),
        numeric,
        file,
    )


def slug(text: str, taken: set[str]) -> str:
    """A name for files and anchors, unlike all those taken, to which it is added.

    >>> taken = set()
    >>> slug("../Risk of <b>", taken), slug("risk of b", taken)
    ('Risk-of-b', 'risk-of-b-2')
    """
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:80].strip(".-_") or "item"
    name, count = base, 1
    while (
        name.lower() in taken
    ):  # also unlike in letters' case, which some file systems do not tell apart
        count += 1
        name = f"{base}-{count}"
    taken.add(name.lower())
    return name


def table_file(study: str, table: dict[str, Any], taken: set[str]) -> str:
    """The name of the CSV file of a table.

    >>> table_file("signal", {"name": "m*/k", "title": "Thresholds"}, set())
    'signal-m-k.csv'
    """
    return slug(f"{study}-{table.get('name') or table['title']}", taken) + ".csv"


def flattened(settings: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Settings as `--set` names them, with their exact values.

    >>> list(flattened({"task": {"noise": 0.1}, "seeds": 12}))
    [('task.noise', '0.1'), ('seeds', '12')]
    """
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield (
                f"{prefix}{key}",
                value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
            )


def _claim(plain: dict[str, Any], names: set[str]) -> ClaimView:
    evidence = plain["evidence"]
    return ClaimView(
        slug(f"claim-{plain['id']}", names),
        plain["id"],
        plain["paper"],
        short_name(plain["paper"], source_of(plain)),
        plain["statement"],
        plain.get("citation") or "",
        plain["verdict"],
        plain.get("reason") or "",
        plain.get("conditions") or "",
        place_of(plain),
        tuple((each["name"], effect(each)) for each in evidence),
        tuple(_evidence(each) for each in evidence),
        plain.get("study") or "",
        plain.get("command") or "",
    )


def effect(evidence: dict[str, Any]) -> str:
    """What was measured, with its interval.

    >>> effect({"estimate": 0.64157, "low": 0.60805, "high": 0.68424})
    '0.642 [0.608, 0.684]'
    """
    return interval(evidence.get("estimate"), evidence.get("low"), evidence.get("high"))


def _evidence(each: dict[str, Any]) -> tuple[str, ...]:
    level = each.get("level")
    how = [f"{number(100 * level)} %" if level is not None else "", each.get("method") or ""]
    baselines = "; ".join(
        f"{name} {number(value)}" for name, value in (each.get("baselines") or {}).items()
    )
    reference = each.get("reference")
    return (
        each["name"],
        effect(each),
        number(each.get("count")),
        " ".join(part for part in how if part) or NOTHING,
        NOTHING if reference is None else number(reference),
        baselines or NOTHING,
    )


def _study(files: RunFiles, name: str, claims: tuple[ClaimView, ...], names: set[str]) -> StudyView:
    plain = files.outcomes[name]
    own = tuple(claim for claim in claims if claim.study == name)
    groups: dict[tuple[str, str], list[ClaimView]] = {}
    for claim in own:
        groups.setdefault((claim.conditions, claim.place), []).append(claim)
    figures = []
    for figure in files.figures[name]:
        hidden = "; ".join(
            f"{label} {some} of {of} points" for label, (some, of) in hidden_points(figure).items()
        )
        if hidden:
            why = (
                "on the logarithmic axis, at or below zero"
                if figure.x.log or figure.y.log
                else "because too large"
            )
            hidden = f"Not shown {why}: {hidden}."
        anchor = slug(f"{name}-{figure.name}", names)
        figures.append(FigureView(anchor, f"{anchor}.svg", figure, hidden))
    settings = {"scale": plain.get("scale"), "seed": plain.get("seed")} | (
        plain.get("settings") or {}
    )
    return StudyView(
        slug(f"study-{name}", names),
        name,
        plain["title"],
        plain["summary"],
        tuple(figures),
        tuple(
            table_view(each["title"], each["columns"], each["rows"], table_file(name, each, names))
            for each in plain["tables"]
        ),
        tuple((note["severity"], note["message"]) for note in plain["notes"]),
        own,
        tuple((conditions, place, tuple(group)) for (conditions, place), group in groups.items()),
        tuple((key, value) for key, value in flattened(settings) if value != "null"),
        plain["command"],
    )
