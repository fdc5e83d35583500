"""The claims of Theorems 4, 10 and 12 and of Lemmas 8 and 9, and the evidence for them; the claims
of Lemma 6 belong to the study `pattern-readout`.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

from separatrix.inference.censored_regression import Cell
from separatrix.inference.estimates import Estimate, Exact, Known
from separatrix.inference.intervals import mean_interval
from separatrix.inference.laws import Law
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.kinds import Certificate, Comparison, Identity, Kind, LowerBound, Trend
from separatrix.studies.patterns.calculations import FAMILIES
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.theory.patterns.theorem4_run import least_work

ROUNDING = 1e-6  # of both sides of an inequality along a run in float64, relative to the right side
IDENTITY_ERROR = 1e-12  # of float64 sums over all supports and inputs
VACUOUS_FROM = 16  # the n from which on no affordable run has a bound below 1

_RECIPE = (
    "W uniform in {±1/k}, b = 1/k - 1 fixed, u = 0, |σ| ≤ c, hinge loss, population gradient, "
    "η = √n/(√q·T), q > 2^(k+3) ln(2^k/δ)"
)
_START = "u = 0 at the start, |σ| ≤ c, |σ'| ≤ 1, hinge loss, gradient descent on both layers"
_HARD = (
    "label = parity of k bits, uniform inputs, weights invariant under permutations, |u_i| ≤ 1, "
    "|h| ≤ 1, |σ'| ≤ 1"
)


def _claim(name: str, statement: str, citation: str, conditions: str, kind: Kind) -> Claim:
    return Claim(name, statement, citation, conditions, kind)


THEOREM4 = _claim(
    "malach.theorem4.holds",
    "Gradient descent on a convolutional network of q filters learns every k-pattern of n bits: "
    "its loss, averaged over T steps, is at most 2cn²k²2^k/q + 2(2^k k)²/√(qn) + c²n^1.5 √q/T.",
    "Theorem 4",
    f"{_RECIPE}; a draw of the filters that covers all 2^k sign patterns, as all but a share δ do",
    Certificate("average loss ≤ Theorem 4's bound, where that is below 1", ROUNDING),
)
LOCAL_THEOREM4 = _claim(
    "malach.theorem4.local",
    "Theorem 4 holds for locally connected networks as well, with the same bound: the proof does "
    "not use that windows share their weights.",
    "Section 3.1",
    f"{_RECIPE}; own filters W at every window",
    Certificate("average loss of the LCN ≤ Theorem 4's bound, where that is below 1", ROUNDING),
)
VACUOUS = _claim(
    "ours.theorem4-vacuous",
    f"At k = ⌈log2 n⌉ and n ≥ {VACUOUS_FROM}, every run for which Theorem 4's bound is below 1, "
    "the loss of the zero network, takes more operations than can be spent.",
    "ours; a property of Theorem 4's bound that the paper does not discuss",
    "the least work of a run with a bound below 1, against the stated number of operations",
    Comparison("least operations of a run with a bound below 1, over the limit", "above", 1.0),
)
LEMMA8_READOUT = _claim(
    "malach.lemma8.readout",
    "While gradient descent follows Theorem 4's recipe, each window's readout stays short: "
    "||u_j(t)|| ≤ cηt√q.",
    "Lemma 8",
    _START,
    Certificate("||u_j(t)|| ≤ cηt√q", ROUNDING),
)
LEMMA8_WEIGHTS = _claim(
    "malach.lemma8.weights",
    "While gradient descent follows Theorem 4's recipe, the first layer hardly moves: "
    "||W(t) - W(0)|| ≤ cη²t²n√(qk).",
    "Lemma 8",
    _START,
    Certificate("||W(t) - W(0)|| ≤ cη²t²n√(qk)", ROUNDING),
)
LEMMA9 = _claim(
    "malach.lemma9",
    "Lemma 6's readout u* stays good while the first layer moves: |L(u*, W(t)) - L(u*, W(0))| ≤ "
    "cη²t²nk√q·Σ||u*_j||.",
    "Lemma 9",
    _START,
    Certificate("|L(u*, W(t)) - L(u*, W(0))| ≤ cη²t²nk√q·Σ||u*_j||", ROUNDING),
)
THEOREM10 = _claim(
    "malach.theorem10",
    "The regret of the readout is bounded: mean f_t(u_t) ≤ mean f_t(u*) + ||u*||²/(2ηT) + "
    "||u_1||·mean||g_t|| + η·mean||g_t||².",
    "Theorem 10",
    "f_t convex in u, gradient descent with a fixed rate",
    Certificate("mean f_t(u_t) ≤ the right side of Theorem 10", ROUNDING),
)
FIRST_LAYER = _claim(
    "malach.theorem12.first-layer",
    "On the parity of k of n bits, a fully connected network of q units has a first-layer "
    "gradient at the start with E||∂L/∂W||² ≤ q·n·min{1/C(n-1,k), 1/C(n-1,k-1)}.",
    "Theorem 12",
    _HARD,
    Certificate("E||∂L/∂W||² ≤ q·n·min{1/C(n-1,k), 1/C(n-1,k-1)}", ROUNDING),
)
READOUT = _claim(
    "malach.theorem12.readout",
    "On the parity of k of n bits, a fully connected network of q units with |σ| ≤ c has a "
    "readout gradient at the start with E||∂L/∂u||² ≤ c²q/C(n,k).",
    "Theorem 12",
    f"{_HARD}, |σ| ≤ c (so not for ReLU)",
    Certificate("E||∂L/∂u||² ≤ c²q/C(n,k)", ROUNDING),
)
IDENTITY = _claim(
    "ours.theorem12-identity",
    "Averaged over all supports, a unit's squared gradient is u²·[A(n-k+1) + B(k+1)]/C(n,k), A "
    "and B the Fourier mass of σ' at degrees k-1 and k+1; the readout's is (mass of σ at degree "
    "k)/C(n,k).",
    "ours; it sharpens Theorem 12",
    "any weights, bias and activation; uniform inputs",
    Identity("mean squared gradient = its Fourier masses over C(n,k)", IDENTITY_ERROR),
)
SUPERPOLYNOMIAL = _claim(
    "malach.theorem12.fcn-superpolynomial",
    "At k = log2 n the fully connected network's expected squared gradient at the start falls "
    "faster than every power of n: its exponent, from the smallest n to n, keeps rising.",
    "Theorem 12 with k = log2 n; Section 4",
    _HARD,
    Trend("the exponent of the FCN's squared gradient from the smallest n on", "n", "rising"),
)
SQUARE = Law("1/n²", "1/n²", lambda design: 1 / np.square(design["n"]))
POLYNOMIAL = _claim(
    "malach.theorem12.cnn-polynomial",
    "At k = log2 n the convolutional network's expected squared gradient at the start falls no "
    "faster than a power of n: per filter it is at least c/n², as Theorem 4's start has it.",
    "Section 4 beside Theorem 4: windows keep a polynomial signal",
    _HARD,
    LowerBound("squared gradient per filter", SQUARE, ("n",), group="family"),
)
CLAIMS = (
    THEOREM4,
    LOCAL_THEOREM4,
    VACUOUS,
    LEMMA8_READOUT,
    LEMMA8_WEIGHTS,
    LEMMA9,
    THEOREM10,
    FIRST_LAYER,
    READOUT,
    IDENTITY,
    SUPERPOLYNOMIAL,
    POLYNOMIAL,
)

# The claim of every promise that `certify` records.
PROMISES = {
    "readout": LEMMA8_READOUT,
    "moved": LEMMA8_WEIGHTS,
    "rival": LEMMA9,
    "regret": THEOREM10,
}


def certificate_findings(s: PatternsSettings, records: list[dict[str, Any]]) -> list[Finding]:
    """The verdicts on Theorem 4, its vacuity, Lemmas 8 and 9 and Theorem 10, from the records of
    `certify`.

    >>> from separatrix.theory.patterns.theorem4_run import Theorem4Run, certify
    >>> record = certify(Theorem4Run(4, 2, 256, 20), seeds=range(2), delta=0.05)
    >>> [finding.verdict for finding in certificate_findings(PatternsSettings(), [record])][:3]
    ['not measured', 'not measured', 'supported']
    """
    return [
        _theorem4(THEOREM4, [record for record in records if not record["local"]]),
        _theorem4(LOCAL_THEOREM4, [record for record in records if record["local"]]),
        vacuity(s),
        *(_promise(name, claim, records) for name, claim in PROMISES.items()),
    ]


def _label(record: dict[str, Any], run: int) -> str:
    network = "LCN" if record["local"] else "CNN"
    sizes = f"n = {record['bits']}, k = {record['window']}, q = {record['filters']}"
    return f"{network}, {sizes}, T = {record['steps']}, start {run}"


def _promise(name: str, claim: Claim, records: list[dict[str, Any]]) -> Finding:
    """A promise that must hold at every step of every run."""
    evidence = {}
    for record in records:
        for number, run in enumerate(record["runs"]):
            left, right = (np.asarray(side) for side in run[name])
            evidence[_label(record, number)] = float((left / right).max()) - 1
    return judge(claim, evidence)


def _theorem4(claim: Claim, records: list[dict[str, Any]]) -> Finding:
    inside = [record for record in records if record["applies"]]
    evidence, shown, words = {}, [], []
    for record in inside:
        losses = [run["average"] for run in record["runs"]]
        average = mean_interval(losses)
        label = f"average loss, n = {record['bits']}, k = {record['window']}"
        shown.append(Evidence.of(label, average, record["bound"], zero_network=1.0))
        words.append(
            f"n = {record['bits']}: average loss {average.estimate:.3g} against a bound of "
            f"{record['bound']:.3g}{' (vacuous)' if record['vacuous'] else ''}"
        )
        if not record["vacuous"]:
            evidence |= {
                _label(record, number): run["average"] / record["bound"] - 1
                for number, run in enumerate(record["runs"])
                if run["balanced"]
            }
    reason = "; ".join(words)
    if not evidence:
        reason = f"no run has a bound below 1, the zero network's loss: {reason or 'no run'}"
    return judge(claim, evidence, reason=reason, also=shown)


def vacuity(s: PatternsSettings) -> Finding:
    """Whether Theorem 4 promises nothing within the work limit from `VACUOUS_FROM` on.

    >>> vacuity(PatternsSettings()).verdict
    'supported'
    """
    rows = work_rows(s)
    evidence: dict[str, Estimate | None] = {
        f"n = {row['bits']}": Exact(row["operations"] / s.work_limit)
        for row in rows
        if row["bits"] >= VACUOUS_FROM
    }
    within = [row["bits"] for row in rows if row["operations"] <= s.work_limit]
    reason = (
        f"the limit is {s.work_limit:.0e} operations; of the n looked at, those up to "
        f"{max(within, default=0)} have a bound below 1 within it"
    )
    return judge(VACUOUS, evidence, reason=reason)


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
        judge(
            IDENTITY,
            {
                f"n = {row['bits']}, k = {row['window']}, {row['activation']}, {part}": row[part]
                for row in identity
                for part in ("first_layer", "readout")
            },
        ),
        judge(SUPERPOLYNOMIAL, exponent_changes(families), reason=_exponents_in_words(families)),
        judge(POLYNOMIAL, signal_cells(families)),
    ]


def _below(claim: Claim, families: Families, signal: str, bound: str) -> Finding:
    """Both sides at every (n, k). The left side is the upper end of the mean's interval over draws
    of units, widened by the numerical error of the gradients.
    """
    evidence = {}
    for family, rows in families.items():
        for row in rows:
            if row[bound] is not None:
                error = row["full_error"] if signal == "full" else 0.0
                name = f"{family}; n = {row['bits']}, k = {row['window']}"
                evidence[name] = (row[signal]["high"] + error) / row[bound] - 1
    return judge(claim, evidence)


def _log_error(row: dict[str, Any], signal: str) -> float:
    """The standard error of the logarithm of a mean over draws of units, with the numerical error
    of the gradients in quadrature.
    """
    mean, draws = row[signal]["mean"], row[signal]["draws"]
    half = row[signal]["high"] - mean
    student = half / special.stdtrit(draws - 1, 0.975) if draws > 1 else 0.0
    numerical = row["full_error"] if signal == "full" else 0.0
    return math.hypot(student, numerical) / mean


def _by_parity(families: Families) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The rows of each family whose k is odd, and those whose k is even.

    A unit's signal depends on that parity, because odd and even activations have no Fourier mass at
    even and odd degrees.
    """
    for activation, initialisation in FAMILIES:
        family = f"{activation}, {initialisation}"
        for parity in (1, 0):
            yield family, [row for row in families.get(family, []) if row["window"] % 2 == parity]


