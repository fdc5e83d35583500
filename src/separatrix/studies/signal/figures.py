"""Tables and figures of the sample-complexity study."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.inference import (
    Cell,
    Interval,
    Law,
    Threshold,
    cell_of,
    fit_exponents,
    rank_laws,
    standard_laws,
    wilson,
)
from separatrix.inference.bounds import largest_constant, smallest_constant
from separatrix.studies.outcome import Axis, Figure, Heatmap, Series, TableData
from separatrix.studies.search import SearchResult
from separatrix.studies.signal.settings import NETWORKS, REGIMES, SignalSettings
from separatrix.studies.signal.trials import (
    TWO_STEPS,
    Searches,
    SearchKey,
    SignalCell,
    SignalRecipe,
    Thresholds,
    estimators_of,
    not_trained,
    reaches,
    recipe_neighbours,
    signal_cells,
)
from separatrix.studies.signal.verdicts import (
    BOUNDS,
    CNN_UPPER,
    FCN_LOWER,
    LCN_LOWER,
    LCN_UPPER,
    design_of,
    growth_cells,
    is_inside,
    key_of,
    thresholds_of,
)
from separatrix.studies.tuning import Choice, is_interior
from separatrix.theory.signal import (
    bayes_risk,
    best_linear_risk,
    bounds_for,
    floor_alignment,
    true_signal_risk,
)

Tuned = Mapping[SignalCell, Choice[SignalRecipe]]
NAMES = {"genie": "genie", "em": "EM", "average": "averaging", "lsa": "averaging + LSA step"}
BAND_LAWS: dict[str, tuple[tuple[Law, bool], ...]] = {
    "CNN": ((CNN_UPPER, True),),
    "LCN": ((LCN_UPPER, True), (LCN_LOWER, False)),
    "FCN": ((FCN_LOWER, False),),
}


def middle(values: tuple[int, ...]) -> int:
    """The value at which the other size varies: the lower one of the two in the middle.

    >>> middle((10, 20, 40, 80))
    20
    """
    return sorted(values)[(len(values) - 1) // 2]


def common_sizes(s: SignalSettings) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The patches and the dimensions that all three grids have.

    >>> common_sizes(SignalSettings())
    ((3, 6, 12), (6, 12))
    """
    grids = (s.shared, s.local, s.full)
    patches = set.intersection(*(set(grid.patches) for grid in grids))
    dimensions = set.intersection(*(set(grid.dimensions) for grid in grids))
    return tuple(sorted(patches)), tuple(sorted(dimensions))


def headline_figures(
    s: SignalSettings, searches: Searches, regimes: tuple[str, ...] = ("root", "fixed")
) -> tuple[Figure, ...]:
    """m* against k and against d: three networks with their bounds and floors in one picture."""
    patches, dimensions = common_sizes(s)
    if not patches or not dimensions:
        return ()
    descent = thresholds_of(s, searches)
    figures = []
    for regime in (regime for regime in regimes if regime in s.regimes):
        for axis, letter, fixed in (
            ("patches", "k", middle(dimensions)),
            ("dimension", "d", middle(patches)),
        ):
            other = f"d = {fixed}" if letter == "k" else f"k = {fixed}"
            series = [
                part
                for network in NETWORKS
                for part in _network_series(s, descent, regime, network, axis, fixed)
            ]
            figures.append(
                Figure(
                    f"samples-{letter}-{regime}",
                    f"Samples needed against {letter} ({other}, {_noise(s, regime)})",
                    Axis(letter, log=True),
                    Axis("samples m*", log=True),
                    tuple(series),
                    f"Points: samples at which half of the trials reach patch alignment "
                    f"{s.alignment:g}, with 95 % intervals. Dashed: the paper's bounds, each with "
                    "the constant that covers every measured cell of its network inside the "
                    "noise condition. Thin: the floor, which no equivariant learner can pass.",
                )
            )
    return tuple(figures)


def _noise(s: SignalSettings, regime: str) -> str:
    share = REGIMES[regime]
    if share is None:
        return f"σ = {s.noise:g}"
    return "σ = 1/√k" if share == 1 else f"σ = {share:g}/√k"


