"""Every note has an entry in the catalogue, and the page of the catalogue is current."""

import re
from pathlib import Path

import pytest

from separatrix.diagnosis.codes import CODES, catalogue, check_codes
from separatrix.errors import UnknownNameError

ROOT = Path(__file__).parents[2]
FOLDERS = ("data", "diagnosis")


def test_every_code_is_in_the_catalogue():
    code = re.compile(r'Note\(\s*"([a-z-]+)"')
    used = {
        name
        for folder in FOLDERS
        for file in (ROOT / "src/separatrix" / folder).rglob("*.py")
        for name in code.findall(file.read_text(encoding="utf-8"))
    }
    assert used <= set(CODES), used - set(CODES)
    assert set(CODES) <= used, set(CODES) - used


def test_the_page_shows_the_catalogue():
    page = (ROOT / "docs/diagnose.md").read_text(encoding="utf-8")
    assert catalogue() in page


def test_unknown_codes_are_refused():
    assert check_codes(("budget",)) == ("budget",)
    with pytest.raises(UnknownNameError, match="did you mean `group-leak`"):
        check_codes(("group-leek",))
