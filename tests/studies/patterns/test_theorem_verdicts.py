"""Verdicts on theorems, on doctored evidence."""

import numpy as np

from separatrix.studies.patterns import PatternsSettings
from separatrix.studies.patterns.theorem_verdicts import (
    PROMISES,
    certificate_findings,
    curvature,
    gradient_findings,
    vacuity,
)
from separatrix.studies.patterns.trials import gradient_row
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
    assert verdicts.pop("malach.theorem4.vacuous-beyond") == "supported"
    assert set(verdicts.values()) == {"refuted"}


def test_vacuity_depends_on_the_work_limit():
    assert vacuity(PatternsSettings(work_limit=1e30)).verdict == "refuted"
    assert vacuity(PatternsSettings(work_limit=1e12)).evidence[0].estimate == 8


def test_gradients_above_their_bound_are_refuted():
    rows = [gradient_row(n, 3, "clipped", "theorem4", draws=2, seed=0) for n in (8, 16)]
    families = ("relu, gaussian", "tanh, gaussian", "clipped, theorem4")
    identity = identity_errors(1)
    good = gradient_findings(dict.fromkeys(families, rows), identity)
    assert [finding.verdict for finding in good] == [
        "supported",
        "supported",
        "supported",
        "undecided",
    ]
    lower = [
        row | {"paper": row["full"]["low"] / 2, "paper_readout": row["full_readout"]["low"] / 2}
        for row in rows
    ]
    bad = gradient_findings(
        dict.fromkeys(families, lower), [row | {"readout": 1e-3} for row in identity]
    )
    assert [finding.verdict for finding in bad][:3] == ["refuted"] * 3


def test_curvature_tells_powers_from_faster_decay():
    sizes = 2.0 ** np.arange(3, 12)
    noise = np.exp(0.05 * np.sin(np.arange(9)))
    assert curvature(sizes, sizes**-3.0 * noise).contains(0.0)
    assert curvature(sizes, sizes ** -np.log2(sizes) * noise).high < 0
