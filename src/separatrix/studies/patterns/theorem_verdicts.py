"""The claims of Theorems 4, 10 and 12 and of Lemmas 8 and 9, and how exact calculations decide
them; the claims of Lemma 6 belong to the study `pattern-readout`.
"""

import itertools
from typing import Any

import numpy as np
from scipy import special

from separatrix.inference.intervals import Interval, mean_interval, wilson
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_below
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.trials import FAMILIES
from separatrix.theory.patterns.hardness import IDENTITY_SIZES
from separatrix.theory.patterns.theorem4_run import least_work

_RECIPE = (
    "W uniform in {±1/k}, b = 1/k - 1 fixed, u = 0, |σ| ≤ c, hinge loss, population gradient, "
    "η = √n/(√q·T), q > 2^(k+3) ln(2^k/δ)"
)
_START = "u = 0 at the start, |σ| ≤ c, |σ'| ≤ 1, hinge loss, gradient descent on both layers"
_HARD = (
    "label = parity of k bits, uniform inputs, weights invariant under permutations, |u_i| ≤ 1, "
    "|h| ≤ 1, |σ'| ≤ 1"
)


def _claim(name: str, statement: str, citation: str, conditions: str) -> Claim:
    return Claim(f"malach.{name}", statement, citation, conditions)


THEOREM4 = _claim(
    "theorem4.holds",
    "Gradient descent on a convolutional network has an average loss of at most 2cn²k²2^k/q + "
    "2(2^k k)²/√(qn) + c²n^1.5 √q/T.",
    "Theorem 4",
    _RECIPE,
)
VACUOUS = _claim(
    "theorem4.vacuous-beyond",
    "At k = ⌈log2 n⌉ the bound of Theorem 4 is below 1 only for small n: beyond them every "
    "network that can be trained is too small.",
    "Theorem 4; a property of the bound that the paper does not discuss",
    "the least work q·T that makes the bound smaller than 1, against a stated number of operations",
)
LEMMA8_READOUT = _claim(
    "lemma8.readout", "Each window's readout stays short: ||u_j(t)|| ≤ cηt√q.", "Lemma 8", _START
)
LEMMA8_WEIGHTS = _claim(
    "lemma8.weights",
    "The first layer hardly moves: ||W(t) - W(0)|| ≤ cη²t²n√(qk).",
    "Lemma 8",
    _START,
)
LEMMA9 = _claim(
    "lemma9",
    "Lemma 6's readout stays good while the first layer moves: |L(u*, W(t)) - L(u*, W(0))| ≤ "
    "cη²t²nk√q·Σ||u*_j||.",
    "Lemma 9",
    _START,
)
THEOREM10 = _claim(
    "theorem10",
    "The regret of the readout is bounded: mean f_t(u_t) ≤ mean f_t(u*) + ||u*||²/(2ηT) + "
    "||u_1||·mean||g_t|| + η·mean||g_t||².",
    "Theorem 10",
    "f_t convex in u, gradient descent with a fixed rate",
)
FIRST_LAYER = _claim(
    "theorem12.first-layer",
    "A fully connected network's first-layer gradient at the start has E||∂L/∂W||² ≤ "
    "q·n·min{1/C(n-1,k), 1/C(n-1,k-1)}.",
    "Theorem 12",
    _HARD,
)
READOUT = _claim(
    "theorem12.readout",
    "Its readout's gradient has E||∂L/∂u||² ≤ c²q/C(n,k).",
    "Theorem 12",
    f"{_HARD}, |σ| ≤ c (so not for ReLU)",
)
IDENTITY = _claim(
    "theorem12.identity",
    "Averaged over all supports, a unit's squared gradient is u²·[A(n-k+1) + B(k+1)]/C(n,k), A "
    "and B the Fourier mass of σ' at degrees k-1 and k+1; the readout's is (mass of σ at degree "
    "k)/C(n,k).",
    "sharpens Theorem 12 (ours)",
    "any weights, bias and activation; uniform inputs",
)
SUPERPOLYNOMIAL = _claim(
    "theorem12.superpolynomial",
    "At k = log2 n the fully connected network's gradient falls faster than any power of n, the "
    "convolutional one's does not.",
    "Theorem 12 with k = log2 n",
    _HARD,
)
CLAIMS = (
    THEOREM4,
    VACUOUS,
    LEMMA8_READOUT,
    LEMMA8_WEIGHTS,
    LEMMA9,
    THEOREM10,
    FIRST_LAYER,
    READOUT,
    IDENTITY,
    SUPERPOLYNOMIAL,
)