def _network_series(
    s: SignalSettings,
    descent: Mapping[SignalCell, Threshold],
    regime: str,
    network: str,
    axis: str,
    fixed: int,
) -> list[Series]:
    """A network's thresholds along one line of the grid, its bounds and its floor."""
    other = "dimension" if axis == "patches" else "patches"
    cells = sorted(
        (
            cell
            for cell in descent
            if (cell.regime, cell.network) == (regime, network) and getattr(cell, other) == fixed
        ),
        key=lambda cell: getattr(cell, axis),
    )
    if not cells:
        return []
    xs = tuple(getattr(cell, axis) for cell in cells)
    out = Series.bounded(network, list(zip(xs, (descent[cell] for cell in cells))))
    every = [
        point
        for cell, threshold in descent.items()
        if cell.network == network
        and is_inside(s, cell)
        and (point := cell_of(design_of(s, cell), threshold))
    ]
    for law, upper in BAND_LAWS[network]:
        constant = _constant(every, law, upper)
        if constant is None:
            continue
        values = [
            float(constant * law.values({k: np.array([v]) for k, v in design_of(s, c).items()})[0])
            for c in cells
        ]
        sign = "≤" if upper else "≥"
        out.append(
            Series(f"{network} {sign} {constant:.2g}·{law.formula}", xs, tuple(values), role="law")
        )
    floors = [float(s.floor(network, regime, cell.patches, cell.dimension)) for cell in cells]
    out.append(Series(f"floor of the {network}", xs, tuple(floors), role="baseline"))
    return out


def _constant(cells: list[Cell], law: Law, upper: bool) -> float | None:
    if not cells:
        return None
    found = (smallest_constant if upper else largest_constant)(cells, law).estimate
    return found if math.isfinite(found) else None


def efficiency_maps(s: SignalSettings, searches: Searches) -> tuple[Heatmap, ...]:
    """How many times the floor's samples tuned descent takes, over k and d, for every network of
    the first regime.
    """
    descent, regime = thresholds_of(s, searches), s.regimes[0]
    return tuple(
        heatmap
        for network in NETWORKS
        if (heatmap := _efficiency_map(s, descent, regime, network)) is not None
    )


def _efficiency_map(
    s: SignalSettings, descent: Mapping[SignalCell, Threshold], regime: str, network: str
) -> Heatmap | None:
    pairs = [
        pair for pair in s.cells(regime, network) if SignalCell(regime, network, *pair) in descent
    ]
    if not pairs:
        return None
    rows = tuple(sorted({k for k, _ in pairs}))
    columns = tuple(sorted({d for _, d in pairs}))
    values, texts, hatched = [], [], []
    for k in rows:
        cells = [SignalCell(regime, network, k, d) for d in columns]
        known = [descent.get(cell) for cell in cells]
        ratios = [_over_floor(s, cell, t) for cell, t in zip(cells, known)]
        values.append(tuple(None if ratio is None else 1 / ratio for ratio in ratios))
        texts.append(tuple("" if ratio is None else f"{1 / ratio:.2g}" for ratio in ratios))
        hatched.append(tuple(t is not None and t.censoring != "none" for t in known))
    return Heatmap(
        f"efficiency-{network.lower()}",
        f"Efficiency of tuned descent on the {network} ({_noise(s, regime)})",
        Axis("dimension d"),
        Axis("patches k"),
        Axis("floor over m*"),
        columns,
        rows,
        tuple(values),
        tuple(texts),
        tuple(hatched),
        "The floor's samples over those that tuned descent needs; 1 cannot be passed. Hatched: "
        "only a bound is known.",
    )


def _over_floor(s: SignalSettings, cell: SignalCell, threshold: Threshold | None) -> float | None:
    if threshold is None:
        return None
    known = next(
        (v for v in (threshold.estimate, threshold.low, threshold.high) if 0 < v < math.inf), None
    )
    floor = s.floor(cell.network, cell.regime, cell.patches, cell.dimension)
    return None if known is None else known / floor


def middle_cells(s: SignalSettings) -> list[SignalCell]:
    """One cell per network, the same for all of them: the middle of the common grid.

    >>> [cell.patches for cell in middle_cells(SignalSettings())]
    [6, 6, 6]
    """
    patches, dimensions = common_sizes(s)
    if not patches or not dimensions:
        return []
    return [
        SignalCell(s.regimes[0], network, middle(patches), middle(dimensions))
        for network in NETWORKS
    ]


