"""The page and its Markdown twin: whole, self-contained, the same each time, and safe whatever the
names.
"""

import base64
import copy
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from separatrix.errors import SeparatrixError
from separatrix.notes import Note
from separatrix.report import summary_rows, write_report
from separatrix.report.content import compose, slug
from separatrix.report.figure.draw import Drawing
from separatrix.report.html import html_page
from separatrix.report.markdown import code, markdown_page, plain
from separatrix.report.read import read_run
from separatrix.studies import Axis, Claim, Evidence, Figure, Finding, Outcome, Series, TableData

NOTHING_DRAWN = Drawing("<svg></svg>", "<svg/>", ())
EVIL = "<script>alert(1)</script>"
RUN = {
    "command": "separatrix verify --scale quick",
    "started": "2030-01-02T03:04:05+00:00",
    "wall_seconds": 83.2,
    "compile_seconds": 12.2,
    "run_seconds": 50.1,
    "programs_compiled": 6,
    "trials_run": 36,
    "complete": True,
    "peak_memory_bytes": 812345678,
    "device": "x86_64",
    "workers": 2,
    "versions": {"separatrix": "0.1.0", "jax": "0.10.0"},
}


def outcome_of(study="signal-first", figures=2):
    claim = Claim("lahoti.first", "The CNN's risk is lower.", "Theorem 1", "σ at most 1/√k")
    evidence = Evidence(
        "risk: CNN minus FCN",
        -0.37836,
        -0.3947,
        -0.35672,
        12,
        method="paired bootstrap",
        reference=0.0,
        baselines={"constant": 0.5},
    )
    drawn = tuple(
        Figure(
            f"risk-{i}",
            f"Risk {i}",
            Axis("samples", True),
            Axis("risk", True),
            (Series("CNN", (1, 2, 4), (0.2, 0.1, 0.0)),),
            "A caption.",
        )
        for i in range(figures)
    )
    return Outcome(
        (Finding(claim, "supported", "because", False, (evidence,), "σ = 2 exceeds 0.3"),),
        drawn,
        (
            TableData(
                "risks",
                "Risks",
                ("network", "risk", "p-value"),
                (("CNN", 0.123456, 1e-9), ("FCN", None, 0.5)),
            ),
        ),
        (Note("a", "warning", "mind the gap"),),
    ).plain()


def documents(**changes):
    plain_outcome = outcome_of()
    about = {
        "study": "signal-first",
        "scale": "quick",
        "seed": 0,
        "command": "separatrix run signal-first",
    }
    claims = [each | about for each in plain_outcome["findings"]]
    outcome = (
        about
        | {"title": "First experiment", "summary": "k = 10", "settings": {"task": {"noise": 0.1}}}
        | plain_outcome
    )
    return {"claims": claims, "outcome": outcome, "manifest": {"runs": [RUN, RUN]}} | changes


def write(folder, docs):
    (folder / "outcomes").mkdir(exist_ok=True)
    for name, file in (
        ("claims", "claims.json"),
        ("outcome", "outcomes/signal-first.json"),
        ("manifest", "manifest.json"),
    ):
        if docs[name] is not None:
            text = docs[name] if isinstance(docs[name], str) else json.dumps(docs[name])
            (folder / file).write_text(text, encoding="utf-8")
    return folder


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, html):
        super().__init__()
        self.ids, self.links, self.scripts, self.tags, self.text = [], [], 0, [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[key] for key in ("href", "src", "xlink:href") if found.get(key)]
        assert not any(key.startswith("on") for key in found), "no handlers in attributes"

    def handle_data(self, data):
        self.text += data


def test_the_page_is_whole_self_contained_and_its_links_lead_somewhere(tmp_path):
    html = write_report(write(tmp_path, documents())).read_text(encoding="utf-8")
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert page.tags.count("figure") == 2
    assert page.tags.count("svg") == 4, "a drawing and a swatch in its legend each"
    assert page.tags.count("script") == 1
    for text in (
        "The CNN's risk is lower.",
        "supported",
        "−0.378 [−0.395, −0.357]",
        "outside the paper's conditions: σ = 2 exceeds 0.3",
        "Lahoti et al. 2024",
        "<0.001",
        "0.1235",
        "mind the gap",
        "σ at most 1/√k",
        "task.noise",
        "separatrix run signal-first",
        "CNN 1 of 3 points",
        "775 MiB",
        "1 min 23 s",
        "jax 0.10.0",
        "programs compiled",
        "constant 0.5",
    ):
        assert text in page.text, text