def exponent_changes(families: Families) -> dict[str, Estimate | None]:
    """How the exponent of the FCN's signal, from the smallest n to n, changes with n.

    The exponent between neighbouring n would not do: from a start with weights ±1/k the signal
    jumps up and down by what n and k have in common, beside a fall that has no end. Only n whose k
    have the same parity are compared.

    >>> def row(n, k):
    ...     full = {"mean": n**-float(k), "high": n**-float(k), "draws": 2}
    ...     return {"bits": n, "window": k, "full": full, "full_error": 0.0}
    >>> rows = {"relu, gaussian": [row(8, 3), row(32, 5), row(128, 7)]}
    >>> list(exponent_changes(rows))
    ['relu, gaussian: n = 8 … 32 to n = 8 … 128']
    """
    out: dict[str, Estimate | None] = {}
    for family, rows in _by_parity(families):
        for b, c in itertools.pairwise(rows[1:]):
            a = rows[0]
            first, second = math.log(b["bits"] / a["bits"]), math.log(c["bits"] / a["bits"])
            logs = [math.log(row["full"]["mean"]) for row in (a, b, c)]
            errors = [_log_error(row, "full") for row in (a, b, c)]
            change = (logs[0] - logs[2]) / second - (logs[0] - logs[1]) / first
            weights = (1 / first - 1 / second, 1 / first, 1 / second)
            spread = math.hypot(*(w * e for w, e in zip(weights, errors)))
            name = f"{family}: n = {a['bits']} … {b['bits']} to n = {a['bits']} … {c['bits']}"
            draws = a["full"]["draws"]
            freedom = max(draws - 1, 1)
            # Where all draws agree, nothing but rounding is left.
            exact = spread < 1e-9
            out[name] = (
                Exact(change, 1e-9)
                if exact
                else Known(change, spread, freedom, draws, "Student's t over draws of units")
            )
    return out


def _exponents_in_words(families: Families) -> str:
    words = []
    for family, rows in _by_parity(families):
        if len(rows) > 2:
            ends = [
                math.log(rows[0]["full"]["mean"] / end["full"]["mean"])
                / math.log(end["bits"] / rows[0]["bits"])
                for end in (rows[1], rows[-1])
            ]
            parity = "odd" if rows[0]["window"] % 2 else "even"
            words.append(f"{family}, k {parity}: from {ends[0]:.1f} to {ends[1]:.1f}")
    return f"exponents of the FCN's squared gradient, {'; '.join(words)}" if words else ""


def signal_cells(families: Families) -> list[Cell]:
    """The CNN's squared gradient per filter against n, a constant for every family."""
    return [
        Cell(
            {"n": float(row["bits"]), "family": float(number)},
            math.log(row["shared"]["mean"]),
            max(_log_error(row, "shared"), 1e-6),
        )
        for number, (activation, initialisation) in enumerate(FAMILIES)
        for row in families.get(f"{activation}, {initialisation}", [])
    ]
