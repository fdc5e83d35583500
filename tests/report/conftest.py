"""A real browser for the pages; where there is none, the tests that need it are skipped and say so."""

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="pages are not tried in a browser: `pip install playwright` for that",
    )
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        pytest.skip("pages are not tried in a browser: there is no chromium on this machine")
    with playwright.sync_playwright() as driver:
        # In a container there may be no user namespaces, which the sandbox needs; the pages are our
        # own.
        opened = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()
