"""Papers of one's own: made known without editing the package, and kept with the findings."""

import json

import pytest

import separatrix as sx
from separatrix.errors import SeparatrixError
from separatrix.report import write_report
from separatrix.report.latex import claims_table
from separatrix.studies import (
    PAPERS,
    Claim,
    Evidence,
    Finding,
    Job,
    Outcome,
    Study,
    register_paper,
    run_jobs,
)
from separatrix.studies.pattern_readout import PatternReadoutSettings

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
    assert "<h2>A study of my own</h2>" in page
    assert '<option value="doe-2026">Doe &amp; &lt;Roe&gt; 2026</option>' in page
    assert (
        "<b>Doe &amp; &lt;Roe&gt; 2026</b>: Doe &amp; &lt;Roe&gt;, Do Neighbours Agree? (Journal of Examples 2026)"
        in page
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
