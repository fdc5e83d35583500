"""A real browser for the pages; without one, the tests that need it are skipped."""

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="pages are not tested in a browser: `pip install .[test]` brings playwright",
    )
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        pytest.skip("pages are not tested in a browser: there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        # In a container there may be no user namespaces, which the sandbox needs; the pages are our
        # own.
        opened = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()
