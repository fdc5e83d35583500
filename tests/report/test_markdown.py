"""The report as Markdown."""

import re

from hypothesis import given
from hypothesis import strategies as st
from run_documents import documents, write

from separatrix.report import write_report
from separatrix.report.markdown import code, plain


def test_the_markdown_twin_says_the_same_and_its_pictures_exist(tmp_path):
    write_report(write(tmp_path, documents()))
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(pictures) == 2
    assert all((tmp_path / "report" / picture).is_file() for picture in pictures)
    anchors = set(re.findall(r'<a id="([^"]+)">', text))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors
    for part in (
        "lahoti.first",
        "✓ supported",
        "−0.378 \\[−0.395, −0.357\\]",
        "mind the gap",
        "task.noise",
        "775 MiB",
        "CNN 1 of 3 points",
    ):
        assert part in text


@given(st.text())
def test_markdown_text_is_only_text(text):
    assert not re.search(r"[<>\n]", plain(text))
    assert "|" not in plain(text).replace("\\\\", "").replace("\\|", "")
    inside = code(text)
    fence = inside[: len(inside) - len(inside.lstrip("`"))]
    assert fence not in inside[len(fence) : -len(fence)].strip("`") or not fence
