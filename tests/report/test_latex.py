"""The claims as a LaTeX table."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_run import EVIL, write_run

from separatrix.report.latex import claims_table, latex
from separatrix.report.read import read_claims

SPECIAL = re.compile(r"(?<!\\)[#%&_~^{}$]")


@given(st.text())
def test_latex_text_has_no_bare_special_letter(text):
    out = latex(text)
    # What is ours to write: commands with their braces, and math between dollars.
    rest = re.sub(r"\\[#%&_{}$]", "", out)
    rest = re.sub(r"\\sxunicode\{[^\x00-\x7f]\}\{[0-9A-F]{4,6}\}", "", rest)
    rest = re.sub(r"\\text[a-z]+\{\}|\\dots\{\}|(?<!\w)~", "", rest)
    rest = re.sub(
        r"\$[\^_]\{-?[0-9-]+\}\$"
        r"|\$(\\[A-Za-z]+ |\\\| |-|'|\\frac1[24] |\\mathbf\{[RN]\}|\^\\circ )\$",
        "",
        rest,
    )
    assert not SPECIAL.search(rest.replace("~", ""))
    assert "\\" not in rest
    assert "\n" not in out


def test_what_readers_see_in_a_table():
    assert latex("−0.378 [−0.395, −0.357]") == "$-$0.378 [$-$0.395, $-$0.357]"
    assert latex(r"\input{x} & 5%") == r"\textbackslash{}input\{x\} \& 5\%"
    assert latex("x₁² ~ k") == r"x$_{1}$$^{2}$ \textasciitilde{} k"


def test_the_table_has_a_row_a_claim_with_its_effect(tmp_path):
    claims = read_claims(write_run(tmp_path / "run", EVIL))
    claims[1]["conditions_met"] = False
    text = claims_table(claims)
    rows = [
        line
        for line in text.splitlines()
        if line.endswith("\\tabularnewline") and "Theorem" in line
    ]
    assert len(rows) == 3
    assert all(len(re.findall(r"(?<!\\)&", row)) == 3 for row in rows)
    assert "$-$0.378 [$-$0.395, $-$0.357]" in rows[0]
    assert r"undecided$^{\ast}$" in rows[1]
    assert r"$^{\ast}$" not in rows[0]
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1


TEXT = (
    r'\input{x} $a$ #1 %c &b ~d ^e _f {g} \end{longtable} < > | " '
    "naïve é ü ß ð « “q” ‘r’ α ≤ ∑ ½ x² ⟨a⟩ ‖w‖ 日本 🎉 ᵀ"
)


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="the table is not compiled: there is no pdflatex on this machine",
)
def test_latex_compiles_the_table(tmp_path):
    claims = read_claims(write_run(tmp_path / "run", EVIL))
    claims[0] |= {"statement": TEXT, "reason": TEXT, "citation": TEXT, "source": TEXT}
    claims[0]["evidence"][0]["name"] = TEXT
    kept = Path(__file__).parents[2] / "evidence"
    claims += [
        claim for file in sorted(kept.glob("*/claims.json")) for claim in read_claims(file.parent)
    ]
    (tmp_path / "claims.tex").write_text(claims_table(claims), encoding="utf-8")
    paper = (
        r"\documentclass{article}\usepackage{booktabs,longtable}"
        r"\begin{document}\input{claims}\end{document}"
    )
    (tmp_path / "paper.tex").write_text(paper)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, said[-1500:]
    assert "Overfull" not in re.sub(r"Overfull \\hbox \((\d|[1-3]\d)\.", "", said), (
        "nothing sticks out by 40 points or more"
    )
