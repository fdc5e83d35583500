"""The evidence under version control: whole runs at a stated commit, of claims that the studies
still make.
"""

import json
import re
from pathlib import Path

import pytest

from separatrix.report.content import effect
from separatrix.report.markdown import plain
from separatrix.report.read import VERDICTS, read_claims
from separatrix.studies import STUDIES

FOLDERS = sorted(
    path.parent for path in (Path(__file__).parents[1] / "evidence").glob("*/claims.json")
)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_evidence_is_a_complete_run_of_a_study(folder):
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    runs = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"]
    assert runs[0]["complete"]
    assert re.fullmatch(r"[0-9a-f]{40}(\+dirty)?", runs[0]["commit"])
    studies = {claim["study"] for claim in claims}
    assert {claim["id"] for claim in claims} == {
        claim.id for name in studies for claim in STUDIES[name].claims
    }
    for claim in claims:
        assert claim["reason"]
        assert claim["command"].startswith("separatrix run")
        # A verdict rests on measured numbers, each with its interval; only `undecided` may have
        # none.
        assert claim["evidence"] or claim["verdict"] == "undecided"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_evidence_pages_have_their_figures(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(figures/([^)]+)\)", page))
    assert (
        named == {file.name for file in (folder / "figures").glob("*")}
        if (folder / "figures").exists()
        else not named
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_kept_report_says_what_its_claims_say(folder):
    """The README is the report of the same run: the same verdicts, in number and claim by claim,
    and the same numbers.
    """
    claims = read_claims(folder)
    page = (folder / "README.md").read_text(encoding="utf-8")
    for verdict in VERDICTS:
        count = sum(claim["verdict"] == verdict for claim in claims)
        if verdict == "not measured" and not count:
            continue
        assert re.search(rf"{verdict}: \*\*{count}\*\*", page), f"{count} {verdict}"
    for claim in claims:
        section = page.split(f'<a id="claim-{claim["id"]}"></a>', 1)[1].split("<a id=", 1)[0]
        assert f"{claim['verdict']}** `{claim['id']}`" in section
        for each in claim["evidence"]:
            assert plain(effect(each)) in section, f"{claim['id']}: {each['name']}"
