"""The claims as rows for a terminal."""

from collections.abc import Iterable
from typing import Any

from separatrix.report.content import effect, place_of
from separatrix.report.numbers import NOTHING

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
