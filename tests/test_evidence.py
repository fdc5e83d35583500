"""The evidence under version control: whole runs at a stated commit, of claims that the studies still make."""

import json
import re
from pathlib import Path

import pytest

from separatrix.studies import STUDIES

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[1] / "evidence").glob("*/claims.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_evidence_is_a_complete_run_of_a_study(folder):
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    runs = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"]
    assert runs[0]["complete"]
    assert re.fullmatch(r"[0-9a-f]{40}(\+dirty)?", runs[0]["commit"])
    studies = {claim["study"] for claim in claims}
    assert {claim["id"] for claim in claims} == {claim.id for name in studies for claim in STUDIES[name].claims}
    for claim in claims:
        assert claim["reason"]
        assert claim["command"].startswith("separatrix run")
        # A verdict rests on measured numbers, each with its interval; only `undecided` may have none.
        assert claim["evidence"] or claim["verdict"] == "undecided"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_evidence_pages_have_their_figures(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(figures/([^)]+)\)", page))
    assert named == {file.name for file in (folder / "figures").glob("*")} if (folder / "figures").exists() else not named
