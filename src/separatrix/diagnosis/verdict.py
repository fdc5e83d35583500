"""The verdict: what the gains say together, in plain words."""

import dataclasses
import math
from typing import Any, Literal, get_args

from separatrix.diagnosis.explain import Explanations, plain_interval, points
from separatrix.diagnosis.gains import Decision
from separatrix.inference.intervals import Interval
from separatrix.notes import Note

Verdict = Literal[
    "convolution pays",
    "locality pays, sharing does not",
    "locality pays, sharing unsettled",
    "neither pays",
    "cannot tell",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
UNSETTLED: Verdict = "locality pays, sharing unsettled"
OPEN: tuple[Verdict, ...] = (UNSETTLED, "cannot tell")  # more splits could change these


@dataclasses.dataclass(frozen=True)
class Gain:
    """A difference between two networks: its mean over the ladder of sample sizes, at every size,
    and whether it pays.

    >>> Gain("sharing", "shared", "local", Interval(0.03, 0.02, 0.04, 0.95, "", 6), (), "pays").decision
    'pays'
    """

    name: str
    first: str
    second: str
    ladder: Interval | None
    sizes: tuple[tuple[int, Interval], ...]
    decision: Decision
    sure: Interval | None = None  # the interval that decided
    margin: float = 0.01

    @property
    def behind(self) -> bool:
        """Whether the first network is behind the second, as a gain pays: by at least the margin,
        and surely.

        >>> Gain("x", "local", "full", None, (), "does not pay", Interval(-0.004, -0.007, -0.001, 0.98, "", 9)).behind
        False
        """
        return self.sure is not None and self.sure.high < 0 and self.sure.estimate <= -self.margin

    @property
    def full(self) -> Interval | None:
        """The gain at the largest sample size."""
        return self.sizes[-1][1] if self.sizes else None

    def plain(self) -> dict[str, Any]:
        """As plain values for JSON; the estimate is the mean over the ladder."""
        return {
            **plain_interval(self.ladder),
            "what": f"{self.first} less {self.second}, mean over the ladder of sample sizes",
            "decision": self.decision,
            "full_data": plain_interval(self.full),
            "by_size": [{"size": size, **plain_interval(found)} for size, found in self.sizes],
        }


def judge(gains: dict[str, Gain], learned: bool) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and its reasons from the gains called "locality", "convolution", "sharing",
    "patches", "local less full" and "shared less full".

    Locality pays if scrambling the pixels costs the local or the shared network something; a
    network that is behind the full one, which is blind to the order of pixels, does not count.
    Sharing pays if the shared network beats the local one and loses its lead when every window's
    pixels are permuted in another way.

    >>> def gain(name, decision):
    ...     return Gain(name, "a", "b", Interval(0.1, 0.05, 0.15, 0.95, "", 6), (), decision)
    >>> names = ("locality", "convolution", "sharing", "patches", "local less full", "shared less full")
    >>> judge({name: gain(name, "pays") for name in names}, learned=True)[0]
    'convolution pays'
    """
    if not learned:
        return "cannot tell", ("no network learned more than the best constant answer says",)
    local, shares = answers(gains)
    reasons = [
        _said(gains["locality"]),
        _said(gains["convolution"]),
        _said(gains["sharing"]),
        _said(gains["patches"]),
    ]
    losing = [name for name in ("local", "shared") if _loses(gains, name)]
    if losing:
        reasons.append(
            f"the fully connected network is ahead of the {' and the '.join(losing)} one, at the same cost"
        )
    if local == "pays" and unmatched(gains):
        local = "cannot tell"
        reasons.append(
            "the fully connected network was not trained in the time there was, so nothing says whether it would be ahead"
        )
    verdict: Verdict = "cannot tell"
    if local == "does not pay":
        verdict = "neither pays"
    elif local == "pays" and shares == "pays":
        verdict = "convolution pays"
    elif local == "pays" and shares == "does not pay":
        verdict = "locality pays, sharing does not"
    elif local == "pays":
        verdict = UNSETTLED
    return verdict, tuple(reasons)


def recommended(verdict: Verdict, sharing: Gain) -> Literal["shared", "local", "full"]:
    """The network that a verdict recommends; of the two with windows the one that is ahead, where
    sharing is not settled.

    >>> lead = Gain("sharing", "shared", "local", Interval(0.004, -0.002, 0.01, 0.95, "", 6), (), "cannot tell")
    >>> recommended("locality pays, sharing unsettled", lead), recommended("neither pays", lead)
    ('shared', 'full')
    """
    if verdict == UNSETTLED:
        return "shared" if sharing.ladder is not None and sharing.ladder.estimate >= 0 else "local"
    if verdict == "convolution pays":
        return "shared"
    return "local" if verdict == "locality pays, sharing does not" else "full"


def answers(gains: dict[str, Gain]) -> tuple[Decision, Decision]:
    """Whether locality pays, and whether sharing does."""
    local = "does not pay" if _loses(gains, "local") else gains["locality"].decision
    shared = "does not pay" if _loses(gains, "shared") else gains["convolution"].decision
    return either(local, shared), both(gains["sharing"].decision, gains["patches"].decision)


def _loses(gains: dict[str, Gain], name: Literal["local", "shared"]) -> bool:
    """Whether the network is behind the full one: then what scrambling costs it is no gain."""
    return gains[f"{name} less full"].behind


def unmatched(gains: dict[str, Gain]) -> bool:
    """Whether the full network is missing, as where the budget ends before its program is compiled."""
    return all(gains[name].ladder is None for name in ("local less full", "shared less full"))


def either(*decisions: Decision) -> Decision:
    """Pays if one does, does not pay if none does.

    >>> either("pays", "cannot tell"), either("does not pay", "cannot tell")
    ('pays', 'cannot tell')
    """
    if "pays" in decisions:
        return "pays"
    return "cannot tell" if "cannot tell" in decisions else "does not pay"


def both(*decisions: Decision) -> Decision:
    """Pays if all do, does not pay if one does not.

    >>> both("pays", "does not pay"), both("pays", "cannot tell")
    ('does not pay', 'cannot tell')
    """
    if "does not pay" in decisions:
        return "does not pay"
    return "cannot tell" if "cannot tell" in decisions else "pays"


WORDS = {
    "locality": "scrambling the pixels costs the local network",
    "convolution": "scrambling the pixels costs the shared network",
    "sharing": "sharing weights gains over the local network",
    "patches": "permuting each window's pixels in its own way costs the shared network",
}


def _said(gain: Gain) -> str:
    if gain.ladder is None:
        return f"{gain.name}: not measured in this budget"
    i = gain.ladder
    return f"{WORDS[gain.name]} {points(i)} points ({gain.decision})"


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Whether locality and weight sharing pay on a data set, with intervals and reasons.

    `accuracy` holds the mean accuracy of every arm at every sample size, `fields` that of the
    receptive fields tried. For a regression accuracies are shares of explained variance.

    >>> empty = Interval(0.0, 0.0, 0.0, 0.95, "", 2)
    >>> none = Gain("locality", "a", "b", None, (), "cannot tell")
    >>> Diagnosis("x", "cannot tell", (), none, none, None, 3, {}, {}, {}, {}, {}, ()).plain()["verdict"]
    'cannot tell'
    """

    name: str
    verdict: Verdict
    reasons: tuple[str, ...]
    locality_gain: Gain
    sharing_gain: Gain
    labels_saved: "Saved | None"
    receptive_field: int
    gains: dict[str, Gain]
    accuracy: dict[str, tuple[tuple[int, Interval], ...]]
    fields: dict[int, dict[str, Interval]]
    baselines: dict[str, Interval]
    about: dict[str, Any]
    notes: tuple[Note, ...]
    explanations: Explanations = dataclasses.field(default_factory=Explanations)

    @property
    def recommended(self) -> str:
        """The network that the verdict recommends."""
        return recommended(self.verdict, self.sharing_gain)

    def plain(self) -> dict[str, Any]:
        """The diagnosis as plain values: the JSON twin."""
        curves = {
            arm: [{"size": size, **plain_interval(found)} for size, found in curve]
            for arm, curve in self.accuracy.items()
        }
        fields = [
            {"field": field, "network": arm, **plain_interval(found)}
            for field, arms in self.fields.items()
            for arm, found in arms.items()
        ]
        return {
            "name": self.name,
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "recommended": self.recommended,
            "locality_gain": self.locality_gain.plain(),
            "sharing_gain": self.sharing_gain.plain(),
            "labels_saved": None if self.labels_saved is None else self.labels_saved.plain(),
            "receptive_field": {"estimate": self.receptive_field, "tried": fields},
            "gains": {name: gain.plain() for name, gain in self.gains.items()},
            "accuracy": curves,
            "baselines": {name: plain_interval(found) for name, found in self.baselines.items()},
            **self.about,
            "explanations": self.explanations.plain(),
            "notes": [dataclasses.asdict(note) for note in self.notes],
        }


@dataclasses.dataclass(frozen=True)
class Saved:
    """How many times fewer labels `network` needs than `against` to reach `target`; a bound where
    the ladder ended first.

    >>> str(Saved("shared", "full", 0.9, 2.1, 2.1, math.inf, "right")), str(Saved("shared", "full", 0.9, 3.0, 2.0, 4.0, "none"))
    ('>= 2.1', '3.0 [2.0, 4.0]')
    """

    network: str
    against: str
    target: float
    estimate: float
    low: float
    high: float
    censoring: Literal["none", "left", "right"]

    def __str__(self) -> str:
        if self.censoring == "none":
            low = f"{self.low:.1f}" if self.low > 0 else "below 1"
            return f"{self.estimate:.1f} [{low}, {self.high:.1f}]"
        return f">= {self.low:.1f}" if self.censoring == "right" else f"<= {self.high:.1f}"

    def plain(self) -> dict[str, Any]:
        """As plain values; what is not known is null."""
        out = dataclasses.asdict(self)
        return {
            key: None if isinstance(item, float) and not math.isfinite(item) else item
            for key, item in out.items()
        }
