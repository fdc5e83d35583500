"""Figures, tables and notes of the study `patterns` on learning."""

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.inference.censored_medians import Amounts, censored_median
from separatrix.inference.intervals import mean_interval
from separatrix.inference.thresholds import Threshold, threshold_from_metric
from separatrix.notes import Note
from separatrix.studies.claims import finite
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.pattern_search.verdicts import lucky
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.trials import (
    NETWORKS,
    LearningResults,
    cap_of,
    network_of,
    rates_of,
    trial_of,
)
from separatrix.studies.patterns.verdicts import (
    CURRENCIES,
    growth_of,
    ratios,
    shown,
    spent,
)
from separatrix.theory.patterns import log_window


def answer(s: PatternsSettings, learned: LearningResults) -> str:
    """The steps of the three networks at the largest size that all of them were run at.

    >>> answer(PatternsSettings(), LearningResults({}, {}))
    ''
    """
    optimizer = s.learning.optimizers[0]
    for bits in sorted(s.learning.sizes, reverse=True):
        results = [learned.get("plain", name, optimizer, bits) for name in NETWORKS]
        if any(result is None for result in results):
            continue
        words = [
            f"{_steps_in_words(result.steps)} on the {name}"
            for name, result in zip(NETWORKS, results)
            if result is not None
        ]
        return (
            f"To learn the parity of {log_window(bits)} neighbouring bits out of {bits}, "
            f"{'Adam' if optimizer == 'adam' else optimizer.upper()} needs {words[0]}, "
            f"{words[1]} and {words[2]} (medians)."
        )
    return ""


def _steps_in_words(amounts: Amounts) -> str:
    middle = censored_median(amounts).estimate
    if np.isfinite(middle):
        return f"{middle:,.0f} steps"
    return f"more than {float(np.median(amounts.lower)):,.0f} steps"


def learning_figures(s: PatternsSettings, learned: LearningResults) -> tuple[Figure, ...]:
    """Steps against n for each optimizer, and the FCN/CNN ratio in every currency.

    >>> learning_figures(PatternsSettings(), LearningResults({}, {}))
    ()
    """
    figures = []
    for optimizer in s.learning.optimizers:
        series = []
        for name in NETWORKS:
            steps = {
                bits: result.steps
                for bits in s.learning.sizes
                if (result := learned.get("plain", name, optimizer, bits)) is not None
            }
            if steps:
                points = [(bits, censored_median(amounts)) for bits, amounts in steps.items()]
                series.append(Series.of(name, points))
            cut = {
                bits: float(np.median(amounts.lower))
                for bits, amounts in steps.items()
                if 2 * amounts.censored >= amounts.count
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
            f"Median over {s.learning.seeds} seeds with 95 % intervals from order statistics "
            "(upper ends are missing where seeds were cut off); the target is "
            f"{1 - s.learning.target:.0%} accuracy at k = ⌈log2 n⌉ with {s.learning.batch} fresh "
            "rows a step and a rate tuned on other seeds."
        )
        title = f"Steps to {1 - s.learning.target:.0%} accuracy ({optimizer})"
        figures.append(
            Figure(
                f"steps-{optimizer}",
                title,
                Axis("n", log=True),
                Axis("steps", log=True),
                tuple(series),
                caption,
                headline=optimizer == s.learning.optimizers[0],
            )
        )
        lines = []
        for currency in ("steps", "FLOPs", "seconds"):
            points = ratios(s, learned, optimizer, currency, ("FCN", "CNN"))
            if points:
                label = currency if currency != "steps" else "steps (and samples)"
                lines.append(Series.of(label, points.items()))
        if lines:
            lines.append(Series.level("equal", sorted(s.learning.sizes), 1.0))
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


def learning_tables(s: PatternsSettings, learned: LearningResults) -> tuple[TableData, ...]:
    """Every case, the ratio in every currency, and sample thresholds where finite training sets
    were run.

    >>> [table.name for table in learning_tables(PatternsSettings(), LearningResults({}, {}))]
    ['learning', 'currencies']
    """
    tables = [_case_table(s, learned), _currency_table(s, learned)]
    if s.learning.finite_samples:
        tables.append(_threshold_table(s, learned))
    return tuple(tables)


def _case_table(s: PatternsSettings, learned: LearningResults) -> TableData:
    columns = (
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
        "median steps",
        "low",
        "high",
        "median samples",
        "median FLOPs",
        "mean seconds",
        "mean risk",
        "risk low",
        "risk high",
        "constant",
    )
    rows = []
    for case, result in learned.cases.items():
        steps, risk = censored_median(result.steps), mean_interval(result.risks)
        network = network_of(case.network, case.window, s.learning.filters)
        rows.append(
            (
                case.variant,
                case.network,
                case.optimizer,
                case.bits,
                case.window,
                case.samples or "fresh rows",
                network.parameter_count((case.bits, 1)),
                result.rate,
                cap_of(s, case),
                result.steps.count,
                result.reached,
                result.broken,
                finite(steps.estimate),
                steps.low,
                finite(steps.high),
                *(
                    finite(float(np.median(spent(s, result, currency).upper)))
                    for currency in ("samples", "FLOPs")
                ),
                float(np.mean(result.seconds.lower)),
                risk.estimate,
                risk.low,
                risk.high,
                trial_of(s, case, result.rate, 0).task.baselines()["constant"],
            )
        )
    title = f"Learning to {1 - s.learning.target:.0%} accuracy; medians are empty where cut off"
    return TableData("learning", title, columns, tuple(rows))


