"""The examples run as they stand, in the percent format that editors and notebooks read."""

import re
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))
SAYS = {  # something that only a run which got to its end prints
    "equivariance_audit": r"adam +orthogonal +median gap .*: not equivariant",
    "exact_gradient": r"enumerated 0\.\d+, by the identity 0\.\d+",
    "own_claim": r"the linear rule with 2000 samples reaches the goal",
    "own_task": r"'bayes': 0\.0",
    "quickstart": r"'linear': 0\.\d+",
    "threshold_search": r"LCN over CNN: (\d|at least)",
}


def test_every_example_is_checked():
    assert {file.stem for file in EXAMPLES} == set(SAYS)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_runs(file, tmp_path, monkeypatch, capsys):
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # "), "an example begins with a title"
    assert len(re.findall(r"^# %%", text, re.MULTILINE)) >= 3
    monkeypatch.chdir(tmp_path)
    exec(compile(text, str(file), "exec"), {"__name__": f"example_{file.stem}"})
    printed = capsys.readouterr().out
    assert re.search(SAYS[file.stem], printed), printed
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
