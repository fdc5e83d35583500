"""The claims as a LaTeX table, for a paper."""

import re
from collections.abc import Iterable
from typing import Any

from separatrix.report.content import effect, place_of, short_name

SHOWN = 3
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}  # fmt: skip
_NAMES = """alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon varphi chi psi omega
    Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"""
_GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", _NAMES.split(), strict=True))
_MATH = {
    "−": "-", "×": r"\times ", "·": r"\cdot ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "√": r"\surd ", "∞": r"\infty ",
    "∈": r"\in ", "→": r"\to ", "∂": r"\partial ", "‖": r"\| ", "⌈": r"\lceil ", "⌉": r"\rceil ", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
    "ℓ": r"\ell ", "±": r"\pm ", "∝": r"\propto ",
} | {letter: f"\\{name} " for letter, name in _GREEK.items()}  # fmt: skip
_PLAIN = {"—": "---", "–": "--", "…": r"\dots{}", "“": "``", "”": "''", "‘": "`", "’": "'", "\u00a0": "~"}
_RAISED = dict(zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_RUNS = re.compile(f"([{''.join(_RAISED)}]+)|([{''.join(_LOWERED)}]+)")


def latex(text: str) -> str:
    """Text that LaTeX shows as it is, on one line; letters that are not known stay, for engines that read Unicode.

    >>> latex("50 % of σ_1 ≤ 1.4×10⁻⁷")
    '50 \\\\% of $\\\\sigma $\\\\_1 $\\\\le $ 1.4$\\\\times $10$^{-7}$'
    """

    def runs(match: re.Match[str]) -> str:
        table, sign = (_RAISED, "^") if match.group(1) else (_LOWERED, "_")
        return f"\0{sign}{''.join(table[each] for each in match.group())}\0"

    pieces = _RUNS.sub(runs, " ".join(text.replace("\0", "").split())).split("\0")
    out = []
    for index, piece in enumerate(pieces):
        if index % 2:  # what stands high or low
            out.append(f"${piece[0]}{{{piece[1:]}}}$")
        else:
            out += [_SPECIAL.get(each) or _PLAIN.get(each) or (f"${_MATH[each]}$" if each in _MATH else each) for each in piece]
    return "".join(out)


def claims_table(claims: Iterable[dict[str, Any]]) -> str:
    """A `longtable` of all claims: paper, sentence, verdict, effects with intervals. It needs the packages booktabs and longtable.

    >>> print(claims_table([]).splitlines()[1])
    \\begin{longtable}{p{0.14\\linewidth}p{0.36\\linewidth}lp{0.3\\linewidth}}
    """
    lines = [
        r"% \usepackage{booktabs,longtable}",
        r"\begin{longtable}{p{0.14\linewidth}p{0.36\linewidth}lp{0.3\linewidth}}",
        r"\toprule",
        r"Paper & Claim & Verdict & Effect [95\,\% interval unless stated otherwise] \\",
        r"\midrule",
        r"\endhead",
    ]
    for claim in claims:
        effects = [f"{latex(each['name'])}: {latex(effect(each))}{_level(each)}" for each in claim["evidence"][:SHOWN]]
        more = len(claim["evidence"]) - len(effects)
        effects += [f"and {more} more"] if more else []
        place = place_of(claim)
        verdict = claim["verdict"] + ("" if place == "inside" else r"$^{\ast}$" if place.startswith("outside") else r"$^{\circ}$")
        paper = latex(short_name(claim["paper"])) + (f", {latex(claim['citation'])}" if claim.get("citation") else "")
        lines.append(f"{paper} & {latex(claim['statement'])} & {verdict} & {'; '.join(effects) or '---'} \\\\")
    lines += [
        r"\bottomrule",
        r"\multicolumn{4}{l}{$^{\ast}$ measured outside the paper's conditions; $^{\circ}$ whether inside is not known}",
        r"\end{longtable}",
    ]
    return "\n".join(lines) + "\n"


def _level(evidence: dict[str, Any]) -> str:
    level = evidence.get("level")
    has_interval = evidence.get("low") is not None or evidence.get("high") is not None
    return "" if level in (None, 0.95) or not has_interval else f" ({100 * level:g}\\,\\%)"
