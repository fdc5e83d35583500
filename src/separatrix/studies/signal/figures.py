"""Tables and figures of the sample-complexity study."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.inference import (
    Cell,
    Interval,
    Law,
    Threshold,
    cell_of,
    wilson,
)
from separatrix.inference.bounds import largest_constant, smallest_constant
from separatrix.studies.claims import finite
from separatrix.studies.outcome import Axis, Figure, Heatmap, Series, TableData
from separatrix.studies.search import SearchResult
from separatrix.studies.signal.bound_figures import NAMES
from separatrix.studies.signal.bound_verdicts import (
    CNN_UPPER,
    FCN_LOWER,
    LCN_LOWER,
    LCN_UPPER,
    design_of,
    is_inside,
    thresholds_of,
)
from separatrix.studies.signal.settings import NETWORKS, REGIMES, SignalSettings, Tuning
from separatrix.studies.signal.trials import (
    TWO_STEPS,
    Searches,
    SignalCell,
    SignalRecipe,
    Thresholds,
    not_trained,
    reaches,
    recipe_neighbours,
    signal_cells,
)
from separatrix.studies.signal.verdicts import key_of
from separatrix.studies.tuning import Choice, is_interior
from separatrix.theory.signal import (
    bayes_risk,
    best_linear_risk,
    bounds_for,
    floor_alignment,
    true_signal_risk,
)

Tuned = Mapping[SignalCell, Choice[SignalRecipe]]
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
    ((6, 12), (12,))
    """
    grids = (s.shared, s.local, s.full)
    patches = set.intersection(*(set(grid.patches) for grid in grids))
    dimensions = set.intersection(*(set(grid.dimensions) for grid in grids))
    return tuple(sorted(patches)), tuple(sorted(dimensions))


def headline_figures(s: SignalSettings, searches: Searches) -> tuple[Figure, ...]:
    """m* against k and against d: three networks with their bounds and floors in one picture, for
    the first regime and for fixed noise.
    """
    patches, dimensions = common_sizes(s)
    if not patches or not dimensions:
        return ()
    descent = thresholds_of(s, searches)
    figures = []
    for regime in dict.fromkeys((s.regimes[0], *(r for r in s.regimes if REGIMES[r] is None))):
        series = [
            dataclasses.replace(part, panel=panel)
            for axis, fixed, panel in (
                ("patches", middle(dimensions), f"against patches k (d = {middle(dimensions)})"),
                ("dimension", middle(patches), f"against dimension d (k = {middle(patches)})"),
            )
            for network in NETWORKS
            for part in _network_series(s, descent, regime, network, axis, fixed)
        ]
        figures.append(
            Figure(
                f"samples-{regime}",
                f"Samples needed against k and against d ({_noise(s, regime)})",
                Axis("k or d", log=True, per_panel=True),
                Axis("samples m*", log=True),
                tuple(series),
                f"Points: samples at which half of the trials reach patch alignment "
                f"{s.alignment:g}, with 95 % intervals. Dashed: the paper's bounds, each with "
                "the constant that covers every measured cell of its network inside the "
                "noise condition; bands: the constant's simultaneous 95 % interval. Hollow: "
                "only a bound of m* is known. Dotted, hatched below: the floor, below which no "
                f"equivariant learner has a mean alignment of {s.alignment:g}.",
                headline=not figures,
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
            float(law.values({k: np.array([v]) for k, v in design_of(s, c).items()})[0])
            for c in cells
        ]
        line, low, high = (
            tuple(finite(end * value) for value in values)
            for end in (constant.estimate, constant.low, constant.high)
        )
        label = f"{network} {'≤' if upper else '≥'} {constant.estimate:.2g}·{law.formula}"
        out.append(Series(label, xs, line, low, high, role="law" if upper else "bound"))
    floors = [float(s.floor(network, regime, cell.patches, cell.dimension)) for cell in cells]
    out.append(Series(f"floor of the {network}", xs, tuple(floors), role="floor"))
    return out


def _constant(cells: list[Cell], law: Law, upper: bool) -> Interval | None:
    if not cells:
        return None
    found = (smallest_constant if upper else largest_constant)(cells, law)
    return found if math.isfinite(found.estimate) else None


def answer(s: SignalSettings, searches: Searches) -> str:
    """Samples beside floors in the middle cell; empty where a network is missing there.

    >>> answer(SignalSettings(), {})
    ''
    """
    descent, words = thresholds_of(s, searches), []
    cells = middle_cells(s)
    for cell in cells:
        if cell not in descent:
            return ""
        floor = s.floor(cell.network, cell.regime, cell.patches, cell.dimension)
        words.append(f"{_count(descent[cell])} samples on the {cell.network} (floor {floor})")
    if not words:
        return ""
    where = f"k = {cells[0].patches}, d = {cells[0].dimension}, {_noise(s, cells[0].regime)}"
    return f"At {where}, tuned descent needs {', '.join(words[:-1])} and {words[-1]}."


def _count(threshold: Threshold) -> str:
    match threshold.censoring:
        case "none":
            return _whole(threshold.estimate)
        case "left":
            return f"at most {_whole(threshold.high)}"
        case "right":
            return f"at least {_whole(threshold.low)}"
    return "an unknown number"


def _whole(samples: float) -> str:
    return f"{samples:,.0f}" if samples >= 10 else f"{samples:.2g}"


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
        texts.append(tuple(_efficiency_text(ratio, t) for ratio, t in zip(ratios, known)))
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
        "The floor's samples over those that tuned descent needs. The floor is about the mean "
        "alignment and m* about half of the trials, so cells of few samples can exceed 1 a little. "
        "Hatched: only a bound is known.",
        ends=(0.0, 1.0),
    )


