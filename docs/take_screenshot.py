"""Take the picture of a report's first screen: python docs/take_screenshot.py RESULTS [FILE]."""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

TARGET = Path(__file__).parent / "images" / "report.png"
SIZE = {"width": 1300, "height": 760}


def take(page: Path, target: Path) -> None:
    """Save the first screen of a page, with few colours so that the file stays small."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        tab.goto(page.resolve().as_uri())
        picture = Image.open(io.BytesIO(tab.screenshot()))
        browser.close()
    picture.convert("RGB").quantize(64).save(target, optimize=True)


if __name__ == "__main__":
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else TARGET
    take(Path(sys.argv[1]) / "report" / "index.html", target)
