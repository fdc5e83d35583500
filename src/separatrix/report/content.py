"""The content of a report: its texts in their order, before they become HTML or Markdown."""

import dataclasses
import json
import re
from collections.abc import Iterable
from typing import Any

from separatrix.report.figure.series import hidden_points
from separatrix.report.kept import Kept, KeptVerdict, contradict, kept_evidence
from separatrix.report.numbers import (
    NOTHING,
    cell,
    decided_at,
    duration,
    interval,
    levels_in_words,
    memory,
    number,
    number_or_none,
)
from separatrix.report.read import VERDICTS, RunFiles
from separatrix.studies import PAPERS, Figure, Heatmap

MARKS = {"supported": "✓", "refuted": "✗", "undecided": "?", "not measured": "–"}


@dataclasses.dataclass(frozen=True)
class ClaimView:
    """A claim in texts.

    `effects` are pairs of a measured quantity and its value with interval; `evidence` has the cells
    of one table row per quantity.
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
    place: str  # inside or outside the paper's conditions
    effects: tuple[tuple[str, str], ...]
    evidence: tuple[tuple[str, ...], ...]
    study: str
    command: str
    rule: str = ""
    decided: str = ""  # the level that decided it
    settle: str = ""  # what would settle a claim that is not decided
    kept: KeptVerdict | None = None  # the kept verdict

    @property
    def contradicts(self) -> bool:
        """Whether this run and the kept run decide the claim differently."""
        return contradict(self.verdict, self.kept)

    @property
    def outside(self) -> bool:
        """Whether the experiment is outside the paper's conditions."""
        return self.place.startswith("outside")


@dataclasses.dataclass(frozen=True)
class FigureView:
    """A figure with its anchor on the page, its file, and a sentence on points that it hides."""

    anchor: str
    file: str
    figure: Figure | Heatmap
    hidden: str

    @property
    def data_file(self) -> str:
        """The name of the CSV file with the figure's data."""
        return self.file.removesuffix(".svg") + ".csv"


