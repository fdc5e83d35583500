"""The documentation: its code runs, its links lead somewhere, and every public name is covered."""

import importlib
import importlib.util
import inspect
import json
import pkgutil
import re
from pathlib import Path

import pytest

import separatrix as sx

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [
    *PAGES,
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "evidence/README.md")
    ),
]
PACKAGES = [info.name for info in pkgutil.walk_packages(sx.__path__, "separatrix.") if info.ispkg]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def read(path):
    return path.read_text(encoding="utf-8")


def names(path):
    return str(path.relative_to(ROOT))


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make_pages():
    return load(DOCS / "make_pages.py")


def with_code():
    slow = {"tutorial.md"}
    pages = [page for page in (*PAGES, ROOT / "CONTRIBUTING.md") if BLOCK.search(read(page))]
    return [
        pytest.param(page, marks=[pytest.mark.slow] if page.name in slow else [], id=names(page))
        for page in pages
    ]


@pytest.mark.parametrize("page", with_code())
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    from separatrix.studies import PAPERS

    monkeypatch.chdir(tmp_path)
    papers, probes = dict(PAPERS), dict(importlib.import_module("separatrix.probes").PROBES)
    space = {"__name__": f"page_{page.stem.replace('-', '_')}"}
    try:
        for number, block in enumerate(BLOCK.findall(read(page))):
            exec(compile(block, f"{page.name}, block {number + 1}", "exec"), space)
    finally:
        for before, registry in (
            (papers, PAPERS),
            (probes, importlib.import_module("separatrix.probes").PROBES),
        ):
            registry.clear()
            registry.update(before)
    if page.name == "tutorial.md":
        claims = json.loads((tmp_path / "results/neighbours/claims.json").read_text())
        assert {claim["id"] for claim in claims} == {"mine.ahead", "mine.linear"}
        assert all(claim["reason"] for claim in claims)
        assert "Do neighbours agree?" in read(tmp_path / "results/neighbours/report/index.html")


# Links.


def anchors(text):
    """The anchors of a Markdown file: headings, as the site makes them, and ids set by hand."""
    headings = re.findall(
        r"^#+ (.+?)\s*$",
        re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE),
        re.MULTILINE,
    )
    slugs = {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")
        for heading in headings
    }
    return slugs | set(re.findall(r'id="([^"]+)"', text)) | set(re.findall(r"\{#([^}]+)\}", text))


def links(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [
        link
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text))
        if not re.match(r"https?:|mailto:", link)
    ]


