"""The README's example must run as it stands."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_python_example_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], str(README), "exec"), {})
    printed = capsys.readouterr().out
    for word in ("full", "local", "shared", "bayes", "linear"):
        assert word in printed


def test_the_commands_exist():
    text = README.read_text(encoding="utf-8")
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
