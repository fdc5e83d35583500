"""Theorem 4's proof held against real runs: the left and right side of every lemma, at every
scheduled step.
"""

import dataclasses
from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.inference.intervals import mean_interval, wilson
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.patterns import claims
from separatrix.studies.patterns.prescribed import Prescribed, follow, starts_of
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.theory.patterns import lemma8, lemma9, log_window, theorem4, theorem4_sizes

# The name of a promise in the stored records, its claim, its figure's title and what is on its
# axis.
PROMISES = {
    "readout": (claims.LEMMA8_READOUT, "Lemma 8: the longest readout of a window", "‖u_j‖"),
    "moved": (claims.LEMMA8_WEIGHTS, "Lemma 8: how far the first layer moved", "‖W(t) - W(0)‖"),
    "rival": (
        claims.LEMMA9,
        "Lemma 9: what that costs Lemma 6's readout",
        "|L(u*, W(t)) - L(u*, W(0))|",
    ),
    "regret": (
        claims.THEOREM10,
        "Theorem 10: the average loss and its regret bound",
        "average loss so far",
    ),
}
ROUNDING = 1e-12  # of float64 sums


def runs_of(s: PatternsSettings) -> list[Prescribed]:
    """The runs that the settings ask for.

    >>> runs_of(PatternsSettings())[0]
    Prescribed(bits=4, window=2, filters=8192, steps=5000, ceiling=1.0, records=40)
    """
    sizes = zip(
        s.certificate_bits, s.certificate_windows, s.certificate_filters, s.certificate_steps
    )
    return [Prescribed(*each, s.ceiling, s.certificate_records) for each in sizes]


def regret_bound(
    rival: np.ndarray, gradient: np.ndarray, norm: float, rate: float, times: np.ndarray
) -> np.ndarray:
    """Theorem 10's right side after each of `times` steps from u = 0: `theorem10` on every
    beginning of a run at once.

    >>> regret_bound(np.zeros(2), np.ones(2), norm=1.0, rate=0.5, times=np.array([1, 2])).tolist()
    [1.5, 1.0]
    """
    means = (np.cumsum(rival) + rate * np.cumsum(gradient**2))[times - 1] / times
    return means + norm**2 / (2 * rate * times)


def certify(run: Prescribed, seed: int, count: int, delta: float) -> dict[str, Any]:
    """Train from `count` starts and put both sides of every promise beside each other, as plain
    values.

    >>> found = certify(Prescribed(4, 2, 256, 20), seed=0, count=2, delta=0.05)
    >>> all(left <= right + ROUNDING for name in PROMISES for one in found["runs"] for left, right in zip(*one[name]))
    True
    """
    bound = theorem4(run.bits, run.window, run.filters, run.steps, delta, run.ceiling)
    times = run.times()
    sizes = (run.bits, run.window, run.filters, times, run.rate)
    limits = lemma8(*sizes, ceiling=run.ceiling)
    starts = starts_of(run, seed, count)
    runs = []
    for start, out in zip(starts, follow(run, starts)):
        sides = {
            "readout": (out["readout"], limits.readout),
            "moved": (out["moved"], limits.first_layer),
            "rival": (
                np.abs(out["rival_after"] - out["rival_before"]),
                lemma9(*sizes, [[start.norm]], ceiling=run.ceiling),
            ),
            "regret": (
                np.cumsum(out["loss"])[times - 1] / times,
                regret_bound(out["rival"], out["gradient"], start.norm, run.rate, times),
            ),
        }
        plain = {
            name: [np.asarray(side, float).tolist() for side in both]
            for name, both in sides.items()
        }
        runs.append(
            plain
            | {
                "average": float(out["loss"].mean()),
                "last": float(out["loss"][-1]),
                "balanced": start.balanced,
            }
        )
    return {
        **dataclasses.asdict(run),
        "rate": run.rate,
        "times": times.tolist(),
        "bound": float(bound.total),
        "terms": [float(bound.drift), float(bound.comparator), float(bound.descent)],
        "vacuous": bool(bound.vacuous),
        "applies": bound.applies,
        "runs": runs,
    }


def measure_certificates(lab: Lab, s: PatternsSettings) -> list[dict[str, Any]]:
    """Every run of the settings, remembered by the laboratory.

    >>> small = PatternsSettings(certificate_bits=(4,), certificate_windows=(2,), certificate_filters=(256,), certificate_steps=(20,))
    >>> measure_certificates(Lab(), small)[0]["vacuous"]
    True
    """
    out = []
    for run in runs_of(s):
        given = dataclasses.asdict(run) | {
            "seed": s.seed,
            "count": s.certificate_seeds,
            "delta": s.delta,
        }
        out.append(
            lab.remember(
                "certificate",
                given,
                lambda run=run: certify(run, s.seed, s.certificate_seeds, s.delta),
            )
        )
    return out