def _currency_table(s: PatternsSettings, learned: LearningResults) -> TableData:
    rows = [
        (
            f"{first}/{second}",
            optimizer,
            currency,
            bits,
            finite(ratio.estimate),
            ratio.low,
            finite(ratio.high),
            ratio.count,
        )
        for optimizer in s.learning.optimizers
        for first, second in (("FCN", "CNN"), ("LCN", "CNN"))
        for currency in CURRENCIES
        for bits, ratio in ratios(s, learned, optimizer, currency, (first, second)).items()
    ]
    columns = ("ratio", "optimizer", "currency", "n", "ratio of medians", "low", "high", "seeds")
    title = "What one network needs over what another needs, in each currency"
    return TableData("currencies", title, columns, tuple(rows))


def sample_threshold(
    s: PatternsSettings, learned: LearningResults, network: str
) -> Threshold | None:
    """The size of the training set from which half of the seeds reach the target.

    >>> sample_threshold(PatternsSettings(), LearningResults({}, {}), "CNN") is None
    True
    """
    sizes, risks = [], []
    for samples in s.learning.finite_samples:
        result = learned.get("plain", network, "adam", s.learning.finite_size, samples)
        if result is not None:
            sizes += [samples] * len(result.risks)
            risks += result.risks.tolist()
    try:
        return threshold_from_metric(sizes, risks, s.learning.target) if sizes else None
    except SeparatrixError:  # too little to fit
        return None


def _threshold_table(s: PatternsSettings, learned: LearningResults) -> TableData:
    rows = []
    for network in ("CNN", "FCN"):
        threshold = sample_threshold(s, learned, network)
        if threshold is not None:
            rows.append(
                (
                    network,
                    s.learning.finite_size,
                    finite(threshold.estimate),
                    threshold.low,
                    finite(threshold.high),
                    threshold.censoring,
                    threshold.trials,
                )
            )
    columns = ("network", "n", "training rows", "low", "high", "censoring", "trials")
    title = (
        f"The training set from which half of the seeds reach {1 - s.learning.target:.0%} "
        "accuracy (adam)"
    )
    return TableData("sample-thresholds", title, columns, tuple(rows))


def learning_notes(s: PatternsSettings, learned: LearningResults) -> list[Note]:
    """How rates were tuned, how steps were read, and in which currency the separation shows.

    >>> [note.code for note in learning_notes(PatternsSettings(), LearningResults({}, {}))]
    ['tuning', 'networks', 'resolution']
    """
    grids = "; ".join(
        f"{name} {', '.join(f'{r:g}' for r in getattr(s.learning, f'{name}_rates'))}"
        for name in s.learning.optimizers
    )
    chosen = "; ".join(f"{case.label}: {rate:g}" for case, rate in learned.rates.items())
    notes = [
        Note(
            "tuning",
            "info",
            f"Learning rates were chosen for every case from one grid an optimizer ({grids}) on "
            f"{s.learning.tuning_seeds} seeds that the results never see: most seeds at the "
            "target, then the fewest steps (the FCN on permuted bits takes its rate on ordered "
            f"ones). Chosen: {chosen or 'none yet'}.",
        ),
        Note(
            "networks",
            "info",
            f"All networks have {s.learning.filters} filters (units), ReLU, hinge loss and "
            f"batches of {s.learning.batch}; at equal filters the CNN and the FCN have equally "
            "many parameters, q(n+2), and the LCN (n-k+1)·q·(k+2).",
        ),
        Note(
            "resolution",
            "info",
            f"Accuracy is looked at {s.learning.times} times, spaced evenly in log steps, on "
            f"{s.learning.test} fresh rows; intervals take the look before the target as the "
            "lower end. A run that used up its steps counts as needing at least those. Seconds "
            "include the looks, and on a GPU are a batch's shared among its trials.",
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


def _currency_notes(s: PatternsSettings, learned: LearningResults) -> list[Note]:
    """In which currency the separation shows: how the ratio grows, and what it is at the largest
    size.
    """
    notes = []
    for optimizer in s.learning.optimizers:
        growing, largest, last = [], [], s.learning.sizes[-1]
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


def expressivity_notes(s: PatternsSettings) -> tuple[Note, ...]:
    """Why no convolutional network solves the permuted or spread task.

    >>> expressivity_notes(PatternsSettings())[0].code
    'expressivity'
    """
    chances = ", ".join(f"{lucky(n, log_window(n)):.2g} at n = {n}" for n in s.learning.sizes)
    return (
        Note(
            "expressivity",
            "info",
            "When the k bits do not all lie in one window, the parity has correlation exactly 0 "
            "with every function of one window, so with every CNN or LCN of this field: its "
            "hinge loss is at least E[1 - y·h] = 1, that of the network that is zero, whatever "
            "its width. A random order leaves the bits in one window with probability "
            f"(n-k+1)/C(n,k): {chances}.",
        ),
    )
