"""The trials of the study `stability`, the survey of patches, and the numbers taken from rows."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from separatrix.data import available
from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.geometry import SCHEMES, read_images, survey
from separatrix.inference import Interval, mean_interval, ratio
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN, Network, Views
from separatrix.studies.cells import Row, run_cells
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import (
    ImageRegressionTask,
    PatchSphereTask,
    RepeatedPointTask,
    SphereTask,
    VocabularyTask,
)

POOLED: dict[str, Any] = {"readout": "pooled", "offset": True}
# Where the edge is not the question, sharpness is not measured: it doubles the time to compile.
PLAIN = ("regression", "activation")
COMMON = ("sharpness", *PLAIN)
CERTIFIED = (*COMMON, "weighted_path_norm")
FINISHED = ("exhausted", "reached")


class StabilityCell(NamedTuple):
    """One cell: the part, the network, and the part's own number (dimension, or random views) and
    sample size.
    """

    part: str
    network: str
    number: int = 0
    samples: int = 0


Rows = dict[StabilityCell, list[Row]]
PatchSurvey = dict[str, dict[str, list[float]]]  # by scheme: elbow, area, points, span


def image_source(s: StabilitySettings) -> str:
    """The data set of the image parts: CIFAR-10 where it has been fetched, else pieces of the
    embedded photographs.

    >>> image_source(StabilitySettings().replace(images={"source": "embedded-photographs"}))
    'embedded-photographs'
    """
    if s.images.source != "auto":
        return s.images.source
    return "cifar10" if "cifar10" in available() else "embedded-photographs"


def matched(views: int, patch: int, parameters: int) -> dict[str, Network]:
    """Shared, unshared and fully connected networks over disjoint blocks with about as many
    parameters.

    >>> {name: net.parameter_count((500, 1)) for name, net in matched(50, 10, 10_500).items()}
    {'CNN': 10501, 'LCN': 10470, 'FCN': 10543}
    """
    shared = max(1, round((parameters - 1) / (patch + 2)))
    local = max(1, round((parameters - 1) / (views * (patch + 1) + 1)))
    full = max(1, round((parameters - 1) / (views * patch + 2)))
    return {
        "CNN": CNN(patch, shared, stride=patch, **POOLED),
        "LCN": LCN(patch, local, stride=patch, **POOLED),
        "FCN": FCN(full, offset=True),
    }


def cells(s: StabilitySettings) -> dict[StabilityCell, Sweep]:
    """Every cell with its trials, one per seed.

    >>> small = StabilitySettings(parts=("flat",)).replace(flat={"seeds": 2})
    >>> [(cell.part, len(sweep)) for cell, sweep in cells(small).items()]
    [('flat', 2)]
    """
    out: dict[StabilityCell, Sweep] = {}
    if "sphere" in s.parts:
        for dimension in s.sphere.dimensions:
            task = SphereTask(dimension=dimension, patch=s.sphere.patch, noise=s.noise)
            networks = {
                "CNN": CNN(s.sphere.patch, s.sphere.width, stride=s.sphere.patch, **POOLED),
                "FCN": FCN(s.sphere.width, offset=True),
            }
            for name, network in networks.items():
                for samples in s.sphere.samples:
                    cell = StabilityCell("sphere", name, dimension, samples)
                    seeds = s.sphere.seeds
                    out[cell] = _sweep(s, task, network, s.sphere.steps, samples, seeds, CERTIFIED)
    if "flat" in s.parts:
        part = s.flat
        task = PatchSphereTask(views=part.views, patch=part.patch, noise=s.noise)
        network = CNN(part.patch, part.width, stride=part.patch, **POOLED)
        out[StabilityCell("flat", "CNN", 0, part.samples)] = _sweep(
            s,
            task,
            network,
            part.steps,
            part.samples,
            part.seeds,
            (*CERTIFIED, "units"),
            times=part.times,
        )
    if "mixing" in s.parts:
        part = s.mixing
        task = RepeatedPointTask(copies=part.copies, patch=part.patch, noise=s.noise)
        for count in part.views:
            views = Views(count, part.patch, seed=s.seed, blocks=part.copies)
            out[StabilityCell("mixing", "CNN", count, part.samples)] = _sweep(
                s,
                task,
                CNN(views, part.width, **POOLED),
                part.steps,
                part.samples,
                part.seeds,
                COMMON,
            )
    if "vocabulary" in s.parts:
        part = s.vocabulary
        task = VocabularyTask(views=part.views, patch=part.patch, noise=part.noise)
        for name, network in matched(part.views, part.patch, part.parameters).items():
            out[StabilityCell("vocabulary", name, 0, part.samples)] = _sweep(
                s, task, network, part.steps, part.samples, part.seeds, PLAIN, rate=part.rate
            )
    if "images" in s.parts:
        part = s.images
        task = ImageRegressionTask(
            image_source(s), part.side, noise=s.noise, scale=part.scale, gain=part.gain
        )
        networks = {"CNN": CNN(3, part.width, **POOLED), "FCN": FCN(part.width, offset=True)}
        for name, network in networks.items():
            out[StabilityCell("images", name, 0, part.samples)] = _sweep(
                s, task, network, part.steps, part.samples, part.seeds, COMMON, test=part.test
            )
    return out


def _sweep(
    s: StabilitySettings,
    task: Any,
    network: Network,
    steps: int,
    samples: int,
    seeds: int,
    probes: tuple[str, ...],
    rate: float = 0.0,
    times: int = 0,
    test: int = 0,
) -> Sweep:
    own_clips = {SphereTask: 0.0, ImageRegressionTask: s.images.clip}
    clip = own_clips.get(type(task), s.clip)
    learner = Learner(rate or s.rate, steps, "squared", clip=clip or None)
    measure = Measure(probes, test or s.test, times or s.times)
    return Sweep(
        tuple(
            Trial(task, network, learner, samples, seed, measure)
            for seed in seeds_from(s.seed, seeds)
        )
    )


def measure_all(lab: Lab, s: StabilitySettings) -> Rows:
    """Run the trials of all parts together."""
    return run_cells(lab, cells(s), "stability")


def measure_patches(lab: Lab, s: StabilitySettings, source: str) -> PatchSurvey:
    """Elbows and areas of every scheme, one number per seed, remembered by the laboratory.

    >>> small = {"images": 40, "points": 10, "directions": 5, "seeds": 2}
    >>> s = StabilitySettings().replace(geometry=small)
    >>> sorted(measure_patches(Lab(), s, "embedded-photographs"))[:2]
    ['conv', 'cross']
    """
    part = s.geometry
    inputs = dataclasses.asdict(part) | {"source": source, "seed": s.seed}

    def calculate() -> PatchSurvey:
        images = read_images(source)[0]
        # Evenly spaced images: neighbouring pieces of a photograph overlap.
        images = images[:: max(1, len(images) // part.images)][: part.images]
        out: PatchSurvey = {}
        for done, scheme in enumerate(SCHEMES):
            seeds = range(s.seed * 1000, s.seed * 1000 + part.seeds)
            (result,) = survey(images, [scheme], 4, part.points, part.directions, seeds)
            out[scheme] = {
                "elbow": [float(n) for n in result.elbows],
                "area": list(result.areas),
                "points": [result.points],
                "span": [result.span],
            }
            if lab.progress is not None:
                lab.progress("patch geometry", done + 1, len(SCHEMES))
        return out

    return lab.remember("patch-geometry", inputs, calculate)


def finished(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of runs that ended with finite numbers; the others are counted, not averaged.

    >>> len(finished([{"status": "exhausted"}, {"status": "diverged"}]))
    1
    """
    return [row for row in rows if row["status"] in FINISHED]