@pytest.mark.parametrize("page", TEXTS, ids=names)
def test_every_internal_link_leads_somewhere(page):
    text = read(page)
    for link in links(text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(read(target)), f"there is no #{anchor} in {target.name}"


def test_every_page_is_in_the_navigation():
    config = read(ROOT / "mkdocs.yml")
    listed = set(re.findall(r"[\w./-]+\.md", config))
    assert listed == {
        page.relative_to(DOCS).as_posix()
        for page in PAGES
        if page.parent.name not in ("decisions", "notebook")
    } | {"decisions/index.md", "notebook/index.md"} | {
        f"teaching/{file.stem}.md" for file in (DOCS / "teaching").glob("*.ipynb")
    }


# The reference.


def documented():
    """What the pages of the reference ask mkdocstrings for."""
    return {
        name
        for page in (DOCS / "api").glob("*.md")
        for name in re.findall(r"^::: (\S+)", read(page), re.MULTILINE)
    }


@pytest.mark.parametrize(
    "package", [name for name in PACKAGES if getattr(importlib.import_module(name), "__all__", [])]
)
def test_every_public_name_is_in_the_reference(package):
    """A directive for a package covers its `__all__`, but not functions that are called like their
    module: these need their own.
    """
    asked = documented()
    module = importlib.import_module(package)
    assert package in asked, f"docs/api has no `::: {package}`"
    for name in module.__all__:
        file = Path(module.__file__).parent / f"{name}.py"
        if file.exists() and not inspect.ismodule(getattr(module, name)):
            assert f"{package}.{name}.{name}" in asked, (
                f"docs/api has no `::: {package}.{name}.{name}`"
            )


def test_the_top_level_names_are_those_of_documented_packages():
    asked = documented()
    for home, listed in sx._HOMES.items():
        one_by_one = all(f"separatrix.{home}.{name}" in asked for name in listed)
        assert f"separatrix.{home}" in asked or one_by_one, home
        public = getattr(importlib.import_module(f"separatrix.{home}"), "__all__", listed)
        assert set(listed) <= set(public)


def test_directives_name_things_that_exist():
    for name in documented():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            home, _, last = name.rpartition(".")
            assert hasattr(importlib.import_module(home), last), name


# What is filled in when the site is built.


@pytest.mark.parametrize("paper", ["malach", "lahoti", "liang", "ours"])
def test_a_papers_page_has_every_claim_with_its_evidence(paper, make_pages):
    from separatrix.studies import STUDIES

    page = make_pages.fill(read(DOCS / "papers" / f"claims-{paper}.md"))
    findings = make_pages.measured()
    claims = [claim for study in STUDIES.values() for claim in study.claims if claim.paper == paper]
    assert claims
    for claim in claims:
        section = page.split(f"### `{claim.id}` ", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
        assert make_pages.plain(claim.statement) in section
        assert make_pages.plain(claim.conditions) in section
        if claim.id in findings:
            for finding in findings[claim.id]:
                assert finding["verdict"] in section
                assert all(
                    make_pages.plain(item["name"]) in section for item in finding["evidence"]
                )
                assert (
                    finding["conditions_met"] is not False
                    or "outside the paper's conditions" in section
                )
        else:
            assert make_pages.NOT_YET in section
    assert "<!--" not in page


def test_every_paper_has_a_page_that_asks_for_its_claims():
    from separatrix.studies import STUDIES

    for paper in {claim.paper for study in STUDIES.values() for claim in study.claims}:
        assert f"<!-- claims of {paper} -->" in read(DOCS / "papers" / f"claims-{paper}.md")


def by_its_rule(claim):
    """The fields of a finding that say which claim it is about, and which rule decided it."""
    kind = claim.kind
    rule = {} if kind is None else {"kind": kind.name, "formula": kind.formula()}
    return {"id": claim.id, "statement": claim.statement, **rule}


def test_a_page_follows_the_evidence_without_editing(make_pages, tmp_path, monkeypatch):
    """Another kept run changes what a page says: nothing on it was typed by hand."""
    from separatrix.studies import STUDIES

    claim = next(claim for claim in STUDIES["signal-map"].claims)
    evidence = {
        "name": "a new number",
        "estimate": 12.34,
        "low": 11.0,
        "high": 13.0,
        "count": 77,
        "level": 0.95,
        "method": "m",
        "reference": 1.0,
    }
    finding = {
        **by_its_rule(claim),
        "paper": claim.paper,
        "study": "signal-map",
        "scale": "full",
        "verdict": "refuted",
        "reason": "because of this",
        "conditions_met": True,
        "outside": "",
        "evidence": [evidence | {"baselines": {"constant": 0.5}}],
    }
    run = {
        "device": "some device",
        "trials_run": 1234,
        "command": "separatrix run signal-map",
        "commit": "ab" * 20,
        "wall_seconds": 5.0,
    }
    for name in ("new", "newer"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "claims.json").write_text(json.dumps([finding]))
        (tmp_path / name / "manifest.json").write_text(json.dumps({"runs": [run]}))
    monkeypatch.setattr(make_pages, "EVIDENCE", tmp_path)
    page = make_pages.fill(read(DOCS / "papers" / f"claims-{claim.paper}.md"))
    section = page.split(f"### `{claim.id}` ", 1)[1].split("\n### ", 1)[0]
    for part in (
        "✗ refuted",
        "because of this",
        "12.3 &#91;11.0, 13.0&#93;",
        "77, m",
        "constant 0.5",
    ):
        assert part in section, part
    assert all(f"../evidence/{name}/README.md" in page for name in ("new", "newer"))
    assert "1,234 trials" in page
    assert page.count('<span class="verdict ') == 4, "two runs, in the overview and below it"


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=names)
def test_what_is_said_of_the_first_picture_is_what_its_run_says(page):
    """The caption's numbers, against the caption that the kept run gave the same figure."""
    said = re.search(r"patterns-steps-adam\.svg\)\n\n\*(.*?)\*\n", read(page), re.DOTALL)
    report = read(ROOT / "evidence" / "patterns" / "README.md")
    own = re.search(r"patterns-steps-adam\.svg\)\n\n(.*?)\n", report)
    assert said is not None
    assert own is not None
    seeds, level = re.search(
        r"medians over (\d+) seeds with (\d+) % intervals", said.group(1)
    ).groups()
    assert f"Median over {seeds} seeds with {level} % intervals" in own.group(1)
    assert "rate tuned on other seeds" in own.group(1)


def test_what_is_wrong_with_a_run_stands_beside_its_verdicts(make_pages, tmp_path, monkeypatch):
    said = "`signal/` is a whole run,\nand **not the last word**."
    (tmp_path / "README.md").write_text(f"# Evidence\n\nWords.\n\n{said}\n")
    with monkeypatch.context() as patch:
        patch.setattr(make_pages, "EVIDENCE", tmp_path)
        assert "and **not the last word**." in make_pages.caveats("signal")
        assert make_pages.caveats("patterns") == ""
    pages = "".join(make_pages.claims(paper) for paper in ("malach", "lahoti", "liang", "ours"))
    for folder in make_pages.evidence_folders():
        assert make_pages.caveats(folder.name) in pages


def test_the_largest_scale_that_measured_a_claim_counts_and_is_named(
    make_pages, tmp_path, monkeypatch
):
    from separatrix.studies import STUDIES

    first, second = (by_its_rule(claim) for claim in STUDIES["patterns"].claims[:2])
    about = {"paper": "malach", "study": "patterns", "conditions_met": True}
    for folder, scale, verdicts in (
        ("small", "laptop", ("supported", "refuted")),
        ("large", "full", ("not measured", "supported")),
    ):
        findings = [
            claim | about | {"scale": scale, "verdict": verdict}
            for claim, verdict in zip((first, second), verdicts)
        ]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "claims.json").write_text(json.dumps(findings))
    monkeypatch.setattr(make_pages, "EVIDENCE", tmp_path)
    found = make_pages.measured()
    assert [each["folder"] for each in found[first["id"]]] == ["small"]
    assert [each["folder"] for each in found[second["id"]]] == ["large"]
    assert "(laptop scale)" in make_pages.verdict(found[first["id"]][0])


