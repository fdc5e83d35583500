"""The claims of the study `stability` beside those of the sphere, and what decides them."""

import itertools
import math

import numpy as np

from separatrix.inference.estimates import Estimate, MeanOf, PairedDifference, RatioOf
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Certificate, Comparison, Equivalence, Together, Trend
from separatrix.studies.stability import sphere_verdicts as sphere
from separatrix.studies.stability.coupling_verdicts import COUPLES
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.sphere_verdicts import (
    EDGE,
    INTERPOLATED,
    LogRatio,
    edge_words,
    gap_cells,
    judged,
)
from separatrix.studies.stability.trials import PatchSurvey, Rows, StabilityCell, finished

NOTEBOOKS = "authors' notebooks and abstract; the theorem texts were not at hand"
# Schemes of square windows as they are in the image, which differ in where the windows stand.
PLACED = ("non-overlapping", "random placement", "jittered", "radial", "hexagonal")
LOCAL = ("conv", *PLACED, "cross", "dilated", "multi-scale")

FLAT = Claim(
    "liang.flat-interpolation",
    "Without structure in its patches (each uniform on the sphere), a shared local network "
    "interpolates noise while it is flat: at the edge, its training MSE is below a tenth of the "
    "noise energy.",
    f"Liang et al., experiment 2 ({NOTEBOOKS}; the tenth is ours)",
    f"{EDGE}; patches independent and uniform on the sphere; no clipping in the last half; a loss "
    "that no longer falls",
    Comparison("training MSE over noise energy", "below", INTERPOLATED),
)
MIXING = Claim(
    "liang.mixing-views-monotone",
    "The more random views mix the coordinates of a repeated point, the less noise a shared local "
    "network fits.",
    f"Liang et al., experiment 3 ({NOTEBOOKS})",
    f"{EDGE}; views drawn for every seed",
    Trend("the share of the noise that is fitted", "number of random views", "falling"),
)
VOCABULARY = Claim(
    "liang.sharing-recovers-vocabulary",
    "Sharing, not locality alone, recovers a vocabulary of patches: with as many parameters, the "
    "shared network's error is below the unshared one's and the fully connected one's.",
    f"Liang et al., experiment 4 ({NOTEBOOKS}; the label is a reconstruction)",
    "equal numbers of parameters, samples and steps; d = 500, n = 200",
    Comparison("test L2 error, CNN over the other network", "below", 1.0),
)
IMAGES = Claim(
    "liang.cifar.shared-lower-excess",
    "On CIFAR-10 with a local teacher, the shared network's final excess risk is below the fully "
    "connected one's.",
    f"Liang et al., experiment 5 ({NOTEBOOKS})",
    "CIFAR-10, 32 x 32, n = 1024, K = 1024, σ = 1, η = 0.2; at least 12 teachers",
    Comparison("final excess risk, CNN over FCN", "below", 1.0),
)
IMAGES_CONSTANT = Claim(
    "ours.cifar-constant",
    "On CIFAR-10 with a local teacher, the shared network's final excess risk is below that of the "
    "best constant.",
    "ours; the authors' recorded figures are .129 and .124",
    "CIFAR-10, 32 x 32, n = 1024, K = 1024, σ = 1, η = 0.2; at least 12 teachers",
    Comparison("final excess risk, CNN over the best constant", "below", 1.0),
)
GEOMETRY = Claim(
    "liang.patches-low-dimensional",
    "Local patches of natural images are low-dimensional, wherever the windows stand: 90 % of "
    "their variance lies in less than half as many directions as after the image is shuffled, and "
    "placing the windows otherwise than a convolution does hardly changes that number.",
    f"Liang et al., experiment 6 ({NOTEBOOKS}; the factors of 2 and 1.5 are ours)",
    "4 x 4 patches of CIFAR-10",
    Together(
        (
            ("low-dimensional", Comparison("elbow, scheme over global shuffle", "below", 0.5)),
            ("alike", Equivalence("elbow, scheme over conv", 0.5, 1.0, ratio=True)),
        )
    ),
)
CERTIFICATE = Claim(
    "liang.certificate",
    "The weighted path norm Σ|v_k|·‖w_k‖·g of every network is at most λ/2 - ½ + (R+1)√(2L), λ "
    "being the sharpness of L = ½·MSE and R the radius of the inputs (of the patches, if shared).",
    "Neural Shattering (arXiv 2506.20779), Theorem 3.2; over patches, a [reconstruction] of the "
    "paper's own",
    "two-layer ReLU networks with an offset",
    Certificate("weighted path norm ≤ λ/2 - ½ + (R+1)√(2L)", 1e-4),
)
LONG = Claim(
    "ours.long-training",
    "Training on does not change the picture: after many times as many steps, still at the edge, "
    "the gap of a shared local network stays below the fully connected one's at the same n and d.",
    "ours; the papers train for a fixed number of steps",
    f"{EDGE}; `sphere.long_steps` steps",
    Comparison("gap after long training, shared over full", "below", 1.0),
)

