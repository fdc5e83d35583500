"""A real browser for the pages; without one, the tests that need it are skipped."""

import importlib
import os
import shutil
from pathlib import Path

import pytest

AXE = Path(__file__).parent / "report" / "vendor" / "axe.min.js"


def skip(reason):
    """Skip, unless a browser is required: where CI has one, a skipped test is a failure."""
    if os.environ.get("SEPARATRIX_BROWSER") == "required":
        pytest.fail(f"a browser is required, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    """Chromium, the same for all tests of a process."""
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError:
        skip("pages are not tested in a browser: `pip install .[test]` brings playwright")
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        skip("pages are not tested in a browser: there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        # In a container there may be no user namespaces, which the sandbox needs; the pages are our
        # own.
        opened = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser):
    """Open a page by its address.

    At the end there must have been no complaint, and no request but for the page itself.
    """
    tabs = []

    def go(address, **options):
        tab = browser.new_page(**({"viewport": {"width": 1300, "height": 900}} | options))
        said, asked = [], []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(address)
        tabs.append((tab, said, asked))
        return tab

    yield go
    for tab, said, asked in tabs:
        tab.close()
        assert said == []
        assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [asked[0]]


def serious(tab):
    """What the accessibility checker finds serious or critical, with the elements."""
    # A page's policy may forbid scripts that are not its own, so the checker comes in through the
    # debugger.
    tab.evaluate(AXE.read_text(encoding="utf-8") + "\n;undefined")
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 5
    return [
        (each["id"], [node["html"][:120] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def bottom(locator):
    """Where an element ends, in pixels from the top of the page."""
    box = locator.bounding_box()
    return box["y"] + box["height"]