def values(rows: Iterable[dict[str, Any]], name: str) -> list[float]:
    """A column of the rows of runs that ended well.

    >>> values([{"status": "exhausted", "loss": 0.5}], "loss")
    [0.5]
    """
    return [float(row[name]) for row in finished(rows)]


def interval_of(rows: Iterable[dict[str, Any]], name: str) -> Interval | None:
    """The mean of a column over seeds with its interval; None without rows.

    >>> interval_of([], "loss") is None
    True
    """
    numbers = values(rows, name)
    return mean_interval(numbers) if numbers else None


def ratio_of(first: list[float], second: list[float]) -> Interval | None:
    """The ratio of two means over independent seeds; None where one side has no seeds or a value is
    not positive.

    >>> ratio_of([], [1.0]) is None
    True
    """
    if not first or not second or min(first) <= 0 or min(second) <= 0:
        return None
    return ratio(first, second)


def exponent_between(low: float, high: float, growth: Interval) -> Interval:
    """The exponent e with growth = (high/low)^e, for a ratio with its interval.

    >>> exponent_between(10, 1000, Interval(100.0, 10.0, 1000.0, 0.95, "bootstrap", 5)).estimate
    1.0
    """
    base = math.log(high / low)
    bounds = [
        math.log(end) / base if 0 < end < math.inf else math.copysign(math.inf, end - 1)
        for end in (growth.estimate, growth.low, growth.high)
    ]
    return dataclasses.replace(growth, estimate=bounds[0], low=bounds[1], high=bounds[2])


def slope_interval(points: list[tuple[float, list[float]]], level: float = 0.95) -> Interval | None:
    """The slope of log(mean over seeds) against log(size): least squares over sizes, its error from
    the spread of the seeds.

    >>> slope = slope_interval([(10, [1.0, 1.2, 0.9]), (100, [0.11, 0.1, 0.12])])
    >>> round(slope.estimate, 2), slope.low < -1 < slope.high
    (-0.97, True)
    """
    usable = [
        (size, np.asarray(numbers))
        for size, numbers in points
        if len(numbers) >= 2 and min(numbers) > 0
    ]
    if len(usable) < 2:
        return None
    x = np.log([size for size, _ in usable])
    means = np.array([numbers.mean() for _, numbers in usable])
    errors = np.array([numbers.var(ddof=1) / len(numbers) for _, numbers in usable]) / means**2
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    slope = float(weights @ np.log(means))
    freedom = sum(len(numbers) - 1 for _, numbers in usable)
    half = float(special.stdtrit(freedom, 0.5 + level / 2) * np.sqrt(weights**2 @ errors))
    return Interval(
        slope,
        slope - half,
        slope + half,
        level,
        "least squares of log means",
        min(len(numbers) for _, numbers in usable),
    )


def at_edge(row: dict[str, Any], edge: float, share: float = 0.05) -> bool:
    """Whether a run ended with its sharpness within `share` of the edge, having been there before;
    not while clipping acted.

    Clipping may have helped a run over its first steps: it must have left the last tenth of them
    alone.

    >>> at_edge({"edge_step": 50, "sharpness": 9.8}, 10.0)
    True
    >>> at_edge({"edge_step": 50, "sharpness": 9.8, "clipped_last": 980, "steps": 1000}, 10.0)
    False
    """
    known = row.get("edge_step") is not None and row.get("sharpness") is not None
    acting = (row.get("clipped_last") or 0) > 0.9 * row.get("steps", 0)
    return (
        known
        and row["edge_step"] >= 0
        and abs(row["sharpness"] / edge - 1.0) <= share
        and not acting
    )
