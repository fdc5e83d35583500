"""The claims as rows for a terminal."""

from collections.abc import Iterable
from typing import Any

from separatrix.report.content import effect, place_of
from separatrix.report.numbers import NOTHING

SHOWN = 2


def summary_rows(claims: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """One row per claim of claims.json: its id, verdict, effect with interval, and where it lies to
    the paper's conditions.

    The texts are plain: escape them before giving them to something that reads markup
    (`rich.markup.escape`).

    >>> evidence = [{"name": "risk", "estimate": 0.64157, "low": 0.60805, "high": 0.68424}]
    >>> summary_rows([{"id": "lahoti.a", "verdict": "supported", "conditions_met": True, "evidence": evidence}])
    [{'id': 'lahoti.a', 'verdict': 'supported', 'effect': '0.642 [0.608, 0.684]', 'conditions': 'inside'}]
    """
    rows = []
    for claim in claims:
        effects = [effect(each) for each in claim["evidence"]]
        more = len(effects) - SHOWN
        rows.append(
            {
                "id": claim["id"],
                "verdict": claim["verdict"],
                "effect": "; ".join(effects[:SHOWN]) + (f"; {more} more" if more > 0 else "")
                or NOTHING,
                "conditions": place_of(claim).replace(
                    "outside the paper's conditions", "outside", 1
                ),
            }
        )
    return rows
