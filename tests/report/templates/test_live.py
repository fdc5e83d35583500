"""The live page in a real browser."""

import json
import re
import threading
from pathlib import Path

import pytest
from sample_run import EVIL, GOING, ROWS, make_run

from separatrix.engine.store.ledger import Ledger
from separatrix.report.server import LiveServer
from separatrix.studies.live import LIVE

pytestmark = pytest.mark.usefixtures("browser")
AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"


@pytest.fixture
def served(tmp_path):
    with LiveServer(make_run(tmp_path / "run")) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def visit(browser, url, **options):
    """The page, once it has shown its first answer, and what it said and asked for."""
    tab = browser.new_page(**({"viewport": {"width": 1100, "height": 800}} | options))
    said, asked = [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(url)
    tab.locator("#facts dd").first.wait_for()
    return tab, said, asked


def test_it_follows_the_run(browser, served):
    tab, said, asked = visit(browser, served.url)
    assert tab.locator("#now").inner_text() == "other (study 2 of 2): thresholds, 3 of 12 trials"
    assert tab.locator("#bar").evaluate("bar => bar.value") == 0.25
    first = tab.locator("#tables tbody tr").first
    assert "41.5 [30.0, 55.0]" in first.inner_text()
    assert "goes on" in first.inner_text()
    assert "at least 512" in tab.locator("#tables tbody tr").nth(1).inner_text()
    drawn = tab.locator("#tables tbody tr").first.locator("line:not(.rule)")
    wide = drawn.evaluate("line => line.getBBox().width")
    assert tab.locator("#found .badge").count() == 3

    narrow = [ROWS[0] | {"low": 38.0, "high": 45.0, "settled": True}, ROWS[1]]
    (served.folder / LIVE).write_text(
        json.dumps(GOING | {"done": 12, "thresholds": {"other": {"thresholds": narrow}}})
    )
    Ledger(served.folder).write(
        [
            {
                "trial": "f" * 32,
                "task.type": "SignalTask",
                "network.connectivity": "full",
                "status": "diverged",
            }
        ]
    )
    tab.get_by_text("41.5 [38.0, 45.0]").wait_for(timeout=20_000)
    assert drawn.evaluate("line => line.getBBox().width") < wide, "the interval has tightened"
    assert "all 2 ended" in tab.locator("#tables h3").inner_text()
    assert "1 diverged" in tab.locator("#kinds").inner_text()
    assert said == []
    assert all(url.startswith(served.url) for url in asked)
    tab.close()


def test_names_that_are_scripts_are_shown_and_not_run(browser, served):
    tab, said, _ = visit(browser, served.url)
    assert EVIL in tab.locator("#tables tbody").inner_text()
    assert tab.locator("img").count() == 0
    assert tab.evaluate("window.ran") is None
    assert said == []
    tab.close()


def test_the_report_opens_from_it_and_works_there(browser, served):
    tab, said, asked = visit(browser, served.url)
    tab.get_by_role("link", name="The report").click()
    tab.locator("[name=verdict]").select_option("undecided")
    assert tab.locator("tr[data-paper]:visible").count() == 1
    tab.goto(tab.url.replace("index.html", "study-sample.html"))  # the page of the only study
    with tab.expect_download() as saved:
        tab.locator("#sample-curves .tools button").click()
    assert saved.value.suggested_filename == "sample-curves.csv"
    assert said == []
    assert [url for url in asked if not url.startswith((served.url, "blob:"))] == []
    tab.close()


def test_it_says_when_the_server_is_gone(browser, tmp_path):
    server = LiveServer(make_run(tmp_path / "run"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    tab, _, _ = visit(browser, server.url)
    server.shutdown()
    thread.join()
    server.server_close()
    tab.locator("#state.lost").wait_for(timeout=60_000)
    assert re.search("has ended", tab.locator("#state").inner_text())
    assert "41.5 [30.0, 55.0]" in tab.locator("#tables").inner_text(), "what was known stays"
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing_serious_and_nothing_sticks_out(
    browser, served, scheme
):
    tab, _, _ = visit(
        browser, served.url, color_scheme=scheme, viewport={"width": 360, "height": 700}
    )
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    tab.evaluate(AXE.read_text(encoding="utf-8") + "\n;undefined")
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [
        (each["id"], each["nodes"][0]["html"][:120])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ] == []
    tab.close()
