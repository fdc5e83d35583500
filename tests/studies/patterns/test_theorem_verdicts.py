"""Verdicts on theorems, on doctored evidence."""

import numpy as np
import pytest

from separatrix.studies.claims import judge
from separatrix.studies.patterns import PatternsSettings
from separatrix.studies.patterns.calculations import gradient_row
from separatrix.studies.patterns.theorem_verdicts import (
    POLYNOMIAL,
    PROMISES,
    SUPERPOLYNOMIAL,
    certificate_findings,
    exponent_changes,
    gradient_findings,
    signal_cells,
    vacuity,
)
from separatrix.theory.patterns.hardness import identity_errors
from separatrix.theory.patterns.theorem4_run import Theorem4Run, certify


def test_broken_promises_are_refuted():
    found = certify(Theorem4Run(4, 2, 8192, 60), seeds=range(2), delta=0.05)
    found["vacuous"], found["bound"] = False, 0.01
    for name in PROMISES:
        found["runs"][1][name][0][3] = found["runs"][1][name][1][3] * 1.01
    verdicts = {
        finding.claim.id: finding.verdict
        for finding in certificate_findings(PatternsSettings(), [found])
    }
    assert verdicts.pop("ours.theorem4-vacuous") == "supported"
    assert verdicts.pop("malach.theorem4.local") == "not measured"
    assert set(verdicts.values()) == {"refuted"}


def test_vacuity_depends_on_the_work_limit():
    assert vacuity(PatternsSettings(work_limit=1e30)).verdict == "refuted"
    # 9.1e15 operations at n = 16
    between = vacuity(PatternsSettings(work_limit=1e16))
    assert between.verdict == "refuted"
    assert between.evidence[0].estimate < 1


def test_gradients_above_their_bound_are_refuted():
    rows = [gradient_row(n, 3, "clipped", "theorem4", draws=2, seed=0) for n in (8, 16)]
    families = ("relu, gaussian", "tanh, gaussian", "clipped, theorem4")
    identity = identity_errors(1)
    good = gradient_findings(dict.fromkeys(families, rows), identity)
    assert [finding.verdict for finding in good] == [
        "supported",
        "supported",
        "supported",
        "not measured",
        "supported",  # at one k the CNN's signal does not fall at all
    ]
    lower = [
        row | {"paper": row["full"]["low"] / 2, "paper_readout": row["full_readout"]["low"] / 2}
        for row in rows
    ]
    bad = gradient_findings(
        dict.fromkeys(families, lower), [row | {"readout": 1e-3} for row in identity]
    )
    assert [finding.verdict for finding in bad][:3] == ["refuted"] * 3


def planted(full, shared, spread=0.0, numerical=0.0):
    """Rows of every family from two functions of n."""
    generator = np.random.default_rng(0)

    def row(n):
        def mean(function):
            value = function(n) * np.exp(0.1 * spread * generator.standard_normal())
            return {"mean": value, "high": value * (1 + 2 * spread), "draws": 16}

        return {
            "bits": n,
            "window": int(np.log2(n)),
            "full": mean(full),
            "shared": mean(shared),
            "full_error": numerical * full(n),
        }

    rows = [row(2**k) for k in range(3, 10)]
    return {"relu, gaussian": rows, "tanh, gaussian": rows, "clipped, theorem4": rows}


def superpolynomial(n):
    return n ** -np.log2(n)


@pytest.mark.parametrize(
    "full, spread, numerical, verdict",
    [
        (superpolynomial, 0.05, 0.0, "supported"),
        (superpolynomial, 0.0, 0.0, "supported"),
        (lambda n: n ** -(9 - np.log2(n) / 2), 0.05, 0.0, "refuted"),  # the exponent falls
        (lambda n: n**-3.0, 0.05, 0.0, "undecided"),  # a power is the border
        (superpolynomial, 0.05, 3.0, "undecided"),  # numerical error hides it
    ],
)
def test_the_exponent_must_rise_beyond_its_error(full, spread, numerical, verdict):
    families = planted(full, lambda n: n**-1.5, spread, numerical)
    found = judge(SUPERPOLYNOMIAL, exponent_changes(families))
    assert found.verdict == verdict


@pytest.mark.parametrize(
    "shared, verdict",
    [
        (lambda n: n**-1.5, "supported"),
        (lambda n: np.log2(n) * n**-2.0, "supported"),
        (lambda n: n**-3.0, "refuted"),
        (superpolynomial, "refuted"),
    ],
)
def test_a_signal_that_falls_faster_than_the_square_is_refuted(shared, verdict):
    families = planted(superpolynomial, shared, 0.05)
    assert judge(POLYNOMIAL, signal_cells(families)).verdict == verdict


def test_local_runs_decide_the_local_claim_alone():
    run = Theorem4Run(4, 2, 8192, 60, local=True)
    found = certify(run, seeds=range(2), delta=0.05) | {"vacuous": False, "bound": 2.0}
    verdicts = {
        finding.claim.id: finding.verdict
        for finding in certificate_findings(PatternsSettings(), [found])
    }
    assert verdicts["malach.theorem4.local"] == "supported"
    assert verdicts["malach.theorem4.holds"] == "not measured"