def certificate_findings(s: PatternsSettings, found: list[dict[str, Any]]) -> list[Finding]:
    """The verdicts on Theorem 4, its vacuity, Lemmas 8 and 9 and Theorem 10.

    >>> findings = certificate_findings(PatternsSettings(), [certify(Prescribed(4, 2, 256, 20), 0, 2, 0.05)])
    >>> [finding.verdict for finding in findings]
    ['undecided', 'supported', 'supported', 'supported', 'supported', 'supported']
    """
    return [
        _theorem4(s, found),
        vacuity(s),
        *(_promise(name, claim, found) for name, (claim, *_) in PROMISES.items()),
    ]


def _promise(name: str, claim: Claim, found: list[dict[str, Any]]) -> Finding:
    """A promise that must hold at every step of every run: decided by the largest left side over
    its right side.
    """
    worst, broken, checked, seeds = 0.0, 0, 0, 0
    for config in found:
        for run in config["runs"]:
            left, right = (np.asarray(side) for side in run[name])
            worst = max(worst, float((left / right).max()))
            broken += int((left > right + ROUNDING).sum())
            checked += len(left)
            seeds += 1
    verdict: Verdict = "refuted" if broken else "supported"
    sizes = ", ".join(
        f"n = {c['bits']}, k = {c['window']}, q = {c['filters']}, T = {c['steps']}" for c in found
    )
    reason = (
        f"{broken} of {checked} checked steps of {seeds} runs break it; the left side is at most "
        f"{worst:.3g} of the right one ({sizes})"
    )
    evidence = Evidence(
        "largest left side / right side",
        worst,
        worst,
        worst,
        checked,
        1.0,
        "largest over runs and steps",
        1.0,
    )
    return Finding(claim, verdict, reason, True, (evidence,))


def _theorem4(s: PatternsSettings, found: list[dict[str, Any]]) -> Finding:
    inside = [config for config in found if config["applies"]]
    telling = [config for config in inside if not config["vacuous"]]
    evidence, words = [], []
    for config in inside:
        average = mean_interval([run["average"] for run in config["runs"]])
        label = f"average loss, n = {config['bits']}, k = {config['window']}"
        evidence.append(Evidence.of(label, average, config["bound"], zero_network=1.0))
        words.append(
            f"n = {config['bits']}: {average} against "
            f"{config['bound']:.3g}{' (vacuous)' if config['vacuous'] else ''}"
        )
    if not telling:
        reason = (
            "the bound is 1 or more, the loss of the network that is zero, in every run: "
            + "; ".join(words)
        )
        return Finding(claims.THEOREM4, "undecided", reason, bool(inside), tuple(evidence))
    broken = sum(
        run["average"] > config["bound"] + ROUNDING for config in telling for run in config["runs"]
    )
    runs = sum(len(config["runs"]) for config in telling)
    share = wilson(broken, runs)
    verdict: Verdict = (
        "supported" if not broken else "refuted" if share.low > s.delta else "undecided"
    )
    evidence.append(Evidence.of("share of runs that break a bound below 1", share, s.delta))
    reason = (
        f"{broken} of {runs} runs exceed a bound below 1 (δ = {s.delta:g}); average loss "
        + "; ".join(words)
    )
    return Finding(claims.THEOREM4, verdict, reason, True, tuple(evidence))


def least_work(bits: int, delta: float, ceiling: float) -> dict[str, Any]:
    """The cheapest (q, T) for which Theorem 4 promises a loss below 1 at k = ⌈log2 n⌉, and its
    operations.

    The operations are those of training all q filters with the population gradient taken by
    patterns, three passes a step: the cheapest way that does not need filters to begin equal.

    >>> least_work(4, 0.05, 1.0)["window"]
    2
    """
    window = log_window(bits)
    sizes = theorem4_sizes(bits, window, 1 - 1e-6, delta, ceiling)
    filters, steps = float(sizes.cheapest_filters), float(sizes.cheapest_steps)
    operations = 6.0 * 2**window * filters * steps * (window + bits - window + 1)
    return {
        "bits": bits,
        "window": window,
        "filters": filters,
        "steps": steps,
        "operations": operations,
    }


