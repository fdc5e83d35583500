"""The page with sliders: its floors are those of the theory, and it works in a real browser."""

import importlib.util
from pathlib import Path

import pytest

from browsing import serious
from separatrix.theory.signal.floors import floor_alignment

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explore.html"


@pytest.fixture
def visit(open_page):
    return lambda **options: open_page(PAGE.as_uri(), **options)


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
    assert serious(visit(color_scheme=scheme)) == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_sticks_out_on_a_phone(visit, width):
    tab = visit(viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # Letters have the size that the style gives them: the drawing is not shrunk.
    scale = tab.evaluate("document.querySelector('#chart svg').getScreenCTM().a")
    assert scale >= 0.95


def test_on_paper_there_are_no_controls(visit):
    tab = visit()
    tab.emulate_media(media="print")
    assert tab.locator("form").is_hidden()
    assert tab.locator("#chart svg").is_visible()
