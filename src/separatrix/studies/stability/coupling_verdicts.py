"""The claim on the mechanism: weight sharing couples filters to the patches."""

import math

import numpy as np

from separatrix.inference.estimates import Estimate, Known, PairedDifference, RatioOf
from separatrix.studies.cells import Row
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Comparison, Together
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.sphere_verdicts import judged
from separatrix.studies.stability.trials import Rows, StabilityCell, finished

COUPLES = Claim(
    "ours.sharing-couples-filters",
    "Weight sharing couples filters to the patches: from the same samples, the filters of a shared "
    "network lie nearer to the subspace of the patches than those of an unshared one, span fewer "
    "directions, and are active on more patches of the sphere.",
    "ours; a reading of the abstract of Liang et al., by which sharing couples learned filters to "
    "the low-dimensional patch manifold",
    "two-layer ReLU networks; filters weighted by their path norms",
    Together(
        (
            (
                "subspace",
                Comparison("share of filters in the patch subspace, CNN minus LCN", "above", 0.0),
            ),
            ("rank", Comparison("effective rank of filters, CNN over LCN", "below", 1.0)),
            ("activation", Comparison("activation rate on the sphere, CNN minus LCN", "above", 0)),
        )
    ),
)


def judge_couples(s: StabilitySettings, rows: Rows) -> Finding:
    """Filters of shared and unshared networks on the same samples.

    >>> judge_couples(StabilitySettings(), {}).verdict
    'not measured'
    """
    word = {
        name: rows.get(StabilityCell("vocabulary", name, 0, s.vocabulary.samples), [])
        for name in ("CNN", "LCN")
    }
    inside = _paired(word["CNN"], word["LCN"], "coupling.inside")
    rank = _paired(word["CNN"], word["LCN"], "coupling.rank")
    pairs = {}
    for cell, members in rows.items():
        if cell.part == "sphere" and cell.network == "LCN":
            pair = _paired(
                judged(s, rows.get(cell._replace(network="CNN"), [])),
                judged(s, members),
                "activation.weighted",
            )
            if pair is not None:
                pairs[f"m = {cell.patch}, n = {cell.samples}, d = {cell.number}"] = pair
    active = _pooled_differences(pairs)
    evidence = {
        "subspace": None if inside is None else {"vocabulary": PairedDifference(*inside)},
        "rank": None if rank is None else {"vocabulary": RatioOf(*rank, paired=True)},
        "activation": active or None,
    }
    angles = _paired(word["CNN"], word["LCN"], "coupling.angle")
    words = ""
    if angles is not None:
        words = (
            f"mean angle of filters to the patch subspace {np.mean(angles[0]):.0f}° shared, "
            f"{np.mean(angles[1]):.0f}° unshared"
        )
    if not any(evidence.values()):
        words = (
            "no unshared networks; run them with `--set parts=sphere,vocabulary --set "
            f"sphere.unshared={max(s.sphere.patches)}`"
        )
    return judge(COUPLES, evidence, reason=words)


def _pooled_differences(
    pairs: dict[str, tuple[tuple[float, ...], tuple[float, ...]]],
) -> dict[str, Estimate | None]:
    """The mean difference of each cell's pairs. As for gaps, its error is the larger of its own and
    of the spread that all cells share: the few seeds of a cell by themselves would decide nothing.
    """
    differences = {name: np.subtract(*pair) for name, pair in pairs.items()}
    freedom = sum(len(values) - 1 for values in differences.values())
    squares = sum(float(v.var(ddof=1)) * (len(v) - 1) for v in differences.values())
    return {
        name: Known(
            float(v.mean()),
            math.sqrt(max(float(v.var(ddof=1)), squares / freedom, 1e-12) / len(v)),
            float(freedom),
            len(v),
            "pooled spread over seeds",
        )
        for name, v in differences.items()
    }


def _paired(
    first: list[Row], second: list[Row], name: str
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """A column of two cells at the seeds that both have; None with fewer than two of them."""
    columns = [
        {row["seed"]: float(row[name]) for row in finished(rows) if row.get(name) is not None}
        for rows in (first, second)
    ]
    seeds = sorted(set(columns[0]) & set(columns[1]))
    if len(seeds) < 2:
        return None
    return tuple(columns[0][seed] for seed in seeds), tuple(columns[1][seed] for seed in seeds)