def vacuity(s: PatternsSettings) -> Finding:
    """From which n on Theorem 4 promises nothing within the work limit.

    >>> vacuity(PatternsSettings()).verdict
    'supported'
    """
    rows = work_rows(s)
    beyond = [row["bits"] for row in rows if row["operations"] > s.work_limit]
    first = min(beyond, default=None)
    within = [row["bits"] for row in rows if row["operations"] <= s.work_limit]
    clean = bool(beyond) and bool(within) and max(within) < min(beyond)
    if first is None:
        reason = (
            f"every n up to {rows[-1]['bits']} has a bound below 1 within {s.work_limit:.0e} "
            "operations"
        )
        return Finding(claims.VACUOUS, "refuted" if within else "undecided", reason, True)
    row = next(row for row in rows if row["bits"] == first)
    reason = (
        f"within {s.work_limit:.0e} operations the bound can be below 1 for n up to "
        f"{max(within, default=0)} of the n looked at; at n = {first} the cheapest such run has q "
        f"= {row['filters']:.2g} filters, T = {row['steps']:.2g} steps, {row['operations']:.2g} "
        "operations"
    )
    verdict: Verdict = "supported" if clean else "refuted"
    evidence = Evidence(
        "smallest n beyond reach", first, first, first, len(rows), 1.0, "exact calculation", None
    )
    return Finding(claims.VACUOUS, verdict, reason, True, (evidence,))


def work_rows(s: PatternsSettings) -> list[dict[str, Any]]:
    """`least_work` for n = 4, 8, …, 128.

    >>> [row["bits"] for row in work_rows(PatternsSettings())]
    [4, 8, 16, 32, 64, 128]
    """
    return [least_work(n, s.delta, s.ceiling) for n in (4, 8, 16, 32, 64, 128)]


def certificate_tables(s: PatternsSettings, found: list[dict[str, Any]]) -> tuple[TableData, ...]:
    """The runs with their bounds, and what a bound below 1 costs at growing n.

    >>> [table.name for table in certificate_tables(PatternsSettings(), [])]
    ['theorem4', 'theorem4-work']
    """
    columns = (
        "n",
        "k",
        "q",
        "T",
        "rate",
        "runs",
        "average loss",
        "low",
        "high",
        "bound",
        "drift",
        "comparator",
        "descent",
        "vacuous",
    )
    rows = []
    for c in found:
        average = mean_interval([run["average"] for run in c["runs"]])
        sizes = (c["bits"], c["window"], c["filters"], c["steps"], c["rate"], len(c["runs"]))
        rows.append(
            (
                *sizes,
                average.estimate,
                average.low,
                average.high,
                c["bound"],
                *c["terms"],
                c["vacuous"],
            )
        )
    work = tuple(
        (
            r["bits"],
            r["window"],
            r["filters"],
            r["steps"],
            r["operations"],
            r["operations"] <= s.work_limit,
        )
        for r in work_rows(s)
    )
    return (
        TableData(
            "theorem4",
            "Theorem 4 on real runs: average loss (95 % interval over starts) and its bound",
            columns,
            tuple(rows),
        ),
        TableData(
            "theorem4-work",
            "The cheapest run for which Theorem 4 promises a loss below 1",
            ("n", "k", "q", "T", "operations", f"within {s.work_limit:.0e}"),
            work,
        ),
    )


def certificate_figures(found: list[dict[str, Any]]) -> tuple[Figure, ...]:
    """Both sides of every promise along the first run's sizes.

    >>> certificate_figures([])
    ()
    """
    if not found:
        return ()
    first = found[0]
    times = tuple(first["times"])
    where = (
        f"n = {first['bits']}, k = {first['window']}, q = {first['filters']}, T = {first['steps']}"
    )
    figures = []
    for name, (_, title, label) in PROMISES.items():
        left = np.array([run[name][0] for run in first["runs"]])
        right = np.array([run[name][1] for run in first["runs"]])
        starts = (len(left),) * len(times)
        series = [
            Series(
                "measured",
                times,
                _positive(left.mean(0)),
                _positive(left.min(0)),
                _positive(left.max(0)),
                seeds=starts,
            ),
            Series(
                "right side",
                times,
                _positive(right.mean(0)),
                _positive(right.min(0)),
                _positive(right.max(0)),
                role="bound",
            ),
        ]
        if name == "regret":
            series.append(
                Series(
                    "Theorem 4 at the end", (times[0], times[-1]), (first["bound"],) * 2, role="law"
                )
            )
            series.append(
                Series(
                    "the network that is zero", (times[0], times[-1]), (1.0, 1.0), role="baseline"
                )
            )
        caption = (
            f"{where}; the mean over {len(left)} starts, the band from the smallest to the largest."
        )
        figures.append(
            Figure(
                f"certificate-{name}",
                title,
                Axis("step"),
                Axis(label, log=True),
                tuple(series),
                caption,
            )
        )
    return tuple(figures)


def _positive(values: np.ndarray) -> tuple[float | None, ...]:
    """Values for a logarithmic axis: what is exactly 0 has no place on it."""
    return tuple(float(value) if value > 0 else None for value in values)
