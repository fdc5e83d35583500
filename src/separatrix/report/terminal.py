"""The claims as rows for a terminal."""

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
      One row per claim with the keys `id`, `statement`, `verdict`, `kept` (the kept full-scale
      verdict), `effect` (with intervals) and `conditions` (inside or outside the paper's). The texts are plain: escape them for a console that reads
      markup (`rich.markup.escape`).

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

    Where the package keeps full-scale verdicts on them, the line counts those too.

    >>> claim = {"id": "doe.a", "statement": "", "paper": "doe", "source": "Doe, A Title (2026)"}
    >>> owner_lines([claim | {"verdict": "supported"}, claim | {"verdict": "not measured"}])
    ['Doe 2026: 1 supported, 0 refuted, 0 undecided, 1 not measured']
    """
    owners: dict[str, list[dict[str, Any]]] = {}
    for claim in claims:
        owners.setdefault(claim["paper"], []).append(claim)
    lines = []
    for paper, own in owners.items():
        counts = _counted([claim["verdict"] for claim in own])
        kept = [found.verdict for found in map(kept_evidence().of, own) if found and found.current]
        there = f" (kept at full scale: {_counted(kept)})" if kept else ""
        lines.append(f"{short_name(paper, source_of(own[0]))}: {counts}{there}")
    return lines


def _counted(verdicts: list[str]) -> str:
    return ", ".join(
        f"{verdicts.count(verdict)} {verdict}"
        for verdict in VERDICTS
        if verdict != "not measured" or verdict in verdicts
    )


def matters(claims: Iterable[dict[str, Any]], most: int = 10) -> list[tuple[str, str]]:
    """What a reader should see first, as pairs of a verdict and a line.

    Contradictions with the kept full-scale verdicts come first, then refuted claims, then undecided
    ones with what would settle them.

    Args:
        claims: the claims as `claims.json` has them.
        most: the most lines, counting one that says how many are left out.

    Returns:
        The lines.

    >>> claim = {"id": "doe.a", "verdict": "refuted", "statement": "It grows.", "reason": "it falls"}
    >>> matters([claim])
    [('refuted', 'It grows. But: it falls')]
    """
    first, refuted, undecided = [], [], []
    for claim in claims:
        kept = kept_evidence().of(claim)
        verdict, reason = claim["verdict"], claim.get("reason") or "no reason is given"
        if kept is not None and contradict(verdict, kept):
            first.append(
                (verdict, f"{claim['statement']} The kept full-scale run: {kept.verdict}.")
            )
        elif verdict == "refuted":
            refuted.append((verdict, f"{claim['statement']} But: {reason}"))
        elif verdict == "undecided" and not (kept and kept.current and kept.verdict in DECIDED):
            settle = claim.get("settle")
            undecided.append(
                (verdict, claim["statement"] + (f" To settle: {settle}" if settle else ""))
            )
    lines = [*first, *refuted, *undecided]
    if len(lines) > most:
        left = len(lines) - most + 1
        lines = [*lines[: most - 1], ("", f"and {left} more: --all shows every claim")]
    return lines
