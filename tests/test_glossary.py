"""The glossary and the code name the same classes."""

import importlib
import inspect
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "glossary.md"
PACKAGES = (
    "separatrix",
    "separatrix.engine",
    "separatrix.inference",
    "separatrix.learners",
    "separatrix.networks",
    "separatrix.report",
    "separatrix.studies",
    "separatrix.tasks",
)
ROW = re.compile(r"^\| (?P<words>[^|]+) \| (?P<meaning>[^|]+) \| `(?P<where>[\w.]+)` \|$")


def rows():
    """The rows of all tables: the words, those of them in code style, and the module."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    matches = [ROW.match(line) for line in lines if not line.startswith("| word |")]
    assert all(matches), "a row that is not: word | meaning | `module`"
    return [
        (row["words"], re.findall(r"`(\w+)`", row["words"]), row["where"]) for row in matches if row
    ]


def public_classes():
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            if inspect.isclass(getattr(module, name)):
                yield name, package


def test_every_public_class_is_in_the_glossary():
    explained = {name for _, names, _ in rows() for name in names}
    missing = sorted(
        f"{package}.{name}" for name, package in public_classes() if name not in explained
    )
    assert not missing, f"not in docs/glossary.md: {', '.join(missing)}"


def test_every_name_of_the_glossary_exists():
    for _, names, where in rows():
        module = importlib.import_module(where)
        for name in names:
            assert hasattr(module, name), f"docs/glossary.md: {where} has no {name}"


def test_every_word_is_explained_once():
    words = [word for entry, _, _ in rows() for word in re.split(r", ", entry)]
    assert len(words) == len(set(words)), sorted(word for word in words if words.count(word) > 1)