# The claim of every promise that `certify` records.
PROMISES = {
    "readout": LEMMA8_READOUT,
    "moved": LEMMA8_WEIGHTS,
    "rival": LEMMA9,
    "regret": THEOREM10,
}
ROUNDING = 1e-12  # of float64 sums
IDENTITY_ERROR = 1e-12


def certificate_findings(s: PatternsSettings, records: list[dict[str, Any]]) -> list[Finding]:
    """The verdicts on Theorem 4, its vacuity, Lemmas 8 and 9 and Theorem 10, from the records of
    `certify`.

    >>> from separatrix.theory.patterns.theorem4_run import Theorem4Run, certify
    >>> record = certify(Theorem4Run(4, 2, 256, 20), seeds=range(2), delta=0.05)
    >>> [finding.verdict for finding in certificate_findings(PatternsSettings(), [record])]
    ['undecided', 'supported', 'supported', 'supported', 'supported', 'supported']
    """
    return [
        _theorem4(s, records),
        vacuity(s),
        *(_promise(name, claim, records) for name, claim in PROMISES.items()),
    ]


def _promise(name: str, claim: Claim, records: list[dict[str, Any]]) -> Finding:
    """A promise that must hold at every step of every run: decided by the largest left side over
    its right side.
    """
    worst, broken, checked, seeds = 0.0, 0, 0, 0
    for record in records:
        for run in record["runs"]:
            left, right = (np.asarray(side) for side in run[name])
            worst = max(worst, float((left / right).max()))
            broken += int((left > right + ROUNDING).sum())
            checked += len(left)
            seeds += 1
    verdict: Verdict = "refuted" if broken else "supported"
    sizes = ", ".join(
        f"n = {r['bits']}, k = {r['window']}, q = {r['filters']}, T = {r['steps']}" for r in records
    )
    reason = (
        f"{broken} of {checked} checked steps of {seeds} runs break it; the left side is at most "
        f"{worst:.3g} of the right one ({sizes})"
    )
    largest = Interval.exact(worst, checked, "largest over runs and steps")
    evidence = Evidence.of("largest left side / right side", largest, 1.0)
    return Finding(claim, verdict, reason, True, (evidence,))


def _theorem4(s: PatternsSettings, records: list[dict[str, Any]]) -> Finding:
    inside = [record for record in records if record["applies"]]
    telling = [record for record in inside if not record["vacuous"]]
    evidence, words = [], []
    for record in inside:
        average = mean_interval([run["average"] for run in record["runs"]])
        label = f"average loss, n = {record['bits']}, k = {record['window']}"
        evidence.append(Evidence.of(label, average, record["bound"], zero_network=1.0))
        words.append(
            f"n = {record['bits']}: {average} against "
            f"{record['bound']:.3g}{' (vacuous)' if record['vacuous'] else ''}"
        )
    if not telling:
        reason = (
            "the bound is 1 or more, the loss of the network that is zero, in every run: "
            + "; ".join(words)
        )
        return Finding(THEOREM4, "undecided", reason, bool(inside), tuple(evidence))
    broken = sum(
        run["average"] > record["bound"] + ROUNDING for record in telling for run in record["runs"]
    )
    runs = sum(len(record["runs"]) for record in telling)
    share = wilson(broken, runs)
    verdict: Verdict = (
        "supported" if not broken else "refuted" if share.low > s.delta else "undecided"
    )
    evidence.append(Evidence.of("share of runs that break a bound below 1", share, s.delta))
    reason = (
        f"{broken} of {runs} runs exceed a bound below 1 (δ = {s.delta:g}); average loss "
        + "; ".join(words)
    )
    return Finding(THEOREM4, verdict, reason, True, tuple(evidence))


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
        return Finding(VACUOUS, "refuted" if within else "undecided", reason, True)
    row = next(row for row in rows if row["bits"] == first)
    reason = (
        f"within {s.work_limit:.0e} operations the bound can be below 1 for n up to "
        f"{max(within, default=0)} of the n looked at; at n = {first} the cheapest such run has q "
        f"= {row['filters']:.2g} filters, T = {row['steps']:.2g} steps, {row['operations']:.2g} "
        "operations"
    )
    verdict: Verdict = "supported" if clean else "refuted"
    smallest = Interval.exact(first, len(rows), "exact calculation")
    evidence = Evidence.of("smallest n beyond reach", smallest)
    return Finding(VACUOUS, verdict, reason, True, (evidence,))


