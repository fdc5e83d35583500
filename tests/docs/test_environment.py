"""The page of environment variables names every variable that the package reads."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_variable_of_ours_is_on_the_page_and_none_else():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    pattern = re.compile(r"SEPARATRIX_[A-Z_]+")
    assert set(pattern.findall(code)) == set(pattern.findall(page))
