"""The claims of the study `stability`, and how rows and surveys decide them."""

import numpy as np

from separatrix.inference import difference, mean_interval, ratio, wilson
from separatrix.studies.cells import Row
from separatrix.studies.claims import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    all_of,
    decide_above,
    decide_below,
)
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.trials import (
    PatchSurvey,
    Rows,
    StabilityCell,
    at_edge,
    exponent_between,
    finished,
    ratio_of,
    slope_interval,
    values,
)
from separatrix.theory.stability import shared_on_sphere

EDGE = (
    "constant-step gradient descent on MSE; the network is at the edge of stability (sharpness "
    "about 2/η)"
)
NOTEBOOKS = "authors' notebooks and abstract; the theorem texts were not at hand"

GAP_PATCH = Claim(
    "liang.gap-follows-patch",
    "On the sphere, the generalization gap of a shared local network follows its receptive field "
    "m and not the dimension d.",
    f"Liang et al., abstract and experiment 1 ({NOTEBOOKS})",
    f"{EDGE}; m small against d",
)
GAP_FULL = Claim(
    "liang.fcn-gap-grows-with-d",
    "On the sphere, the generalization gap of a fully connected network grows with the dimension "
    "d.",
    f"Liang et al., experiment 1 ({NOTEBOOKS})",
    EDGE,
)
REACHES = Claim(
    "liang.sharpness-reaches-edge",
    "Gradient descent with a constant step size η ends at the edge of stability: the sharpness "
    "settles about 2/η.",
    "Liang et al., experiments 1-3; Neural Shattering (arXiv 2506.20779)",
    "constant step, full batch, no clipping, enough steps",
)
FLAT = Claim(
    "liang.flat-interpolation",
    "Without structure in its patches (each uniform on the sphere), a shared local network "
    "interpolates noise while it is flat.",
    f"Liang et al., experiment 2 ({NOTEBOOKS})",
    f"{EDGE}; patches independent and uniform on the sphere",
)
MIXING = Claim(
    "liang.mixing-views-monotone",
    "The more random views mix the coordinates of a repeated point, the less noise a shared "
    "local network fits.",
    f"Liang et al., experiment 3 ({NOTEBOOKS})",
    EDGE,
)
VOCABULARY = Claim(
    "liang.sharing-recovers-vocabulary",
    "Sharing, not locality alone, recovers a vocabulary of patches: with as many parameters, the "
    "shared network's error is below half of the unshared and of the fully connected one's.",
    f"Liang et al., experiment 4 ({NOTEBOOKS}; the label is a reconstruction)",
    "equal numbers of parameters, samples and steps",
)
IMAGES = Claim(
    "liang.cifar.shared-lower-excess",
    "On CIFAR-10 with a local teacher, the shared network's excess risk is below the fully "
    "connected one's, and below that of a constant.",
    f"Liang et al., experiment 5 ({NOTEBOOKS}; the comparison with a constant is ours)",
    "CIFAR-10, 32 x 32, n = 1024, K = 1024, σ = 1, η = 0.2",
)
GEOMETRY = Claim(
    "liang.geometry.locality-decides",
    "Locality, not the convolution's grid, makes the patches of natural images low-dimensional "
    "and central.",
    f"Liang et al., experiment 6 ({NOTEBOOKS})",
    "4 x 4 patches of CIFAR-10",
)
CERTIFICATE = Claim(
    "liang.certificate.holds",
    "The weighted path norm of every network is at most λ/2 - ½ + (R+1)√(2L).",
    "Neural Shattering (arXiv 2506.20779), Theorem 3.2; for shared networks over their patches",
    "two-layer ReLU networks with an offset; L = ½·MSE, λ its sharpness",
)
RATES = Claim(
    "liang.rates",
    "The gap of a shared local network at the edge falls at least as fast as n^{-(d-m)/(2(3d-m))}.",
    "Liang et al., abstract (n^{-1/6+O(m/d)}); the exponent is a [reconstruction]",
    f"{EDGE}; an upper bound up to constants and logarithms, for n beyond any fixed size",
)

CLAIMS = (
    GAP_PATCH,
    GAP_FULL,
    REACHES,
    FLAT,
    MIXING,
    VOCABULARY,
    IMAGES,
    GEOMETRY,
    CERTIFICATE,
    RATES,
)

LEVEL_GROWTH = 0.25  # growth in d below d^¼ counts as none
# A network interpolates when its training MSE is below this share of the noise energy.
INTERPOLATED = 0.1
PAPER_IMAGES = (32, 1024, 1024)  # side, samples, width
SETTLED = 0.02  # a loss that falls by less than this share over the last fifth of a run has settled


