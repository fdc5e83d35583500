"""Tables and figures of the map study."""

from separatrix.inference import Threshold, threshold_ratio
from separatrix.studies.claims import ratio_in_words
from separatrix.studies.outcome import Axis, Figure, Heatmap, Series, TableData
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, Spot
from separatrix.studies.signal_map.trials import base_norm, base_rate
from separatrix.studies.tuning import Choice
from separatrix.theory.signal import bayes_risk, best_linear_risk

LEGEND = (
    "Each cell: the smallest sample size at which half of the trials come within the margin of "
    "the network that knows the signal, with its 95 % interval; the more samples, the darker. "
    "Hatched: a censored search, of which only a bound is known. Lower left the CNN, upper left "
    "the LCN, upper right the FCN."
)


def map_figure(s: MapSettings, searches: dict[Spot, SearchResult]) -> Heatmap:
    """m* over receptive field and number of filters.

    >>> map_figure(MapSettings(), {}).texts[0][0]
    'not run'
    """
    fields, groups = sorted(set(s.fields)), sorted(set(s.groups))
    thresholds = {spot: search.threshold for spot, search in searches.items()}
    known = [[thresholds.get(Spot(field, count)) for field in fields] for count in groups]
    return Heatmap(
        "map",
        f"Samples needed, k = {s.patches}, d = {s.dimension}, σ = {s.noise:g}",
        Axis("receptive field r (patches)"),
        Axis("filters g"),
        Axis("samples m*", log=True),
        tuple(fields),
        tuple(groups),
        tuple(tuple(shade(t) for t in row) for row in known),
        tuple(tuple(cell_text(t) for t in row) for row in known),
        tuple(tuple(t is not None and t.censoring != "none" for t in row) for row in known),
        LEGEND,
        headline=True,
    )


def answer(s: MapSettings, searches: dict[Spot, SearchResult]) -> str:
    """What sharing and locality save by themselves; empty where a corner was not measured.

    >>> answer(MapSettings(), {})
    ''
    """
    spots = Spot(1, 1), Spot(1, s.patches), Spot(s.patches, s.patches)
    if any(spot not in searches for spot in spots):
        return ""
    cnn, lcn, fcn = (searches[spot].threshold for spot in spots)
    sharing, locality = (
        ratio_in_words(threshold_ratio(*pair)) for pair in ((lcn, cnn), (fcn, lcn))
    )
    return (
        f"With k = {s.patches}, d = {s.dimension} and σ = {s.noise:g}, sharing saves {sharing} in "
        f"samples (LCN over CNN) and locality {locality} (FCN over LCN)."
    )


def shade(threshold: Threshold | None) -> float | None:
    """The value that colours a cell: the threshold, or the bound that is known of it.

    >>> shade(None) is None
    True
    """
    if threshold is None or threshold.censoring == "both":
        return None
    return {"none": threshold.estimate, "left": threshold.high, "right": threshold.low}[
        threshold.censoring
    ]


def cell_text(threshold: Threshold | None) -> str:
    """A threshold in the few letters that a cell has room for.

    >>> from separatrix.inference import Tally, estimate_threshold
    >>> cell_text(estimate_threshold([Tally(64, 12, 12), Tally(128, 12, 12)])), cell_text(None)
    ('≤ 64', 'not run')
    """
    if threshold is None:
        return "not run"
    match threshold.censoring:
        case "none":
            return (
                f"{_short(threshold.estimate)} [{_short(threshold.low)}, {_short(threshold.high)}]"
            )
        case "left":
            return f"≤ {_short(threshold.high)}"
        case "right":
            return f"≥ {_short(threshold.low)}"
    return "unknown"


def _short(value: float) -> str:
    """A sample size with about three digits and no exponent."""
    if value >= 10_000:
        return f"{value / 1000:.3g}k"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def line_figures(s: MapSettings, searches: dict[Spot, SearchResult]) -> tuple[Figure, Figure]:
    """The same thresholds as lines: against the receptive field, and the number of filters."""
    del s
    out = []
    for along, across, words in (
        ("field", "groups", "receptive field r"),
        ("groups", "field", "filters g"),
    ):
        series, bounds = [], []
        for value in sorted({getattr(spot, across) for spot in searches}):
            line = sorted(
                (
                    (getattr(spot, along), search.threshold)
                    for spot, search in searches.items()
                    if getattr(spot, across) == value
                ),
                key=lambda pair: pair[0],
            )
            label = f"{'g' if across == 'groups' else 'r'} = {value}"
            series += Series.bounded(label, line)[:1]
            bounds += [(x, shade(t)) for x, t in line if t.censoring in ("left", "right")]
        if bounds:  # with gaps between them, so that no line joins them
            gapped = [point for pair in bounds for point in (pair, (None, None))]
            series.append(
                Series(
                    "only a bound (see the map)",
                    tuple(x for x, _ in gapped),
                    tuple(y for _, y in gapped),
                    role="bound",
                )
            )
        out.append(
            Figure(
                f"along-{along}",
                f"Samples needed against the {words}",
                Axis(words, log=True),
                Axis("samples m*", log=True),
                tuple(series),
                "95 % intervals; short dashes are bounds of censored searches.",
            )
        )
    return out[0], out[1]


def map_table(
    s: MapSettings, searches: dict[Spot, SearchResult], tuned: dict[Spot, Choice[MapRecipe]]
) -> TableData:
    """Every threshold with its interval, its trials and its recipe, beside the risks that a reader
    needs.
    """
    names = {Spot(1, 1): "CNN", Spot(1, s.patches): "LCN", Spot(s.patches, s.patches): "FCN"}
    baselines = (
        round(s.floor, 4),
        round(best_linear_risk(s.patches, s.noise), 4),
        round(bayes_risk(s.patches, s.noise).risk, 4),
    )
    rows = tuple(
        (
            spot.field,
            spot.groups,
            names.get(spot, ""),
            spot.field * spot.groups * s.dimension,
            str(search.threshold),
            search.threshold.trials,
            tuned[spot].option.describe(),
            float(f"{base_rate(spot, s.patches) * tuned[spot].option.rate:.4g}"),
            float(f"{base_norm(spot, s.patches) * tuned[spot].option.norm:.4g}"),
            round(s.target, 4),
            *baselines,
        )
        for spot, search in searches.items()
    )
    columns = (
        "r",
        "g",
        "network",
        "parameters",
        "m*",
        "trials",
        "recipe",
        "learning rate",
        "initial norm",
        "target",
        "risk with the signal known",
        "best linear risk",
        "Bayes risk",
    )
    return TableData(
        "map",
        "Samples needed, with 95 % intervals (<= and >= mark censored searches)",
        columns,
        rows,
    )
