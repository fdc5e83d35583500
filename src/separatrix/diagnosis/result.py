"""What a diagnosis says: the answer, what to do, and the numbers behind both."""

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.diagnosis.gains import Gain
from separatrix.diagnosis.networks import Candidate
from separatrix.diagnosis.verdict import Decision, Verdict
from separatrix.inference.intervals import Interval
from separatrix.notes import Note
from separatrix.units import human_seconds

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 2  # of the JSON; raised when a field changes its meaning
MODEL_WORDS = {
    "shared": "a convolution",
    "local": "local windows without sharing",
    "full": "a dense network",
    "linear": "a linear model",
    "nearest neighbours": "nearest neighbours",
    "boosted trees": "boosted trees",
    "shared, scrambled": "a convolution on scrambled input",
    "local, scrambled": "local windows on scrambled input",
    "shared, twisted": "a convolution whose windows differ",
}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The gain of one model over another: the mean over the numbers of labels, and at each."""

    first: str
    second: str
    mean: Interval | None
    at: tuple[tuple[int, Interval], ...]


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Whether windows and shared weights pay on a data set, and what to do.

    `print` it for ten lines; a notebook shows its page. Scores are shares: 0.94 is 94 %.

    Attributes:
        name: what the data are called.
        verdict: one of `separatrix.diagnosis.VERDICTS`.
        headline: the answer in one sentence.
        action: what to do, in one sentence.
        recommended: the model to use, such as "shared" (a convolution) or "boosted trees".
        locality: whether local windows pay.
        sharing: whether sharing their weights pays.
        window: the side of the best windows.
        metric: what the scores are.
        scores: for every model, its score at every number of labels, with a 95 % interval.
        comparisons: gains of one model over another, with intervals.
        labels_saved: how many times fewer labels the windowed network needs, in words; empty where
            nothing can be said.
        labels_needed: for every model, how many labels it needs for the target, in words.
        networks: the chosen network of every connectivity.
        tried: every network that was tried, with its merit on check rows.
        notes: what a reader must know before believing a number.
        about: the data, the splits, the time.
        examples: one row of every class with its name, at most six; none of a table.

    >>> from separatrix.diagnosis import diagnose
    >>> x, y = np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2
    >>> found = diagnose(x, y, budget=1e-6)  # no time for any training
    >>> found.verdict, found.about["rows"]
    ('cannot tell', 60)
    """

    name: str
    verdict: Verdict
    headline: str
    action: str
    recommended: str
    locality: Decision
    sharing: Decision
    window: int
    metric: str
    scores: dict[str, tuple[tuple[int, Interval], ...]]
    comparisons: tuple[Comparison, ...]
    labels_saved: str
    labels_needed: dict[str, str]
    networks: dict[str, Candidate]
    tried: tuple[tuple[Candidate, float], ...]
    notes: tuple[Note, ...]
    about: dict[str, Any]
    examples: tuple[tuple[str, np.ndarray], ...] = ()

    def lines(self) -> list[str]:
        """The diagnosis in at most ten lines."""
        out = [f"{self.name}: {self.headline}", self.action]
        top = self.about["labels"][-1]
        shown = {
            model: points
            for model, points in self.scores.items()
            if "," not in model and points and points[-1][0] == top
        }
        ranked = sorted(shown, key=lambda model: -shown[model][-1][1].estimate)
        scores = ", ".join(f"{model} {percent(shown[model][-1][1].estimate)}" for model in ranked)
        if scores:
            out.append(f"{self.metric} at {top} labels: {scores}")
        for model, words in list(self.labels_needed.items())[:1]:
            out.append(
                f"labels for {percent(self.about['target'])}: {model} {words}, "
                + ", ".join(
                    f"{other} {said}" for other, said in list(self.labels_needed.items())[1:]
                )
            )
        if self.labels_saved:
            out.append(f"labels saved: {self.labels_saved}")
        out += [f"{n.severity}: {n.message}" for n in self.notes if n.severity == "warning"][:3]
        out.append(self.about["using"])
        out.append(
            f"{self.about['splits']} splits, {self.about['trials']} trainings, "
            f"{human_seconds(self.about['seconds'])}; verdict: {self.verdict}"
        )
        return out[:10]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        from separatrix.diagnosis.page import fragment

        return fragment(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the learning curves.

        Args:
            path: a file ending in .pdf, .svg or .png; None draws nothing to disk.

        Returns:
            an object that a notebook shows; the path where one was given.
        """
        from separatrix.diagnosis.page import curves
        from separatrix.report.figure.draw import show_or_save

        return show_or_save(curves(self), path)

    def to_frame(self) -> "pd.DataFrame":
        """The scores as a pandas frame: one row per model and number of labels."""
        import pandas

        rows = [
            {
                "model": model,
                "labels": labels,
                "score": score.estimate,
                "low": score.low,
                "high": score.high,
                "splits": score.count,
                "metric": self.metric,
            }
            for model, points in self.scores.items()
            for labels, score in points
        ]
        return pandas.DataFrame(rows)

    def report(self, folder: str | Path) -> Path:
        """Write the page, the JSON and the scores into a folder; returns the path of the page."""
        from separatrix.diagnosis.page import write_page

        return write_page(self, Path(folder))

    def export(self, framework: str = "equinox", path: str | Path | None = None) -> str:
        """Code of the recommended network, or of the chosen dense one where windows do not pay.

        Args:
            framework: "equinox" or "torch".
            path: a file to write; None only returns the code.
        """
        from separatrix.diagnosis.export import export_code
        from separatrix.files import write_bytes

        code = export_code(self, framework)
        if path is not None:
            write_bytes(Path(path), code.encode())
        return code

    def plain(self) -> dict[str, Any]:
        """The diagnosis as plain values, for JSON."""
        return {
            "schema": SCHEMA,
            **{
                name: getattr(self, name)
                for name in (
                    *("name", "verdict", "headline", "action", "recommended", "locality"),
                    *("sharing", "window", "metric", "labels_saved", "labels_needed"),
                )
            },
            "scores": {
                model: [{"labels": labels, **plain_interval(score)} for labels, score in points]
                for model, points in self.scores.items()
            },
            "comparisons": [
                {
                    "first": each.first,
                    "second": each.second,
                    "mean": plain_interval(each.mean),
                    "at": [{"labels": n, **plain_interval(gain)} for n, gain in each.at],
                }
                for each in self.comparisons
            ],
            "networks": {name: dataclasses.asdict(net) for name, net in self.networks.items()},
            "tried": [{**dataclasses.asdict(net), "merit": merit} for net, merit in self.tried],
            "notes": [dataclasses.asdict(note) for note in self.notes],
            "about": dict(self.about),
        }


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.9412)
    '94.1 %'
    """
    return f"{100 * share:.1f} %"


def plain_interval(interval: Interval | None) -> dict[str, Any]:
    """An interval as plain values; what is not known is null.

    >>> plain_interval(None)["splits"]
    0
    """
    if interval is None:
        return {"estimate": None, "low": None, "high": None, "level": None, "splits": 0}
    numbers = {name: getattr(interval, name) for name in ("estimate", "low", "high")}
    return {
        **{name: round(x, 6) if math.isfinite(x) else None for name, x in numbers.items()},
        "level": interval.level,
        "splits": interval.count,
    }


def labels_for(points: tuple[tuple[int, Interval], ...], target: float) -> tuple[float, float]:
    """Between which numbers of labels a model first reaches a target, straight on a log axis.

    (0, smallest) where the smallest number already does; (largest, inf) where none does.

    >>> points = tuple((n, Interval(s, s, s, 0.95, "", 4)) for n, s in ((100, 0.7), (400, 0.9)))
    >>> labels_for(points, 0.95), [round(n) for n in labels_for(points, 0.8)]
    ((400, inf), [200, 200])
    """
    sizes, scores = [n for n, _ in points], [score.estimate for _, score in points]
    if not points:
        return 0.0, math.inf
    if scores[0] >= target:
        return 0.0, sizes[0]
    for i in range(1, len(sizes)):
        if scores[i] >= target:
            share = (target - scores[i - 1]) / (scores[i] - scores[i - 1])
            found = math.exp(np.log(sizes[i - 1]) + share * math.log(sizes[i] / sizes[i - 1]))
            return found, found
    return sizes[-1], math.inf


def needed_words(points: tuple[tuple[int, Interval], ...], target: float) -> str:
    """`labels_for` in words.

    >>> needed_words((), 0.9)
    'unknown'
    """
    if not points:
        return "unknown"
    low, high = labels_for(points, target)
    if low == 0.0:
        return f"at most {high:.0f}"
    return f"more than {low:.0f}" if math.isinf(high) else f"about {high:.0f}"


def interval_of(gain: Gain | None, level: float) -> Interval | None:
    """The interval of a gain that was measured."""
    return None if gain is None else gain.interval(level)
