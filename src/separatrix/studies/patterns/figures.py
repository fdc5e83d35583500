"""Figures, tables and notes of the learning experiments."""

import math
from collections.abc import Iterable

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.inference.intervals import Interval, mean_interval
from separatrix.inference.thresholds import Threshold, threshold_from_metric
from separatrix.notes import Note
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.patterns.censored import censored_median
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.trials import (
    NETWORKS,
    Learned,
    cap_of,
    network_of,
    rates_of,
    trial_of,
)
from separatrix.studies.patterns.verdicts import (
    CURRENCIES,
    growth_of,
    mean_seconds,
    ratios,
    shown,
    spent,
)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _band(label: str, sizes: Iterable[int], bands: list[Interval]) -> Series:
    middle, low, high = (
        tuple(_finite(getattr(band, part)) for band in bands)
        for part in ("estimate", "low", "high")
    )
    return Series(label, tuple(sizes), middle, low, high, seeds=tuple(band.count for band in bands))


def learning_figures(s: PatternsSettings, learned: Learned) -> tuple[Figure, ...]:
    """Steps against n for each optimizer, and the FCN/CNN ratio in every currency.

    >>> learning_figures(PatternsSettings(), Learned({}, {}))
    ()
    """
    figures = []
    for optimizer in s.optimizers:
        series = []
        for name in NETWORKS:
            found = {bits: learned.get("plain", name, optimizer, bits) for bits in s.sizes}
            known = {bits: each for bits, each in found.items() if each is not None}
            if known:
                series.append(
                    _band(name, known, [censored_median(each.steps) for each in known.values()])
                )
            cut = {
                bits: float(np.median(each.steps.lower))
                for bits, each in known.items()
                if 2 * each.steps.censored >= each.steps.count
            }
            if cut:
                series.append(
                    Series(
                        f"{name}: cut off, at least",
                        tuple(cut),
                        tuple(cut.values()),
                        role="samples",
                    )
                )
        if not series:
            continue
        caption = (
            f"Median over {s.seeds} seeds with 95 % intervals from order statistics (upper ends "
            f"are missing where seeds were cut off); the target is {1 - s.target:.0%} accuracy at "
            f"k = ⌈log2 n⌉ with {s.batch} fresh rows a step and a rate tuned on other seeds."
        )
        title = f"Steps to {1 - s.target:.0%} accuracy ({optimizer})"
        figures.append(
            Figure(
                f"steps-{optimizer}",
                title,
                Axis("n", log=True),
                Axis("steps", log=True),
                tuple(series),
                caption,
            )
        )
        lines = []
        for currency in ("steps", "FLOPs", "seconds"):
            found = ratios(s, learned, optimizer, currency, ("FCN", "CNN"))
            if found:
                lines.append(
                    _band(
                        currency if currency != "steps" else "steps (and samples)",
                        found,
                        list(found.values()),
                    )
                )
        if lines:
            ends = (min(s.sizes), max(s.sizes))
            lines.append(Series("equal", ends, (1.0, 1.0), role="baseline"))
            caption = (
                "Ratio of medians with 95 % bootstrap intervals; one-sided where seeds were cut "
                "off. Above 1 the CNN is cheaper."
            )
            title = f"What the FCN needs over what the CNN needs ({optimizer})"
            figures.append(
                Figure(
                    f"ratio-{optimizer}",
                    title,
                    Axis("n", log=True),
                    Axis("FCN / CNN", log=True),
                    tuple(lines),
                    caption,
                )
            )
    return tuple(figures)


def learning_tables(s: PatternsSettings, learned: Learned) -> tuple[TableData, ...]:
    """Every case, the ratio in every currency, and sample thresholds where finite training sets
    were run.

    >>> [table.name for table in learning_tables(PatternsSettings(), Learned({}, {}))]
    ['learning', 'currencies']
    """
    columns = (
        *(
            "variant",
            "network",
            "optimizer",
            "n",
            "k",
            "training set",
            "parameters",
            "rate",
            "most steps",
            "seeds",
            "reached",
            "broken",
        ),
        *(
            "median steps",
            "low",
            "high",
            "median samples",
            "median FLOPs",
            "mean seconds",
            "mean risk",
            "risk low",
            "risk high",
        ),
        "constant",
    )
    rows = []
    for case, found in learned.cases.items():
        middle, risk = censored_median(found.steps), mean_interval(found.risks)
        task = trial_of(s, case, found.rate, 0).task
        parameters = network_of(case.network, case.window, s.filters).parameter_count(
            (case.bits, 1)
        )
        rows.append(
            (
                *(
                    case.variant,
                    case.network,
                    case.optimizer,
                    case.bits,
                    case.window,
                    case.samples or "fresh rows",
                    parameters,
                    found.rate,
                ),
                *(
                    cap_of(s, case),
                    found.steps.count,
                    found.reached,
                    found.broken,
                    _finite(middle.estimate),
                    middle.low,
                    _finite(middle.high),
                ),
                *(
                    _finite(float(np.median(spent(s, found, what).upper)))
                    for what in ("samples", "FLOPs")
                ),
                *(
                    mean_seconds(found),
                    risk.estimate,
                    risk.low,
                    risk.high,
                    task.baselines()["constant"],
                ),
            )
        )
    tables = [
        TableData(
            "learning",
            f"Learning to {1 - s.target:.0%} accuracy; medians are empty where cut off",
            columns,
            tuple(rows),
        )
    ]
    cells = []
    for optimizer in s.optimizers:
        for pair in (("FCN", "CNN"), ("LCN", "CNN")):
            for currency in CURRENCIES:
                for bits, ratio in ratios(s, learned, optimizer, currency, pair).items():
                    name = f"{pair[0]}/{pair[1]}"
                    cells.append(
                        (
                            name,
                            optimizer,
                            currency,
                            bits,
                            _finite(ratio.estimate),
                            ratio.low,
                            _finite(ratio.high),
                            ratio.count,
                        )
                    )
    columns = ("ratio", "optimizer", "currency", "n", "ratio of medians", "low", "high", "seeds")
    tables.append(
        TableData(
            "currencies",
            "What one network needs over what another needs, in each currency",
            columns,
            tuple(cells),
        )
    )
    if s.finite_samples:
        tables.append(_threshold_table(s, learned))
    return tuple(tables)


