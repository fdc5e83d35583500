"""The patch-geometry part of the stability study."""

from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.geometry import SCHEMES, mosaic, read_images, survey
from separatrix.inference import mean_interval, ratio
from separatrix.studies.claims import Evidence, Finding, all_of, decide_above, decide_below
from separatrix.studies.outcome import Axis, Figure, Picture, Series, TableData
from separatrix.studies.stability import claims as c
from separatrix.studies.stability.settings import StabilitySettings

# Elbow and depth area that the authors recorded (4x4 RGB patches of CIFAR-10, one seed).
RECORDED = {
    "conv": (4, 0.0344),
    "non-overlapping": (4, 0.0359),
    "random placement": (4, 0.0337),
    "global shuffle": (41, 0.0104),
    "whole image": (100, 0.0085),
}
Found = dict[str, dict[str, list[float]]]


def measure_patches(lab: Lab, s: StabilitySettings, source: str) -> Found:
    """Elbows and areas of every scheme, a number a seed.

    >>> small = StabilitySettings(patch_images=40, patch_points=10, patch_directions=5, patch_seeds=2)
    >>> sorted(measure_patches(Lab(), small, "embedded-photographs"))[:2]
    ['conv', 'cross']
    """
    given = {
        "source": source,
        "images": s.patch_images,
        "points": s.patch_points,
        "directions": s.patch_directions,
    }
    given |= {"seeds": s.patch_seeds, "seed": s.seed}

    def calculate() -> Found:
        images = read_images(source)[0]
        # Every so-many-th image: neighbouring pieces of a photograph overlap.
        images = images[:: max(1, len(images) // s.patch_images)][: s.patch_images]
        out: Found = {}
        for done, scheme in enumerate(SCHEMES):
            seeds = range(s.seed * 1000, s.seed * 1000 + s.patch_seeds)
            (each,) = survey(images, [scheme], 4, s.patch_points, s.patch_directions, seeds)
            out[scheme] = {
                "elbow": [float(n) for n in each.elbows],
                "area": list(each.areas),
                "points": [each.points],
                "span": [each.span],
            }
            if lab.progress is not None:
                lab.progress("patch geometry", done + 1, len(SCHEMES))
        return out

    return lab.remember("patch-geometry", given, calculate)


def judge_patches(found: Found, source: str, same: bool) -> Finding:
    """Random placement against the convolution's grid, and both against the shuffled control.

    >>> judge_patches({}, "cifar10", True).verdict
    'undecided'
    """
    if not found:
        return Finding(c.GEOMETRY, "undecided", "the part `geometry` was not run", None)
    conv, random, shuffle = (found[name] for name in ("conv", "random placement", "global shuffle"))
    parts = {
        "elbow, random placement / conv": (
            ratio(random["elbow"], conv["elbow"]),
            2.0,
            decide_below,
        ),
        "elbow, shuffle / conv": (ratio(shuffle["elbow"], conv["elbow"]), 2.0, decide_above),
        "depth area, random placement / conv": (
            ratio(random["area"], conv["area"]),
            0.5,
            decide_above,
        ),
        "depth area, shuffle / conv": (ratio(shuffle["area"], conv["area"]), 0.5, decide_below),
    }
    evidence = tuple(
        Evidence.of(name, each, reference) for name, (each, reference, _) in parts.items()
    )
    verdict = all_of([decide(each, reference) for each, reference, decide in parts.values()])
    words = "; ".join(f"{name} {each.estimate:.3g}" for name, (each, _, _) in parts.items())
    outside = "" if same else f"patches of {source.partition('@')[0]}, not of CIFAR-10"
    return Finding(c.GEOMETRY, verdict, words, same, evidence, outside)


def patch_figures(found: Found, source: str) -> tuple[Figure, ...]:
    """Elbow and depth area by scheme, with the authors' figures beside them.

    >>> patch_figures({}, "cifar10")
    ()
    """
    if not found:
        return ()
    out = []
    for place, (name, label) in enumerate(
        (("elbow", "directions for 90 % of the variance"), ("area", "area under the depth curve"))
    ):
        means = [mean_interval(each[name]) for each in found.values()]
        middle, low, high = (
            tuple(getattr(each, part) for each in means) for part in ("estimate", "low", "high")
        )
        series = [
            Series(
                "measured",
                tuple(found),
                middle,
                low,
                high,
                seeds=tuple(each.count for each in means),
            )
        ]
        series.append(
            Series(
                "authors, CIFAR-10",
                tuple(RECORDED),
                tuple(float(each[place]) for each in RECORDED.values()),
                role="law",
            )
        )
        caption = (
            f"4 x 4 patches of {source.partition('@')[0]}; 95 % intervals over seeds. The "
            "authors' figures are for CIFAR-10 and one seed."
        )
        out.append(
            Figure(
                f"patch-{name}",
                f"Patches by scheme: {label}",
                Axis(""),
                Axis(label, log=True),
                tuple(series),
                caption,
            )
        )
    return tuple(out)


def patch_picture(found: Found, source: str, seed: int = 0) -> tuple[Picture, ...]:
    """Example patches of one image, a strip a scheme.

    >>> len(patch_picture({"conv": {}}, "embedded-photographs")[0].strips)
    1
    """
    if not found:
        return ()
    images = read_images(source)[0]
    some = images[
        np.random.default_rng(seed).choice(len(images), size=min(40, len(images)), replace=False)
    ]
    image = some[np.argmax(some.std((1, 2, 3)))]  # a plain one would show little
    strips = []
    for scheme in found:
        pixels = np.rint(255 * mosaic(image, scheme, count=20, seed=seed)).astype(int)
        pixels = np.broadcast_to(pixels, (*pixels.shape[:2], 3))  # grey images have one channel
        strips.append(tuple(tuple(tuple(pixel) for pixel in row) for row in pixels.tolist()))
    caption = (
        f"The most varied of 40 images of {source.partition('@')[0]}, cut by every scheme into "
        "patches of 4 x 4 pixels; the whole image is the last."
    )
    return (
        Picture(
            "patch-examples",
            "Example patches",
            Axis(""),
            Axis(""),
            (),
            caption,
            tuple(found),
            tuple(strips),
        ),
    )


def patch_table(found: Found, s: StabilitySettings) -> tuple[TableData, ...]:
    """Elbow and area of every scheme.

    >>> patch_table({}, StabilitySettings())
    ()
    """
    rows: list[tuple[Any, ...]] = []
    for scheme, each in found.items():
        elbow, area = mean_interval(each["elbow"]), mean_interval(each["area"])
        recorded = RECORDED.get(scheme, (None, None))
        rows.append(
            (
                scheme,
                int(each["span"][0]),
                int(each["points"][0]),
                elbow.estimate,
                elbow.low,
                elbow.high,
                recorded[0],
                area.estimate,
                area.low,
                area.high,
                recorded[1],
            )
        )
    columns = (
        "scheme",
        "dimensions",
        "points",
        "elbow",
        "low",
        "high",
        "authors",
        "depth area",
        "low ",
        "high ",
        "authors ",
    )
    title = (
        f"Patch geometry: PCA elbow at 90 %, and Tukey depth over {s.patch_directions} random "
        "directions (biased upwards)"
    )
    return (TableData("patches", title, columns, tuple(rows)),) if rows else ()