def work_rows(s: PatternsSettings) -> list[dict[str, Any]]:
    """`least_work` for n = 4, 8, …, 128.

    >>> [row["bits"] for row in work_rows(PatternsSettings())]
    [4, 8, 16, 32, 64, 128]
    """
    return [least_work(n, s.delta, s.ceiling) for n in (4, 8, 16, 32, 64, 128)]


Families = dict[str, list[dict[str, Any]]]  # the rows of `gradient_row` by family, n ascending


def gradient_findings(families: Families, identity: list[dict[str, Any]]) -> list[Finding]:
    """The verdicts on Theorem 12."""
    return [
        _below(FIRST_LAYER, families, "full", "paper"),
        _below(READOUT, families, "full_readout", "paper_readout"),
        _identity(identity),
        _superpolynomial(families),
    ]


def _below(claim: Claim, families: Families, signal: str, bound: str) -> Finding:
    """A bound that must hold at every (n, k): the interval of the measured mean lies below it."""
    verdicts: list[Verdict] = []
    worst: tuple[float, dict[str, Any], str] | None = None
    for family, rows in families.items():
        for row in rows:
            if row[bound] is None:
                continue
            # The interval over draws, widened by the numerical error of the gradients themselves.
            error = row["full_error"] if signal == "full" else 0.0
            mean, low, high = (
                row[signal]["mean"],
                row[signal]["low"] - error,
                row[signal]["high"] + error,
            )
            interval = Interval(mean, low, high, 0.95, "Student", row[signal]["draws"])
            verdicts.append(
                "supported" if high <= row[bound] else decide_below(interval, row[bound])
            )
            share = high / row[bound]
            if worst is None or share > worst[0]:
                worst = (share, row, family)
    if worst is None:
        return Finding(claim, "undecided", "no row was measured", None)
    share, row, family = worst
    name = f"measured / bound, nearest to it ({family}; n = {row['bits']}, k = {row['window']})"
    mean, low, high = (row[signal][part] / row[bound] for part in ("mean", "low", "high"))
    method = "exact gradients, Student's interval over draws of units"
    evidence = Evidence(name, mean, low, high, row[signal]["draws"], 0.95, method, 1.0)
    sizes = sorted({row["bits"] for rows in families.values() for row in rows})
    reason = (
        f"exact gradients at n = {sizes[0]} … {sizes[-1]}, {len(verdicts)} cases: the upper end "
        f"of the interval is at most {share:.2g} of the bound"
    )
    return Finding(claim, all_of(verdicts), reason, True, (evidence,))


def _identity(rows: list[dict[str, Any]]) -> Finding:
    worst = max(max(row["first_layer"], row["readout"]) for row in rows)
    count = sum(row["supports"] for row in rows)
    verdict: Verdict = "supported" if worst <= IDENTITY_ERROR else "refuted"
    sizes = ", ".join(f"({n}, {k})" for n, k in IDENTITY_SIZES)
    reason = (
        f"largest relative error {worst:.1e} over {count} supports at (n, k) = {sizes}, three "
        "activations, both layers"
    )
    largest = Interval.exact(worst, count, "enumeration of all supports and inputs")
    evidence = Evidence.of("largest relative error", largest, IDENTITY_ERROR)
    return Finding(IDENTITY, verdict, reason, True, (evidence,))


