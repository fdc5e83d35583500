"""Claims: papers, and what an interval says of a claim."""

import json
import math

import pytest

import separatrix as sx
from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.inference.estimates import Known
from separatrix.report import write_report
from separatrix.report.latex import claims_table
from separatrix.studies import (
    PAPERS,
    STUDIES,
    Claim,
    Evidence,
    Finding,
    Job,
    Outcome,
    Study,
    register_paper,
    run_jobs,
)
from separatrix.studies.claims import (
    FAMILY_ERROR,
    check_unique,
    judge,
    ratio_in_words,
)
from separatrix.studies.kinds import Comparison
from separatrix.studies.pattern_readout import PatternReadoutSettings

CLAIM = Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "σ at most 1/√k")


@pytest.mark.parametrize(
    "low, high, words",
    [
        (3.0, math.inf, "a factor of at least 3"),
        (0.0, 0.5, "a factor of at most 0.5"),
        (0.5, 3.0, "a factor between 0.5 and 3"),
        (0.0, math.inf, "an unknown factor"),
    ],
)
def test_a_ratio_of_which_bounds_are_known(low, high, words):
    assert ratio_in_words(Evidence("x", math.nan, low, high, count=9)) == words


def test_a_claim_names_a_known_paper():
    assert CLAIM.paper == "lahoti"
    with pytest.raises(UnknownNameError, match="did you mean `lahoti`"):
        Claim("lahotti.example", "x", "y", "z")


CITATION = "Doe & <Roe>, Do Neighbours Agree? (Journal of Examples 2026)"


@pytest.fixture
def papers():
    """What is made known is forgotten afterwards."""
    before = dict(PAPERS)
    yield PAPERS
    PAPERS.clear()
    PAPERS.update(before)


class Mine(Study):
    name = "mine"
    title = "A study of my own"
    summary = "one claim"

    def __init__(self, claim):
        self.claims, self.scales = (claim,), {"quick": PatternReadoutSettings()}

    def conclude(self, lab, settings):
        evidence = Evidence("agreement", 0.8, 0.75, 0.85, count=12, reference=0.5)
        return Outcome((Finding(self.claims[0], "supported", "they do", True, (evidence,)),))


def test_a_study_of_ones_own_stands_under_its_own_paper_also_in_another_process(papers, tmp_path):
    register_paper("doe-2026", CITATION)
    study = Mine(Claim("doe-2026.agree", "Neighbours agree.", "Theorem 1", "n is large"))
    with sx.Lab(tmp_path / "run", workers=0) as lab:
        run_jobs([Job(study, study.settings("quick"))], lab, "quick", 0, "python mine.py")
    del papers["doe-2026"]  # as in a process that has not heard of it
    page = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert "A study of my own" in page
    assert '<option value="doe-2026">Doe &amp; &lt;Roe&gt; 2026</option>' in page
    assert (
        "<b>Doe &amp; &lt;Roe&gt; 2026</b>: Doe &amp; &lt;Roe&gt;, Do Neighbours Agree? (Journal "
        "of Examples 2026)" in page
    )
    claims = json.loads((tmp_path / "run" / "claims.json").read_text(encoding="utf-8"))
    assert claims[0]["source"] == CITATION
    assert r"Doe \& \textless{}Roe\textgreater{} 2026, Theorem 1" in claims_table(claims)


def test_a_paper_that_is_not_known_is_named():
    with pytest.raises(SeparatrixError, match="there is no paper `unheard`"):
        Claim("unheard.claim", "…", "", "")


def test_making_it_known_twice_is_fine_and_another_citation_is_not(papers):
    assert register_paper("doe", "Doe, A (2026)") == register_paper("doe", "Doe, A (2026)")
    with pytest.raises(
        SeparatrixError, match='the key `doe` stands for "Doe, A \\(2026\\)"; take another one'
    ):
        register_paper("doe", "Doe, B (2026)")
    with pytest.raises(SeparatrixError, match="the key `malach` stands for"):
        register_paper("malach", "Mine")


@pytest.mark.parametrize("key", ["", "Doe", "a.b", "a b", "1a", "<b>", None])
def test_keys_are_words(papers, key):
    with pytest.raises(
        SeparatrixError,
        match="the `key` of a paper must be a word of small letters, digits and hyphens, got",
    ):
        register_paper(key, "Doe, A (2026)")


@pytest.mark.parametrize("citation", ["", "  ", None])
def test_a_paper_has_a_citation(papers, citation):
    with pytest.raises(
        SeparatrixError, match="the `citation` of a paper must be a text that names it, got"
    ):
        register_paper("doe", citation)


KIND = Comparison("accuracy, CNN minus FCN", "above", 0.0)
OF_PAPER = Claim("malach.example", "The CNN is ahead.", "Figure 1", "CIFAR-10", KIND)
OF_OURS = Claim("ours.example", "The CNN is ahead.", "open question 1", "", KIND)
AHEAD, BEHIND = {"n = 9": Known(0.1, 0.01)}, {"n = 9": Known(-0.1, 0.01)}


def test_a_finding_carries_rule_level_and_what_would_settle_it():
    plain = judge(OF_PAPER, {"n = 9": Known(0.01, 0.01)}).plain()
    assert plain["verdict"] == "undecided"
    assert plain["kind"] == "comparison"
    assert plain["rule"] == KIND.rule_in_words()
    assert plain["settle"]
    assert plain["effort"] > 1
    assert plain["level"] == OF_PAPER.level


def test_nothing_measured_is_not_undecided():
    finding = judge(OF_PAPER, {}, reason="CIFAR-10 is not on this machine")
    assert finding.verdict == "not measured"
    assert finding.reason == "CIFAR-10 is not on this machine"
    assert finding.conditions_met is None


def test_outside_of_its_conditions_a_paper_is_not_refuted():
    assert judge(OF_PAPER, BEHIND).verdict == "refuted"
    outside = judge(OF_PAPER, BEHIND, outside="MNIST in place of CIFAR-10")
    assert outside.verdict == "undecided"
    assert outside.conditions_met is False
    assert "inside the paper's conditions" in outside.settle
    assert judge(OF_PAPER, AHEAD, outside="MNIST").verdict == "supported"
    assert judge(OF_OURS, BEHIND, outside="MNIST").verdict == "refuted"


def test_a_claim_without_a_kind_cannot_be_judged():
    with pytest.raises(SeparatrixError, match=r"the claim `malach\.x` has no kind"):
        judge(Claim("malach.x", "It is so.", "Section 1", ""), AHEAD)


def test_two_claims_with_one_id_are_refused():
    with pytest.raises(SeparatrixError, match=r"two claims have the id `malach\.example`"):
        check_unique([OF_PAPER, OF_PAPER])


def test_the_claims_of_an_owner_share_one_chance_of_a_wrong_verdict():
    for paper in PAPERS:
        errors = [
            1 - claim.level
            for study in STUDIES.values()
            for claim in study.claims
            if claim.paper == paper and claim.kind is not None and claim.kind.by_chance
        ]
        assert not errors or sum(errors) == pytest.approx(FAMILY_ERROR)


def test_a_claim_of_a_paper_that_no_study_has_is_decided_at_95_percent():
    register_paper("alone", "Doe, Alone (2026)")
    try:
        assert Claim("alone.a", "It is.", "Section 1", "").level == 0.95
    finally:
        del PAPERS["alone"]
