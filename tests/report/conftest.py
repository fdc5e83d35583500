"""A real browser for the pages; without one, the tests that need it are skipped."""

import importlib
import os
import shutil

import pytest


def skip(reason):
    """Skip, unless a browser is required: where CI has one, a skipped test is a failure."""
    if os.environ.get("SEPARATRIX_BROWSER") == "required":
        pytest.fail(f"a browser is required, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
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
