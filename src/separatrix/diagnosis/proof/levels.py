"""How often the decision is wrong, by its levels: simulated scores at the borders of the verdicts.

    python -m separatrix.diagnosis.proof --levels

No network is trained. Every simulated diagnosis draws the scores of all models on every split about
known means, with what splits and test rows share, and goes through the real rule, round by round.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from separatrix.diagnosis.gains import Gain, spread_of
from separatrix.diagnosis.rounds import BLIND, WINDOWED, Bench, arm_name
from separatrix.diagnosis.settings import Settings
from separatrix.diagnosis.verdict import OPEN, VERDICTS, Verdict, judge
from separatrix.inference.intervals import wilson

LABELS = (400, 1600)
DISAGREE = 0.1  # share of test rows on which two models differ
SHARED = 0.3  # share of test rows and of training rows that two splits have in common
SPREADS = (0.004, 0.015)  # standard deviation of a score over trainings
LEVELS = ((0.90, 0.95), (0.95, 0.95), (0.98, 0.95), (0.99, 0.95), (0.98, 0.98))  # beats, sure
TWISTED = arm_name("shared", "twisted")
MODELS = (*WINDOWED, *BLIND, TWISTED)


@dataclasses.dataclass(frozen=True)
class Border:
    """Mean scores of all models, and the verdicts that would be wrong."""

    name: str
    means: dict[str, float]
    wrong: tuple[Verdict, ...]


def _means(shared: float, local: float, twisted: float, **others: float) -> dict[str, float]:
    blind = dict.fromkeys(BLIND, 0.70) | {k.replace("_", " "): v for k, v in others.items()}
    return {"shared": shared, "local": local, TWISTED: twisted, **blind}


_PAYS: tuple[Verdict, ...] = tuple(v for v in VERDICTS if "pays" in v and v != "neither pays")
BORDERS = (
    Border("all models are equal", _means(0.70, 0.70, 0.70), _PAYS),
    Border("one blind model is level", _means(0.80, 0.80, 0.70, linear=0.80), _PAYS),
    Border("sharing gains nothing", _means(0.80, 0.80, 0.80), ("convolution pays", "neither pays")),
    Border(
        "sharing loses, twisting costs",
        _means(0.80, 0.82, 0.76),
        ("convolution pays", "neither pays"),
    ),
    Border("windows gain 2 points", _means(0.72, 0.72, 0.71), ("neither pays",)),
    Border(
        "convolution gains 5 points",
        _means(0.75, 0.72, 0.70),
        ("neither pays", "locality pays, sharing does not"),
    ),
)


class Simulated(Bench):
    """A bench whose scores are drawn."""

    def __init__(self, border: Border, spread: float, s: Settings, rng: np.random.Generator):
        self.settings, self.constant = s, 0.5
        self.sizes = type("Sizes", (), {"labels": LABELS})()
        self.done = 0
        shape = len(MODELS), len(LABELS), s.splits
        noise = DISAGREE / 2 / s.test  # of one model's score, by having drawn its test rows
        own, common = rng.normal(size=shape), rng.normal(size=(*shape[:2], 1))
        rows = np.sqrt(noise) * (np.sqrt(1 - SHARED) * own + np.sqrt(SHARED) * common)
        own, common = rng.normal(size=shape), rng.normal(size=(*shape[:2], 1))
        trained = spread * (np.sqrt(1 - SHARED) * own + np.sqrt(SHARED) * common)
        means = np.array([border.means[model] for model in MODELS])
        self.drawn = dict(zip(MODELS, means[:, None, None] + rows + trained))

    def gain(self, first: str, second: str, sizes: Iterable[int]) -> Gain | None:
        """The gain, with the variance that the real bench would give it."""
        places = [LABELS.index(size) for size in sizes]
        a, b = (self.drawn[model][places, : self.done].mean(0) for model in (first, second))
        noises = np.full(self.done, DISAGREE / self.settings.test / len(places))
        luck = max(0.0, float(b.var(ddof=1) - a.var(ddof=1))) if "scrambled" in second else 0.0
        variance = spread_of(a - b, noises, SHARED, SHARED)
        return Gain(float((a - b).mean()), variance, self.done, luck)

    def scores(self, model: str, labels: int) -> np.ndarray:
        """The scores of a model on the splits so far."""
        return self.drawn[model][LABELS.index(labels), : self.done]


def verdict_of(bench: Simulated) -> Verdict:
    """The verdict after as many rounds as an open one gets."""
    s = bench.settings
    bench.done = s.first
    while (verdict := judge(bench).verdict) in OPEN and bench.done < s.splits:
        bench.done = min(2 * bench.done, s.splits)
    return verdict


def levels_table(count: int, seed: int = 0) -> str:
    """Shares of wrong and of open verdicts for every border and pair of levels, as Markdown.

    Args:
        count: simulated diagnoses per border, level and spread.
        seed: another seed gives other draws.

    Returns:
        A row per border and spread, a column per pair of levels.
    """
    head = [f"beats {beats:.0%}, sure {sure:.0%}" for beats, sure in LEVELS]
    lines = [
        "| truth | spread | " + " | ".join(head) + " |",
        "|---|---|" + "---|" * len(head),
    ]
    for border in BORDERS:
        for spread in SPREADS:
            cells = []
            for beats, sure in LEVELS:
                s = Settings(beats=beats, sure=sure)
                rng = np.random.default_rng(seed)  # the same draws for every pair of levels
                said = [verdict_of(Simulated(border, spread, s, rng)) for _ in range(count)]
                wrong = wilson(sum(each in border.wrong for each in said), count)
                undecided = sum(each in OPEN for each in said) / count
                cells.append(
                    f"{100 * wrong.estimate:.1f} [{100 * wrong.low:.1f}, {100 * wrong.high:.1f}], "
                    f"open {100 * undecided:.0f}"
                )
            lines.append(f"| {border.name} | {100 * spread:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
