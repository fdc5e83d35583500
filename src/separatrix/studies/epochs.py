"""Epochs of evidence: what was decided by rules or recipes that have changed since.

A change of rule or recipe opens a new epoch. The claims.json of the epoch before stays in the
history, with the ids, sentences and verdicts of its time. A kept finding counts as a verdict on a
claim of today only if the rule that decided it is today's rule.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.files import explain_os_errors, write_bytes
from separatrix.studies.claims import Claim
from separatrix.studies.kept_rows import kept_claims

HISTORY = "history"


def by_present_rule(finding: dict[str, Any], claim: Claim | None) -> bool:
    """Whether a kept finding was decided by the rule that its claim has today.

    Args:
        finding: an entry of a kept claims.json.
        claim: the claim with the same id, None where there is none any more.

    >>> from separatrix.studies.kinds import Identity
    >>> claim = Claim("malach.example", "h = f.", "Lemma 6", "", Identity("h = f", 1e-9))
    >>> by_present_rule({"formula": Identity("h = f", 1e-6).formula()}, claim)
    False
    """
    if claim is None:
        return False
    kind = claim.kind
    # Findings of the time before kinds have neither; so have claims that no kind decides.
    present = (kind.name, kind.formula()) if kind is not None else (None, None)
    return (finding.get("kind"), finding.get("formula")) == present


def earlier_findings(evidence: Path) -> list[dict[str, Any]]:
    """The findings of all earlier epochs, oldest first, each with its `epoch`.

    Args:
        evidence: the folder of kept runs.
    """
    out = []
    for folder in sorted((evidence / HISTORY).glob("*/")):
        for file in sorted(folder.glob("*.json")):
            out += [finding | {"epoch": folder.name} for finding in kept_claims(file)]
    return out


def archive_epoch(evidence: Path, epoch: str, why: str) -> list[Path]:
    """Close an epoch: keep its verdicts in the history, before a changed rule or recipe is run.

    Args:
        evidence: the folder of kept runs.
        epoch: the name of the epoch that ends, such as 2026-11.
        why: what changes after it, and why.

    Returns:
        The files that were written: the claims.json of each study, and the page of the history.

    Raises:
        SeparatrixError: the epoch is in the history already, or there is nothing to keep.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", epoch):
        raise ParameterError("an epoch", "name", "small letters, digits, dots and hyphens", epoch)
    if not why.strip():
        raise ParameterError("an epoch", "why", "a text that says what changes and why", why)
    target = evidence / HISTORY / epoch
    if target.exists():
        raise SeparatrixError(f"the epoch `{epoch}` is in {target} already; give another name")
    files = [path for path in sorted(evidence.glob("*/claims.json")) if path.parent.name != HISTORY]
    if not files:
        raise SeparatrixError(f"{evidence} holds no claims.json to keep")
    written = []
    with explain_os_errors(f"write {target}"):
        target.mkdir(parents=True)
        for file in files:
            kept = target / f"{file.parent.name}.json"
            shutil.copy2(file, kept)
            written.append(kept)
        page = evidence / HISTORY / "README.md"
        head = (
            "# Epochs\n" if not page.exists() else page.read_text(encoding="utf-8").rstrip() + "\n"
        )
        write_bytes(page, f"{head}\n## {epoch}\n\n{why.strip()}\n")
    return [*written, page]
