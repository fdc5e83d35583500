"""The claims as rows for a terminal."""

from collections.abc import Iterable
from typing import Any

from separatrix.report.content import effect, place_of, short_name, source_of
from separatrix.report.numbers import NOTHING
from separatrix.report.read import VERDICTS

MOST_EFFECTS = 2  # per claim


def summary_rows(claims: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """The claims of a run as rows for a terminal.

    Args:
      claims: the claims as `claims.json` has them.

    Returns:
      One row per claim with the keys `id`, `verdict`, `effect` (with intervals) and `conditions`
      (inside or outside the paper's). The texts are plain: escape them for a console that reads
      markup (`rich.markup.escape`).

    >>> evidence = [{"name": "risk", "estimate": 0.64157, "low": 0.60805, "high": 0.68424}]
    >>> claim = {"id": "lahoti.a", "verdict": "supported", "conditions_met": True}
    >>> summary_rows([claim | {"evidence": evidence}])[0]["effect"]
    '0.642 [0.608, 0.684]'
    """
    rows = []
    for claim in claims:
        effects = [effect(evidence) for evidence in claim["evidence"]]
        more = len(effects) - MOST_EFFECTS
        rows.append(
            {
                "id": claim["id"],
                "verdict": claim["verdict"],
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

    >>> claim = {"id": "doe.a", "paper": "doe", "source": "Doe, A Title (2026)"}
    >>> owner_lines([claim | {"verdict": "supported"}, claim | {"verdict": "not measured"}])
    ['Doe 2026: 1 supported, 0 refuted, 0 undecided, 1 not measured']
    """
    owners: dict[str, list[dict[str, Any]]] = {}
    for claim in claims:
        owners.setdefault(claim["paper"], []).append(claim)
    lines = []
    for paper, own in owners.items():
        counts = ", ".join(
            f"{sum(claim['verdict'] == verdict for claim in own)} {verdict}" for verdict in VERDICTS
        )
        lines.append(f"{short_name(paper, source_of(own[0]))}: {counts}")
    return lines


def surprises(claims: Iterable[dict[str, Any]]) -> list[str]:
    """The claims that are refuted, each with its sentence and the reason.

    >>> claim = {"id": "doe.a", "verdict": "refuted", "statement": "It grows.", "reason": "it falls"}
    >>> surprises([claim])
    ['doe.a is refuted. It grows. But: it falls']
    """
    return [
        f"{claim['id']} is refuted. {claim['statement']} But: {claim.get('reason') or 'no reason'}"
        for claim in claims
        if claim["verdict"] == "refuted"
    ]
