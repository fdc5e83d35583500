"""Exact learners: search over windows beside search over all sets of bits, on ordered and on
permuted bits.
"""

import itertools
import math
from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.inference.intervals import mean_interval
from separatrix.notes import Note
from separatrix.studies.claims import Evidence, Finding, Verdict, decide_above
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.patterns import claims
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.study import seeds_from
from separatrix.theory.patterns import junta_search, log_window, window_search
from separatrix.theory.patterns.junta import LARGEST_SEARCH


def search_once(bits: int, samples: int, seed: int) -> dict[str, Any]:
    """Both searches for the parity of k = ⌈log2 n⌉ consecutive bits, and both again after a
    permutation of the bits.

    Where there are too many sets of bits to search, the time is missing and the count is not.

    >>> found = search_once(16, 500, seed=0)
    >>> found["windows"], found["sets"], found["agree"], found["permuted_windows"]
    (13, 1820, True, 0)
    """
    window = log_window(bits)
    rng = np.random.default_rng([seed, bits, window])
    x = rng.choice([-1, 1], (samples, bits))
    start = int(rng.integers(0, bits - window + 1))
    y = x[:, start : start + window].prod(1)
    order = rng.permutation(bits)
    quick = window_search(x, y, window)
    row: dict[str, Any] = {
        "bits": bits,
        "window": window,
        "windows": quick.candidates,
        "sets": math.comb(bits, window),
    }
    row |= {
        "window_rows": quick.rows_read,
        "junta_rows": None,
        "window_seconds": quick.seconds,
        "junta_seconds": None,
    }
    row |= {"agree": None, "permuted_found": None}
    row["window_found"] = quick.unique and quick.supports[0] == tuple(range(start, start + window))
    row["permuted_windows"] = window_search(x[:, order], y, window).survivors
    if row["sets"] <= LARGEST_SEARCH:
        slow = junta_search(x, y, window)
        row["junta_rows"], row["junta_seconds"] = slow.rows_read, slow.seconds
        row["agree"] = slow.unique and slow.supports == quick.supports
        if row["sets"] <= LARGEST_SEARCH / 1000:
            back = np.argsort(order)
            moved = tuple(sorted(back[start : start + window].tolist()))
            row["permuted_found"] = junta_search(x[:, order], y, window).supports == (moved,)
    return row


def measure_search(lab: Lab, s: PatternsSettings) -> list[list[dict[str, Any]]]:
    """For every size, one row a repetition; remembered by the laboratory.

    >>> len(measure_search(Lab(), PatternsSettings(search_sizes=(8, 16), search_samples=400, search_repeats=2)))
    2
    """
    search_once(8, 64, 0)  # the first call pays for loading code
    out = []
    for bits in s.search_sizes:
        rows = []
        for seed in seeds_from(s.seed, s.search_repeats):
            given = {"bits": bits, "samples": s.search_samples, "seed": seed}
            rows.append(lab.remember("search", given, lambda given=given: search_once(**given)))
        out.append(rows)
    return out


def search_finding(found: list[list[dict[str, Any]]]) -> Finding:
    """The verdict on the gap: both searches find the bits, and the ratio of the rows that they read
    grows with n.

    Rows are counted, not timed, so that the verdict does not depend on what else the machine does;
    times are in the figure.

    >>> search_finding([]).verdict
    'undecided'
    """
    searched = [rows for rows in found if all(row["junta_rows"] is not None for row in rows)]
    if len(searched) < 3:
        return Finding(
            claims.SEARCH_GAP, "undecided", "fewer than three sizes could be searched", True
        )
    right = all(row["agree"] and row["window_found"] for rows in searched for row in rows)
    logs = np.log([rows[0]["bits"] for rows in searched])
    work = np.log([[row["junta_rows"] / row["window_rows"] for row in rows] for rows in searched])
    slopes = mean_interval([float(np.polyfit(logs, column, 1)[0]) for column in work.T])
    counts = [(rows[0]["bits"], rows[0]["sets"] / rows[0]["windows"]) for rows in found]
    exponents = [
        math.log(b[1] / a[1]) / math.log(b[0] / a[0]) for a, b in itertools.pairwise(counts)
    ]
    steeper = exponents[-1] > exponents[0]
    verdict: Verdict = decide_above(slopes, 0.0) if right and steeper else "refuted"
    last = searched[-1]
    ratio = mean_interval([row["junta_rows"] / row["window_rows"] for row in last])
    reason = (
        f"sets over windows: {counts[0][1]:.3g} at n = {counts[0][0]}, {counts[-1][1]:.3g} at n = "
        f"{counts[-1][0]}, a local exponent from {exponents[0]:.1f} to {exponents[-1]:.1f}; rows "
        f"read: junta/window {ratio} at n = {last[0]['bits']}, growing like n to the {slopes}; "
        f"{'both found the bits in every repetition' if right else 'some repetition did not find the bits'}"
    )
    power = float(
        np.polyfit(np.log([n for n, _ in counts]), np.log([ratio for _, ratio in counts]), 1)[0]
    )
    evidence = (
        Evidence.of(
            "exponent in n of the ratio of rows read, junta/window search",
            slopes,
            0.0,
            candidates=power,
        ),
        Evidence.of(
            f"ratio of rows read at n = {last[0]['bits']}",
            ratio,
            1.0,
            candidates=last[0]["sets"] / last[0]["windows"],
        ),
    )
    return Finding(claims.SEARCH_GAP, verdict, reason, True, evidence)