@dataclasses.dataclass(frozen=True)
class TableView:
    """A table of texts.

    `numeric` says which columns hold numbers; `file` names the CSV file with all their digits.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    file: str = ""


@dataclasses.dataclass(frozen=True)
class StudyView:
    """A study: its results and how to run it again; `conditions` are (text, place, claims)."""

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
    question: str = ""
    answer: str = ""
    scale: str = ""

    @property
    def page(self) -> str:
        """The file name of the study's own page."""
        return f"{self.anchor}.html"

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """How many of its claims have each verdict, where there are any."""
        return tuple(pair for pair in counts_of(self.claims) if pair[1])


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything in a report: an index and one page per study.

    >>> Report((), (), (), (), (), None).counts
    (('supported', 0), ('refuted', 0), ('undecided', 0))
    """

    claims: tuple[ClaimView, ...]
    studies: tuple[StudyView, ...]
    orphans: tuple[ClaimView, ...]  # claims without a study
    papers: tuple[tuple[str, str, str], ...]  # key, short name, citation
    facts: tuple[tuple[str, str], ...]
    history: TableView | None
    levels: str = ""  # which level decided, and which is shown

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """The number of claims with each verdict; `not measured` only where there are some."""
        counts = counts_of(self.claims)
        return tuple(pair for pair in counts if pair[1] or pair[0] != "not measured")


def counts_of(claims: Iterable[ClaimView]) -> tuple[tuple[str, int], ...]:
    """How many claims have each verdict.

    >>> counts_of(())
    (('supported', 0), ('refuted', 0), ('undecided', 0), ('not measured', 0))
    """
    verdicts = [claim.verdict for claim in claims]
    return tuple((verdict, verdicts.count(verdict)) for verdict in VERDICTS)


def compose(files: RunFiles, kept: Kept | None = None) -> Report:
    """The report on a run.

    Args:
        files: the run's files.
        kept: verdicts to show beside the run's; None for those of this package.

    Returns:
        The report's texts.
    """
    names: set[str] = set()
    beside = kept_evidence() if kept is None else kept
    claims = tuple(_claim(plain, names, beside.of(plain)) for plain in files.claims)
    # Studies in the order of their claims, then studies without claims.
    order = [*(claim.study for claim in claims if claim.study in files.outcomes), *files.outcomes]
    studies = tuple(_study(files, name, claims, names) for name in dict.fromkeys(order))
    sources = {plain["paper"]: source_of(plain) for plain in reversed(files.claims)}
    papers = tuple(
        (key, short_name(key, sources[key]), sources[key])
        for key in dict.fromkeys(claim.paper for claim in claims)
    )
    return Report(
        claims=claims,
        studies=studies,
        orphans=tuple(claim for claim in claims if claim.study not in files.outcomes),
        papers=papers,
        facts=facts_of(files.runs[0]) if files.runs else (),
        history=history_of(files.runs) if len(files.runs) > 1 else None,
        levels=levels_in_words(files.claims),
    )


def source_of(claim: dict[str, Any]) -> str:
    """The citation of a claim's paper, from the run or (for older runs) from this package.

    It is empty where neither has one.

    >>> source_of({"paper": "mine", "source": "Notes on neighbours"})
    'Notes on neighbours'
    >>> source_of({"paper": "unheard-of"})
    ''
    """
    return claim.get("source") or PAPERS.get(claim["paper"], "")


def short_name(paper: str, source: str) -> str:
    """A paper as a table cites it: the first author and the year, where the citation has them.

    >>> short_name("lahoti", PAPERS["lahoti"]), short_name("doe", "Doe, A Title (2026)")
    ('Lahoti et al. 2024', 'Doe 2026')
    >>> short_name("mine", "Notes on neighbours"), short_name("unheard-of", "")
    ('Notes on neighbours', 'unheard-of')
    >>> short_name("ours", PAPERS["ours"])
    'Our own questions'
    """
    if paper == "ours":
        return "Our own questions"
    if not source:
        return paper
    year = re.findall(r"\b(?:19|20)\d\d\b", source)
    authors = source.split(", ")
    first = (
        f"{authors[0]} et al."
        if "&" not in authors[0] and any("&" in author for author in authors[:-1])
        else authors[0]
    )
    if len(authors) == 1:
        first = re.sub(r"\s*\([^()]*\)$", "", first)  # a title alone
    preprint = re.search(r"arXiv (\d\d)", source)  # an arXiv number begins with the year
    return f"{first} {year[-1] if year else f'20{preprint.group(1)}' if preprint else ''}".strip()


def place_of(claim: dict[str, Any]) -> str:
    """Whether the experiment is inside the paper's conditions, in words.

    >>> place_of({"conditions_met": True})
    'inside'
    >>> place_of({"conditions_met": False, "outside": "σ = 2"})
    "outside the paper's conditions: σ = 2"
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
    """A table with its numbers written for readers.

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
    texts = tuple(tuple(cell(value, name) for value, name in zip(row, columns)) for row in rows)
    return TableView(title, columns, texts, numeric, file)


def slug(text: str, taken: set[str]) -> str:
    """A new name for a file or an anchor; it is added to `taken`.

    >>> taken = set()
    >>> slug("../Risk of <b>", taken), slug("risk of b", taken)
    ('Risk-of-b', 'risk-of-b-2')
    """
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:80].strip(".-_") or "item"
    name, count = base, 1
    while name.lower() in taken:  # some file systems do not distinguish upper and lower case
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
    """Settings by the names that `--set` uses, with their exact values.

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


def _claim(plain: dict[str, Any], names: set[str], kept: KeptVerdict | None) -> ClaimView:
    return ClaimView(
        anchor=slug(f"claim-{plain['id']}", names),
        id=plain["id"],
        paper=plain["paper"],
        paper_name=short_name(plain["paper"], source_of(plain)),
        statement=plain["statement"],
        citation=plain.get("citation") or "",
        verdict=plain["verdict"],
        reason=plain.get("reason") or "",
        conditions=plain.get("conditions") or "",
        place=place_of(plain),
        effects=tuple((evidence["name"], effect(evidence)) for evidence in plain["evidence"]),
        evidence=tuple(_evidence_cells(evidence) for evidence in plain["evidence"]),
        study=plain.get("study") or "",
        command=plain.get("command") or "",
        rule=plain.get("rule") or "",
        decided=decided_at(plain),
        settle=text_of(plain, "settle"),
        kept=kept,
    )


def text_of(plain: dict[str, Any], key: str) -> str:
    """A text of a file, empty where it is missing or something else.

    >>> text_of({"settle": "more seeds"}, "settle"), text_of({"settle": 3}, "settle")
    ('more seeds', '')
    """
    value = plain.get(key)
    return value if isinstance(value, str) else ""