def test_findings_of_earlier_rules_are_shown_under_their_epoch(make_pages, tmp_path, monkeypatch):
    """A claim that is gone, and one that another rule decided: neither is dropped, and neither is
    a verdict on a claim of today."""
    from separatrix.studies import STUDIES

    claim = STUDIES["equivariance"].claims[0]
    about = {
        "paper": "ours",
        "study": "equivariance",
        "scale": "full",
        "conditions_met": True,
        "statement": "As it was.",
    }
    gone = about | {"id": "ours.gone", "verdict": "refuted"}
    other = by_its_rule(claim) | about | {"verdict": "supported", "formula": "another"}
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "claims.json").write_text(json.dumps([other]))
    (tmp_path / "history" / "0").mkdir(parents=True)
    (tmp_path / "history" / "0" / "equivariance.json").write_text(json.dumps([gone]))
    monkeypatch.setattr(make_pages, "EVIDENCE", tmp_path)
    assert make_pages.measured() == {}
    assert [finding["epoch"] for finding in make_pages.earlier()] == ["0", make_pages.UNARCHIVED]
    before, after = make_pages.claims("ours").split("## Earlier epochs", 1)
    assert "verdict supported" not in before
    assert "### Epoch 0" in after
    assert after.count("As it was.") == 2
    assert "verdict refuted" in after


def test_every_kept_finding_is_on_a_page(make_pages):
    pages = "".join(make_pages.claims(paper) for paper in ("malach", "lahoti", "liang", "ours"))
    for finding in make_pages.kept_findings():
        assert f"`{finding['id']}`" in pages, finding["id"]


def test_text_is_shown_as_it_is(make_pages):
    assert (
        make_pages.plain("||u*_j|| < <b>")
        == "&#124;&#124;u&#42;&#95;j&#124;&#124; &#60; &#60;b&#62;"
    )


def test_an_unknown_part_is_refused(make_pages):
    with pytest.raises(ValueError, match="no part `clams`"):
        make_pages.fill("<!-- clams of malach -->")


def test_benchmarks_and_decisions_are_filled_in(make_pages):
    filled = make_pages.fill(read(DOCS / "benchmarks.md"))
    assert all(
        line in filled
        for line in read(ROOT / "benchmarks" / "RESULTS.md").splitlines()
        if line.startswith("|")
    )
    index = make_pages.fill(read(DOCS / "decisions" / "index.md"))
    for file in (DOCS / "decisions").glob("*.md"):
        assert file.name == "index.md" or f"]({file.name})" in index


def test_examples_in_docstrings_become_fences():
    pytest.importorskip("griffe")
    fence = load(DOCS / "doctest_fences.py").fence_examples
    assert (
        fence("Words.\n\n>>> 1 + 1\n2\n\nMore.") == "Words.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    )
    assert fence("No example.") == "No example."


@pytest.mark.parametrize(
    "page",
    [*TEXTS, *sorted(DOCS.glob("*.py")), ROOT / "mkdocs.yml", ROOT / "CITATION.cff"],
    ids=names,
)
def test_no_machine_is_named(page):
    assert not re.search(r"/(home|root|Users|work)/\w", read(page))
