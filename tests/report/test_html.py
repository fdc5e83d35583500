"""The page: complete, self-contained and safe, whatever the names."""

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from run_documents import EVIL, NOTHING_DRAWN, documents, outcome_of, write
from sample_run import CELLS, write_run
from sample_run import documents as sample_documents

from separatrix.report import write_report
from separatrix.report.content import compose
from separatrix.report.figure.data import MOST_ROWS
from separatrix.report.figure.draw import drawing_of
from separatrix.report.html import html_pages
from separatrix.report.read import RunFiles
from separatrix.studies import (
    Axis,
    Figure,
    Series,
    figure_from,
)


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


def pages_of(index):
    """The index and the page of every study, by file name."""
    return {file.name: file.read_text(encoding="utf-8") for file in index.parent.glob("*.html")}


def test_the_pages_are_whole_self_contained_and_their_links_lead_somewhere(tmp_path):
    texts = pages_of(write_report(write(tmp_path, documents())))
    pages = {name: Page(text) for name, text in texts.items()}
    assert set(pages) == {"index.html", "study-signal-first.html"}
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids))
        assert page.links
        for link in page.links:
            if link.startswith("data:image/"):  # the figure of a kept run
                continue
            file, _, place = link.partition("#")
            assert not place or place in pages[file or name].ids
            assert file in ("", *pages)
        assert page.tags.count("script") == 1
    assert pages["index.html"].tags.count("figure") == 1, "the headline"
    page = pages["study-signal-first.html"]
    assert page.tags.count("figure") == 2
    assert page.tags.count("svg") == 4, "a drawing and a swatch in its legend each"
    shown = "".join(page.text for page in pages.values())
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
        assert text in shown, text


def test_figures_come_before_tables_and_notes_in_a_study(tmp_path):
    html = pages_of(write_report(write(tmp_path, documents())))["study-signal-first.html"]
    study = html[html.index('<section class="study"') :]
    places = [
        study.index(mark)
        for mark in ("<svg", "Risks", "mind the gap", ">Conditions<", "task.noise", "<pre")
    ]
    assert places == sorted(places)


def test_the_policy_allows_the_page_s_own_script_and_no_other(tmp_path):
    for html in pages_of(write_report(write(tmp_path, documents()))).values():
        script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
        assert script is not None
        wanted = base64.b64encode(hashlib.sha256(script.group(1).encode()).digest()).decode()
        allowed = f"script-src 'sha256-{wanted}'"
        assert allowed in html or allowed.replace("'", "&#39;") in html
        assert "default-src 'none'" in html


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
    for html in pages_of(write_report(write(tmp_path, docs))).values():
        page = Page(html)
        assert page.tags.count("script") == 1
        assert html.count("<script") == 1
        assert page.text.count(EVIL) > 5
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", each) for each in page.ids)
    markdown = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown, flags=re.DOTALL)
    assert "<script" not in outside_code
    assert "&lt;script&gt;" in outside_code
    assert {file.parent.name for file in tmp_path.rglob("*.svg")} == {"figures"}


def test_two_hundred_claims_and_forty_figures_stay_usable(tmp_path, monkeypatch):
    docs = documents()
    claim = docs["claims"][0]
    docs["claims"] = [
        claim | {"id": f"lahoti.claim-{i}", "verdict": ("supported", "refuted", "undecided")[i % 3]}
        for i in range(200)
    ]
    docs["outcome"] |= {"findings": docs["claims"], "figures": outcome_of(figures=40)["figures"]}
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))  # which would keep them
    monkeypatch.setattr(
        "separatrix.report.figure.cache.drawing_of", lambda figure, prefix: NOTHING_DRAWN
    )
    pages = pages_of(write_report(write(tmp_path, docs)))
    html, study = pages["index.html"], pages["study-signal-first.html"]
    page = Page(html)
    contents = study[study.index("<nav") : study.index("</nav>")]
    assert contents.count('href="#signal-first-risk-') == 40
    assert "<details>" in contents, "closed, so that the figures come first"
    assert html.count("<tr data-paper") == 200
    assert len(page.ids) == len(set(page.ids))
    assert re.sub(r"\s+", " ", page.text).count("✓ supported67") == 1
    assert len(list((tmp_path / "report" / "figures").iterdir())) == 40


def test_without_a_manifest_or_claims_there_is_still_a_page(tmp_path):
    html = write_report(write(tmp_path, documents(manifest=None))).read_text(encoding="utf-8")
    assert "How it was run" not in html
    nothing = documents(claims=[], outcome=documents()["outcome"] | {"findings": []})
    html = write_report(write(tmp_path, nothing)).read_text(encoding="utf-8")
    assert "No claim was tested." in html


