"""The verdict: what the comparisons say together."""

import dataclasses
from typing import Literal, get_args

from separatrix.diagnosis.baselines import MODELS
from separatrix.diagnosis.gains import Gain
from separatrix.diagnosis.rounds import BLIND, WINDOWED, Bench, arm_name
from separatrix.diagnosis.settings import MOST_GROWTH

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
# Times as many labels in the data as were compared, from which "neither pays" is not said.
RESERVE = 8.0
Decision = Literal["pays", "does not pay", "cannot tell"]
OF_SHARING: dict[Decision, Verdict] = {
    "pays": "convolution pays",
    "does not pay": "locality pays, sharing does not",
    "cannot tell": UNSETTLED,
}


@dataclasses.dataclass(frozen=True)
class Judgement:
    """A verdict, the two decisions that it is made of, and the arm and sizes they rest on."""

    verdict: Verdict
    locality: Decision
    sharing: Decision
    arm: str  # the windowed network that locality is about
    sizes: tuple[int, ...]  # the numbers of labels at which it pays, or all of them
    rival: str  # the best blind model at the largest number of labels
    learned: bool = True
    held: bool = False  # "neither pays" was sure, of few of the data's labels


def judge(bench: Bench) -> Judgement:
    """The verdict from what has been measured so far.

    Locality pays where a windowed network surely beats its scrambled self and every blind
    competitor, on the mean of the sizes or at one of them (at a stricter level). It does not pay
    where each windowed network is surely below the margin against a blind competitor. Sharing pays
    where the shared network beats the local one and a signed permutation for every window costs it
    its lead.
    """
    s, sizes = bench.settings, bench.sizes.labels
    looks = [(sizes, 1.0)] + ([((n,), 3.0) for n in sizes] if len(sizes) > 1 else [])
    strongest = rival(bench)
    paying = [
        (arm, at) for at, factor in looks for arm in WINDOWED if _local(bench, arm, at, factor)
    ]
    if paying:
        # Of the windowed networks that pay, the verdict is about the better one.
        arm, at = max(paying, key=lambda pair: (len(pair[1]), _mean(bench, pair[0], sizes)))
        sharing = _sharing(bench, looks)
        return Judgement(OF_SHARING[sharing], "pays", sharing, arm, at, strongest)
    learned = any(
        _mean(bench, model, sizes[-1:]) >= bench.constant + s.margin
        for model in (*WINDOWED, *BLIND)
    )
    arm = max(WINDOWED, key=lambda each: _mean(bench, each, sizes))
    if all(_fails(bench, each, sizes) for each in WINDOWED):
        return Judgement(
            "neither pays", "does not pay", "does not pay", arm, sizes, strongest, learned
        )
    return Judgement("cannot tell", "cannot tell", "cannot tell", arm, sizes, strongest, learned)


def held_back(bench: Bench, judged: Judgement) -> Judgement:
    """The judgement, without a "neither pays" that the data do not bear.

    Accuracy hardly notices a rare class. And windows that bring nothing to a network that learns
    from a few of many labels may well pay with all of them: natural images are like that.
    """
    skewed = bench.balanced and bench.metric == "accuracy"
    many = bench.reserve >= RESERVE and bench.settings.growth < MOST_GROWTH
    if judged.verdict != "neither pays" or not (skewed or many):
        return judged
    open_ = {"verdict": "cannot tell", "locality": "cannot tell", "sharing": "cannot tell"}
    return dataclasses.replace(judged, held=not skewed, **open_)


def rival(bench: Bench) -> str:
    """The blind model that does best at the largest number of labels."""
    return max(BLIND, key=lambda model: _mean(bench, model, bench.sizes.labels[-1:]))


def beaten_by(bench: Bench) -> str:
    """A simple model that surely beats every network by the margin; empty where there is none."""
    s, top = bench.settings, bench.sizes.labels[-1:]
    for model in sorted(MODELS, key=lambda each: -_mean(bench, each, top)):
        gains = [bench.gain(model, net, top) for net in (*WINDOWED, "full")]
        if all(gain is not None and gain.pays(s.margin, s.sure) for gain in gains):
            return model
    return ""


def _local(bench: Bench, arm: str, sizes: tuple[int, ...], factor: float) -> bool:
    s = bench.settings
    chances = len(WINDOWED) * factor * s.looks  # of a windowed network to pay by luck
    sure, beats = (1 - (1 - level) / chances for level in (s.sure, s.beats))
    own = bench.gain(arm, arm_name(arm, "scrambled"), sizes)
    if own is None or not own.pays(s.margin, sure):
        return False
    gains = [bench.gain(arm, model, sizes) for model in BLIND]
    return all(gain is not None and gain.pays(s.margin, beats) for gain in gains)


def _fails(bench: Bench, arm: str, sizes: tuple[int, ...]) -> bool:
    """Whether some blind model shows that windows gain less than the margin."""
    s = bench.settings
    gains = [bench.gain(arm, model, sizes) for model in BLIND]
    return any(gain is not None and gain.fails(s.margin, s.sure) for gain in gains)


def _sharing(bench: Bench, looks: list[tuple[tuple[int, ...], float]]) -> Decision:
    s, sizes = bench.settings, bench.sizes.labels
    for at, factor in looks:
        level = 1 - (1 - s.sure) / (factor * s.looks)
        pair = _pair(bench, at)
        if all(gain is not None and gain.pays(s.margin, level) for gain in pair):
            return "pays"
    pair = _pair(bench, sizes)
    if any(gain is not None and gain.fails(s.margin, s.sure) for gain in pair):
        return "does not pay"
    return "cannot tell"


def _pair(bench: Bench, sizes: tuple[int, ...]) -> list[Gain | None]:
    return [bench.gain("shared", each, sizes) for each in ("local", arm_name("shared", "twisted"))]


def _mean(bench: Bench, model: str, sizes: tuple[int, ...]) -> float:
    found = [bench.scores(model, size) for size in sizes]
    return (
        min((float(each.mean()) for each in found if len(each)), default=-1e9)
        if len(sizes) == 1
        else sum(float(each.mean()) if len(each) else -1e9 for each in found) / len(sizes)
    )
