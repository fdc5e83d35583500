"""The claims as rows for a terminal."""

import re
from collections.abc import Iterable
from typing import Any

from separatrix.report.content import effect, place_of, short_name, source_of
from separatrix.report.kept import DECIDED, contradict, kept_evidence
from separatrix.report.numbers import NOTHING
from separatrix.report.read import VERDICTS

MOST_EFFECTS = 2  # per claim


def summary_rows(claims: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """The claims of a run as rows for a terminal.

    Args:
      claims: the claims as `claims.json` has them.

    Returns:
      One row per claim with the keys `id`, `statement`, `verdict`, `kept` (the kept
      verdict), `effect` (with intervals) and `conditions` (inside or outside the paper's). The
      texts are plain: escape them for a console that reads markup (`rich.markup.escape`).

    >>> evidence = [{"name": "risk", "estimate": 0.64157, "low": 0.60805, "high": 0.68424}]
    >>> claim = {"id": "lahoti.a", "statement": "", "verdict": "supported", "conditions_met": True}
    >>> summary_rows([claim | {"evidence": evidence}])[0]["effect"]
    '0.642 [0.608, 0.684]'
    """
    rows = []
    for claim in claims:
        effects = [effect(evidence) for evidence in claim["evidence"]]
        more = len(effects) - MOST_EFFECTS
        kept = kept_evidence().of(claim)
        rows.append(
            {
                "id": claim["id"],
                "statement": claim["statement"],
                "verdict": claim["verdict"],
                "kept": kept.words if kept else "",
                "effect": "; ".join(effects[:MOST_EFFECTS]) + (f"; {more} more" if more > 0 else "")
                or NOTHING,
                "conditions": place_of(claim).replace(
                    "outside the paper's conditions", "outside", 1
                ),
            }
        )
    return rows


def owner_lines(claims: Iterable[dict[str, Any]]) -> list[str]:
    """One line per paper (and one for our own questions): how many claims have which verdict.

    Where the package keeps verdicts on them, the line counts those too.

    >>> claim = {"id": "doe.a", "statement": "", "paper": "doe", "source": "Doe, A Title (2026)"}
    >>> owner_lines([claim | {"verdict": "supported"}, claim | {"verdict": "not measured"}])
    ['Doe 2026: 1 supported, 0 refuted, 0 undecided, 1 not measured']
    """
    owners: dict[str, list[dict[str, Any]]] = {}
    for claim in sorted(claims, key=lambda claim: claim["paper"] == "ours"):
        owners.setdefault(claim["paper"], []).append(claim)
    lines = []
    for paper, own in owners.items():
        counts = _counted([claim["verdict"] for claim in own])
        kept = [found for found in map(kept_evidence().of, own) if found and found.current]
        places = " and ".join(sorted({found.place for found in kept}))
        there = f" (kept at {places}: {_counted([each.verdict for each in kept])})" if kept else ""
        lines.append(f"{short_name(paper, source_of(own[0]))}: {counts}{there}")
    return lines


def _counted(verdicts: list[str]) -> str:
    return ", ".join(
        f"{verdicts.count(verdict)} {verdict}"
        for verdict in VERDICTS
        if verdict != "not measured" or verdict in verdicts
    )


def matters(claims: Iterable[dict[str, Any]], most: int = 10) -> list[tuple[str, str, str]]:
    """What a reader should see first, as a verdict, a claim's sentence, and what to know about it.

    Contradictions with the kept verdicts come first, then refuted claims, then undecided
    ones with what would settle them; those of papers before our own.

    Args:
        claims: the claims as `claims.json` has them.
        most: the most lines, counting one that says how many are left out.

    Returns:
        The lines.

    >>> claim = {"id": "doe.a", "paper": "doe", "verdict": "refuted", "statement": "It grows."}
    >>> matters([claim | {"reason": "it falls"}])
    [('refuted', 'It grows.', 'But: it falls')]
    """
    first, refuted, undecided = [], [], []
    for claim in sorted(claims, key=lambda claim: claim["paper"] == "ours"):
        kept = kept_evidence().of(claim)
        verdict, sentence = claim["verdict"], claim["statement"]
        if kept is not None and contradict(verdict, kept):
            first.append((verdict, sentence, f"The kept run: {kept.words}."))
        elif verdict == "refuted":
            reason = claim.get("reason") or "no reason is given"
            refuted.append((verdict, sentence, f"But: {reason}"))
        elif verdict == "undecided" and not (kept and kept.current and kept.verdict in DECIDED):
            cost = cost_in_words(claim.get("settle") or "")
            undecided.append((verdict, sentence, f"To settle: {cost}" if cost else ""))
    lines = [*first, *refuted, *undecided]
    if len(lines) > most:
        left = len(lines) - most + 1
        more = f"and {left} more: --all shows every claim, `separatrix explain CLAIM` one of them"
        lines = [*lines[: most - 1], ("", more, "")]
    return lines


def cost_in_words(settle: str) -> str:
    """What would settle a claim, without the command, which is the same for the whole study.

    >>> cost_in_words("about 3 times as many trials; `separatrix run signal` measures more (4 min)")
    'about 3 times as many trials (4 min)'
    """
    words, command, rest = settle.partition("; `separatrix ")
    time = re.search(r" \([^()]*\)$", rest)
    return words + (time.group() if command and time else "")


def fitted(sentence: str, rest: str, width: int) -> str:
    """A sentence and a remark on one line; both are shortened where they are too long together.

    >>> fitted("The sample size grows.", "To settle: more cells", 30)
    'The sample size… To settle: m…'
    """
    if len(sentence) + len(rest) + 1 <= width:
        return f"{sentence} {rest}".rstrip()
    if not rest:
        return sentence[: width - 1] + "…"
    room = max(width - len(rest) - 1, width * 11 // 20)  # of the sentence
    if len(sentence) > room:
        sentence = sentence[: room - 1].rstrip() + "…"
    line = f"{sentence} {rest}"
    return line if len(line) <= width else line[: width - 1] + "…"
