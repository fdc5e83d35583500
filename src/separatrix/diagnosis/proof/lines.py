"""The lines of the proof: one case each, and the table that they make."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from separatrix.diagnosis.api import diagnose
from separatrix.diagnosis.proof.reals import REALS
from separatrix.diagnosis.proof.truths import BLIND_HALF, TRUTHS, as_input, case_of
from separatrix.diagnosis.verdict import UNSETTLED
from separatrix.engine import Lab
from separatrix.inference.intervals import wilson

REVISION = 7  # of the method; lines of another one are not read


def one_line(name: str, seed: int, budget: float) -> dict[str, Any]:
    """Diagnose one case; its line."""
    begin = time.process_time()
    if name in REALS:
        right, inputs = REALS[name].right, {"x": REALS[name].make(seed), "seed": seed}
    else:
        case, truth = case_of(name, seed)
        right, inputs = truth.right, as_input(case)
    found = diagnose(**inputs, budget=budget, name=name, lab=Lab(workers=0, budget=budget))
    gains = {
        f"{each.first} - {each.second}": None
        if each.mean is None
        else [round(x, 4) for x in (each.mean.estimate, each.mean.low, each.mean.high)]
        for each in found.comparisons
    }
    return {
        "revision": REVISION,
        "truth": name,
        "half": "real" if name in REALS else "blind" if name in BLIND_HALF else "open",
        "seed": seed,
        "budget": budget,
        "right": list(right),
        "verdict": found.verdict,
        "grade": grade(found.verdict, right),
        "locality": found.locality,
        "sharing": found.sharing,
        "recommended": found.recommended,
        "window": found.window,
        "splits": found.about["splits"],
        "trials": found.about["trials"],
        "cpu": round(time.process_time() - begin, 1),
        "notes": sorted({note.code for note in found.notes if note.severity == "warning"}),
        "scores": {
            model: [round(score.estimate, 4) for _, score in points]
            for model, points in found.scores.items()
        },
        "gains": gains,
    }


def grade(verdict: str, right: Iterable[str]) -> str:
    """ "right", "wrong", or "open" for a verdict that leaves the question, or half of it, open.

    >>> grade("cannot tell", ("neither pays",)), grade("neither pays", ("convolution pays",))
    ('open', 'wrong')
    """
    right = tuple(right)
    if verdict in right:
        return "right"
    if verdict == "cannot tell":
        return "open"
    pays = any("locality" in each or "convolution" in each for each in right)
    return "open" if verdict == UNSETTLED and pays else "wrong"


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The lines of a file that this version of the method wrote; a torn last line is left out.

    >>> read_lines(Path("no-such-file"))
    []
    """
    out = []
    for text in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if line.get("revision") == REVISION:
            out.append(line)
    return out


def table_of(lines: Iterable[dict[str, Any]]) -> str:
    """The table of a proof: for every truth how many cases were right, open and wrong."""
    lines = list(lines)
    out = [
        "| truth | right verdict | cases | right | open | wrong | right (95 %) | CPU seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]

    def row(name: str, verdicts: str, some: list[dict[str, Any]]) -> str:
        counts = {each: sum(line["grade"] == each for line in some) for each in GRADES}
        seconds = sorted(line["cpu"] for line in some)[len(some) // 2]
        share = wilson(counts["right"], len(some))
        return (
            f"| {name} | {verdicts} | {len(some)} | {counts['right']} | {counts['open']} | "
            f"{counts['wrong']} | {share} | {seconds:.0f} |"
        )

    # Of real data only those in the data folder are in REALS; others may have lines all the same.
    for name in dict.fromkeys([*TRUTHS, *REALS, *(line["truth"] for line in lines)]):
        some = [line for line in lines if line["truth"] == name]
        if some:
            out.append(row(name, " or ".join(some[0]["right"]), some))
    if lines:
        out.append(row("**all**", "", lines))
    return "\n".join(out)


GRADES = ("right", "open", "wrong")


def between(page: str, part: str, text: str) -> str:
    """A page with another text between the two marks of a part.

    >>> between("<!-- a -->\\nold\\n<!-- /a -->", "a", "new").splitlines()
    ['<!-- a -->', 'new', '<!-- /a -->']
    """
    begin, end = f"<!-- {part} -->\n", f"<!-- /{part} -->"
    before, after = page.split(begin, 1)
    return f"{before}{begin}{text}\n{end}{after.split(end, 1)[1]}"


def on_page(page: str, lines: Iterable[dict[str, Any]]) -> str:
    """A page with the tables of the halves of a proof.

    >>> on_page("<!-- proof -->\\nold\\n<!-- /proof -->", []).splitlines()[1]
    'There are no cases yet.'
    """
    lines, tables = list(lines), list[str]()
    titles = {"open": "Used while the method was made", "blind": "Run once after", "real": "Real"}
    for half, title in titles.items():
        some = [line for line in lines if line["half"] == half]
        tables += [f"**{title}**\n\n{table_of(some)}\n"] if some else []
    return between(page, "proof", "\n".join(tables) or "There are no cases yet.")