def curve_figures(s: SignalSettings, searches: Searches) -> tuple[Figure, ...]:
    """Learning curves in the middle cell: alignment beside the floor, and the share that succeeds."""
    cells = [cell for cell in middle_cells(s) if key_of(cell) in searches]
    if not cells:
        return ()
    aligned, shares = [], []
    for cell in cells:
        rows = searches[key_of(cell)].rows
        sizes = rows["samples"].to_numpy()
        groups = {int(m): rows[sizes == m] for m in np.unique(sizes) if (sizes == m).sum() >= 3}
        points = [(m, _spread(own["patch_alignment"])) for m, own in groups.items()]
        aligned.append(Series.of(cell.network, points))
        sizes = np.unique(np.geomspace(max(sizes.min(), 1), sizes.max(), 24))
        best = floor_alignment(
            cell.network,
            cell.patches,
            cell.dimension,
            s.sigma(cell.regime, cell.patches),
            sizes.astype(int),
        )
        aligned.append(
            Series(
                f"floor of the {cell.network}",
                tuple(int(size) for size in sizes),
                tuple(float(a) for a in np.atleast_1d(best)),
                role="baseline",
            )
        )
        success = reaches(s, cell, "alignment")
        shares.append(
            Series.of(
                cell.network,
                [(m, _share(own, success)) for m, own in groups.items()],
            )
        )
    where = f"k = {cells[0].patches}, d = {cells[0].dimension}, {_noise(s, cells[0].regime)}"
    return (
        Figure(
            "alignment",
            f"Patch alignment against the samples ({where})",
            Axis("samples", log=True),
            Axis("patch alignment"),
            tuple(aligned),
            "Mean and range over seeds; thin: the largest mean that an equivariant learner can "
            f"have. The threshold is where half of the trials are above {s.alignment:g}.",
        ),
        Figure(
            "curves",
            f"Share of trials that reach the alignment ({where})",
            Axis("samples", log=True),
            Axis("share"),
            tuple(shares),
            "Each point: the trials of one sample size, with Wilson intervals. Searches put most "
            "trials near the threshold.",
        ),
    )


def _share(rows: Any, success: Any) -> Interval:
    return wilson(sum(success(row) for row in rows.to_dict("records")), len(rows))


def _spread(values: Any) -> Interval:
    numbers = np.nan_to_num(np.asarray(values, float))
    ends = float(numbers.min()), float(numbers.max())
    return Interval(float(numbers.mean()), *ends, 1.0, "range", len(numbers))


def threshold_table(
    s: SignalSettings, searches: Searches, estimators: Thresholds, tuned: Tuned
) -> TableData:
    """Every cell: thresholds of descent at both targets and at neighbouring rates, of the baselines
    and the two-step algorithms, the floor, the bounds, and the risks of rules that know the signal.
    """
    rows = []
    for cell in signal_cells(s):
        if key_of(cell) not in searches:
            continue
        sigma = s.sigma(cell.regime, cell.patches)
        own = searches[key_of(cell)]
        floor = s.floor(cell.network, cell.regime, cell.patches, cell.dimension)
        others = [
            _text(searches.get(key))
            for key in (
                key_of(cell, target="risk"),
                key_of(cell, "slower"),
                key_of(cell, "faster"),
                *(key_of(cell, algorithm) for algorithm in TWO_STEPS),
            )
        ]
        baselines = [
            str(estimators[cell, name]) if (cell, name) in estimators else "" for name in NAMES
        ]
        value = own.threshold.estimate
        rows.append(
            (
                cell.regime,
                cell.network,
                cell.patches,
                cell.dimension,
                round(sigma, 4),
                "not trained" if not_trained(s, cell, own) else str(own.threshold),
                own.threshold.trials,
                *others,
                *baselines,
                floor,
                round(floor / value, 3) if math.isfinite(value) else None,
                "; ".join(
                    f"{bound.side} {bound.value(cell.patches, cell.dimension, sigma):.3g}"
                    for bound in bounds_for(cell.network)
                ),
                "inside" if is_inside(s, cell) else "outside",
                tuned[cell].option.describe() if cell in tuned else "",
                round(true_signal_risk(cell.patches, sigma, s.bias), 4),
                round(best_linear_risk(cell.patches, sigma), 4),
                round(bayes_risk(cell.patches, sigma).risk, 4),
            )
        )
    columns = (
        *("noise", "network", "k", "d", "σ", "m*", "trials", "m* by risk"),
        *("m* at half the rate", "m* at twice the rate", *TWO_STEPS, *NAMES.values()),
        *("floor", "efficiency", "bounds (constant 1)", "noise condition", "recipe"),
        *("risk with the signal known", "best linear risk", "Bayes risk"),
    )
    title = "Samples needed, with 95 % intervals (<= and >= mark censored searches)"
    return TableData("thresholds", title, columns, tuple(rows))


def _text(search: SearchResult | None) -> str:
    return "" if search is None else str(search.threshold)


