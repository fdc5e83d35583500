"""Figures and tables of the study `pattern-search`."""

import dataclasses
import math
from typing import Any

from separatrix.inference.censored_medians import censored_median
from separatrix.inference.intervals import mean_interval, wilson
from separatrix.studies.claims import finite
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.pattern_search.settings import PatternSearchSettings
from separatrix.studies.pattern_search.trials import (
    LEARNERS,
    Learnt,
    OrderCell,
    OrdersTried,
    samples_of,
)
from separatrix.studies.pattern_search.verdicts import lucky
from separatrix.theory.patterns import log_window

N = Axis("bits n", log=True)


def learner_figures(s: PatternSearchSettings, learnt: Learnt) -> tuple[Figure, ...]:
    """Candidates, samples and seconds of every learner against n.

    >>> learner_figures(PatternSearchSettings(), {})
    ()
    """
    if not learnt:
        return ()
    note = (
        f"Parity of k = ⌈log2 n⌉ bits; medians of {s.repeats} repetitions. Window search knows the "
        "order of the bits, the others do not."
    )
    candidates, samples = [], []
    for name in LEARNERS:
        known = {
            bits: [row for row in learnt.get((name, bits), []) if row["candidates"] is not None]
            for bits in s.learner_sizes
        }
        known = {bits: rows for bits, rows in known.items() if rows}
        if not known:
            continue
        counts = tuple(float(max(row["candidates"] for row in rows)) for rows in known.values())
        candidates.append(Series(name, tuple(known), counts))
        points = []
        for bits, rows in known.items():
            amounts = samples_of(rows)
            points.append((bits, None if amounts is None else censored_median(amounts)))
        samples.append(Series.of(name, points))
    enough = tuple(math.log2(math.comb(n, log_window(n))) for n in s.learner_sizes)
    samples.append(Series("log2 C(n, k): one bit a row", s.learner_sizes, enough, role="law"))
    return (
        Figure(
            "search-candidates",
            "What four learners look at to find k of n bits",
            N,
            Axis("candidates", log=True),
            tuple(candidates),
            note,
            headline=True,
        ),
        Figure(
            "search-samples",
            "Rows from which four learners find k of n bits",
            N,
            Axis("training rows", log=True),
            tuple(samples),
            f"{note} The smallest of 16, 32, 64, … rows that suffice. No learner of an unknown "
            "order can do with fewer rows than log2 of the number of sets.",
        ),
    )


def query_figure(rows: list[dict[str, float]]) -> Figure:
    """The queries that an unknown order takes at least, and those that suffice in order.

    >>> query_figure([]).series
    ()
    """
    sizes = tuple(int(row["bits"]) for row in rows)
    series = ()
    if rows:
        needed = tuple(row["queries"] for row in rows)
        enough = tuple(row["windows"] for row in rows)
        series = (
            Series("unknown order: at least (C(n,k) - 1)/n²", sizes, needed, role="law"),
            Series("known order: n - k + 1 suffice", sizes, enough, role="law"),
        )
    return Figure(
        "search-queries",
        "Statistical queries of tolerance 1/n that find a parity of k = ⌈log2 n⌉ bits",
        N,
        Axis("queries", log=True),
        series,
        "Exact counts. Gradient descent on the population loss asks one query per weight and step.",
    )


def order_figure(s: PatternSearchSettings, tried: dict[OrderCell, OrdersTried]) -> Figure:
    """The share of random orders on which a convolutional network learns, beside chance."""
    cells = {n: tried.get(OrderCell(n)) for n in s.orders.sizes}
    points = [(n, wilson(c.learnt, c.orders)) for n, c in cells.items() if c is not None]
    series = [Series.of("orders that a CNN learns", points)] if points else []
    exact = tuple(lucky(n, log_window(n)) for n in s.orders.sizes)
    if exact:
        series.append(Series("(n-k+1)/C(n,k)", s.orders.sizes, exact, role="law"))
    return Figure(
        "search-orders",
        "Architecture search on permuted bits: how often does a random order help?",
        N,
        Axis("share of orders", log=True),
        tuple(series),
        f"{s.orders.count} random orders, a CNN of {s.orders.filters} filters trained on each for "
        f"at most {s.orders.steps} steps; Wilson's 95 % intervals.",
    )


def search_figures(searches: list[list[dict[str, Any]]]) -> tuple[Figure, ...]:
    """Seconds of the two exact searches against n.

    >>> search_figures([])
    ()
    """
    if not searches:
        return ()
    lines = []
    for key, label in (("junta_seconds", "all sets of bits"), ("window_seconds", "windows")):
        points = [
            (rows[0]["bits"], mean_interval([row[key] for row in rows]))
            for rows in searches
            if all(row[key] is not None for row in rows)
        ]
        line = Series.of(f"search over {label}", points)
        # What is not positive has no place on a logarithmic axis.
        low = tuple(end if end is not None and end > 0 else None for end in line.low)
        lines.append(dataclasses.replace(line, low=low))
    caption = "k = ⌈log2 n⌉; a point is missing where the sets are too many to search."
    title = "Time of the exact learners"
    return (Figure("search-seconds", title, N, Axis("seconds", log=True), tuple(lines), caption),)


