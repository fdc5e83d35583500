"""The list of studies: every study has complete claims of its own."""

import os
import re
import sys
from importlib import metadata

import pytest

import separatrix as sx
from separatrix.errors import SeparatrixError
from separatrix.studies import PAPERS, STUDIES, find_study, jobs, registry, run_jobs
from separatrix.studies.claims import OURS
from separatrix.studies.kinds import (
    Certificate,
    Equivalence,
    Identity,
    LowerBound,
    Together,
    UpperBound,
)
from separatrix.studies.registry import all_claims, claims_by_chance

CLAIMS = [pytest.param(claim, id=name) for name, (_, claim) in all_claims().items()]
# Where a reader of a paper finds a sentence.
PLACES = re.compile(
    r"\b(abstract|theorem|lemma|corollary|proposition|remark|comment|section|figure|introduction"
    r"|proof"
    r"|summary|experiments?)\b",
    re.IGNORECASE,
)
# Words of working documents, which no reader can look up.
UNREADABLE = re.compile(r"\b(specification|issue|todo|brief|working document)\b", re.IGNORECASE)


def parts(kind):
    """A kind and the kinds inside it."""
    yield kind
    if isinstance(kind, Together):
        for _, inner in kind.parts:
            yield from parts(inner)


def test_claims_are_complete_and_unlike():
    claims = [claim for study in STUDIES.values() for claim in study.claims]
    assert len({claim.id for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.paper in PAPERS
        for words in (claim.statement, claim.citation, claim.conditions):
            assert words.strip() == words != ""
        assert claim.statement.endswith(".")
    for name, study in STUDIES.items():
        assert study.name == name
        assert study.claims
        assert study.title
        assert study.summary
        assert "\n" not in study.summary


def test_an_unknown_study_suggests_the_nearest():
    with pytest.raises(
        SeparatrixError, match="there is no study `patern-readout`; did you mean `pattern-readout`"
    ):
        find_study("patern-readout")


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_has_a_kind_that_writes_its_rule(claim):
    assert claim.kind is not None
    for kind in parts(claim.kind):
        assert kind.rule_in_words().startswith("Supported if")
        assert kind.formula()
        for margin in margins(kind):
            assert margin is not None
            assert margin > 0
            assert any(f"{margin:{form}}" in kind.rule_in_words() for form in ("g", ".2f", ".4g"))


def margins(kind):
    """The margins of a kind as the rule writes them: a distance, or the ends of a range."""
    if isinstance(kind, UpperBound | LowerBound):
        return [kind.margin]
    if isinstance(kind, Certificate | Identity):
        return [kind.tolerance]
    if isinstance(kind, Equivalence):
        return [abs(end) for end in kind.range if end]
    return []


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_papers_claim_says_where_the_paper_has_it(claim):
    assert not UNREADABLE.search(claim.citation)
    if claim.paper != OURS:
        assert PLACES.search(claim.citation), claim.citation


def test_claims_that_chance_decides_are_counted_per_owner():
    kinds = [claim.kind for _, claim in all_claims().values() if claim.kind is not None]
    assert sum(claims_by_chance().values()) == sum(kind.by_chance for kind in kinds)
    assert set(claims_by_chance()) <= set(PAPERS)


MINE = """
import separatrix as sx
from separatrix.studies import Outcome, Study
from separatrix.studies.settings import Settings

class Small(Settings):
    seed: int = 0

class Mine(Study):
    name, title, summary, claims = "mine-NAME", "Mine", "One sentence.", ()
    scales = {scale: Small() for scale in ("quick", "laptop", "full")}

    def conclude(self, lab, settings):
        learner = sx.Learner(rate=1.0, steps=5)
        lab.run(sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=2))
        return Outcome(findings=())
"""


@pytest.fixture
def other_studies(monkeypatch):
    """The registry as it was, after the test."""
    monkeypatch.setattr(registry.STUDIES, "_added", {})
    monkeypatch.setattr(registry.STUDIES, "_loaded", {})
    monkeypatch.setattr(registry.STUDIES, "_looked", False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    return monkeypatch


def test_a_file_of_ones_own_is_run(other_studies, tmp_path):
    (tmp_path / "mine_of_a_test.py").write_text(MINE.replace("NAME", "file"))
    names = registry.studies_in(str(tmp_path / "mine_of_a_test.py"))
    assert names == ["mine-file"]
    assert registry.find_study("mine-file").title == "Mine"
    assert str(tmp_path) in os.environ["PYTHONPATH"].split(os.pathsep), "for worker processes"
    with sx.Lab(tmp_path / "out", workers=0) as lab:
        assert run_jobs(jobs(names, "quick", 0, []), lab, "quick", 0, "mine") == []
    assert lab.tally.trials == 2


@pytest.mark.parametrize(
    "text, words",
    [
        ("x = 1", "defines no study"),
        ("1 / 0", "fails with ZeroDivisionError"),
        ("def", "fails with SyntaxError"),
    ],
)
def test_a_file_without_a_study_is_one_sentence(other_studies, tmp_path, text, words):
    name = f"mine_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(SeparatrixError, match=words):
        registry.studies_in(str(tmp_path / f"{name}.py"))
    with pytest.raises(SeparatrixError, match="there is no file"):
        registry.studies_in(str(tmp_path / "none.py"))


def test_packages_add_studies_and_replace_none(other_studies, tmp_path):
    (tmp_path / "package_of_a_test.py").write_text(MINE.replace("NAME", "package"))
    other_studies.syspath_prepend(tmp_path)
    points = [
        metadata.EntryPoint(name, f"package_of_a_test:{kind}", registry.GROUP)
        for name, kind in (("mine-package", "Mine"), ("signal", "Mine"), ("broken", "None_such"))
    ]
    other_studies.setattr(registry.metadata, "entry_points", lambda group: points)
    assert list(registry.STUDIES)[-2:] == ["mine-package", "broken"]
    assert registry.find_study("mine-package").title == "Mine"
    assert registry.find_study("signal").title != "Mine"
    with pytest.raises(SeparatrixError, match="`broken` of package_of_a_test:None_such cannot be"):
        registry.find_study("broken")
    with pytest.raises(SeparatrixError, match="there is a study `signal` already"):
        registry.STUDIES.add(registry.find_study("signal"))
