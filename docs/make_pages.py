"""What the site takes from elsewhere when it is built: claims and their evidence, benchmark
figures, the list of examples.

Nothing here is typed by hand: sentences come from the studies, numbers from
`evidence/*/claims.json` and `benchmarks/RESULTS.md`. A page asks for a part with a comment on a
line of its own, such as `<!-- claims of malach -->`.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "evidence"
NOT_YET = "not yet measured at full scale"
MARKS = {"supported": "✓", "refuted": "✗", "undecided": "?"}
SHOWN = 3  # numbers of a claim in the overview; all of them stand below it
MARKER = re.compile(r"^<!-- ([a-z-]+)(?: of ([a-z-]+))? -->$", re.MULTILINE)


def fill(markdown: str) -> str:
    """A page's text with every marker replaced by what it asks for; an unknown marker is an error."""

    def part(found: re.Match[str]) -> str:
        name, of = found.groups()
        if name not in PARTS:
            raise ValueError(
                f"there is no part `{name}` to fill in; known: {', '.join(sorted(PARTS))}"
            )
        return PARTS[name](of)

    return MARKER.sub(part, markdown)


def evidence_folders() -> list[Path]:
    """The folders of kept runs, in order."""
    return sorted(file.parent for file in EVIDENCE.glob("*/claims.json"))


def caveats(folder: str) -> str:
    """What the index of the evidence says about one folder, as a warning; empty where it says
    nothing.
    """
    file = EVIDENCE / "README.md"
    paragraphs = file.read_text(encoding="utf-8").split("\n\n") if file.exists() else []
    said = [" ".join(each.split()) for each in paragraphs if each.startswith(f"`{folder}/`")]
    return "\n\n".join(f'!!! warning "Before you quote this run"\n    {each}' for each in said)


def measured() -> dict[str, list[dict[str, Any]]]:
    """Every kept finding at full scale by the id of its claim, with the `folder` it stands in."""
    found: dict[str, list[dict[str, Any]]] = {}
    for folder in evidence_folders():
        for finding in json.loads((folder / "claims.json").read_text(encoding="utf-8")):
            if finding["scale"] == "full":
                found.setdefault(finding["id"], []).append(finding | {"folder": folder.name})
    return found


def plain(text: str) -> str:
    """Text that Markdown shows as it is, in tables too."""
    return "".join(
        f"&#{ord(each)};" if each in "\\`*_{}[]|<>&#~^" else each for each in text
    ).replace("\n", " ")


def verdict(finding: dict[str, Any]) -> str:
    """A verdict as a coloured word, with how the experiment lay to the paper's conditions."""
    name = finding["verdict"]
    word = f'<span class="verdict {name}">{MARKS[name]} {name}</span>'
    return (
        f"{word} (outside the paper's conditions)" if finding["conditions_met"] is False else word
    )


def claims(paper: str) -> str:
    """The claims of a paper, study by study: an overview, then each sentence with conditions,
    evidence and reason.
    """
    from separatrix.studies import STUDIES

    kept = measured()
    out: list[str] = []
    for study in STUDIES.values():
        mine = [claim for claim in study.claims if claim.paper == paper]
        if mine:
            out += [
                f"## Study `{study.name}`",
                f"{plain(study.title)}{'' if study.title[-1] in '.?!' else '.'} {plain(study.summary)}.",
                _provenance(study.name),
            ]
            out += [
                "\n".join(
                    [
                        "| claim | verdict | measured |",
                        "|---|---|---|",
                        *(_overview(claim, kept) for claim in mine),
                    ]
                )
            ]
            out += [text for claim in mine for text in _detail(claim, kept)]
    return "\n\n".join(out)


def _provenance(study: str) -> str:
    """Where the study's runs are kept, and the command to make the first one where there is none."""
    out = []
    for folder in evidence_folders():
        found = [
            each
            for each in json.loads((folder / "claims.json").read_text(encoding="utf-8"))
            if each["study"] == study
        ]
        if found and (folder / "manifest.json").exists():
            run = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"][0]
            on = (
                f"on {plain(run['device'])}, {run['trials_run']:,} trials"
                if run["trials_run"]
                else "without trials, exact calculations"
            )
            warning = caveats(folder.name)
            kept = (
                f"Evidence: [the kept report](../evidence/{folder.name}/README.md), made by `{run['command']}` at commit "
                f"`{run['commit'][:12]}{'+dirty' if run['commit'].endswith('+dirty') else ''}` {on} in {run['wall_seconds']:.0f} s."
            )
            out.append(f"{kept}\n\n{warning}" if warning else kept)
    return (
        "\n\n".join(out)
        or f"Evidence: {NOT_YET}. To make it: `separatrix run {study} --scale full`."
    )


