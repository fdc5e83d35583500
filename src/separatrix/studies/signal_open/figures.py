"""Tables and figures of the study of open questions."""

import math
from collections.abc import Mapping

from separatrix.inference import Threshold
from separatrix.studies.claims import Finding
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.search import SearchResult
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal_open.settings import (
    COUNTED,
    STARTS,
    VARIANTS,
    OpenCell,
    OpenSettings,
)
from separatrix.studies.signal_open.trials import Choices, Floors, target_of
from separatrix.studies.signal_open.verdicts import (
    OPEN,
    PAIRS,
    fcn_floor,
    noise_ratios,
    ratios,
    trained,
    untrained,
    variance_factors,
)
from separatrix.theory.signal import bounds_for

BOUNDS = (
    "95 % intervals; a hollow mark is the bound of a censored search (at least, for the larger "
    "networks; at most, for the CNN). Networks that did not train are left out."
)


def variant_figures(s: OpenSettings, searches: dict[OpenCell, SearchResult]) -> list[Figure]:
    """For every number of patches, the thresholds of the three networks on each variant of one
    dimension and noise.
    """
    out, names = [], [name for name in VARIANTS if name not in COUNTED]
    sizes = {c.patches for c in searches if c.network in NETWORKS and c.variant in names}
    for k in sorted(sizes):
        series: list[Series] = []
        for network in NETWORKS:
            cells = [(name, searches.get(OpenCell(name, network, k))) for name in names]
            series += Series.bounded(
                network, [(name, search.threshold) for name, search in cells if search is not None]
            )
        out.append(
            Figure(
                f"variants-{k}",
                f"Samples needed on each variant, k = {k}, d = {s.dimension}",
                Axis(""),
                Axis("samples m*", log=True),
                tuple(series),
                BOUNDS,
            )
        )
    return out


def ratio_figure(searches: dict[OpenCell, SearchResult], floors: Floors) -> Figure:
    """What sharing and locality save on each variant, where both networks trained."""
    series: list[Series] = []
    known = trained(searches, floors)
    for smaller, larger in PAIRS:
        points = [
            (f"{name}, k = {k}", gap.interval(0.95))
            for name in VARIANTS
            for k, gap in ratios(known, name, larger, smaller).items()
        ]
        series += Series.bounded(f"{larger} over {smaller}", points)
    names = [x for line in series for x in line.x]
    if names:
        series.append(Series("no difference", (names[0], names[-1]), (1.0, 1.0), role="baseline"))
    return Figure(
        "ratios",
        "What sharing and locality save",
        Axis(""),
        Axis("ratio of samples", log=True),
        tuple(series),
        "95 % intervals; a hollow mark is a bound where a search was censored. Networks that did "
        "not train are left out.",
        headline=True,
    )


def answer(findings: tuple[Finding, ...]) -> str:
    """How many variants keep the order, by verdict; empty where none was measured.

    >>> answer(())
    ''
    """
    by_verdict: dict[str, list[str]] = {}
    for finding in findings:
        if finding.claim in OPEN.values() and finding.verdict != "not measured":
            name = finding.claim.id.rpartition(".")[2]
            by_verdict.setdefault(finding.verdict, []).append(name)
    words = [f"{verdict} for {', '.join(names)}" for verdict, names in by_verdict.items()]
    return (
        f"The order CNN < LCN < FCN beyond the paper's task: {'; '.join(words)}." if words else ""
    )


def start_figure(s: OpenSettings, searches: dict[OpenCell, SearchResult], floors: Floors) -> Figure:
    """The FCN from a random start, from inside the CNN and by Adam, beside the CNN, the law of the
    FCN's lower bound, and its floor.
    """
    series: list[Series] = []
    plain = {
        (cell.network, cell.patches): search.threshold
        for cell, search in searches.items()
        if cell.variant == "plain"
    }
    cells = sorted(set(s.start_patches))
    for network in ("CNN", "FCN", *STARTS):
        series += Series.bounded(
            network, [(f"k = {k}", plain[network, k]) for k in cells if (network, k) in plain]
        )
    random = [
        (k, plain["FCN", k].estimate)
        for k in cells
        if ("FCN", k) in plain and plain["FCN", k].censoring == "none"
    ]
    if len(random) > 1:
        bound = bounds_for("FCN")[0]
        values = [bound.value(k, s.dimension, s.noise) for k, _ in random]
        constant = math.exp(sum(math.log(m / v) for (_, m), v in zip(random, values)) / len(random))
        series.append(
            Series(
                "FCN law k²d",
                tuple(f"k = {k}" for k, _ in random),
                tuple(constant * v for v in values),
                role="law",
            )
        )
    measured = [k for k in cells if ("FCN", k) in plain]
    if measured:
        least = [fcn_floor(s, floors, k) for k in measured]
        names = tuple(f"k = {k}" for k in measured)
        series.append(Series("floor of the FCN", names, tuple(map(float, least)), role="floor"))
    return Figure(
        "starts",
        "The same FCN under other algorithms",
        Axis(""),
        Axis("samples m*", log=True),
        tuple(series),
        "95 % intervals; hollow marks are bounds of censored searches. The law of the lower bound "
        "goes through the points of the randomly started FCN and, like the floor, speaks only of "
        "learners equivariant under O(kd).",
    )


def open_table(
    s: OpenSettings, searches: dict[OpenCell, SearchResult], floors: Floors, tuned: Choices
) -> TableData:
    """Every threshold with its interval, the target and the risks beside which it stands."""
    rows, failed = [], untrained(searches, floors)
    for cell, search in searches.items():
        floor = floors[cell.variant, cell.patches]
        rows.append(
            (
                cell.variant,
                cell.network,
                cell.patches,
                s.dimension_of(cell.variant),
                "not trained" if cell in failed else str(search.threshold),
                search.threshold.trials,
                f"x{tuned[cell.variant, cell.network].option:g}",
                round(target_of(s, floor, cell.variant), 4),
                round(floor.risk, 4),
                round(floor.error, 5),
                floor.rule,
                round(floor.linear, 4),
            )
        )
    columns = (
        "variant",
        "network",
        "k",
        "d",
        "m*",
        "trials",
        "learning rate",
        "target",
        "floor",
        "its standard error",
        "the floor's rule",
        "risk of the linear rule that knows the signal",
    )
    return TableData(
        "thresholds",
        "Samples needed, with 95 % intervals (<= and >= mark censored searches)",
        columns,
        tuple(rows),
    )


def effective_table(known: Mapping[OpenCell, Threshold]) -> TableData:
    """The effective variance of noise that is uneven or not Gaussian: samples over those of the
    plain task, beside what three ways of averaging would give.
    """
    rows = []
    for cell, gap in noise_ratios(known).items():
        interval = gap.interval(0.95)
        factors = variance_factors(cell.patches) if cell.variant == "uneven" else {"mean": 1.0}
        inside = [name for name, f in factors.items() if interval.low <= f <= interval.high]
        shown = [f"{factors[n]:.3g}" if n in factors else "" for n in variance_factors(2)]
        rows.append((*cell, str(interval), *shown, ", ".join(inside) or "none of them"))
    columns = (
        *("variant", "network", "k", "samples over the plain task's", "by the mean variance"),
        *("by the harmonic mean", "by the largest", "in the interval"),
    )
    title = "Which variance counts? Samples over those with even Gaussian noise, 95 % intervals"
    return TableData("effective-noise", title, columns, tuple(rows))