def test_figures_come_before_tables_and_notes_in_a_study(tmp_path):
    html = write_report(write(tmp_path, documents())).read_text(encoding="utf-8")
    study = html[html.index('<section class="study"') :]
    places = [
        study.index(mark)
        for mark in ("<svg", "Risks", "mind the gap", ">Conditions<", "task.noise", "<pre")
    ]
    assert places == sorted(places)


def test_the_policy_allows_the_page_s_own_script_and_no_other(tmp_path):
    html = write_report(write(tmp_path, documents())).read_text(encoding="utf-8")
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert script is not None
    wanted = base64.b64encode(hashlib.sha256(script.group(1).encode()).digest()).decode()
    assert (
        f"script-src &#39;sha256-{wanted}&#39;" in html or f"script-src 'sha256-{wanted}'" in html
    )
    assert "default-src 'none'" in html


def test_writing_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path):
    write(tmp_path, documents())

    def contents():
        return {
            file.relative_to(tmp_path).as_posix(): file.read_bytes()
            for file in (tmp_path / "report").rglob("*")
            if file.is_file()
        }

    assert write_report(tmp_path) == tmp_path / "report" / "index.html"
    first = contents()
    write_report(tmp_path)
    assert contents() == first
    names = {name.removeprefix("report/") for name in first}
    figures = {f"figures/signal-first-risk-{i}.svg" for i in (0, 1)}
    data = {f"data/signal-first-{name}.csv" for name in ("risk-0", "risk-1", "risks")}
    assert names == {"index.html", "report.md"} | figures | data


def spoiled(item):
    """The same plain values with every text that is shown made evil."""
    kept = ("verdict", "severity", "role", "study", "paper")
    if isinstance(item, dict):
        return {key: each if key in kept else spoiled(each) for key, each in item.items()}
    if isinstance(item, list):
        return [spoiled(each) for each in item]
    return EVIL if isinstance(item, str) else item


def test_names_that_are_scripts_are_shown_and_not_run(tmp_path):
    docs = spoiled(documents())
    for plain_study in (docs["outcome"], *docs["claims"]):
        plain_study["study"] = EVIL
    docs["claims"][0]["paper"] = EVIL
    html = write_report(write(tmp_path, docs)).read_text(encoding="utf-8")
    page = Page(html)
    assert page.tags.count("script") == 1
    assert html.count("<script") == 1
    assert page.text.count(EVIL) > 20
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", each) for each in page.ids)
    markdown = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown, flags=re.DOTALL)
    assert "<script" not in outside_code
    assert "&lt;script&gt;" in outside_code
    assert {file.parent.name for file in tmp_path.rglob("*.svg")} == {"figures"}


def test_the_markdown_twin_says_the_same_and_its_pictures_exist(tmp_path):
    write_report(write(tmp_path, documents()))
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(pictures) == 2
    assert all((tmp_path / "report" / picture).is_file() for picture in pictures)
    anchors = set(re.findall(r'<a id="([^"]+)">', text))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors
    for part in (
        "lahoti.first",
        "✓ supported",
        "−0.378 \\[−0.395, −0.357\\]",
        "mind the gap",
        "task.noise",
        "775 MiB",
        "CNN 1 of 3 points",
    ):
        assert part in text


@given(st.text())
def test_markdown_text_is_only_text(text):
    assert not re.search(r"[<>\n]", plain(text))
    assert "|" not in plain(text).replace("\\\\", "").replace("\\|", "")
    inside = code(text)
    fence = inside[: len(inside) - len(inside.lstrip("`"))]
    assert fence not in inside[len(fence) : -len(fence)].strip("`") or not fence


def without(docs, name, *path):
    docs = copy.deepcopy(docs)
    at = docs[name]
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return docs


DAMAGED = {
    "claims are missing": documents(claims=None),
    "claims are cut": documents(claims='[{"id": "lahoti.fi'),
    "claims are no list": documents(claims={}),
    "claims are too deep": documents(claims="[" * 100_000),
    "a claim is no object": documents(claims=[3]),
    "a claim has no evidence": without(documents(), "claims", 0, "evidence"),
    "a verdict is unknown": documents(claims=[documents()["claims"][0] | {"verdict": "maybe"}]),
    "the outcome is missing": documents(outcome=None),
    "the outcome is cut": documents(outcome="{"),
    "a series has no y": without(documents(), "outcome", "figures", 0, "series", 0, "y"),
    "a series is uneven": documents(
        outcome=json.loads(json.dumps(documents()["outcome"]).replace("[0.2, 0.1, 0.0]", "[0.2]"))
    ),
    "a risk is text": documents(
        outcome=json.loads(
            json.dumps(documents()["outcome"]).replace("[0.2, 0.1, 0.0]", '[0.2, "x", 1]')
        )
    ),
    "a row is short": documents(
        outcome=json.loads(
            json.dumps(documents()["outcome"]).replace('["FCN", null, 0.5]', '["FCN"]')
        )
    ),
    "the manifest is cut": documents(manifest="{"),
    "the manifest has no runs": documents(manifest={}),
}