def search_table(searches: list[list[dict[str, Any]]]) -> TableData:
    """The searches, one row per size.

    >>> search_table([]).rows
    ()
    """
    cells = []
    for rows in searches:
        first = rows[0]
        windows = mean_interval([row["window_seconds"] for row in rows])
        known = [row["junta_seconds"] for row in rows if row["junta_seconds"] is not None]
        sets = mean_interval(known) if known else None
        empty = sum(row["permuted_windows"] == 0 for row in rows)
        cells.append(
            (
                first["bits"],
                first["window"],
                first["windows"],
                first["sets"],
                windows.estimate,
                windows.low,
                windows.high,
                *((sets.estimate, sets.low, sets.high) if sets else (None, None, None)),
                len(rows),
                empty,
            )
        )
    columns = (
        "n",
        "k",
        "windows",
        "sets",
        "window seconds",
        "low",
        "high",
        "set seconds",
        "set low",
        "set high",
        "repetitions",
        "permuted: no window explains",
    )
    return TableData(
        "search",
        "Exact learners from noise-free samples; times with 95 % intervals over repetitions",
        columns,
        tuple(cells),
    )


def learner_table(learnt: Learnt) -> TableData:
    """Every learner at every size: candidates, samples and seconds.

    >>> learner_table({}).rows
    ()
    """
    cells = []
    for (name, bits), rows in learnt.items():
        amounts = samples_of(rows)
        tried = [row for row in rows if row["candidates"] is not None]
        median = censored_median(amounts) if amounts is not None else None
        cells.append(
            (
                name,
                bits,
                log_window(bits),
                max((row["candidates"] for row in tried), default=None),
                finite(median.estimate) if median else None,
                finite(median.low) if median else None,
                finite(median.high) if median else None,
                sum(row["seconds"] for row in tried) / len(tried) if tried else None,
                sum(row["found"] for row in tried),
                len(rows),
            )
        )
    columns = (
        "learner",
        "n",
        "k",
        "candidates",
        "median samples",
        "low",
        "high",
        "mean seconds",
        "found",
        "repetitions",
    )
    title = "Learners of k bits: candidates, samples and seconds; empty where it was not tried"
    return TableData("learners", title, columns, tuple(cells))


def order_table(
    s: PatternSearchSettings,
    tried: dict[OrderCell, OrdersTried],
    searches: list[list[dict[str, Any]]],
) -> TableData:
    """The architecture search at every size, beside junta search on the same bits."""
    junta = {rows[0]["bits"]: rows for rows in searches}
    cells = []
    for bits in s.orders.sizes:
        cell, control = tried.get(OrderCell(bits)), tried.get(OrderCell(bits, control=True))
        if cell is None or control is None:
            continue
        rows = [row for row in junta.get(bits, []) if row["junta_rows"] is not None]
        found = max(cell.learnt, 1)
        cells.append(
            (
                bits,
                log_window(bits),
                cell.orders,
                cell.learnt,
                lucky(bits, log_window(bits)),
                control.learnt / control.orders,
                cell.rows / found if cell.learnt else None,
                cell.seconds / found if cell.learnt else None,
                sum(row["junta_rows"] for row in rows) / len(rows) if rows else None,
                sum(row["junta_seconds"] for row in rows) / len(rows) if rows else None,
            )
        )
    columns = (
        "n",
        "k",
        "orders",
        "learnt",
        "chance",
        "learnt in order",
        "rows per success",
        "seconds per success",
        "rows of junta search",
        "seconds of junta search",
    )
    title = "Architecture search over random orders, beside junta search"
    return TableData("orders", title, columns, tuple(cells))


def query_table(rows: list[dict[str, float]]) -> TableData:
    """Statistical-query dimensions and counts.

    >>> query_table([]).rows
    ()
    """
    columns = (
        "n",
        "k",
        "windows: n-k+1",
        "sets: C(n,k)",
        "queries of tolerance 1/n, at least",
        "rows that answer one query",
        "tolerance that hides a parity",
    )
    keys = ("bits", "window", "windows", "sets", "queries", "rows_per_query", "hidden_below")
    cells = tuple(tuple(row[key] for key in keys) for row in rows)
    title = "Statistical queries for parities of k = ⌈log2 n⌉ bits"
    return TableData("queries", title, columns, cells)
