"""The trials of the study `stability`, the survey of patches, and the numbers taken from rows."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from separatrix.data import available
from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.geometry import SCHEMES, read_images, survey
from separatrix.inference import Interval, mean_interval
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN, Network
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
COUPLED = (*PLAIN, "coupling")
COMMON = ("sharpness", *PLAIN)
CERTIFIED = (*COMMON, "weighted_path_norm")
FINISHED = ("exhausted", "reached")


class StabilityCell(NamedTuple):
    """One cell of a part.

    Attributes:
        part: the part.
        network: CNN, LCN or FCN.
        number: the part's own number: the dimension, or the random views.
        samples: the sample size.
        patch: on the sphere, the receptive field; 0 for a network that sees everything.
        variant: on the sphere, `unit` for patches of mean square norm 1, `long` for long training.
    """

    part: str
    network: str
    number: int = 0
    samples: int = 0
    patch: int = 0
    variant: str = ""


Rows = dict[StabilityCell, list[Row]]
PatchSurvey = dict[str, dict[str, list[float]]]  # by scheme: elbow, projected, whitened, …


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
        out |= _sphere_cells(s)
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
        network = CNN(part.patch, part.width, stride=part.patch, **POOLED)
        for count in part.views:
            # The task draws the views, so that every seed has its own and all share a program.
            task = RepeatedPointTask(
                copies=part.copies, patch=part.patch, noise=s.noise, views=count
            )
            out[StabilityCell("mixing", "CNN", count, part.samples)] = _sweep(
                s, task, network, part.steps, part.samples, part.seeds, COMMON
            )
    if "vocabulary" in s.parts:
        part = s.vocabulary
        task = VocabularyTask(views=part.views, patch=part.patch, noise=part.noise)
        for name, network in matched(part.views, part.patch, part.parameters).items():
            probes = PLAIN if name == "FCN" else COUPLED
            out[StabilityCell("vocabulary", name, 0, part.samples)] = _sweep(
                s, task, network, part.steps, part.samples, part.seeds, probes, rate=part.rate
            )
    if "images" in s.parts:
        part = s.images
        task = ImageRegressionTask(
            image_source(s), part.side, noise=s.noise, scale=part.scale, gain=part.gain
        )
        networks = {"CNN": CNN(3, part.width, **POOLED), "FCN": FCN(part.width, offset=True)}
        for name, network in networks.items():
            out[StabilityCell("images", name, 0, part.samples)] = _sweep(
                s,
                task,
                network,
                part.steps,
                part.samples,
                part.seeds,
                COMMON,
                times=part.times,
                test=part.test,
            )
    return out


def _sphere_cells(s: StabilitySettings) -> dict[StabilityCell, Sweep]:
    """Shared networks over m, n and d; unshared and full ones beside them; controls; long runs."""
    part, out = s.sphere, {}

    def add(
        name: str, d: int, m: int, samples: tuple[int, ...], variant: str = "", steps: int = 0
    ) -> None:
        # A full network does not see the teacher's patches: the smallest ones stand for all.
        task = SphereTask(
            dimension=d,
            patch=m or min(part.patches_of(d)),
            noise=s.noise,
            radius=math.sqrt(d / m) if variant == "unit" else 1.0,
        )
        network = {
            "CNN": CNN(max(m, 1), part.width, stride=max(m, 1), **POOLED),
            "LCN": LCN(max(m, 1), part.width, stride=max(m, 1), **POOLED),
            "FCN": FCN(part.width, offset=True),
        }[name]
        probes = COMMON if name == "LCN" else CERTIFIED
        seeds = part.full_seeds if name == "FCN" and part.full_seeds else part.seeds
        for n in samples:
            out[StabilityCell("sphere", name, d, n, m, variant)] = _sweep(
                s, task, network, steps or part.steps, n, seeds, probes, times=part.times
            )

    for d in part.dimensions:
        samples, fields = part.samples_of(d), part.patches_of(d)
        if not samples or not fields:
            continue
        add("FCN", d, 0, part.samples_of(d, full=True))
        for m in fields:
            add("CNN", d, m, samples)
        for m in set(fields) & set(part.unshared):
            add("LCN", d, m, samples[: part.control_samples])
        for m in set(fields) & set(part.unit_norm):
            add("CNN", d, m, samples[: part.control_samples], "unit")
    if part.long_steps:
        d = min(part.dimensions)
        add("FCN", d, 0, part.long_samples, "long", part.long_steps)
        for m in part.patches_of(d):
            add("CNN", d, m, part.long_samples, "long", part.long_steps)
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
                "projected": list(result.projected),
                "whitened": list(result.whitened),
                "points": [result.points],
                "span": [result.span],
            }
            lab.report_progress("patch geometry", done + 1, len(SCHEMES))
        return out

    return lab.remember("patch-geometry-2", inputs, calculate)


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


def at_edge(row: dict[str, Any], edge: float, share: float = 0.05) -> bool:
    """Whether a run ended with its sharpness within `share` of the edge, without clipping.

    Clipping may have helped a run over its first steps: it must have left the last half of them
    alone.

    >>> at_edge({"sharpness": 9.8}, 10.0)
    True
    >>> at_edge({"sharpness": 9.8, "clipped_last": 600, "steps": 1000}, 10.0)
    False
    """
    if row.get("sharpness") is None:
        return False
    acting = (row.get("clipped_last") or 0) > 0.5 * row.get("steps", 0)
    return abs(row["sharpness"] / edge - 1.0) <= share and not acting
