"""Numbers on reference pages that look measured and were typed by hand: there should be none.

A measured number comes from kept evidence or a kept benchmark, through a generated part or
`{{ EPOCH/STUDY: CLAIM: NAME }}` (`make_pages.py`). What a page may type are definitions: levels,
margins, defaults, sizes of an example. Those that look measured are listed, with the words around
them, in `definitions.txt`. Code, formulas, quoted output and what a command writes between
`<!-- NAME -->` and `<!-- /NAME -->` are not looked at.
"""

import re
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).resolve().parent
# History, records of decisions, and pages that a program writes as a whole.
NOT_REFERENCE = ("notebook/", "decisions/", "api/", "chaos.md", "scale.md")
HIDDEN = re.compile(
    r"^<!-- (?P<part>\w+) -->$.*?^<!-- /(?P=part) -->$|^```.*?^```|^<!--.*?-->$"
    r"|\{\{.*?\}\}|(?<=\n\n)(?:(?:    |\t)[^\n]*\n?)+|\$\$.*?\$\$|\$[^$\n]+\$"
    r"|`[^`\n]+`|\]\([^)\s]*\)|<[^>\n]+>",
    re.DOTALL | re.MULTILINE,
)
UNITS = r"%|per cent\b|(?:ms|s|seconds|minutes|hours|times|kB|MB|GB|MiB|TFLOP/s)\b"
LOOKS_MEASURED = re.compile(
    r"(?<![\w.^/:-])[-−]?(?:\d*\.\d+|\d{1,3}(?:,\d{3})+|\d+e-?\d+|\d+(?=–\d+ ?%)"
    rf"|\d+(?= ?(?:{UNITS}))"
    r"|(?!(?:19|20)\d\d\b)\d{4,})"
)


def pages() -> list[Path]:
    """The reference pages."""
    return [
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not page.relative_to(DOCS).as_posix().startswith(NOT_REFERENCE)
    ]


def looks_measured(markdown: str, known: Iterable[str] = ()) -> tuple[list[str], set[str]]:
    """The numbers of a page that look measured, each with the words around it.

    Args:
        markdown: the text of the page.
        known: words in which a number is a definition.

    Returns:
        The numbers outside of these words, and those of the words that held a number.

    >>> looks_measured("Accuracy rises by .055 over the FCN's.")[0]
    ["Accuracy rises by >>.055<< over the FCN's."]
    >>> looks_measured("There are 3 networks, and `0.5` is code; $0.3$ is a formula.")[0]
    []
    """
    text = " ".join(HIDDEN.sub(" … ", markdown).split())
    spans = [
        (found.span(), words) for words in known for found in re.finditer(re.escape(words), text)
    ]
    typed, used = [], set()
    for match in LOOKS_MEASURED.finditer(text):
        start, end = match.span()
        covering = {words for (low, high), words in spans if low <= start and end <= high}
        used |= covering
        if not covering:
            before, after = text[max(0, start - 40) : start], text[end : end + 40]
            typed.append(f"{before}>>{match.group()}<<{after}")
    return typed, used


def definitions() -> dict[str, list[str]]:
    """The words, by page, in which a number is a definition."""
    out: dict[str, list[str]] = {}
    page = ""
    for line in (DOCS / "definitions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            page = line.strip("[]")
        elif line.strip() and not line.startswith("#"):
            out.setdefault(page, []).append(line.strip())
    return out
