"""The trials of the stability study: tasks, networks and learners of every cell."""

from typing import Any, NamedTuple

from separatrix.data import available
from separatrix.engine import Measure, Sweep, Trial
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN, Network, Views
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
PLAIN = (
    "regression",
    "activation",
)  # where the edge is not the question: sharpness doubles the time to compile
COMMON = ("sharpness", *PLAIN)
CERTIFIED = (*COMMON, "weighted_path_norm")


class CellKey(NamedTuple):
    """One cell: the part, the network, and the part's own number (dimension, or random views) and
    sample size.

    >>> CellKey("sphere", "CNN", 50, 64).number
    50
    """

    part: str
    network: str
    number: int = 0
    samples: int = 0


def image_source(s: StabilitySettings) -> str:
    """The data set of the image parts: CIFAR-10 where it has been fetched, else pieces of the
    embedded photographs.

    >>> image_source(StabilitySettings(image_source="embedded-photographs"))
    'embedded-photographs'
    """
    if s.image_source != "auto":
        return s.image_source
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


def cells(s: StabilitySettings) -> dict[CellKey, Sweep]:
    """Every cell with its trials, one a seed.

    >>> small = StabilitySettings(parts=("flat",), flat_seeds=2)
    >>> [(cell.part, len(sweep)) for cell, sweep in cells(small).items()]
    [('flat', 2)]
    """
    out: dict[CellKey, Sweep] = {}
    if "sphere" in s.parts:
        for dimension in s.dimensions:
            task = SphereTask(dimension=dimension, patch=s.patch, noise=s.noise)
            networks = {
                "CNN": CNN(s.patch, s.width, stride=s.patch, **POOLED),
                "FCN": FCN(s.width, offset=True),
            }
            for name, network in networks.items():
                for samples in s.samples:
                    out[CellKey("sphere", name, dimension, samples)] = _sweep(
                        s, task, network, s.steps, samples, s.seeds, CERTIFIED
                    )
    if "flat" in s.parts:
        task = PatchSphereTask(views=s.flat_views, patch=s.flat_patch, noise=s.noise)
        network = CNN(s.flat_patch, s.flat_width, stride=s.flat_patch, **POOLED)
        probes = (*CERTIFIED, "units")
        out[CellKey("flat", "CNN", 0, s.flat_samples)] = _sweep(
            s, task, network, s.flat_steps, s.flat_samples, s.flat_seeds, probes, times=s.flat_times
        )
    if "mixing" in s.parts:
        task = RepeatedPointTask(copies=s.mix_copies, patch=s.mix_patch, noise=s.noise)
        for count in s.mix_views:
            network = CNN(
                Views(count, s.mix_patch, seed=s.seed, blocks=s.mix_copies), s.mix_width, **POOLED
            )
            key = CellKey("mixing", "CNN", count, s.mix_samples)
            out[key] = _sweep(s, task, network, s.mix_steps, s.mix_samples, s.mix_seeds, COMMON)
    if "vocabulary" in s.parts:
        task = VocabularyTask(views=s.word_views, patch=s.word_patch, noise=s.word_noise)
        for name, network in matched(s.word_views, s.word_patch, s.word_parameters).items():
            key = CellKey("vocabulary", name, 0, s.word_samples)
            out[key] = _sweep(
                s, task, network, s.word_steps, s.word_samples, s.word_seeds, PLAIN, s.word_rate
            )
    if "images" in s.parts:
        task = ImageRegressionTask(
            image_source(s), s.image_side, noise=s.noise, scale=s.image_scale, gain=s.image_gain
        )
        for name, network in {
            "CNN": CNN(3, s.image_width, **POOLED),
            "FCN": FCN(s.image_width, offset=True),
        }.items():
            key = CellKey("images", name, 0, s.image_samples)
            out[key] = _sweep(
                s,
                task,
                network,
                s.image_steps,
                s.image_samples,
                s.image_seeds,
                COMMON,
                test=s.image_test,
            )
    return out


def _sweep(
    s: StabilitySettings,
    task: Any,
    network: Network,
    steps: int,
    samples: int,
    seeds: int,
    probes: Any,
    rate: float = 0.0,
    times: int = 0,
    test: int = 0,
) -> Sweep:
    clip = (
        0.0
        if isinstance(task, SphereTask)
        else s.image_clip
        if isinstance(task, ImageRegressionTask)
        else s.clip
    )
    learner = Learner(rate or s.rate, steps, "squared", clip=clip or None)
    measure = Measure(probes, test or s.test, times or s.times)
    return Sweep(
        tuple(
            Trial(task, network, learner, samples, seed, measure)
            for seed in seeds_from(s.seed, seeds)
        )
    )
