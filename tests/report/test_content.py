"""The content of a report."""

from separatrix.report.content import slug


def test_names_for_files_never_leave_their_folder():
    taken: set[str] = set()
    names = [
        slug(text, taken) for text in ("../../etc/passwd", "", "..", "Risk", "risk", "a" * 500)
    ]
    assert names == ["etc-passwd", "item", "item-2", "Risk", "risk-2", "a" * 80]
