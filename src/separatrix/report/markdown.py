"""The report as Markdown: the same content as the page."""

import re
from collections.abc import Iterable, Sequence

from separatrix.report.content import MARKS, ClaimView, Report, StudyView, TableView
from separatrix.report.html import EVIDENCE_COLUMNS, lead_of

_SPECIAL = re.compile(r"([\\`*\[\]|$~])|(?<![A-Za-z0-9])(_)|(_)(?![A-Za-z0-9])")


def plain(text: str) -> str:
    """Text escaped for Markdown, on one line: no markup, no HTML.

    >>> plain("a|b <script> *c* snake_case")
    'a\\\\|b &lt;script&gt; \\\\*c\\\\* snake_case'
    """
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SPECIAL.sub(lambda match: "\\" + match.group(), text)
    return re.sub(
        r"^([#+-]|\d+[.)])(?=\s|$)", lambda m: m.group()[:-1] + "\\" + m.group()[-1], text
    )


def code(text: str, table: bool = False) -> str:
    """Text as code, whatever backticks it contains; in a table, bars are escaped too.

    >>> code("a`b"), code("a|b", table=True)
    ('`` a`b ``', '`a\\\\|b`')
    """
    text = " ".join(text.split())
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|') if table else text}{pad}{fence}"


def markdown_page(report: Report) -> str:
    """The report as Markdown; figures are links to files in `figures/`.

    >>> markdown_page(Report((), (), (), (), (), None)).splitlines()[0]
    '# Separatrix'
    """
    counts = " · ".join(
        f"{MARKS[verdict]} {verdict}: **{count}**" for verdict, count in report.counts
    )
    lines = ["# Separatrix", "", plain(lead_of(report)), "", counts, "", "## Claims", ""]
    if report.claims:
        lines += _table(
            ("Paper", "Claim", "Verdict", "Effect [95 % interval]", "Evidence"),
            (
                (
                    plain(claim.paper_name),
                    plain(claim.statement),
                    f"{MARKS[claim.verdict]} {claim.verdict}"
                    + (f" ({plain(claim.place)})" if claim.outside else "")
                    + (f" (kept: {claim.kept.words})" if claim.kept else ""),
                    _effects(claim),
                    f"[{plain(claim.study or 'evidence')}](#{claim.anchor})",
                )
                for claim in report.claims
            ),
        )
        lines += [f"Verdicts are {plain(report.levels)}, unless the evidence says otherwise.", ""]
        lines += [
            f"- **{plain(name)}**: {plain(citation)}"
            for _, name, citation in report.papers
            if citation
        ]
    else:
        lines.append("No claim was tested.")
    for study in report.studies:
        lines += _study(study)
    if report.orphans:
        lines += ["", "## Other claims", *_claims(report.orphans)]
    if report.facts:
        lines += [
            "",
            "## How it was run",
            "",
            *(f"- {plain(name)}: {plain(text)}" for name, text in report.facts),
        ]
        if report.history:
            lines += _data_table(report.history)
    return "\n".join(lines).rstrip() + "\n"


def _effects(claim: ClaimView) -> str:
    effects = [f"{plain(name)}: {plain(text)}" for name, text in claim.effects[:3]]
    more = len(claim.effects) - len(effects)
    return "<br>".join([*effects, *([f"and {more} more"] if more else [])]) or "—"


def _study(study: StudyView) -> list[str]:
    lines = [
        "",
        f'<a id="{study.anchor}"></a>',
        "",
        f"## {plain(study.title)}",
        "",
        f"{code(study.name)} · {plain(study.summary)}",
    ]
    for view in study.figures:
        title = plain(view.figure.title)
        lines += ["", f"### {title}", "", f"![{title}](figures/{view.file})"]
        caption = " ".join(part for part in (view.figure.caption, view.hidden) if part)
        lines += ["", plain(caption)] if caption else []
    for table in study.tables:
        lines += _data_table(table)
    if study.notes:
        lines += [
            "",
            "### Notes",
            "",
            *(f"- **{plain(severity)}:** {plain(message)}" for severity, message in study.notes),
        ]
    if study.claims:
        lines += [
            "",
            "### Evidence on the claims",
            *_claims(study.claims),
            "",
            "### Conditions",
            "",
        ]
        for conditions, place, claims in study.conditions:
            links = ", ".join(f"[{code(claim.id)}](#{claim.anchor})" for claim in claims)
            sentence = plain(conditions or "The paper states no conditions")
            lines.append(f"- {sentence} — the experiment: **{plain(place)}** (for {links})")
    lines += [
        "",
        "### Settings and command",
        "",
        *(f"- {plain(key)}: {code(value)}" for key, value in study.settings),
    ]
    return [*lines, "", *_code_block(study.command)]


def _claims(claims: Iterable[ClaimView]) -> list[str]:
    lines: list[str] = []
    for claim in claims:
        citation = (
            f" ({plain(claim.paper_name)}: {plain(claim.citation)})" if claim.citation else ""
        )
        lines += [
            "",
            f'<a id="{claim.anchor}"></a>',
            "",
            f"**{MARKS[claim.verdict]} {claim.verdict}** {code(claim.id)}",
        ]
        lines += ["", plain(claim.statement) + citation]
        lines += ["", f"Why: {plain(claim.reason)}"] if claim.reason else []
        lines += ["", plain(claim.place)] if claim.outside else []
        lines += ["", f"To settle it: {plain(claim.settle)}"] if claim.settle else []
        if claim.rule:
            level = f" (decided at {plain(claim.decided)})" if claim.decided else ""
            lines += ["", f"Rule{level}: {plain(claim.rule)}"]
        if claim.evidence:
            lines += [
                "",
                *_table(
                    EVIDENCE_COLUMNS, ([plain(text) for text in row] for row in claim.evidence)
                ),
            ]
        else:
            lines += ["", "No evidence was measured."]
    return lines


def _data_table(table: TableView) -> list[str]:
    rows = ([plain(value) for value in row] for row in table.rows)
    return [
        "",
        f"**{plain(table.title)}**",
        "",
        *_table([plain(name) for name in table.columns], rows, table.numeric),
    ]


def _table(
    columns: Sequence[str], rows: Iterable[Iterable[str]], numeric: Sequence[bool] = ()
) -> list[str]:
    rule = [
        "--:" if index < len(numeric) and numeric[index] else "---" for index in range(len(columns))
    ]
    return ["| " + " | ".join(cells) + " |" for cells in (columns, rule, *rows)] + [""]


def _code_block(text: str) -> list[str]:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return [f"{fence}sh", text, fence]