def missing(claim: Claim, part: str) -> Finding:
    """The finding of a claim whose part was not run, or not finished.

    >>> missing(FLAT, "flat").verdict
    'undecided'
    """
    return Finding(
        claim,
        "undecided",
        f"the part `{part}` has no finished runs (see the setting `parts`, or give more time)",
        None,
    )


def _edge_words(rows: list[Row], edge: float) -> tuple[bool, str]:
    """Whether all runs ended at the edge, and if not, how many did."""
    arrived = sum(at_edge(row, edge) for row in rows)
    if arrived == len(rows):
        return True, ""
    return False, f"{arrived} of {len(rows)} runs ended within 5 % of the edge 2/η = {edge:g}"


def judge_gap(s: StabilitySettings, rows: Rows, network: str) -> Finding:
    """How the gap grows from the smallest to the largest dimension, at the largest sample size.

    >>> judge_gap(StabilitySettings(), {}, "CNN").verdict
    'undecided'
    """
    claim = GAP_PATCH if network == "CNN" else GAP_FULL
    low, high, samples = min(s.sphere.dimensions), max(s.sphere.dimensions), max(s.sphere.samples)
    first, last = (rows.get(StabilityCell("sphere", network, d, samples), []) for d in (low, high))
    change = ratio_of(values(last, "regression.gap"), values(first, "regression.gap"))
    if change is None or low == high:
        return missing(claim, "sphere")
    growth = exponent_between(low, high, change)
    reference = LEVEL_GROWTH if network == "CNN" else 0.0
    verdict = (
        decide_below(growth, reference) if network == "CNN" else decide_above(growth, reference)
    )
    level = float(np.mean([*values(first, "regression.gap"), *values(last, "regression.gap")]))
    evidence = Evidence.of(
        f"exponent of d in the {network}'s gap, d = {low} to {high}, n = {samples}",
        growth,
        reference,
    )
    met, outside = _edge_words([*finished(first), *finished(last)], s.edge)
    words = (
        f"the gap goes as d^{growth:.2g} (mean {level:.3g}) at n = {samples}, m = {s.sphere.patch}"
    )
    if network == "FCN":
        loss = float(np.mean(values(last, "regression.mse") + values(first, "regression.mse")))
        words += f"; mean training MSE {loss:.2g}"
        if loss < 0.01:
            words += (
                ": the networks interpolate at every d, so that the gap is the noise energy plus "
                "the excess risk"
            )
    return Finding(claim, verdict, words, met, (evidence,), outside)


def judge_reaches(s: StabilitySettings, rows: Rows) -> Finding:
    """The share of runs that end at the edge.

    >>> judge_reaches(StabilitySettings(), {}).verdict
    'undecided'
    """
    runs = [
        row
        for cell, members in rows.items()
        if cell.part in ("sphere", "flat", "mixing")
        for row in finished(members)
    ]
    if not runs:
        return missing(REACHES, "sphere")
    share = wilson(sum(at_edge(row, s.edge) for row in runs), len(runs))
    sharp = [row["sharpness"] / s.edge for row in runs]
    words = (
        f"{share.estimate:.0%} of {len(runs)} runs ended within 5 % of 2/η, having been there "
        f"before; final λη/2 lies in [{min(sharp):.3g}, {max(sharp):.3g}]"
    )
    return Finding(
        REACHES,
        decide_above(share, 0.5),
        words,
        True,
        (Evidence.of("share of runs that end at the edge", share, 0.5),),
    )