@pytest.mark.parametrize("docs", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_told_in_one_sentence_and_the_old_report_stays(tmp_path, docs):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "index.html").write_text("old")
    with pytest.raises(SeparatrixError) as error:
        write_report(write(tmp_path, docs))
    assert "\n" not in str(error.value)
    assert [file.read_text() for file in (tmp_path / "report").rglob("*")] == ["old"]


def test_a_folder_that_is_not_there_or_not_writable_is_told(tmp_path):
    with pytest.raises(SeparatrixError, match="there is no folder"):
        write_report(tmp_path / "missing")
    write(tmp_path, documents())
    (tmp_path / "report").write_text("a file")
    with pytest.raises(SeparatrixError, match="cannot make the folder"):
        write_report(tmp_path)


def paths(item, at=()):
    yield at
    for key in (
        item if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
    ):
        yield from paths(item[key], (*at, key))


GOOD = {name: each for name, each in documents().items() if name != "manifest"} | {
    "manifest": {"runs": [RUN, RUN]}
}
junk = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1e308,
        10**400,
        float("nan"),
        "",
        EVIL,
        [],
        [None],
        ["x"],
        {},
        {"a": 1},
        "\x00\ud800",
    ]
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from([path for path in paths(GOOD) if len(path) > 1]), junk)
def test_any_spoiled_value_is_shown_or_told(tmp_path, path, value):
    docs = copy.deepcopy(GOOD)
    at = docs
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    told = ""
    try:
        report = compose(read_run(write(tmp_path, docs)))
    except SeparatrixError as error:
        told = str(error)
        report = None
    if report is None:
        assert "\n" not in told
        return
    drawn = {view.anchor: NOTHING_DRAWN for study in report.studies for view in study.figures}
    html_page(report, drawn).encode()
    markdown_page(report).encode()


def test_two_hundred_claims_and_forty_figures_stay_usable(tmp_path, monkeypatch):
    docs = documents()
    claim = docs["claims"][0]
    docs["claims"] = [
        claim | {"id": f"lahoti.claim-{i}", "verdict": ("supported", "refuted", "undecided")[i % 3]}
        for i in range(200)
    ]
    docs["outcome"] |= {"figures": outcome_of(figures=40)["figures"]}
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))  # which would keep them
    monkeypatch.setattr(
        "separatrix.report.figure.cache.drawing_of", lambda figure, prefix: NOTHING_DRAWN
    )
    html = write_report(write(tmp_path, docs)).read_text(encoding="utf-8")
    page = Page(html)
    contents = html[html.index("<nav") : html.index("</nav>")]
    assert contents.count('href="#signal-first-risk-') == 40
    assert "<details>" in contents, "closed, so that the claims come first"
    assert html[html.index("<tbody>") : html.index("</tbody>")].count("<tr ") == 200
    assert len(page.ids) == len(set(page.ids))
    assert all(link[1:] in page.ids for link in page.links)
    assert re.sub(r"\s+", " ", page.text).count("supported 67") == 1
    assert len(list((tmp_path / "report" / "figures").iterdir())) == 40


def test_without_a_manifest_or_claims_there_is_still_a_page(tmp_path):
    html = write_report(write(tmp_path, documents(manifest=None))).read_text(encoding="utf-8")
    assert "How it was run" not in html
    html = write_report(write(tmp_path, documents(claims=[]))).read_text(encoding="utf-8")
    assert "No claim was tested." in html


def test_names_for_files_never_leave_their_folder():
    taken: set[str] = set()
    names = [
        slug(text, taken) for text in ("../../etc/passwd", "", "..", "Risk", "risk", "a" * 500)
    ]
    assert names == ["etc-passwd", "item", "item-2", "Risk", "risk-2", "a" * 80]


def test_rows_for_the_terminal():
    claim = documents()["claims"][0]
    assert summary_rows([claim]) == [
        {
            "id": "lahoti.first",
            "verdict": "supported",
            "effect": "−0.378 [−0.395, −0.357]",
            "conditions": "outside: σ = 2 exceeds 0.3",
        }
    ]
    many = claim | {"evidence": claim["evidence"] * 4, "conditions_met": None}
    assert summary_rows([many])[0]["effect"].endswith("; 2 more")
    assert summary_rows([many])[0]["conditions"] == "not known"
    assert summary_rows([claim | {"evidence": []}])[0]["effect"] == "—"