def curvature(bits: np.ndarray, signals: np.ndarray, level: float = 0.95) -> Interval:
    """The coefficient of L² in log2(signal) = a + b·L + c·L², L = log2 n: 0 for a power of n,
    negative for what falls faster.

    Student's interval from the residuals, which hold the errors of the draws and the unevenness
    from one k to the next.

    >>> sizes = 2.0 ** np.arange(3, 10)
    >>> curvature(sizes, sizes**-2.0 * 1.01 ** np.array([1, -1, 0, 1, 0, -1, 1])).contains(0.0)
    True
    """
    logs = np.log2(bits)
    matrix = np.stack([np.ones_like(logs), logs, logs**2], 1)
    values = np.log2(signals)
    coefficients, *_ = np.linalg.lstsq(matrix, values, rcond=None)
    freedom = len(bits) - 3
    if freedom < 1:
        return Interval(float(coefficients[2]), -np.inf, np.inf, level, "least squares", len(bits))
    noise = float(((values - matrix @ coefficients) ** 2).sum()) / freedom
    error = float(np.sqrt(noise * np.linalg.inv(matrix.T @ matrix)[2, 2]))
    half = float(special.stdtrit(freedom, 0.5 + level / 2)) * error
    return Interval(
        float(coefficients[2]),
        float(coefficients[2]) - half,
        float(coefficients[2]) + half,
        level,
        "least squares",
        len(bits),
    )


def local_exponents(rows: list[dict[str, Any]], signal: str) -> list[float]:
    """-d log(signal)/d log n between neighbouring sizes.

    >>> rows = [{"bits": n, "full": {"mean": n**-2.0}} for n in (8, 16, 32)]
    >>> [round(e, 6) for e in local_exponents(rows, "full")]
    [2.0, 2.0]
    """
    pairs = itertools.pairwise(rows)
    return [
        float(np.log(a[signal]["mean"] / b[signal]["mean"]) / np.log(b["bits"] / a["bits"]))
        for a, b in pairs
    ]


def _superpolynomial(families: Families) -> Finding:
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for activation, initialisation in FAMILIES:
        family = f"{activation}, {initialisation}"
        rows = families[family]
        bits = np.array([row["bits"] for row in rows], float)
        full, shared = (
            curvature(bits, np.array([row[signal]["mean"] for row in rows]))
            for signal in ("full", "shared")
        )
        # Both must hold: steeper than any power, and steeper than the convolutional network's.
        gap = full.estimate - shared.estimate
        half = float(np.hypot(full.high - full.estimate, shared.high - shared.estimate))
        apart = Interval(gap, gap - half, gap + half, full.level, "least squares", full.count)
        verdicts.extend((decide_below(full, 0.0), decide_below(apart, 0.0)))
        evidence.append(
            Evidence.of(
                f"curvature of log2 signal in log2 n, FCN ({family})",
                full,
                0.0,
                CNN=shared.estimate,
            )
        )
        evidence.append(
            Evidence.of(f"curvature of log2 signal in log2 n, CNN ({family})", shared, None)
        )
        evidence.append(Evidence.of(f"FCN's curvature minus the CNN's ({family})", apart, 0.0))
        ends = {signal: local_exponents(rows, signal) for signal in ("full", "shared")}
        if ends["full"]:
            words.append(
                f"{family}: the FCN's local exponent goes from {ends['full'][0]:.1f} to "
                f"{ends['full'][-1]:.1f}, the CNN's is at most {max(ends['shared']):.1f}"
            )
    if len(next(iter(families.values()))) < 4:
        return Finding(
            SUPERPOLYNOMIAL,
            "undecided",
            "fewer than four sizes: no curvature with an interval",
            True,
            tuple(evidence),
        )
    return Finding(SUPERPOLYNOMIAL, all_of(verdicts), "; ".join(words), True, tuple(evidence))