def sample_threshold(s: PatternsSettings, learned: Learned, network: str) -> Threshold | None:
    """The size of the training set from which half of the seeds reach the target.

    >>> sample_threshold(PatternsSettings(), Learned({}, {}), "CNN") is None
    True
    """
    sizes, risks = [], []
    for samples in s.finite_samples:
        found = learned.get("plain", network, "adam", s.finite_size, samples)
        if found is not None:
            sizes += [samples] * len(found.risks)
            risks += found.risks.tolist()
    try:
        return threshold_from_metric(sizes, risks, s.target) if sizes else None
    except SeparatrixError:  # too little to fit
        return None


def _threshold_table(s: PatternsSettings, learned: Learned) -> TableData:
    rows = []
    for network in ("CNN", "FCN"):
        found = sample_threshold(s, learned, network)
        if found is not None:
            rows.append(
                (
                    network,
                    s.finite_size,
                    _finite(found.estimate),
                    found.low,
                    _finite(found.high),
                    found.censoring,
                    found.trials,
                )
            )
    columns = ("network", "n", "training rows", "low", "high", "censoring", "trials")
    title = (
        f"The training set from which half of the seeds reach {1 - s.target:.0%} accuracy (adam)"
    )
    return TableData("sample-thresholds", title, columns, tuple(rows))


def learning_notes(s: PatternsSettings, learned: Learned) -> list[Note]:
    """How rates were tuned, how steps were read, and in which currency the separation shows.

    >>> [note.code for note in learning_notes(PatternsSettings(), Learned({}, {}))]
    ['tuning', 'networks', 'resolution']
    """
    grids = "; ".join(
        f"{name} {', '.join(f'{r:g}' for r in getattr(s, f'{name}_rates'))}"
        for name in s.optimizers
    )
    chosen = "; ".join(f"{case.label}: {rate:g}" for case, rate in learned.rates.items())
    notes = [
        Note(
            "tuning",
            "info",
            f"Learning rates were chosen for every case from one grid an optimizer ({grids}) on "
            f"{s.tuning_seeds} seeds that the results never see: most seeds at the target, then "
            "the fewest steps (the FCN on permuted bits takes its rate on ordered ones). Chosen: "
            f"{chosen or 'none yet'}.",
        ),
        Note(
            "networks",
            "info",
            f"All networks have {s.filters} filters (units), ReLU, hinge loss and batches of "
            f"{s.batch}; at equal filters the CNN and the FCN have equally many parameters, "
            "q(n+2), and the LCN (n-k+1)·q·(k+2).",
        ),
        Note(
            "resolution",
            "info",
            f"Accuracy is looked at {s.times} times, spaced evenly in log steps, on {s.test} "
            "fresh rows; intervals take the look before the target as the lower end. A run that "
            "used up its steps counts as needing at least those. Seconds include the looks, and "
            "on a GPU are a batch's shared among its trials.",
        ),
    ]
    edges = [
        case.label
        for case, rate in learned.rates.items()
        if rate in (min(rates_of(s, case)), max(rates_of(s, case)))
    ]
    if edges:
        text = (
            "The chosen rate lies at the edge of the grid, so a better one may lie beyond, for "
            f"{'; '.join(edges)}."
        )
        notes.append(Note("rate-at-edge", "warning", text))
    return notes + _currency_notes(s, learned)


def _currency_notes(s: PatternsSettings, learned: Learned) -> list[Note]:
    """In which currency the separation shows: how the ratio grows, and what it is at the largest
    size.
    """
    notes = []
    for optimizer in s.optimizers:
        growing, largest, last = [], [], s.sizes[-1]
        for currency in CURRENCIES:
            slope = growth_of(s, learned, optimizer, currency)
            ratio = ratios(s, learned, optimizer, currency, ("FCN", "CNN")).get(last)
            if slope is not None and ratio is not None:
                growing.append(f"{currency} {shown(slope)}")
                largest.append(f"{currency} {shown(ratio)}")
        if growing:
            text = (
                f"With {optimizer} the FCN/CNN ratio grows like n to the power: "
                f"{'; '.join(growing)}. At n = {last} it is: {'; '.join(largest)}."
            )
            notes.append(Note("currency", "info", text))
    return notes
