"""Figures and tables of the study `dial`."""

import math

from separatrix.inference import Interval
from separatrix.inference.intervals import accuracy_over_seeds, mean_over_seeds
from separatrix.studies.dial.settings import CORNERS, DialPlace, DialSettings
from separatrix.studies.dial.trials import DialCell, DialResults, network_of
from separatrix.studies.dial.verdicts import label_gap, ladder, locality_share, needed, paired
from separatrix.studies.outcome import Axis, Figure, Heatmap, Series, TableData
from separatrix.tasks.images import SHAPES

STEPS = {"locality": ("FCN", "LCN"), "sharing": ("LCN", "CNN"), "both": ("FCN", "CNN")}
OTHER_WAY = {
    "sharing first": ("FCN", "shared, whole field"),
    "then locality": ("shared, whole field", "CNN"),
}


def accuracy_figures(s: DialSettings, results: DialResults) -> list[Figure]:
    """FCN, LCN, CNN side by side, on pixels in order and permuted, one line per depth."""
    out = []
    for source in s.chosen_sources():
        series = []
        for permuted in (False, True):
            for depth in sorted(set(s.depths)):
                named = [(name, results.corner(source, depth, name)) for name in CORNERS]
                points = [
                    (n, accuracy_over_seeds(a))
                    for n, p in named
                    if p is not None and (a := results.accuracy(p, permuted)) is not None
                ]
                if points:
                    label = (
                        f"{depth} hidden "
                        f"layer{'s' if depth > 1 else ''}{', permuted pixels' if permuted else ''}"
                    )
                    series.append(Series.of(label, points))
        caption = (
            f"Test accuracy on {source} with all {s.all_labels(source)} labels, mean over seeds "
            "with 95 % intervals. From FCN to LCN units see a window only; from LCN to CNN "
            "windows share their weights. Networks of one depth have equally many hidden units. "
            f"The best constant answer has {results.chance[source]:.3f}."
        )
        out.append(
            Figure(
                f"decomposition-{source}",
                f"From FCN to CNN: {source}",
                Axis("network"),
                Axis("test accuracy"),
                tuple(series),
                caption,
            )
        )
    return out


def label_figures(s: DialSettings, results: DialResults) -> list[Figure]:
    """Accuracy against the number of labels at the corners of one hidden layer."""
    out = []
    for source in s.chosen_sources():
        series = []
        for name in (*CORNERS, "shared, whole field"):
            place = results.corner(source, 1, name)
            steps = {} if place is None else ladder(s, results, place)
            if steps:
                points = [(labels, accuracy_over_seeds(a)) for labels, a in steps.items()]
                series.append(Series.of(name, points))
        rungs, target = s.labels(source), s.accuracy_target(source)
        series.append(Series.level(f"target {target:g}", rungs, target, role="bound"))
        series.append(Series.level("best constant answer", rungs, results.chance[source]))
        caption = (
            f"One hidden layer on {source}; mean over seeds with 95 % intervals. The price of an "
            "accuracy is read where a line crosses the target."
        )
        out.append(
            Figure(
                f"labels-{source}",
                f"Accuracy against labels: {source}",
                Axis("labels", log=True),
                Axis("test accuracy"),
                tuple(series),
                caption,
            )
        )
    return out


def maps(s: DialSettings, results: DialResults) -> list[Heatmap]:
    """Accuracy over receptive field and groups, on pixels in order and on permuted ones."""
    out = []
    for source in s.chosen_sources():
        side = SHAPES[source][0]
        places = [place for place in s.places() if (place.source, place.depth) == (source, 1)]
        fields, sets = (
            tuple(sorted({getattr(place, part) for place in places}))
            for part in ("field", "groups")
        )
        for permuted in (False, True):
            grid = [
                [
                    results.accuracy(DialPlace(source, 1, field, groups), permuted)
                    for field in fields
                ]
                for groups in sets
            ]
            intervals = [
                [None if accuracy is None else accuracy_over_seeds(accuracy) for accuracy in row]
                for row in grid
            ]
            title = f"{source}, {'permuted pixels' if permuted else 'pixels in order'}"
            caption = (
                "Test accuracy with all labels and its 95 % interval, the higher the darker; one "
                "hidden layer, equally many units in every cell. Lower left the CNN, upper left "
                f"the LCN, upper right the FCN. A field of {side} is the whole image."
            )
            out.append(
                Heatmap(
                    f"map-{source}{'-permuted' if permuted else ''}",
                    title,
                    Axis("receptive field (pixels a side)"),
                    Axis("sets of weights along an axis"),
                    Axis("test accuracy"),
                    fields,
                    sets,
                    tuple(
                        tuple(None if i is None else i.estimate for i in row) for row in intervals
                    ),
                    tuple(
                        tuple("not run" if i is None else f"{i:.3f}" for i in row)
                        for row in intervals
                    ),
                    tuple((False,) * len(row) for row in intervals),
                    caption,
                )
            )
    return out