def _overview(claim: Any, kept: dict[str, list[dict[str, Any]]]) -> str:
    link = f"[`{claim.id}`](#{claim.id})"
    found = kept.get(claim.id)
    if not found:
        return f"| {link} | {NOT_YET} | |"
    cells = []
    for finding in found:
        shown = [f"{plain(each['name'])}: {_number(each)}" for each in finding["evidence"][:SHOWN]]
        more = len(finding["evidence"]) - SHOWN
        cells.append("<br>".join([*shown, f"and {more} more"] if more > 0 else shown))
    return f"| {link} | {'<br>'.join(verdict(each) for each in found)} | {'<br>'.join(cells)} |"


def _detail(claim: Any, kept: dict[str, list[dict[str, Any]]]) -> list[str]:
    out = [
        f"### `{claim.id}` {{#{claim.id}}}",
        f"> {plain(claim.statement)}",
        f"*Where:* {plain(claim.citation)}. *Conditions:* {plain(claim.conditions)}.",
    ]
    found = kept.get(claim.id)
    if not found:
        return [*out, f"*Measured:* {NOT_YET}."]
    for finding in found:
        out.append(f"*Measured:* {verdict(finding)}. {plain(finding['reason'])}.")
        if finding["outside"]:
            out.append(
                f"*Where this experiment leaves the paper's conditions:* {plain(finding['outside'])}."
            )
        rows = [
            "| quantity | estimate and interval | level | from | compared with | baselines |",
            "|---|---|---|---|---|---|",
        ]
        rows += [_row(each) for each in finding["evidence"]]
        if finding["evidence"]:
            out.append("\n".join(rows))
    return out


def _row(each: dict[str, Any]) -> str:
    from separatrix.report import number

    beside = ", ".join(
        f"{plain(name)} {number(value)}" for name, value in each["baselines"].items()
    )
    how = f"{each['count']:,}" + (f", {plain(each['method'])}" if each["method"] else "")
    return f"| {plain(each['name'])} | {_number(each)} | {each['level']:.0%} | {how} | {number(each['reference'])} | {beside or '—'} |"


def _number(each: dict[str, Any]) -> str:
    from separatrix.report import interval

    return plain(interval(each["estimate"], each["low"], each["high"]))


def papers(_: str | None = None) -> str:
    """A table of the papers with their numbers of claims and verdicts."""
    from separatrix.studies import PAPERS, STUDIES

    kept = measured()
    rows = [
        "| paper | claims | supported | refuted | undecided | not yet at full scale |",
        "|---|---|---|---|---|---|",
    ]
    for paper, title in PAPERS.items():
        ids = [
            claim.id for study in STUDIES.values() for claim in study.claims if claim.paper == paper
        ]
        if not (ROOT / "docs" / "papers" / f"{paper}.md").exists():
            continue
        verdicts = [finding["verdict"] for name in ids for finding in kept.get(name, [])]
        counts = [str(verdicts.count(name)) for name in MARKS]
        missing = sum(name not in kept for name in ids)
        rows.append(
            f"| [{plain(title)}]({paper}.md) | {len(ids)} | {' | '.join(counts)} | {missing} |"
        )
    return "\n".join(rows)


def benchmarks(_: str | None = None) -> str:
    """The benchmark results, with headings one level down."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    return re.sub(r"^#", "##", text.split("\n", 1)[1], flags=re.MULTILINE).strip()


def examples(_: str | None = None) -> str:
    """Every example script: its first sentence and its text."""
    out = []
    for file in sorted((ROOT / "examples").glob("*.py")):
        text = file.read_text(encoding="utf-8").strip()
        out += [f"## `examples/{file.name}`", f"```python\n{text}\n```"]
    return "\n\n".join(out)


def decisions(_: str | None = None) -> str:
    """Links to decision records that the index does not name itself, by their titles."""
    folder = ROOT / "docs" / "decisions"
    index = (folder / "index.md").read_text(encoding="utf-8")
    others = [
        file
        for file in sorted(folder.glob("*.md"))
        if file.name != "index.md" and f"]({file.name})" not in index
    ]
    return "\n".join(
        f"- [{file.read_text(encoding='utf-8').split(chr(10), 1)[0].lstrip('# ')}]({file.name})"
        for file in others
    )


PARTS: dict[str, Callable[[Any], str]] = {
    "claims": claims,
    "papers": papers,
    "benchmarks": benchmarks,
    "examples": examples,
    "decisions": decisions,
}