def judge_flat(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether noise is interpolated at the edge.

    >>> judge_flat(StabilitySettings(), {}).verdict
    'undecided'
    """
    runs = finished(rows.get(StabilityCell("flat", "CNN", 0, s.flat.samples), []))
    if not runs:
        return missing(FLAT, "flat")
    share = mean_interval([row["regression.mse"] / row["regression.noise"] for row in runs])
    late = [
        1.0 - row["trace.loss"][-1] / row["trace.loss"][-max(2, len(row["trace.loss"]) // 5)]
        for row in runs
    ]
    met, outside = _edge_words(runs, s.edge)
    verdict = decide_below(share, INTERPOLATED)
    words = (
        f"the training MSE is {share.estimate:.2g} of the noise energy, at sharpness "
        f"{np.mean([r['sharpness'] for r in runs]):.3g} (edge {s.edge:g})"
    )
    if verdict == "refuted" and max(late) > SETTLED:
        verdict, words = "undecided", f"{words}; it was still falling when the steps ended"
    if verdict == "supported" and not met:
        verdict = "undecided"
    excess = float(np.mean([row["regression.excess"] for row in runs]))
    words += (
        f"; excess risk on fresh inputs {excess:.3g} (a constant: "
        f"{np.mean([row['regression.constant'] for row in runs]):.2g})"
    )
    evidence = Evidence.of("training MSE / noise energy", share, INTERPOLATED)
    return Finding(FLAT, verdict, words, met, (evidence,), outside)


def judge_mixing(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether each further batch of random views lowers the noise that is fitted; cells share data,
    so seeds are paired.

    >>> judge_mixing(StabilitySettings(), {}).verdict
    'undecided'
    """
    fits: dict[int, dict[int, float]] = {}
    for count in s.mixing.views:
        cell = rows.get(StabilityCell("mixing", "CNN", count, s.mixing.samples), [])
        fits[count] = {
            row["seed"]: row["regression.fitted"] / row["regression.noise"]
            for row in finished(cell)
        }
    verdicts: list[Verdict] = []
    evidence = []
    for fewer, more in zip(s.mixing.views, s.mixing.views[1:]):
        common = sorted(set(fits[fewer]) & set(fits[more]))
        if common:
            drop = difference(
                [fits[fewer][seed] for seed in common],
                [fits[more][seed] for seed in common],
                paired=True,
            )
            verdicts.append(decide_above(drop, 0.0))
            evidence.append(
                Evidence.of(
                    f"fall of the fitted share of noise from R = {fewer} to {more}", drop, 0.0
                )
            )
    if not verdicts:
        return missing(MIXING, "mixing")
    means = ", ".join(
        f"{np.mean(list(fits[count].values())):.2f} (R = {count})"
        for count in s.mixing.views
        if fits[count]
    )
    runs = [
        row for cell, members in rows.items() if cell.part == "mixing" for row in finished(members)
    ]
    met, outside = _edge_words(runs, s.edge)
    words = f"clean MSE on the training points, as a share of the noise energy: {means}"
    return Finding(MIXING, all_of(verdicts), words, met, tuple(evidence), outside)


def judge_vocabulary(s: StabilitySettings, rows: Rows) -> Finding:
    """The shared network's root-mean-square error against the other two's.

    >>> judge_vocabulary(StabilitySettings(), {}).verdict
    'undecided'
    """
    errors = {}
    for name in ("CNN", "LCN", "FCN"):
        cell = rows.get(StabilityCell("vocabulary", name, 0, s.vocabulary.samples), [])
        errors[name] = [float(np.sqrt(excess)) for excess in values(cell, "regression.excess")]
    pairs = {name: ratio_of(errors["CNN"], errors[name]) for name in ("LCN", "FCN")}
    known = {name: share for name, share in pairs.items() if share is not None}
    if len(known) < 2:
        return missing(VOCABULARY, "vocabulary")
    evidence = tuple(
        Evidence.of(f"L2 error, CNN / {name}", share, 0.5) for name, share in known.items()
    )
    verdict = all_of([decide_below(share, 0.5) for share in known.values()])
    means = ", ".join(f"{name} {np.mean(numbers):.3f}" for name, numbers in errors.items())
    words = f"test L2 errors {means}; a constant has about 1"
    outside = "the label and its noise are a reconstruction"
    if s.vocabulary.views * s.vocabulary.patch != 500:
        outside += "; smaller than the paper's d = 500"
    return Finding(VOCABULARY, verdict, words, False, evidence, outside)


def judge_images(s: StabilitySettings, rows: Rows, source: str) -> Finding:
    """Final excess risks against each other and against the best constant's, with the best of the
    curve in words.

    >>> judge_images(StabilitySettings(), {}, "cifar10").verdict
    'undecided'
    """
    runs = {
        name: finished(rows.get(StabilityCell("images", name, 0, s.images.samples), []))
        for name in ("CNN", "FCN")
    }
    final = {name: [row["regression.excess"] for row in members] for name, members in runs.items()}
    constant = [row["regression.constant"] for row in runs["CNN"]]
    full, flat = ratio_of(final["CNN"], final["FCN"]), ratio_of(final["CNN"], constant)
    if full is None or flat is None:
        return missing(IMAGES, "images")
    verdicts: list[Verdict] = [decide_below(full, 1.0), decide_below(flat, 1.0)]
    evidence = (
        Evidence.of("final excess, CNN / FCN", full, 1.0),
        Evidence.of("final excess, CNN / best constant", flat, 1.0),
    )
    best = {
        name: float(np.mean([min(row["trace.risk"]) for row in members]))
        for name, members in runs.items()
    }
    words = (
        f"final excess CNN {np.mean(final['CNN']):.3g}, FCN {np.mean(final['FCN']):.3g}, constant "
        f"{np.mean(constant):.3g}; at their best moments (which a learner cannot know) "
        f"{best['CNN']:.3g} and {best['FCN']:.3g}"
    )
    part = s.images
    paper = source.startswith("cifar10") and (part.side, part.samples, part.width) == PAPER_IMAGES
    sizes = f"{part.side} x {part.side}, n = {part.samples}, K = {part.width}"
    outside = "" if paper else f"{source.partition('@')[0]} at {sizes}"
    return Finding(IMAGES, all_of(verdicts), words, paper, evidence, outside)


def judge_certificate(s: StabilitySettings, rows: Rows) -> Finding:
    """Both sides of the bound at every measured moment of every run that has them.

    >>> judge_certificate(StabilitySettings(), {}).verdict
    'undecided'
    """
    shares: list[float] = []
    for members in rows.values():
        for row in finished(members):
            if "trace.weighted_path_norm" in row and row["trace.weighted_path_norm"] is not None:
                left, rest, sharp = (
                    np.array(row[f"trace.{n}"])
                    for n in ("weighted_path_norm", "weighted_path_norm.allowance", "sharpness")
                )
                # The loss is MSE: its sharpness is twice that of ½·MSE, which enters the bound by
                # a half.
                shares += (left / (sharp / 4.0 + rest)).tolist()
    if not shares:
        return missing(CERTIFICATE, "sphere")
    held = sum(share <= 1.0 + 1e-4 for share in shares)
    share_held = wilson(held, len(shares))
    verdict: Verdict = "supported" if held == len(shares) else "refuted"
    words = (
        f"it held at {held} of {len(shares)} measured moments; the left side was at most "
        f"{max(shares):.2f} of the right, {np.median(shares):.2f} in the median"
    )
    return Finding(
        CERTIFICATE,
        verdict,
        words,
        True,
        (Evidence.of("share of moments at which the bound held", share_held, 1.0),),
    )


def judge_rates(s: StabilitySettings, rows: Rows) -> Finding:
    """The slope of the shared network's gap in n, dimension by dimension, against the reconstructed
    exponent.

    >>> judge_rates(StabilitySettings(), {}).verdict
    'undecided'
    """
    verdicts: list[Verdict] = []
    evidence, runs = [], []
    for dimension in s.sphere.dimensions:
        cells = [
            (n, rows.get(StabilityCell("sphere", "CNN", dimension, n), []))
            for n in s.sphere.samples
        ]
        slope = slope_interval([(n, values(members, "regression.gap")) for n, members in cells])
        if slope is not None:
            rate = float(np.asarray(shared_on_sphere(s.sphere.patch, dimension).upper))
            verdicts.append(decide_below(slope, -rate))
            evidence.append(
                Evidence.of(f"slope of log gap in log n, CNN, d = {dimension}", slope, -rate)
            )
            runs += [row for _, members in cells for row in finished(members)]
    if not verdicts:
        return missing(RATES, "sphere")
    _, outside = _edge_words(runs, s.edge)
    words = "; ".join(
        f"{item.name}: {item.estimate:.2f} [{item.low:.2f}, {item.high:.2f}], exponent "
        f"{item.reference:.2f} [reconstruction]"
        for item in evidence
    )
    verdict = all_of(verdicts)
    if verdict == "refuted":
        # An upper bound up to constants says nothing about a slope over a few sizes.
        verdict = "undecided"
        words += (
            "; a slower fall over these sizes does not contradict a bound with unknown constants"
        )
    outside = f"a few finite sizes; {outside}".rstrip("; ")
    return Finding(RATES, verdict, words, False, tuple(evidence), outside)


def judge_patches(patches: PatchSurvey, source: str) -> Finding:
    """Random placement against the convolution's grid, and both against the shuffled control.

    >>> judge_patches({}, "cifar10").verdict
    'undecided'
    """
    if not patches:
        return Finding(GEOMETRY, "undecided", "the part `geometry` was not run", None)
    conv, random, shuffle = (
        patches[name] for name in ("conv", "random placement", "global shuffle")
    )
    comparisons = {
        "elbow, random placement / conv": (random, "elbow", 2.0, decide_below),
        "elbow, shuffle / conv": (shuffle, "elbow", 2.0, decide_above),
        "depth area, random placement / conv": (random, "area", 0.5, decide_above),
        "depth area, shuffle / conv": (shuffle, "area", 0.5, decide_below),
    }
    verdicts: list[Verdict] = []
    evidence = []
    for name, (scheme, number, reference, decide) in comparisons.items():
        share = ratio(scheme[number], conv[number])
        verdicts.append(decide(share, reference))
        evidence.append(Evidence.of(name, share, reference))
    words = "; ".join(f"{item.name} {item.estimate:.3g}" for item in evidence)
    same = source.startswith("cifar10")
    outside = "" if same else f"patches of {source.partition('@')[0]}, not of CIFAR-10"
    return Finding(GEOMETRY, all_of(verdicts), words, same, tuple(evidence), outside)
