"""Verdicts of the stability study on what was trained."""

import numpy as np

from separatrix.inference import Interval, difference, wilson
from separatrix.studies.claims import Evidence, Finding, Verdict, all_of, decide_above, decide_below
from separatrix.studies.stability import claims as c
from separatrix.studies.stability.recipes import CellKey
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.trials import (
    Rows,
    at_edge,
    exponent_between,
    good,
    ratio_of,
    slope_interval,
    values,
)
from separatrix.theory.stability import shared_on_sphere

LEVEL_GROWTH = 0.25  # growth in d below d^¼ counts as none
INTERPOLATED = (
    0.1  # training MSE, as a share of the noise energy, below which a network interpolates
)
SETTLED = 0.02  # a loss that falls by less than this share over the last fifth of a run has settled


def missing(claim: c.Claim, part: str) -> Finding:
    """The finding of a claim whose part was not run, or not finished.

    >>> missing(c.FLAT, "flat").verdict
    'undecided'
    """
    return Finding(
        claim,
        "undecided",
        f"the part `{part}` has no finished runs (see the setting `parts`, or give more time)",
        None,
    )


def _edge_words(rows: list[dict], edge: float) -> tuple[bool, str]:
    """Whether all runs ended at the edge, and if not, how many did."""
    there = sum(at_edge(row, edge) for row in rows)
    words = (
        ""
        if there == len(rows)
        else f"{there} of {len(rows)} runs ended within 5 % of the edge 2/η = {edge:g}"
    )
    return there == len(rows), words


