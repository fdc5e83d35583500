"""The README's example runs and prints what the README shows."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def words(text):
    return re.findall(r"[a-z]+", text)


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.?\d*", text)]


def test_the_python_example_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], str(README), "exec"), {})
    printed = capsys.readouterr().out
    shown = re.search(r"```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert words(printed) == words(shown[1])
    # Medians over eight seeds; other processors round differently.
    assert numbers(printed) == pytest.approx(numbers(shown[1]), abs=0.02)


def test_the_commands_exist():
    text = README.read_text(encoding="utf-8")
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
