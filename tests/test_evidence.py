"""The evidence under version control: whole runs at a stated commit, of claims that the studies
still make by the same rules, or that the history of epochs keeps.
"""

import json
import re
from pathlib import Path

import pytest

from separatrix.report.content import effect
from separatrix.report.kept_files import rebuild
from separatrix.report.markdown import plain
from separatrix.report.read import VERDICTS, read_claims
from separatrix.studies import STUDIES
from separatrix.studies.epochs import by_present_rule, earlier_findings
from separatrix.studies.kept_rows import kept_runs
from separatrix.studies.replication import read_seeds

EVIDENCE = Path(__file__).parents[1] / "evidence"
FOLDERS = sorted(path.parent for path in EVIDENCE.glob("*/claims.json"))
WITH_ROWS = [folder for folder in FOLDERS if kept_runs(folder)]
# Studies whose conclusions take seconds; `separatrix verify --from evidence` does them all.
RECOMPUTED = ("signal-first", "equivariance", "pattern-readout", "patterns", "digits")
HISTORY = sorted((EVIDENCE / "history").glob("*/*.json"))


def claims_of(folder):
    return folder / "claims.json"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_evidence_is_a_complete_run_of_a_study(folder):
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    runs = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"]
    assert runs[0]["complete"]
    assert re.fullmatch(r"[0-9a-f]{40}(\+dirty)?", runs[0]["commit"])
    studies = {claim["study"] for claim in claims}
    present = {claim.id: claim for name in studies for claim in STUDIES[name].claims}
    if {claim["id"] for claim in claims} != set(present) or not all(
        by_present_rule(claim, present[claim["id"]]) for claim in claims
    ):
        same = [file for file in HISTORY if file.read_bytes() == claims_of(folder).read_bytes()]
        assert same, "decided by earlier rules: `separatrix evidence archive` must keep it"
    for claim in claims:
        assert claim["reason"]
        assert claim["command"].startswith(("separatrix run", "separatrix verify"))
        # A verdict rests on measured numbers, each with its interval; only claims without a
        # verdict may have none.
        assert claim["evidence"] or claim["verdict"] in ("undecided", "not measured")


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


@pytest.mark.parametrize("folder", WITH_ROWS, ids=lambda folder: folder.name)
def test_kept_rows_give_the_kept_verdicts_tables_and_figures(folder):
    own = {claim["study"] for claim in read_claims(folder)}
    rebuilt = rebuild(folder, own if len(own) == 1 else RECOMPUTED)
    assert not rebuilt.verdicts.missing
    assert not rebuilt.verdicts.changed
    assert not rebuilt.different
    assert rebuilt.same > 4


def test_every_epoch_says_what_changed_after_it():
    page = (EVIDENCE / "history" / "README.md").read_text(encoding="utf-8")
    for epoch in {file.parent.name for file in HISTORY}:
        words = page.split(f"## {epoch}\n", 1)[1].split("\n## ", 1)[0]
        assert len(words.split()) > 10
    assert {finding["epoch"] for finding in earlier_findings(EVIDENCE)} >= {"0"}


def test_the_seeds_of_kept_runs_are_three():
    assert len(read_seeds(str(EVIDENCE / "seeds"))) == 3
