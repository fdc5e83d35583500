"""The page of a diagnosis: the answer without scrolling, and the window that it frames."""

import dataclasses

import numpy as np
import pytest

from browsing import bottom, serious
from separatrix.diagnosis.page import fragment, windows

FRAME = (214, 90, 20)


def framed(strip) -> tuple[int, int, int, int]:
    """The rows and columns from which and up to which pixels have the frame's colour."""
    down, across = np.nonzero((np.array(strip) == FRAME).all(-1))
    return int(down.min()), int(down.max()) + 1, int(across.min()), int(across.max()) + 1


def test_the_busiest_window_of_a_signal_is_framed(found):
    row = np.zeros((24, 1), np.float32)
    row[10] = 1.0
    picture = windows(dataclasses.replace(found, examples=(("bump", row),)))
    assert picture is not None
    assert picture.labels == ("bump",)
    top, bottom, left, right = framed(picture.strips[0])
    scale = 480 // 24
    assert (top, bottom, right - left) == (0, 24, found.window * scale)
    assert left <= 10 * scale < right


def test_the_busiest_window_of_an_image_is_framed(found):
    image = np.zeros((8, 12, 3), np.uint8)
    image[5, 9] = 255
    about = {**found.about, "kind": "image"}
    picture = windows(dataclasses.replace(found, examples=(("dot", image),), about=about))
    top, bottom, left, right = framed(picture.strips[0])
    scale = 96 // 12
    assert bottom - top == right - left == found.window * scale
    assert top <= 5 * scale < bottom
    assert left <= 9 * scale < right
    assert "3 x 3 pixels" in picture.caption


def test_tables_have_no_windows(found):
    assert windows(dataclasses.replace(found, examples=())) is None
    assert [name for name, _ in found.examples] == ["0", "1"]
    page = fragment(found)
    assert page.index("What scrambling costs") < page.index("What a window sees")


@pytest.fixture(scope="module")
def address(found, tmp_path_factory):
    return found.report(tmp_path_factory.mktemp("page")).as_uri()


def test_answer_advice_and_figure_are_seen_without_scrolling(open_page, address):
    tab = open_page(address)
    assert tab.locator("h1").inner_text()
    assert "What to do:" in tab.locator(".do").inner_text()
    assert bottom(tab.locator(".front figure svg").first) <= 900
    assert bottom(tab.locator(".front table")) <= 900
    phone = open_page(address, viewport={"width": 390, "height": 844})
    assert bottom(phone.locator(".do")) <= 844
    assert bottom(phone.locator(".front figure > svg").first) <= 2 * 844


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing_serious(open_page, address, scheme):
    tab = open_page(address, color_scheme=scheme)
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 24, 29)")
    assert serious(tab) == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_sticks_out_on_a_phone(open_page, address, width):
    tab = open_page(address, viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_there_are_answer_figures_and_tables(open_page, address):
    tab = open_page(address, color_scheme="dark")
    tab.emulate_media(media="print")
    ink = tab.evaluate("getComputedStyle(document.querySelector('figure text')).fill")
    assert ink == "rgb(28, 32, 38)", "black on paper, whatever the screen"
    assert tab.locator("h1").is_visible()
    assert tab.locator("figure > svg").first.is_visible()
    assert tab.pdf()[:4] == b"%PDF"
