"""The architecture page names functions and files that exist; its walk is as short as it says."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HOP = re.compile(r"^\| (\d+) \| (.+) \| `([a-z_/]+\.py)` \|$", re.MULTILINE)


def test_the_walk_from_a_trial_to_the_page():
    hops = HOP.findall(PAGE)
    files = {file for _, _, file in hops}
    assert [int(number) for number, _, _ in hops] == list(range(1, len(hops) + 1))
    assert f"in {len(hops)} hops through {len(files)} files" in PAGE
    assert len(hops) <= 20
    assert len(files) <= 15
    for _, words, file in hops:
        source = (ROOT / "src" / "separatrix" / file).read_text(encoding="utf-8")
        owner, _, method = re.findall(r"`([\w.]+)`", words)[0].partition(".")
        assert re.search(rf"^(class|def) {owner}\b", source, re.MULTILINE), (owner, file)
        assert not method or re.search(rf"^    def {method}\b", source, re.MULTILINE), (words, file)


def test_files_that_the_page_names_exist():
    for file in re.findall(r"`((?:src|engine|networks|report|studies|docs)/[\w/]+\.py)`", PAGE):
        assert (ROOT / file).exists() or (ROOT / "src" / "separatrix" / file).exists(), file
