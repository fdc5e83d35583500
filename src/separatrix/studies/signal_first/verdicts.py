"""The claims of the first experiment, and the evidence that decides them."""

import numpy as np

from separatrix.inference.estimates import MeanOf, PairedDifference
from separatrix.studies.cells import Row
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Comparison
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal_first.settings import SignalFirstSettings
from separatrix.studies.signal_first.trials import values
from separatrix.theory.signal import best_linear_risk

ALIGNED = 0.25  # below this alignment the paper's summary calls a run failed
QUANTITY = "patch_alignment"
CONDITIONS = (
    "one hidden layer with LSA activation, gradient descent projected to the unit ball, noise σ "
    "at most about 1/√k"
)
_SIZES = "With k = 10 patches of d = 20 dimensions, noise σ = 0.1 and 1000 samples"


def _aligned(network: str, statement: str, citation: str, owner: str) -> Claim:
    kind = Comparison(f"mean patch alignment of the {network}", "above", ALIGNED)
    name = f"{owner}.first.{network.lower()}-aligned"
    return Claim(name, statement, citation, CONDITIONS, kind)


_PROMISED = "{}, far more than the bound asks for, the {} aligns with the signal."
_SUMMARY = "summary of arXiv 2403.15707, first experiment and failure signatures"
CLAIM_ALIGNED = {
    **{
        network: _aligned(network, _PROMISED.format(_SIZES, network), _SUMMARY, "lahoti")
        for network in ("CNN", "LCN")
    },
    "FCN": _aligned(
        "FCN",
        f"{_SIZES} the FCN aligns with the signal as well, although no upper bound promises it.",
        "ours; the paper has a lower bound for the FCN",
        "ours",
    ),
}


def _ahead(name: str, better: str, worse: str) -> Claim:
    return Claim(
        f"ours.first.{name}",
        f"From the same samples the {better} aligns better with the signal than the {worse}.",
        "ours; the paper compares numbers of samples",
        CONDITIONS,
        Comparison(f"patch alignment, {better} minus {worse}", "above", 0.0),
    )


PAIRS = {
    ("CNN", "LCN"): _ahead("sharing-aligns", "CNN", "LCN"),
    ("LCN", "FCN"): _ahead("locality-aligns", "LCN", "FCN"),
}
CLAIMS = (*CLAIM_ALIGNED.values(), *PAIRS.values())
FEW = "fewer than two trials were finished"


def outside_of(s: SignalFirstSettings) -> str:
    """In words, how the noise exceeds the paper's assumption; empty where it does not.

    >>> outside_of(SignalFirstSettings(noise=0.5))
    'σ = 0.5 exceeds 1/√k = 0.316'
    """
    edge = 1 / np.sqrt(s.patches)
    return "" if s.noise <= edge else f"σ = {s.noise:g} exceeds 1/√k = {edge:.3g}"


def untrained(s: SignalFirstSettings, rows: dict[str, list[Row]]) -> dict[str, str]:
    """Networks that did not train, with the reason: their mean training risk is no better than the
    best linear rule's, and their mean patch alignment is below that of failed runs.

    Such a network is a failed recipe: its alignment says nothing of what the samples allow. The
    training risk alone does not show it: at this noise a linear rule errs on fewer than one row in
    a thousand, and a network may align with the signal and err more often. A network that fits its
    rows better than the linear rule and still does not align has trained, and counts.

    >>> rows = [{"train_risk": risk, "patch_alignment": 0.1} for risk in (0.4, 0.3)]
    >>> print(untrained(SignalFirstSettings(), {"FCN": rows})["FCN"])
    the FCN did not train (training risk 0.35, best linear rule 0.00078; patch alignment 0.1, failed
    below 0.25): it needs another recipe
    >>> aligned = [row | {"patch_alignment": 0.8} for row in rows]
    >>> untrained(SignalFirstSettings(), {"FCN": aligned})
    {}
    """
    limit = best_linear_risk(s.patches, s.noise)
    means = {
        name: tuple(float(np.mean(values(trials, c))) for c in ("train_risk", QUANTITY))
        for name, trials in rows.items()
    }
    return {
        name: f"the {name} did not train (training risk {risk:.2g}, best linear rule {limit:.2g}; "
        f"patch alignment {aligned:.2g}, failed below {ALIGNED:g}): it needs another recipe"
        for name, (risk, aligned) in means.items()
        if risk >= limit and aligned < ALIGNED
    }


def judge_all(s: SignalFirstSettings, rows: dict[str, list[Row]]) -> tuple[Finding, ...]:
    """The findings of the experiment, in the order of its claims."""
    outside, failed = outside_of(s), untrained(s, rows)
    known = {name: trials for name, trials in rows.items() if name not in failed}
    return (
        *(judge_aligned(name, known, outside, failed.get(name, FEW)) for name in NETWORKS),
        *(
            judge_ahead(pair, known, outside, "; ".join(failed[n] for n in pair if n in failed))
            for pair in PAIRS
        ),
    )


def judge_aligned(
    name: str, rows: dict[str, list[Row]], outside: str, missing: str = FEW
) -> Finding:
    """A network's mean patch alignment against the level of failed runs; `missing` says why there
    may be none.

    >>> judge_aligned("CNN", {}, "").verdict
    'not measured'
    """
    trials = rows.get(name, [])
    enough = len(trials) >= 2
    evidence = {"": MeanOf(tuple(values(trials, QUANTITY)))} if enough else {}
    return judge(CLAIM_ALIGNED[name], evidence, outside, reason="" if enough else missing)


def judge_ahead(
    pair: tuple[str, str], rows: dict[str, list[Row]], outside: str, missing: str = ""
) -> Finding:
    """The paired difference of two networks' alignments.

    >>> judge_ahead(("CNN", "LCN"), {}, "").verdict
    'not measured'
    """
    better, worse = (rows.get(name, []) for name in pair)
    gap = paired_difference(better, worse, QUANTITY)
    evidence = {} if gap is None else {"": gap}
    return judge(PAIRS[pair], evidence, outside, reason=(missing or FEW) if gap is None else "")


def paired_difference(first: list[Row], second: list[Row], column: str) -> PairedDifference | None:
    """The difference over the seeds that both networks have: they saw the same rows.

    >>> rows = [{"seed": seed, "risk": 0.1 * seed} for seed in range(3)]
    >>> paired_difference(rows, rows[1:], "risk").interval(0.95).estimate
    0.0
    """
    other = {row["seed"]: row[column] for row in second}
    pairs = [(row[column], other[row["seed"]]) for row in first if row["seed"] in other]
    if len(pairs) < 2:
        return None
    return PairedDifference(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