def efficiency_table(s: SignalSettings, searches: Searches, estimators: Thresholds) -> TableData:
    """For every network, regime and algorithm: the smallest, the median and the largest multiple of
    the floor's samples over cells.
    """
    algorithms: dict[tuple[str, str], dict[SignalCell, Threshold]] = {}
    for key, search in searches.items():
        if key.target == "alignment" and key.learner in ("descent", *TWO_STEPS):
            own = algorithms.setdefault((key.cell.network, key.learner), {})
            if not not_trained(s, key.cell, search):
                own[key.cell] = search.threshold
    for network in NETWORKS:
        for name in estimators_of(network):
            algorithms[network, NAMES[name]] = {
                cell: t
                for (cell, e), t in estimators.items()
                if (cell.network, e) == (network, name)
            }
    rows = []
    for (network, name), thresholds in sorted(algorithms.items()):
        for regime in s.regimes:
            ratios = [
                t.estimate / s.floor(network, regime, cell.patches, cell.dimension)
                for cell, t in thresholds.items()
                if cell.regime == regime and t.censoring == "none"
            ]
            if ratios:
                numbers = (min(ratios), float(np.median(ratios)), max(ratios))
                rows.append(
                    (network, name, regime, len(ratios), *(float(f"{n:.3g}") for n in numbers))
                )
    columns = ("network", "algorithm", "noise", "cells", "smallest", "median", "largest")
    title = "Samples over the floor's (1 cannot be passed by an equivariant algorithm)"
    return TableData("efficiency", title, columns, tuple(rows))


def constant_table(s: SignalSettings, searches: Searches) -> TableData:
    """The constant of every bound in every regime, inside and outside the noise condition."""
    descent, rows = thresholds_of(s, searches), []
    for name, (network, _, _, kind) in BOUNDS.items():
        for regime in s.regimes:
            for inside in (True, False):
                cells = [
                    point
                    for cell, t in descent.items()
                    if (cell.network, cell.regime) == (network, regime)
                    and is_inside(s, cell) == inside
                    and (point := cell_of(design_of(s, cell), t))
                ]
                if cells:
                    low, high = (
                        find(cells, kind.law) for find in (largest_constant, smallest_constant)
                    )
                    side = "inside" if inside else "outside"
                    shown = (f"{low:.3g}", f"{high:.3g}")
                    rows.append((name, kind.law.formula, regime, side, len(cells), *shown))
    columns = ("bound", "f", "noise", "condition", "cells", "smallest m*/f", "largest m*/f")
    title = "Constants of the bounds: m*/f over cells, with simultaneous 95 % intervals"
    return TableData("constants", title, columns, tuple(rows))


def exponent_table(s: SignalSettings, searches: Searches) -> TableData:
    """Exponents and the ranking of laws, with logarithms and additive constants, for every regime
    and network.
    """
    descent, rows = thresholds_of(s, searches), []
    for regime in s.regimes:
        for network in NETWORKS:
            own = {cell: t for cell, t in descent.items() if cell.regime == regime}
            cells = [
                point for inside in (True, False) for point in growth_cells(s, own, network, inside)
            ]
            if cells:
                rows.append((regime, network, *_growth(cells, regime)))
    columns = (
        *("noise", "network", "exponent in k", "exponent in d", "cells", "censored"),
        *("laws (AICc weight)", "verdict"),
    )
    return TableData("exponents", "Growth of the samples needed", columns, tuple(rows))


def _growth(cells: list[Cell], regime: str) -> tuple[Any, ...]:
    censored = sum(cell.censoring != "none" for cell in cells)
    try:
        fit = fit_exponents(cells, ("k", "d"), method="likelihood")
        exponents = str(fit.exponents["k"]), str(fit.exponents["d"])
    except SeparatrixError as error:
        return ("", "", len(cells), censored, "", str(error))
    try:
        laws = standard_laws(noise=(regime != "fixed",), logarithm=(False, True))
        ranking = rank_laws(cells, laws, constants=True)
        weights = ", ".join(f"{score.name} {score.weight:.2f}" for score in ranking.scores[:3])
        return (*exponents, len(cells), censored, weights, str(ranking))
    except SeparatrixError as error:
        return (*exponents, len(cells), censored, "", str(error))


def tuning_rows(s: SignalSettings, tuned: Tuned) -> TableData:
    """Every recipe that was tried in every cell, and whether the choice is interior."""
    rows = []
    for cell, choice in tuned.items():
        interior = is_interior(choice, lambda recipe: recipe_neighbours(s, recipe))
        for recipe, score in choice.scores.items():
            mark = "" if recipe != choice.option else "chosen" if interior else "chosen, at an edge"
            rows.append((*cell, recipe.describe(), round(1 - score, 4), mark))
    columns = ("noise", "network", "k", "d", "recipe", "patch alignment", "")
    title = "Tuning: mean patch alignment on seeds that no result uses"
    return TableData("tuning", title, columns, tuple(rows))


def searches_at(searches: Searches, learner: str, target: str) -> dict[SignalCell, SearchResult]:
    """The searches of one learner and target by cell.

    >>> searches_at({}, "descent", "risk")
    {}
    """
    wanted = (learner, target)
    keys: list[SearchKey] = [key for key in searches if (key.learner, key.target) == wanted]
    return {key.cell: searches[key] for key in keys}
