"""The claims as a LaTeX table, for a paper."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from separatrix.report.content import effect, place_of, short_name, source_of

MOST_EFFECTS = 3  # per claim
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
}
_NAMES = """alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma
    tau upsilon varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"""
_GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", _NAMES.split(), strict=True))
_MATH = {
    "−": "-",
    "×": r"\times ",
    "·": r"\cdot ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "√": r"\surd ",
    "∞": r"\infty ",
    "∈": r"\in ",
    "→": r"\to ",
    "∂": r"\partial ",
    "‖": r"\| ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "ℓ": r"\ell ",
    "±": r"\pm ",
    "∝": r"\propto ",
    "½": r"\frac12 ",
    "¼": r"\frac14 ",
    "′": "'",
    "∑": r"\sum ",
    "∏": r"\prod ",
    "∫": r"\int ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "∇": r"\nabla ",
    "∼": r"\sim ",
    "≪": r"\ll ",
    "≫": r"\gg ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "⊂": r"\subset ",
    "⊆": r"\subseteq ",
    "∅": r"\emptyset ",
    "⇒": r"\Rightarrow ",
    "←": r"\leftarrow ",
    "∀": r"\forall ",
    "∃": r"\exists ",
    "ℝ": r"\mathbf{R}",
    "ℕ": r"\mathbf{N}",
    "°": r"^\circ ",
} | {letter: f"\\{name} " for letter, name in _GREEK.items()}
_PLAIN = {
    "—": "---",
    "–": "--",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "\u00a0": "~",
}
_RAISED = dict(zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_RUNS = re.compile(f"([{''.join(_RAISED)}]+)|([{''.join(_LOWERED)}]+)")


# Accents and letters that every LaTeX engine can set.
_ACCENTS = set("\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327")
_LETTERS = set("ßæøåœÆØÅŒłŁ")
_UNICODE = (
    r"\providecommand{\sxunicode}[2]{\ifdefined\Umathcode#1\else[U+#2]\fi}"
    " % a character that only Unicode engines can set"
)


def latex(text: str) -> str:
    """Text escaped for LaTeX, on one line.

    Characters that pdfLaTeX cannot set are kept for engines that can, through `\\sxunicode`.

    >>> latex("50 % of σ_1 ≤ 1.4×10⁻⁷")
    '50 \\\\% of $\\\\sigma $\\\\_1 $\\\\le $ 1.4$\\\\times $10$^{-7}$'
    """

    def runs(match: re.Match[str]) -> str:
        table, sign = (_RAISED, "^") if match.group(1) else (_LOWERED, "_")
        return f"\0{sign}{''.join(table[digit] for digit in match.group())}\0"

    pieces = _RUNS.sub(runs, " ".join(text.replace("\0", "").split())).split("\0")
    out = []
    for index, piece in enumerate(pieces):
        if index % 2:  # a superscript or subscript
            out.append(f"${piece[0]}{{{piece[1:]}}}$")
        else:
            out += [_character(character) for character in piece]
    return "".join(out)


def _character(character: str) -> str:
    if character in _MATH:
        return f"${_MATH[character]}$"
    known = _SPECIAL.get(character) or _PLAIN.get(character)
    if known or " " <= character <= "~" or character in _LETTERS:
        return known or character
    if unicodedata.category(character).startswith("C"):  # no engine sets control characters
        return f"[U+{ord(character):04X}]"
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        return character
    return f"\\sxunicode{{{character}}}{{{ord(character):04X}}}"


def claims_table(claims: Iterable[dict[str, Any]]) -> str:
    """A `longtable` of all claims: paper, sentence, verdict, effects with intervals.

    It needs the packages booktabs and longtable.

    >>> print(claims_table([]).splitlines()[2])
    \\begin{longtable}{p{0.15\\linewidth}p{0.32\\linewidth}lp{0.25\\linewidth}}
    """
    lines = [
        r"% \usepackage{booktabs,longtable}",
        _UNICODE,
        r"\begin{longtable}{p{0.15\linewidth}p{0.32\linewidth}lp{0.25\linewidth}}",
        r"\toprule",
        r"Paper & Claim & Verdict & "
        r"\raggedright Effect [interval shown at 95\,\% unless stated otherwise] \tabularnewline",
        r"\midrule",
        r"\endhead",
    ]
    for claim in claims:
        effects = [
            f"{latex(evidence['name'])}: {latex(effect(evidence))}{_level(evidence)}"
            for evidence in claim["evidence"][:MOST_EFFECTS]
        ]
        more = len(claim["evidence"]) - len(effects)
        effects += [f"and {more} more"] if more else []
        place = place_of(claim)
        verdict = claim["verdict"] + (
            ""
            if place == "inside"
            else r"$^{\ast}$"
            if place.startswith("outside")
            else r"$^{\circ}$"
        )
        paper = latex(short_name(claim["paper"], source_of(claim))) + (
            f", {latex(claim['citation'])}" if claim.get("citation") else ""
        )
        cells = (
            f"\\raggedright {paper}",
            f"\\raggedright {latex(claim['statement'])}",
            verdict,
            f"\\raggedright {'; '.join(effects) or '---'}",
        )
        lines.append(f"{' & '.join(cells)} \\tabularnewline")
    lines += [
        r"\bottomrule",
        r"\multicolumn{4}{l}{\footnotesize $^{\ast}$ measured outside the paper's conditions; "
        r"$^{\circ}$ whether inside is not known}",
        r"\end{longtable}",
    ]
    return "\n".join(lines) + "\n"


def _level(evidence: dict[str, Any]) -> str:
    level = evidence.get("level")
    has_interval = evidence.get("low") is not None or evidence.get("high") is not None
    return "" if level in (None, 0.95) or not has_interval else f" ({100 * level:g}\\,\\%)"