def _efficiency_text(ratio: float | None, threshold: Threshold | None) -> str:
    """An efficiency with the sign of its bound where m* is only bounded."""
    if ratio is None or threshold is None:
        return ""
    sign = {"left": "≥ ", "right": "≤ "}.get(threshold.censoring, "")
    return f"{sign}{1 / ratio:.2g}"


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
    """Learning curves in the middle cell: alignment beside the floor, and share of successes."""
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
                f"best for the {cell.network}",
                tuple(int(size) for size in sizes),
                tuple(float(a) for a in np.atleast_1d(best)),
                role="law",
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
            "Mean and range over seeds; dashed: the largest mean that an equivariant learner can "
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


def tuning_rows(
    tuning: Tuning,
    tuned: Mapping[Any, Choice[SignalRecipe]],
    places: tuple[str, ...] = ("noise", "network", "k", "d"),
) -> TableData:
    """Every recipe that was tried in every cell, and whether the choice is interior.

    Args:
        tuning: the lattice of recipes.
        tuned: the choices by cell; a cell is a tuple, whose parts are the first columns.
        places: what the parts of a cell are called.

    >>> choice = Choice(SignalRecipe(), {SignalRecipe(): 0.25})
    >>> tuning_rows(Tuning(), {("CNN",): choice}, ("network",)).rows
    (('CNN', 'rate x1, bias 0.5, ramp 0.5', 0.75, 'chosen, at an edge'),)
    """
    rows = []
    for cell, choice in tuned.items():
        interior = is_interior(choice, lambda recipe: recipe_neighbours(tuning, recipe))
        for recipe, score in choice.scores.items():
            mark = "" if recipe != choice.option else "chosen" if interior else "chosen, at an edge"
            aligned = round(1 - score, 4) if math.isfinite(score) else None
            rows.append((*cell, recipe.describe(), aligned, mark))
    title = "Tuning: mean patch alignment on seeds that no result uses"
    return TableData("tuning", title, (*places, "recipe", "patch alignment", ""), tuple(rows))