def search_figures(found: list[list[dict[str, Any]]]) -> tuple[Figure, ...]:
    """Candidates and seconds against n.

    >>> search_figures([])
    ()
    """
    if not found:
        return ()
    sizes = tuple(rows[0]["bits"] for rows in found)
    counts = (
        Series(
            "all sets of k bits, C(n,k)",
            sizes,
            tuple(float(rows[0]["sets"]) for rows in found),
            role="law",
        ),
        Series(
            "windows, n-k+1", sizes, tuple(float(rows[0]["windows"]) for rows in found), role="law"
        ),
    )
    lines = []
    for key, label in (
        ("junta_seconds", "search over sets"),
        ("window_seconds", "search over windows"),
    ):
        known = [rows for rows in found if all(row[key] is not None for row in rows)]
        bands = [mean_interval([row[key] for row in rows]) for rows in known]
        lines.append(
            Series(
                label,
                tuple(rows[0]["bits"] for rows in known),
                tuple(band.estimate for band in bands),
                tuple(band.low if band.low > 0 else None for band in bands),
                tuple(band.high for band in bands),
                seeds=tuple(band.count for band in bands),
            )
        )
    caption = "k = ⌈log2 n⌉; a point is missing where the sets are too many to search."
    return (
        Figure(
            "search-candidates",
            "Candidates of the exact learners",
            Axis("n", log=True),
            Axis("candidates", log=True),
            counts,
            caption,
        ),
        Figure(
            "search-seconds",
            "Time of the exact learners",
            Axis("n", log=True),
            Axis("seconds", log=True),
            tuple(lines),
            caption,
        ),
    )


def search_table(found: list[list[dict[str, Any]]]) -> TableData:
    """The searches, one row a size.

    >>> search_table([]).rows
    ()
    """
    cells = []
    for rows in found:
        first = rows[0]
        windows = mean_interval([row["window_seconds"] for row in rows])
        known = [row["junta_seconds"] for row in rows if row["junta_seconds"] is not None]
        sets = mean_interval(known) if known else None
        empty = sum(row["permuted_windows"] == 0 for row in rows)
        cells.append(
            (
                *(
                    first["bits"],
                    first["window"],
                    first["windows"],
                    first["sets"],
                    windows.estimate,
                    windows.low,
                    windows.high,
                ),
                *((sets.estimate, sets.low, sets.high) if sets else (None, None, None)),
                len(rows),
                empty,
            )
        )
    columns = (
        *(
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
        ),
        "permuted: no window explains",
    )
    return TableData(
        "search",
        "Exact learners from noise-free samples; times with 95 % intervals over repetitions",
        columns,
        tuple(cells),
    )


def expressivity_notes(s: PatternsSettings) -> tuple[Note, ...]:
    """Why no convolutional network solves the permuted or spread task.

    >>> expressivity_notes(PatternsSettings())[0].code
    'expressivity'
    """
    chances = ", ".join(
        f"{(n - log_window(n) + 1) / math.comb(n, log_window(n)):.2g} at n = {n}" for n in s.sizes
    )
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