def accuracy_table(s: DialSettings, results: DialResults) -> TableData:
    """Every accuracy with its interval, its recipe, its cost and the constant answer beside it."""
    rows = []
    for cell, measured in results.cells.items():
        place, network = cell.place, network_of(s, cell.place)
        shape = SHAPES[place.source]
        recipe = results.recipes[DialCell(place, cell.permuted)].option
        stop = round(recipe.moment * s.steps / s.times)
        rows.append(
            (
                place.source,
                place.depth,
                place.name,
                place.field,
                place.groups,
                "permuted" if cell.permuted else "in order",
                cell.labels or s.all_labels(place.source),
                f"{accuracy_over_seeds(measured.accuracy):.3f}",
                f"{accuracy_over_seeds(measured.last):.3f}",
                len(measured.accuracy),
                round(results.chance[place.source], 4),
                recipe.rate,
                stop,
                network.parameter_count(shape),
                network.flops(shape),
                round(measured.seconds, 3),
            )
        )
    columns = (
        "data",
        "depth",
        "network",
        "field",
        "groups an axis",
        "pixels",
        "labels",
        "test accuracy (95 %)",
        "at the last step",
        "seeds",
        "constant answer",
        "rate",
        "stopped after",
        "parameters",
        "FLOPs a forward pass",
        "seconds a trial",
    )
    return TableData("accuracy", "Test accuracies", columns, tuple(rows))


def decomposition_table(s: DialSettings, results: DialResults) -> TableData:
    """What locality and sharing give, in accuracy and in labels, both ways around the map."""
    rows = []
    for source, depth in results.complete(s):
        share = locality_share(results, source, depth)
        ways = STEPS | (
            OTHER_WAY if results.corner(source, depth, "shared, whole field") is not None else {}
        )
        for step, (worse, better) in ways.items():
            gain = mean_over_seeds(paired(results, source, depth, better, worse))
            hidden = mean_over_seeds(paired(results, source, depth, better, worse, permuted=True))
            labels = label_gap(s, results, source, worse, better) if depth == 1 else None
            part = (
                ""
                if step != "locality"
                else f"{share:.3f}"
                if share is not None
                else "no lead to divide"
            )
            rows.append(
                (
                    source,
                    depth,
                    step,
                    f"{worse} to {better}",
                    f"{gain:.3f}",
                    part,
                    f"{hidden:.3f}",
                    "" if labels is None else factor(labels),
                    gain.count,
                )
            )
    columns = (
        "data",
        "depth",
        "step",
        "networks",
        "accuracy gained (95 %)",
        "share of the CNN's lead",
        "gained on permuted pixels",
        "labels saved, a factor",
        "seeds",
    )
    return TableData(
        "decomposition", "How much is locality, how much is sharing", columns, tuple(rows)
    )


def price_table(s: DialSettings, results: DialResults) -> TableData:
    """The labels at which each corner passes the target accuracy."""
    rows = [
        (
            source,
            name,
            s.accuracy_target(source),
            price(labels.interval(), s.labels(source)),
            labels.seeds,
        )
        for source in s.chosen_sources()
        for name in (*CORNERS, "shared, whole field")
        if (labels := needed(s, results, source, name)) is not None
    ]
    return TableData(
        "labels",
        "Labels that an accuracy costs, one hidden layer",
        ("data", "network", "accuracy", "labels (95 %)", "seeds"),
        tuple(rows),
    )


def factor(ratio: Interval) -> str:
    """A factor in words, also where it is only bounded.

    >>> [factor(Interval(math.nan, low, math.inf, 0.95, "", 6)) for low in (2.0, 0.0)]
    ['at least 2', 'unknown: the ladder does not reach']
    """
    if math.isfinite(ratio.estimate) and ratio.low > 0 and math.isfinite(ratio.high):
        return f"{ratio:.3g}"
    if ratio.low > 0:
        return f"at least {ratio.low:.3g}"
    return (
        f"at most {ratio.high:.3g}"
        if math.isfinite(ratio.high)
        else "unknown: the ladder does not reach"
    )


def price(labels: Interval, rungs: list[int]) -> str:
    """A number of labels in words, also beyond the ends of the ladder.

    >>> below, above = ((0.0, 0.0, 0.0), (math.inf, 80.0, math.inf))
    >>> [price(Interval(*ends, 0.95, "", 6), [10, 100]) for ends in (below, above)]
    ['at most 10', 'more than 80']
    """
    if labels.low > 0 and math.isfinite(labels.high):
        return f"{labels:.0f}"
    if math.isinf(labels.high):
        return (
            f"more than {min(labels.low, rungs[-1]):.0f}"
            if labels.low > 0
            else "unknown: the ladder does not tell"
        )
    return f"at most {max(labels.high, rungs[0]):.0f}"
