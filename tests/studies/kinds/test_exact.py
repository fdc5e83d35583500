"""Certificates and identities: a single violation beyond rounding refutes."""

import pytest

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.studies.kinds import Certificate, Identity

CERTIFICATE, IDENTITY = Certificate("||u|| ≤ cηt√q", 1e-6), Identity("h = f", 1e-9)


def test_a_certificate():
    runs = {f"seed {i}": -0.5 + 0.01 * i for i in range(20)}
    decision = CERTIFICATE.decide(runs)
    assert decision.verdict == "supported"
    assert "no violation in 20 runs (so at most 0.16 of such runs violate it)" in decision.reason
    broken = CERTIFICATE.decide({**runs, "seed 20": 1e-3})
    assert broken.verdict == "refuted"
    assert "1 of 21 runs violate it" in broken.reason
    assert CERTIFICATE.decide({**runs, "seed 20": 1e-8}).verdict == "supported"
    assert CERTIFICATE.decide({}).verdict == "not measured"


def test_an_identity():
    assert IDENTITY.decide({"n = 8": -2e-16, "n = 9": 1e-15}).verdict == "supported"
    refuted = IDENTITY.decide({"n = 8": 2e-16, "n = 9": -1e-3})
    assert refuted.verdict == "refuted"
    assert "(n = 9)" in refuted.reason


@pytest.mark.parametrize("kind", [Certificate, Identity])
def test_no_tolerance_no_kind(kind):
    with pytest.raises(
        ParameterError, match=f"`tolerance` of {kind.__name__} must be a number > 0"
    ):
        kind("left ≤ right")


def test_what_is_not_a_number_is_refused():
    with pytest.raises(SeparatrixError, match="must be finite, got nan for seed 0"):
        CERTIFICATE.decide({"seed 0": float("nan")})


def test_rules_name_their_tolerance():
    assert "1e-06" in CERTIFICATE.rule_in_words()
    assert "1e-09" in IDENTITY.formula()
    assert not CERTIFICATE.by_chance
