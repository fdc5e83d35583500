"""The kept verdicts, which ship with the package and stand beside those of a run.

`evidence/pack.py` writes `kept.json` from the folders in `evidence/`.
"""

import dataclasses
import functools
import importlib.resources
import json
from collections.abc import Iterable
from typing import Any

DECIDED = ("supported", "refuted")


@dataclasses.dataclass(frozen=True)
class KeptVerdict:
    """What the kept run says of a claim.

    Attributes:
        statement: the sentence that was tested.
        verdict: the verdict.
        reason: why, in words.
        effect: the first measured number with its interval.
        kind: the claim's kind; empty where the run is older than the kinds.
        formula: the rule of the kind as a formula.
        study: the study that decided it.
        folder: the folder of `evidence/` with its run.
        command: the command that made the run.
        commit: the commit that it ran at.
        started: when it started.
        device: what it ran on.
        scale: its scale.
        current: whether the rule that decided it is that of the claim beside it. A verdict by an
            earlier rule is shown and counts for nothing.
    """

    statement: str
    verdict: str
    reason: str
    effect: str
    kind: str
    formula: str
    study: str
    folder: str
    command: str
    commit: str
    started: str
    device: str
    scale: str
    current: bool = True

    @property
    def words(self) -> str:
        """The verdict, its scale, and whether an earlier rule decided it.

        >>> KeptVerdict("", "supported", *[""] * 10, "laptop").words
        'supported at the laptop scale'
        """
        return f"{self.verdict} {'at' if self.current else 'by an earlier rule at'} {self.place}"

    @property
    def place(self) -> str:
        """The scale in words."""
        return scale_in_words(self.scale)

    @property
    def day(self) -> str:
        """The day of the run."""
        return self.started[:10]


@dataclasses.dataclass(frozen=True)
class KeptFigure:
    """The headline figure of a kept run, as the text of an SVG file, and the scale of the run."""

    title: str
    caption: str
    scale: str
    svg: str


@dataclasses.dataclass(frozen=True)
class Kept:
    """All kept verdicts by claim, and headline figures by study.

    >>> Kept({}, {}).of({"id": "lahoti.order", "statement": "The CNN needs fewer samples."}) is None
    True
    """

    verdicts: dict[str, KeptVerdict]
    figures: dict[str, KeptFigure]

    def of(self, claim: dict[str, Any]) -> KeptVerdict | None:
        """The kept verdict on a claim; None where there is none on the same sentence."""
        found = self.verdicts.get(claim["id"])
        if found is None or found.statement != claim["statement"]:
            return None
        rule = (claim.get("kind") or "", claim.get("formula") or "")
        return dataclasses.replace(found, current=rule == (found.kind, found.formula))


NOTHING_KEPT = Kept({}, {})


def scale_in_words(scale: str) -> str:
    """A scale as a place where something was measured.

    >>> scale_in_words("full"), scale_in_words("laptop")
    ('full scale', 'the laptop scale')
    """
    return "full scale" if scale == "full" else f"the {scale} scale"


@functools.cache
def kept_evidence() -> Kept:
    """The kept verdicts and figures of this package.

    >>> {verdict.verdict for verdict in kept_evidence().verdicts.values()} <= set(
    ...     ("supported", "refuted", "undecided", "not measured")
    ... )
    True
    """
    file = importlib.resources.files("separatrix.report") / "kept.json"
    plain = json.loads(file.read_text(encoding="utf-8"))
    return Kept(
        {name: KeptVerdict(**fields) for name, fields in plain["verdicts"].items()},
        {name: KeptFigure(**fields) for name, fields in plain["figures"].items()},
    )


def contradict(verdict: str, kept: KeptVerdict | None) -> bool:
    """Whether a verdict and the kept one are decided, and differ.

    >>> contradict("supported", None)
    False
    """
    return kept is not None and kept.current and {verdict, kept.verdict} == set(DECIDED)


def with_kept(claims: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claims with the kept verdict as `kept`, None where there is none.

    >>> with_kept([{"id": "doe.new", "statement": "It grows.", "verdict": "supported"}])[0]["kept"]
    """
    out = []
    for claim in claims:
        found = kept_evidence().of(claim)
        plain = None
        if found is not None:
            plain = {
                key: value
                for key, value in dataclasses.asdict(found).items()
                if key not in ("statement", "kind", "formula")
            }
            plain["contradicts"] = contradict(claim["verdict"], found)
        out.append(claim | {"kept": plain})
    return out
