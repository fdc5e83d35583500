"""A hundred studies of 10⁵ trials on one page: small enough to send, light enough to open."""

import dataclasses

import numpy as np
import pytest
from sample_run import documents

from separatrix.report.content import compose
from separatrix.report.figure.draw import drawing_of
from separatrix.report.html import html_page
from separatrix.report.read import RunFiles
from separatrix.studies import Axis, Figure, Series, figure_from

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
    claims, outcome = documents()
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
    file = tmp_path_factory.mktemp("large") / "index.html"
    file.write_text(html_page(report, placed), encoding="utf-8")
    return file


def test_it_is_below_ten_megabytes(page):
    assert page.stat().st_size < 10e6
    text = page.read_text(encoding="utf-8")
    assert text.count('<section class="study"') == STUDIES
    assert text.count("100,000 of 100,025 points are too many for this page") == STUDIES


def test_it_opens_with_less_than_two_seconds_of_work(browser, page):
    """The time that the page's thread computes until it is loaded, by the browser's own count: on a
    busy machine the clock says more.
    """
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    debugger = tab.context.new_cdp_session(tab)
    debugger.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.as_uri(), wait_until="load")
    tab.locator("table.claims tbody tr").last.wait_for(state="attached")
    spent = {
        each["name"]: each["value"] for each in debugger.send("Performance.getMetrics")["metrics"]
    }
    assert tab.locator("table.claims tbody tr").count() == 3 * STUDIES
    assert 0 < spent["TaskDuration"] < 2.0
    # And it works: the last figure of the last study answers to the mouse.
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