def judge_gap(s: StabilitySettings, rows: Rows, network: str) -> Finding:
    """How the gap grows from the smallest to the largest dimension, at the largest sample size.

    >>> judge_gap(StabilitySettings(), {}, "CNN").verdict
    'undecided'
    """
    claim = c.GAP_PATCH if network == "CNN" else c.GAP_FULL
    low, high, samples = min(s.dimensions), max(s.dimensions), max(s.samples)
    first, last = (rows.get(CellKey("sphere", network, d, samples), []) for d in (low, high))
    found = ratio_of(values(last, "regression.gap"), values(first, "regression.gap"))
    if found is None or low == high:
        return missing(claim, "sphere")
    growth = exponent_between(low, high, found)
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
    met, outside = _edge_words([*good(first), *good(last)], s.edge)
    words = (
        f"the gap goes as d^{growth.estimate:.2g} [{growth.low:.2g}, {growth.high:.2g}] (mean "
        f"{level:.3g}) at n = {samples}, m = {s.patch}"
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
    parts = [
        (cell, row)
        for cell, each in rows.items()
        if cell.part in ("sphere", "flat", "mixing")
        for row in good(each)
    ]
    if not parts:
        return missing(c.REACHES, "sphere")
    found = wilson(sum(at_edge(row, s.edge) for _, row in parts), len(parts))
    sharp = [row["sharpness"] / s.edge for _, row in parts]
    words = (
        f"{found.estimate:.0%} of {len(parts)} runs ended within 5 % of 2/η, having been there "
        f"before; final λη/2 lies in [{min(sharp):.3g}, {max(sharp):.3g}]"
    )
    return Finding(
        c.REACHES,
        decide_above(found, 0.5),
        words,
        True,
        (Evidence.of("share of runs that end at the edge", found, 0.5),),
    )


def judge_flat(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether noise is interpolated at the edge.

    >>> judge_flat(StabilitySettings(), {}).verdict
    'undecided'
    """
    runs = good(rows.get(CellKey("flat", "CNN", 0, s.flat_samples), []))
    if not runs:
        return missing(c.FLAT, "flat")
    shares = [row["regression.mse"] / row["regression.noise"] for row in runs]
    found = _mean(shares)
    late = [
        1.0 - row["trace.loss"][-1] / row["trace.loss"][-max(2, len(row["trace.loss"]) // 5)]
        for row in runs
    ]
    met, outside = _edge_words(runs, s.edge)
    verdict = decide_below(found, INTERPOLATED)
    words = (
        f"the training MSE is {found.estimate:.2g} of the noise energy, at sharpness "
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
    evidence = Evidence.of("training MSE / noise energy", found, INTERPOLATED)
    return Finding(c.FLAT, verdict, words, met, (evidence,), outside)


def judge_mixing(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether each further batch of random views lowers the noise that is fitted; cells share data,
    so seeds are paired.

    >>> judge_mixing(StabilitySettings(), {}).verdict
    'undecided'
    """
    fits: dict[int, dict[int, float]] = {}
    for count in s.mix_views:
        cell = rows.get(CellKey("mixing", "CNN", count, s.mix_samples), [])
        fits[count] = {
            row["seed"]: row["regression.fitted"] / row["regression.noise"] for row in good(cell)
        }
    verdicts: list[Verdict] = []
    evidence = []
    for fewer, more in zip(s.mix_views, s.mix_views[1:]):
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
        return missing(c.MIXING, "mixing")
    means = ", ".join(
        f"{np.mean(list(fits[count].values())):.2f} (R = {count})"
        for count in s.mix_views
        if fits[count]
    )
    met, outside = _edge_words(
        [row for cell, each in rows.items() if cell.part == "mixing" for row in good(each)], s.edge
    )
    words = f"clean MSE on the training points, as a share of the noise energy: {means}"
    return Finding(c.MIXING, all_of(verdicts), words, met, tuple(evidence), outside)


def judge_vocabulary(s: StabilitySettings, rows: Rows) -> Finding:
    """The shared network's root-mean-square error against the other two's.

    >>> judge_vocabulary(StabilitySettings(), {}).verdict
    'undecided'
    """
    errors = {}
    for name in ("CNN", "LCN", "FCN"):
        cell = rows.get(CellKey("vocabulary", name, 0, s.word_samples), [])
        errors[name] = [float(np.sqrt(each)) for each in values(cell, "regression.excess")]
    pairs = {name: ratio_of(errors["CNN"], errors[name]) for name in ("LCN", "FCN")}
    known = {name: each for name, each in pairs.items() if each is not None}
    if len(known) < 2:
        return missing(c.VOCABULARY, "vocabulary")
    evidence = tuple(
        Evidence.of(f"L2 error, CNN / {name}", each, 0.5) for name, each in known.items()
    )
    verdict = all_of([decide_below(each, 0.5) for each in known.values()])
    means = ", ".join(f"{name} {np.mean(each):.3f}" for name, each in errors.items())
    words = f"test L2 errors {means}; a constant has about 1"
    outside = "the label and its noise are a reconstruction" + (
        "" if s.word_views * s.word_patch == 500 else "; smaller than the paper's d = 500"
    )
    return Finding(c.VOCABULARY, verdict, words, False, evidence, outside)


def judge_images(s: StabilitySettings, rows: Rows, source: str) -> Finding:
    """Final excess risks against each other and against the best constant's, with the best of the
    curve in words.

    >>> judge_images(StabilitySettings(), {}, "cifar10").verdict
    'undecided'
    """
    runs = {
        name: good(rows.get(CellKey("images", name, 0, s.image_samples), []))
        for name in ("CNN", "FCN")
    }
    final = {name: [row["regression.excess"] for row in each] for name, each in runs.items()}
    constant = [row["regression.constant"] for row in runs["CNN"]]
    full, flat = ratio_of(final["CNN"], final["FCN"]), ratio_of(final["CNN"], constant)
    if full is None or flat is None:
        return missing(c.IMAGES, "images")
    parts: list[Verdict] = [decide_below(full, 1.0), decide_below(flat, 1.0)]
    evidence = (
        Evidence.of("final excess, CNN / FCN", full, 1.0),
        Evidence.of("final excess, CNN / best constant", flat, 1.0),
    )
    best = {
        name: float(np.mean([min(row["trace.risk"]) for row in each]))
        for name, each in runs.items()
    }
    words = (
        f"final excess CNN {np.mean(final['CNN']):.3g}, FCN {np.mean(final['FCN']):.3g}, constant "
        f"{np.mean(constant):.3g}; at their best moments (which a learner cannot know) "
        f"{best['CNN']:.3g} and {best['FCN']:.3g}"
    )
    same = source.startswith("cifar10") and (s.image_side, s.image_samples, s.image_width) == (
        32,
        1024,
        1024,
    )
    outside = (
        ""
        if same
        else f"{source.partition('@')[0]} at {s.image_side} x {s.image_side}, n = "
        f"{s.image_samples}, K = {s.image_width}"
    )
    return Finding(c.IMAGES, all_of(parts), words, same, evidence, outside)


def judge_certificate(s: StabilitySettings, rows: Rows) -> Finding:
    """Both sides of the bound at every measured moment of every run that has them.

    >>> judge_certificate(StabilitySettings(), {}).verdict
    'undecided'
    """
    shares: list[float] = []
    for each in rows.values():
        for row in good(each):
            if "trace.weighted_path_norm" in row and row["trace.weighted_path_norm"] is not None:
                left, rest, sharp = (
                    np.array(row[f"trace.{n}"])
                    for n in ("weighted_path_norm", "weighted_path_norm.allowance", "sharpness")
                )
                # The learner's loss is MSE: its sharpness is twice that of ½·MSE, which enters the
                # bound by a half.
                shares += (left / (sharp / 4.0 + rest)).tolist()
    if not shares:
        return missing(c.CERTIFICATE, "sphere")
    kept = sum(share <= 1.0 + 1e-4 for share in shares)
    found = wilson(kept, len(shares))
    verdict: Verdict = "supported" if kept == len(shares) else "refuted"
    words = (
        f"it held at {kept} of {len(shares)} measured moments; the left side was at most "
        f"{max(shares):.2f} of the right, {np.median(shares):.2f} in the median"
    )
    return Finding(
        c.CERTIFICATE,
        verdict,
        words,
        True,
        (Evidence.of("share of moments at which the bound held", found, 1.0),),
    )


def judge_rates(s: StabilitySettings, rows: Rows) -> Finding:
    """The slope of the shared network's gap in n, dimension by dimension, against the reconstructed
    exponent.

    >>> judge_rates(StabilitySettings(), {}).verdict
    'undecided'
    """
    verdicts: list[Verdict] = []
    evidence, runs = [], []
    for dimension in s.dimensions:
        cells = [(n, rows.get(CellKey("sphere", "CNN", dimension, n), [])) for n in s.samples]
        found = slope_interval([(n, values(each, "regression.gap")) for n, each in cells])
        if found is not None:
            rate = float(np.asarray(shared_on_sphere(s.patch, dimension).upper))
            verdicts.append(decide_below(found, -rate))
            evidence.append(
                Evidence.of(f"slope of log gap in log n, CNN, d = {dimension}", found, -rate)
            )
            runs += [row for _, each in cells for row in good(each)]
    if not verdicts:
        return missing(c.RATES, "sphere")
    _, outside = _edge_words(runs, s.edge)
    words = "; ".join(
        f"{each.name}: {each.estimate:.2f} [{each.low:.2f}, {each.high:.2f}], exponent "
        f"{each.reference:.2f} [reconstruction]"
        for each in evidence
    )
    verdict = all_of(verdicts)
    if (
        verdict == "refuted"
    ):  # an upper bound up to constants says nothing about a slope over a few sizes
        verdict, words = (
            "undecided",
            f"{words}; a slower fall over these sizes does not contradict a bound with unknown "
            "constants",
        )
    return Finding(
        c.RATES,
        verdict,
        words,
        False,
        tuple(evidence),
        f"a few finite sizes; {outside}".rstrip("; "),
    )


def _mean(numbers: list[float]) -> Interval:
    from separatrix.inference import mean_interval

    return mean_interval(numbers)