def test_very_many_seeds_stay_beside_the_page(tmp_path):
    rng = np.random.default_rng(0)
    count = 100_000
    x = tuple(np.repeat(CELLS, [count - 2 * (count // 3), count // 3, count // 3]).tolist())
    seeds = tuple(np.exp(rng.normal(size=count)).tolist())
    drawn = (
        Figure(
            "f",
            "F",
            Axis("m", True),
            Axis("risk", True),
            (Series("CNN", x, seeds, role="samples"), Series("CNN", CELLS, (1.0, 1.0, 1.0))),
        ),
    )
    page = write_report(write_run(tmp_path / "run", drawn=drawn)).with_name("study-sample.html")
    html = page.read_text(encoding="utf-8")
    # A hundred studies of this size must stay below 10 MB: this page is one of them, and what all
    # pages have in common.
    assert len(html.encode()) < 100_000
    assert "100,000 of 100,003 points are too many for this page" in html
    assert 'href="data/sample-f.csv"' in html
    assert (page.parent / "data" / "sample-f.csv").read_text().count("\n") == count + 4
    found = re.search(r"data-figure='([^']*)'", html)
    assert found is not None
    kept = json.loads(found.group(1).replace("&#39;", "'"))["groups"]
    assert [group["lead"] for group in kept] == [["CNN", "measured"]]
    assert kept[0]["columns"][4] == [33_334, 33_333, 33_333]
    assert sum(len(group["at"]) for group in kept) <= MOST_ROWS


@pytest.mark.parametrize("rows, shown", [(1000, 1000), (1001, 1000)])
def test_long_tables_are_cut_and_say_where_the_rest_is(tmp_path, rows, shown):
    def lengthen(_, outcome):
        outcome["tables"][0]["rows"] = [["CNN", float(i)] for i in range(rows)]

    index = write_report(write_run(tmp_path / "run", drawn=(), change=lengthen))
    page = index.with_name("study-sample.html")
    html = page.read_text(encoding="utf-8")
    assert html.count("<td>CNN</td>") == shown
    assert ("data/sample-risks.csv" in html) == (rows > shown)
    assert (page.parent / "data" / "sample-risks.csv").read_text().count("\n") == rows + 1


STUDIES, TRIALS = 100, 100_000


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Each study has the sample's figures and tables, and a figure of all its trials with their
    means.
    """
    rng = np.random.default_rng(0)
    sizes = np.geomspace(8, 4096, 25)
    x, y = (
        np.repeat(sizes, TRIALS // 25),
        np.exp(rng.normal(size=TRIALS)) / np.repeat(sizes, TRIALS // 25),
    )
    means = tuple(float(np.mean(y[x == size])) for size in sizes)
    cloud = Series("CNN", tuple(x.tolist()), tuple(y.tolist()), role="samples")
    line = Series(
        "CNN",
        tuple(sizes.tolist()),
        means,
        tuple(0.9 * m for m in means),
        tuple(1.1 * m for m in means),
        seeds=(TRIALS // 25,) * 25,
    )
    everything = Figure(
        "trials",
        "All trials",
        Axis("samples m", log=True),
        Axis("risk", log=True),
        (cloud, line),
        "Every trial.",
    )
    claims, outcome = sample_documents()
    figures = [*(figure_from(each) for each in outcome["figures"]), everything]
    names = [f"study-{number}" for number in range(STUDIES)]
    run = RunFiles(
        [
            claim | {"study": name, "id": f"{claim['id']}.{name}"}
            for name in names
            for claim in claims
        ],
        {name: outcome | {"study": name, "title": f"Study {name}"} for name in names},
        dict.fromkeys(names, figures),
        [],
    )
    report = compose(run)
    # The same figures in every study: drawn once, but with names of their own, as `write_report`
    # does it.
    drawn = [drawing_of(figure, "f0-") for figure in figures]
    views = [view for study in report.studies for view in study.figures]
    placed = {
        view.anchor: dataclasses.replace(
            drawn[index % 5], inline=drawn[index % 5].inline.replace("f0-", f"f{index}-")
        )
        for index, view in enumerate(views)
    }
    folder = tmp_path_factory.mktemp("large")
    for name, text in html_pages(report, placed).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "index.html"


def test_pages_of_a_large_report_stay_small(page):
    assert page.stat().st_size < 500e3
    studies = list(page.parent.glob("study-*.html"))
    assert len(studies) == STUDIES
    for study in studies:
        assert study.stat().st_size < 300e3
        text = study.read_text(encoding="utf-8")
        assert "100,000 of 100,025 points are too many for this page" in text


def test_it_opens_with_less_than_two_seconds_of_work(browser, page):
    """The time that the page's thread computes until it is loaded, by the browser's own count: on a
    busy machine the clock says more.
    """
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    debugger = tab.context.new_cdp_session(tab)
    debugger.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.as_uri(), wait_until="load")
    tab.locator("tr[data-paper]").last.wait_for(state="attached")
    spent = {
        each["name"]: each["value"] for each in debugger.send("Performance.getMetrics")["metrics"]
    }
    assert tab.locator("tr[data-paper]").count() == 3 * STUDIES
    assert 0 < spent["TaskDuration"] < 2.0
    # And it works: the last figure of a study's page answers to the mouse.
    tab.goto(page.with_name("study-study-99.html").as_uri())
    figure = tab.locator("figure").last
    figure.scroll_into_view_if_needed()
    name = figure.get_attribute("id")
    place = tab.evaluate(
        """(id) => {
            const figure = document.getElementById(id), svg = figure.querySelector(".chart > svg");
            svg.scrollIntoView({block: "center", behavior: "instant"});
            const [x, y] = JSON.parse(figure.dataset.figure).groups[0].at[3];
            const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
            return [at.x, at.y];
        }""",
        name,
    )
    tab.mouse.move(*place)
    assert "from 4000 trials" in tab.locator(f"#{name} .tip").inner_text()
    tab.close()
