"""The page with sliders: its floors are those of the theory, and it works in a real browser."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from separatrix.theory.signal.floors import floor_alignment

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explore.html"
AXE = ROOT / "tests" / "report" / "vendor" / "axe.min.js"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    tabs = []

    def go(**options):
        tab = browser.new_page(**({"viewport": {"width": 1100, "height": 900}} | options))
        said, asked = [], []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(PAGE.as_uri())
        tabs.append((tab, said, asked))
        return tab

    yield go
    for tab, said, asked in tabs:
        tab.close()
        assert said == []
        assert asked == [PAGE.as_uri()], "nothing is fetched"


def test_the_measurements_are_those_of_the_evidence():
    spec = importlib.util.spec_from_file_location("make_explore", ROOT / "docs" / "make_explore.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    page = PAGE.read_text(encoding="utf-8")
    assert make.measurements()["points"]
    assert page == make.page_with(make.measurements(), page), "run `python docs/make_explore.py`"


@pytest.mark.parametrize("network", ["CNN", "LCN", "FCN"])
@pytest.mark.parametrize("k, d, noise", [(20, 20, 0.3), (5, 8, 0.6), (40, 4, 0.15)])
def test_floors_are_those_of_the_package(visit, network, k, d, noise):
    floor = visit().evaluate(f"separatrixFloor('{network}', {k}, {d}, {noise})")
    # The page sums large binomials with a stride: one sample, or half a per cent, is allowed.
    slack = max(1, round(0.005 * floor))
    assert floor_alignment(network, k, d, noise, floor + slack, genie=True) >= 0.8
    if floor - 1 - slack > 0:
        assert floor_alignment(network, k, d, noise, floor - 1 - slack, genie=True) < 0.8


def test_sliders_change_chart_and_numbers(visit):
    tab = visit()
    before = tab.locator("#numbers").inner_text()
    circles = tab.locator("#chart circle").count()
    assert circles > 5
    tab.locator("[name=k]").fill("30")
    assert tab.locator("#k-out").inner_text() == "30"
    assert tab.locator("#numbers").inner_text() != before
    tab.locator("[name=against]").select_option("d")
    assert "d (k = 30" in tab.locator("#chart svg").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing_serious(visit, scheme):
    tab = visit(color_scheme=scheme)
    tab.evaluate(AXE.read_text(encoding="utf-8") + "\n;undefined")
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
    bad = [each["id"] for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert bad == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_sticks_out_on_a_phone(visit, width):
    tab = visit(viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_there_are_no_controls(visit):
    tab = visit()
    tab.emulate_media(media="print")
    assert tab.locator("form").is_hidden()
    assert tab.locator("#chart svg").is_visible()