def effect(evidence: dict[str, Any]) -> str:
    """The estimate of a piece of evidence, with its interval.

    >>> effect({"estimate": 0.64157, "low": 0.60805, "high": 0.68424})
    '0.642 [0.608, 0.684]'
    """
    return interval(evidence.get("estimate"), evidence.get("low"), evidence.get("high"))


def _evidence_cells(evidence: dict[str, Any]) -> tuple[str, ...]:
    level = evidence.get("level")
    level_text = f"{number(100 * level)} %" if level is not None else ""
    baselines = "; ".join(
        f"{name} {number(value)}" for name, value in (evidence.get("baselines") or {}).items()
    )
    return (
        evidence["name"],
        effect(evidence),
        number(evidence.get("count")),
        " ".join(part for part in (level_text, evidence.get("method")) if part) or NOTHING,
        number(evidence.get("reference")),
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
            f"{label} {count} of {total} points"
            for label, (count, total) in hidden_points(figure).items()
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
        anchor=slug(f"study-{name}", names),
        name=name,
        title=plain["title"],
        summary=plain["summary"],
        figures=tuple(figures),
        tables=tuple(
            table_view(
                table["title"], table["columns"], table["rows"], table_file(name, table, names)
            )
            for table in plain["tables"]
        ),
        notes=tuple((note["severity"], note["message"]) for note in plain["notes"]),
        claims=own,
        conditions=tuple((*key, tuple(group)) for key, group in groups.items()),
        settings=tuple((key, value) for key, value in flattened(settings) if value != "null"),
        command=plain["command"],
        question=text_of(plain, "question") or plain["title"],
        answer=text_of(plain, "answer"),
        scale=text_of(plain, "scale"),
    )


def facts_of(run: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The facts of one run in the manifest, as names and texts; unknown ones are left out.

    >>> facts_of({"device": "x86_64", "workers": 2, "wall_seconds": 75.2})
    (('device', 'x86_64, 2 workers'), ('whole time', '1 min 15 s'))
    """
    workers = number_or_none(run.get("workers"))
    device = cell(run.get("device"))
    if workers:
        device += f", {number(workers)} {'worker' if workers == 1 else 'workers'}"
    versions = run.get("versions")

    def count(key: str) -> str:
        return number(number_or_none(run.get(key)))

    def time(key: str) -> str:
        return duration(number_or_none(run.get(key)))

    facts = [
        ("command", cell(run.get("command") or None)),
        ("started", cell(run.get("started"))),
        ("device", device),
        ("platform", cell(run.get("platform"))),
        ("precision", cell(run.get("precision"))),
        ("flags", cell(run.get("flags") or None)),
        ("trials run", count("trials_run")),
        ("whole time", time("wall_seconds")),
        ("time compiling", time("compile_seconds")),
        ("time in compiled programs", time("run_seconds")),
        ("programs compiled", count("programs_compiled")),
        ("programs with kernels", number(number_or_none(run.get("programs_with_kernels")) or None)),
        ("peak memory", memory(number_or_none(run.get("peak_memory_bytes")))),
        ("finished all trials", cell(run.get("complete"))),
        ("versions", cell(versions) if isinstance(versions, dict) and versions else NOTHING),
        ("commit", cell(run.get("commit") or None)),
    ]
    notes = run.get("notes")
    facts += [
        (cell(note.get("severity")), cell(note.get("message")))
        for note in (notes if isinstance(notes, list) else [])
        if isinstance(note, dict)
    ]
    return tuple((name, text) for name, text in facts if text != NOTHING)


def history_of(runs: list[dict[str, Any]]) -> TableView:
    """A table of all runs of a folder.

    >>> history_of([{"command": "separatrix verify", "trials_run": 36}]).rows[0][1:3]
    ('separatrix verify', '36')
    """
    rows = []
    for run in runs:
        versions = run.get("versions")
        rows.append(
            (
                run.get("started"),
                run.get("command"),
                number_or_none(run.get("trials_run")),
                number_or_none(run.get("programs_compiled")),
                duration(number_or_none(run.get("wall_seconds"))),
                run.get("complete"),
                versions.get("separatrix") if isinstance(versions, dict) else None,
            )
        )
    columns = ("started", "command", "trials", "programs", "time", "whole", "separatrix")
    return table_view("All runs, the newest first", columns, rows)
