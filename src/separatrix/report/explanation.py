"""Everything about one claim: sentence, source, rule, verdicts, and how to run it again."""

import dataclasses
import os
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.report.numbers import interval
from separatrix.report.read import read_claims
from separatrix.studies import PAPERS
from separatrix.studies.claims import Claim
from separatrix.studies.epochs import by_present_rule, earlier_findings
from separatrix.studies.registry import find_claim

WIDTH = 96
PLAIN_COMMAND = re.compile(r"separatrix (run|verify)( [\w.,=/-]+)+")


@dataclasses.dataclass(frozen=True)
class RunVerdict:
    """What one run says of a claim.

    Attributes:
        where: The folder of the run.
        plain: The claim's entry in its claims.json.
        pictures: The figures of the study that the folder holds.
    """

    where: str
    plain: dict[str, Any]
    pictures: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Explanation:
    """A claim, the rule that decides it, and the verdicts that are at hand.

    `print(explanation)` shows all of it; `plain()` returns it as plain values.

    Args:
        claim: The claim.
        study: The name of the study that decides it.
        verdicts: The verdicts of all runs at hand.

    >>> explain("malach.lemma6.exact", evidence="no-such-folder").command
    'separatrix run pattern-readout --scale full'
    """

    claim: Claim
    study: str
    verdicts: tuple[RunVerdict, ...]

    def plain(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        kind = self.claim.kind
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "source": PAPERS[self.claim.paper],
            "statement": self.claim.statement,
            "citation": self.claim.citation,
            "conditions": self.claim.conditions,
            "kind": kind.name if kind else None,
            "rule": kind.rule_in_words() if kind else None,
            "formula": kind.formula() if kind else None,
            "level": self.claim.level if kind else None,
            "study": self.study,
            "command": self.command,
            "verdicts": [
                {
                    "where": each.where,
                    "pictures": list(each.pictures),
                    "present_rule": by_present_rule(each.plain, self.claim),
                    **each.plain,
                }
                for each in self.verdicts
            ],
        }

    @property
    def command(self) -> str:
        """The command that decides the claim again.

        That of the last run at hand, where every run that measured it changed settings for it. A
        folder may be a stranger's: only what is plainly a command of ours is shown.
        """
        measured = [
            each.plain.get("command", "")
            for each in self.verdicts
            if each.plain["verdict"] != "not measured"
        ]
        changed = measured and all(" --set " in command for command in measured)
        if changed and PLAIN_COMMAND.fullmatch(measured[-1]):
            return measured[-1]
        return f"separatrix run {self.study} --scale full"

    def __str__(self) -> str:
        kind = self.claim.kind
        parts = [
            self.claim.id,
            _entry("sentence", self.claim.statement),
            _entry("source", f"{PAPERS[self.claim.paper]}; {self.claim.citation}"),
            _entry("conditions", self.claim.conditions or "none"),
        ]
        if kind is not None:
            parts += [
                _entry("kind", kind.name),
                _entry("rule", kind.rule_in_words()),
                _entry("formula", kind.formula()),
                _entry("decided at", _level(self.claim)),
            ]
        for verdict in self.verdicts:
            parts += _told(verdict, self.claim)
        if not self.verdicts:
            parts.append(_entry("verdict", "no run here has one yet"))
        parts.append(_entry("run again", self.command))
        return "\n".join(parts)


def explain(
    claim: str,
    folder: str | os.PathLike[str] | None = None,
    evidence: str | os.PathLike[str] = "evidence",
) -> Explanation:
    """Explain a claim: what it says, how it is decided, and what runs say of it.

    Args:
        claim: The claim's id, as `separatrix list --claims` shows it.
        folder: A results folder; None for the newest one in `results/` that has the claim.
        evidence: The folder with the kept runs.

    Returns:
        The explanation; print it to read it.

    Raises:
        UnknownNameError: There is no such claim; the sentence suggests the nearest ids.
        SeparatrixError: There was such a claim in an earlier epoch of the evidence.

    >>> explain("malach.lemma6.exact", evidence="no-such-folder").study
    'pattern-readout'
    """
    try:
        study, found = find_claim(claim)
    except UnknownNameError:
        _refuse_earlier(claim, Path(evidence))
        raise
    runs = [Path(folder)] if folder is not None else _newest(Path("results"), found.id)
    kept = [path.parent for path in sorted(Path(evidence).glob("*/claims.json"))]
    verdicts = [
        verdict for run in (*runs, *kept) for verdict in _verdicts(run, found.id, study.name)
    ]
    return Explanation(found, study.name, tuple(verdicts))


def _refuse_earlier(claim: str, evidence: Path) -> None:
    """Say so where an id is that of a claim of an earlier epoch."""
    for finding in reversed(earlier_findings(evidence)):
        if finding["id"] == claim:
            raise SeparatrixError(
                f"`{claim}` was a claim of epoch {finding['epoch']}, {finding['verdict']} then; "
                f"{evidence / 'history' / 'README.md'} says what changed, and "
                "`separatrix list --claims` names the claims of today"
            )


def _verdicts(folder: Path, claim: str, study: str) -> Iterable[RunVerdict]:
    for plain in read_claims(folder):
        if plain["id"] == claim:
            pictures = sorted(str(path) for path in (folder / "figures").glob(f"{study}*"))
            yield RunVerdict(str(folder), plain, tuple(pictures))


def _newest(results: Path, claim: str) -> list[Path]:
    """The newest results folder with a verdict on the claim; damaged folders do not count."""
    files = sorted(results.glob("*/claims.json"), key=lambda path: path.stat().st_mtime)
    for file in reversed(files):
        try:
            if any(plain["id"] == claim for plain in read_claims(file.parent)):
                return [file.parent]
        except SeparatrixError:
            continue
    return []


def _told(verdict: RunVerdict, claim: Claim) -> list[str]:
    plain = verdict.plain
    earlier = "" if by_present_rule(plain, claim) else ", by an earlier rule"
    head = f"{plain['verdict']}: {plain.get('reason') or 'no reason is given'}"
    about = ", ".join(
        str(part) for part in (plain.get("scale"), f"seed {plain.get('seed')}") if part
    )
    lines = [_entry("verdict", f"{head} ({verdict.where}, {about}{earlier})")]
    if plain.get("outside"):
        lines.append(_entry("", f"outside the conditions: {plain['outside']}"))
    if plain.get("settle"):
        lines.append(_entry("to settle it", plain["settle"]))
    lines += [
        _entry("", f"{each['name']}: {interval(each['estimate'], each['low'], each['high'])}")
        for each in plain.get("evidence", [])[:6]
    ]
    if verdict.pictures:
        lines.append(_entry("picture", verdict.pictures[0]))
    return lines


def _level(claim: Claim) -> str:
    if claim.kind is not None and not claim.kind.by_chance:
        return "every run: chance does not enter"
    return (
        f"{100 * claim.level:.3g} % (at most 5 % for any wrong verdict among the claims of "
        f"`{claim.paper}`); intervals are shown at 95 %"
    )


def _entry(name: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"  {name:13s}", subsequent_indent=" " * 15)
