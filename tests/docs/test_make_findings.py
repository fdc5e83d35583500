"""What the site says was found comes from the kept evidence."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from separatrix.studies import PAPERS

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
make_findings = importlib.import_module("make_findings")


def test_a_number_is_taken_from_its_epoch():
    text = "as {{ 0/signal: lahoti.cnn-linear: exponent in k, CNN }} says"
    kept = json.loads((make_findings.EVIDENCE / "history/0/signal.json").read_text("utf-8"))
    finding = next(each for each in kept if each["id"] == "lahoti.cnn-linear")
    filled = make_findings.with_numbers(text)
    assert filled.startswith(f"as {finding['evidence'][0]['estimate']:.3f} ")
    assert "{{" not in filled


@pytest.mark.parametrize(
    "place",
    [
        "0/signal: lahoti.nothing: exponent in k, CNN",
        "0/signal: lahoti.cnn-linear: x",
        "9/signal: a: b",
    ],
)
def test_a_number_that_is_not_kept_is_refused(place):
    with pytest.raises(ValueError, match="no number"):
        make_findings.with_numbers("{{ " + place + " }}")


def test_the_dashboard_has_every_claim_once():
    page = make_findings.findings()
    for paper in PAPERS:
        for claim in make_findings.all_claims(paper):
            assert page.count(f"(papers/claims-{paper}.md#{claim.id})") == 1


def test_a_constant_is_that_of_a_bound():
    bound = {
        "name": "smallest C with m* ≤ C·f in all cells",
        "estimate": 2.0,
        "low": 1.0,
        "high": 3.0,
    }
    other = {"name": "exponent in k", "estimate": 1.0, "low": 0.5, "high": 1.5}
    assert make_findings.constant({"evidence": [other, bound]}).startswith("C = 2")
    assert make_findings.constant({"evidence": [other]}) == ""


def test_figures_of_a_newer_run_take_the_place_of_those_that_are_gone(tmp_path, monkeypatch):
    (tmp_path / "dial").mkdir()
    shown = "![A](figures/a.svg)\n\nFirst.\n\n![B](figures/b.svg)\n\nSecond.\n\n"
    shown += "![C](figures/c.svg)\n\nThird."
    (tmp_path / "dial" / "README.md").write_text(shown)
    (tmp_path / "dial" / "headline.json").write_text(json.dumps({"dial": {"file": "c.svg"}}))
    (tmp_path / "dial" / "claims.json").write_text(json.dumps([{"scale": "full"}]))
    monkeypatch.setattr(make_findings, "EVIDENCE", tmp_path)
    page = make_findings.figures("dial")
    assert [file for file in "abc" if f"figures/{file}.svg" in page] == ["a", "c"]
    assert page.index("c.svg") < page.index("a.svg")


def test_the_gallery_has_every_figure():
    page = make_findings.gallery()
    for file in make_findings.EVIDENCE.glob("*/figures/*.svg"):
        assert f"]({file.relative_to(make_findings.EVIDENCE.parent).as_posix()})" in page