CLAIMS = (
    *sphere.CLAIMS,
    COUPLES,
    FLAT,
    MIXING,
    VOCABULARY,
    IMAGES,
    IMAGES_CONSTANT,
    GEOMETRY,
    CERTIFICATE,
    LONG,
)

PAPER_IMAGES = (32, 1024, 1024)  # side, samples, width
SETTLED = 0.02  # a loss that falls by less than this share over the last fifth of a run has settled


def no_runs(part: str) -> str:
    """Why a claim was not measured, and what measures it.

    >>> no_runs("flat")
    'no runs of the part `flat`; run it with `--set parts=flat`, or at a larger scale'
    """
    return f"no runs of the part `{part}`; run it with `--set parts={part}`, or at a larger scale"


def judge_flat(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether noise is interpolated at the edge.

    >>> judge_flat(StabilitySettings(), {}).verdict
    'not measured'
    """
    every = finished(rows.get(StabilityCell("flat", "CNN", 0, s.flat.samples), []))
    runs = judged(s, every)
    if len(runs) < 2:
        return judge(FLAT, {}, reason=edge_words(s, every) if every else no_runs("flat"))
    share = MeanOf(tuple(row["regression.mse"] / row["regression.noise"] for row in runs))
    late = [
        1.0 - row["trace.loss"][-1] / row["trace.loss"][-max(2, len(row["trace.loss"]) // 5)]
        for row in runs
    ]
    outside = [edge_words(s, every)]
    if share.interval(0.95).estimate > INTERPOLATED and max(late) > SETTLED:
        outside.append("the loss was still falling when the steps ended")
    excess, constant, sharpness = (
        float(np.mean([row[name] for row in runs]))
        for name in ("regression.excess", "regression.constant", "sharpness")
    )
    words = (
        f"at sharpness {sharpness:.3g} (edge {s.edge:g}); excess risk on fresh inputs {excess:.3g} "
        f"(a constant: {constant:.2g})"
    )
    return judge(FLAT, {"all runs at the edge": share}, "; ".join(filter(None, outside)), words)


def judge_mixing(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether each further batch of random views lowers the noise that is fitted.

    Seeds fix the training data, so that they pair the cells.

    >>> judge_mixing(StabilitySettings(), {}).verdict
    'not measured'
    """
    fits: dict[int, dict[int, float]] = {}
    runs = []
    for count in s.mixing.views:
        every = finished(rows.get(StabilityCell("mixing", "CNN", count, s.mixing.samples), []))
        runs += every
        fits[count] = {
            row["seed"]: row["regression.fitted"] / row["regression.noise"]
            for row in judged(s, every)
        }
    if not runs:
        return judge(MIXING, {}, reason=no_runs("mixing"))
    steps: dict[str, Estimate | None] = {}
    for fewer, more in itertools.pairwise(s.mixing.views):
        common = sorted(set(fits[fewer]) & set(fits[more]))
        pair = tuple(tuple(fits[count][seed] for seed in common) for count in (more, fewer))
        steps[f"R = {fewer} to {more}"] = PairedDifference(*pair) if len(common) > 1 else None
    means = ", ".join(
        f"{np.mean(list(fits[count].values())):.2f} (R = {count})"
        for count in s.mixing.views
        if fits[count]
    )
    return judge(MIXING, steps, edge_words(s, runs), f"shares of the noise fitted: {means}")


def judge_vocabulary(s: StabilitySettings, rows: Rows) -> Finding:
    """The shared network's root-mean-square error against the other two's.

    >>> judge_vocabulary(StabilitySettings(), {}).verdict
    'not measured'
    """
    errors = {}
    for name in ("CNN", "LCN", "FCN"):
        cell = rows.get(StabilityCell("vocabulary", name, 0, s.vocabulary.samples), [])
        errors[name] = {
            row["seed"]: float(np.sqrt(row["regression.excess"])) for row in finished(cell)
        }
    ratios = {f"CNN over {name}": _ratio(errors["CNN"], errors[name]) for name in ("LCN", "FCN")}
    if not any(ratios.values()):
        return judge(VOCABULARY, {}, reason=no_runs("vocabulary"))
    means = ", ".join(
        f"{name} {np.mean(list(numbers.values())):.3f}" for name, numbers in errors.items()
    )
    outside = "the label and its noise are a reconstruction"
    if (s.vocabulary.views * s.vocabulary.patch, s.vocabulary.samples) != (500, 200):
        outside += "; smaller than the paper's d = 500, n = 200"
    return judge(VOCABULARY, ratios, outside, f"test L2 errors {means}; a constant has about 1")


def _ratio(first: dict[int, float], second: dict[int, float]) -> RatioOf | None:
    """The ratio of two columns at the seeds that both have."""
    seeds = sorted(set(first) & set(second))
    pairs = [(first[seed], second[seed]) for seed in seeds]
    if len(pairs) < 2 or min(min(pair) for pair in pairs) <= 0:
        return None
    left, right = (tuple(column) for column in zip(*pairs))
    return RatioOf(left, right, paired=True)


def judge_images(s: StabilitySettings, rows: Rows, source: str, claim: Claim = IMAGES) -> Finding:
    """The shared network's final excess risk against the full one's or the best constant's.

    >>> judge_images(StabilitySettings(), {}, "cifar10").verdict
    'not measured'
    """
    runs = {
        name: finished(rows.get(StabilityCell("images", name, 0, s.images.samples), []))
        for name in ("CNN", "FCN")
    }
    final = {
        name: {row["seed"]: row["regression.excess"] for row in members}
        for name, members in runs.items()
    }
    final["constant"] = {row["seed"]: row["regression.constant"] for row in runs["CNN"]}
    ratio = _ratio(final["CNN"], final["FCN" if claim is IMAGES else "constant"])
    if ratio is None:
        return judge(claim, {}, reason=no_runs("images"))
    best = {
        name: float(np.mean([min(row["trace.risk"]) for row in members]))
        for name, members in runs.items()
    }
    means = {name: float(np.mean(list(numbers.values()))) for name, numbers in final.items()}
    words = (
        f"final excess CNN {means['CNN']:.3g}, FCN {means['FCN']:.3g}, constant "
        f"{means['constant']:.3g} over {len(runs['CNN'])} teachers; at their best moments (which a "
        f"learner cannot know) {best['CNN']:.3g} and {best['FCN']:.3g}"
    )
    part = s.images
    sizes = (part.side, part.samples, part.width)
    outside = []
    if not (source.startswith("cifar10") and sizes == PAPER_IMAGES):
        outside.append(
            f"{source.partition('@')[0]} at {part.side} x {part.side}, n = {part.samples}, "
            f"K = {part.width}"
        )
    if len(runs["CNN"]) < 12:
        outside.append(f"{len(runs['CNN'])} teachers")
    return judge(claim, {"all teachers": ratio}, "; ".join(outside), words)


def judge_certificate(s: StabilitySettings, rows: Rows) -> Finding:
    """Both sides of the bound in every run that has them, the worst of its measured moments.

    >>> judge_certificate(StabilitySettings(), {}).verdict
    'not measured'
    """
    worst: dict[str, float] = {}
    for cell, members in rows.items():
        for row in finished(members):
            if row.get("trace.weighted_path_norm") is None:
                continue
            left, rest, sharp = (
                np.array(row[f"trace.{n}"])
                for n in ("weighted_path_norm", "weighted_path_norm.allowance", "sharpness")
            )
            # The loss is MSE: its sharpness is twice that of ½·MSE, which enters the bound by a
            # half.
            name = " ".join(str(part) for part in cell if part) + f" seed {row['seed']}"
            worst[name] = float((left / (sharp / 4.0 + rest)).max()) - 1.0
    return judge(CERTIFICATE, worst, reason="" if worst else no_runs("sphere"))


def judge_long(s: StabilitySettings, rows: Rows) -> Finding:
    """The gaps of shared networks over the full one's after long training, at every m and n.

    >>> judge_long(StabilitySettings(), {}).verdict
    'not measured'
    """
    full = {c.cell.samples: c for c in gap_cells(s, rows, "FCN", "long")}
    ratios: dict[str, Estimate | None] = {}
    for c in gap_cells(s, rows, "CNN", "long"):
        if (other := full.get(c.cell.samples)) is not None:
            name = f"m = {c.cell.patch}, n = {c.cell.samples}, d = {c.cell.number}"
            error = math.hypot(c.error, other.error)
            ratios[name] = LogRatio(c.log_gap - other.log_gap, error, min(c.freedom, other.freedom))
    if not ratios:
        words = "no long training; run it with `--set parts=sphere --set sphere.long_steps=500000`"
        return judge(LONG, {}, reason=words)
    before = {
        (c.cell.patch, c.cell.samples): math.exp(c.log_gap)
        for c in gap_cells(s, rows)
        if c.cell.number == min(s.sphere.dimensions)
    }
    words = ", ".join(
        f"{before[c.cell.patch, c.cell.samples]:.2g} to {math.exp(c.log_gap):.2g} (m = "
        f"{c.cell.patch}, n = {c.cell.samples})"
        for c in gap_cells(s, rows, "CNN", "long")
        if (c.cell.patch, c.cell.samples) in before
    )
    reason = (
        f"from {s.sphere.steps} to {s.sphere.long_steps} steps the shared gap goes from {words}"
    )
    return judge(LONG, ratios, reason=reason if words else "")


def judge_patches(patches: PatchSurvey, source: str) -> Finding:
    """Elbows of local schemes against the shuffled control, and against the convolution's grid.

    >>> judge_patches({}, "cifar10").verdict
    'not measured'
    """
    if not patches:
        return judge(GEOMETRY, {}, reason=no_runs("geometry"))

    def over(scheme: str, other: str) -> RatioOf:
        return RatioOf(*(tuple(patches[name]["elbow"]) for name in (scheme, other)), paired=True)

    evidence = {
        "low-dimensional": {
            name: over(name, "global shuffle") for name in LOCAL if name in patches
        },
        "alike": {name: over(name, "conv") for name in PLACED if name in patches},
    }
    elbows = ", ".join(f"{name} {np.mean(item['elbow']):.3g}" for name, item in patches.items())
    same = source.startswith("cifar10")
    outside = "" if same else f"patches of {source.partition('@')[0]}, not of CIFAR-10"
    return judge(GEOMETRY, evidence, outside, f"elbows: {elbows}")
