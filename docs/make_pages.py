"""The generated parts of the site: claims with their evidence, benchmark figures, examples.

The sentences come from the studies, the numbers from `evidence/*/claims.json` and
`benchmarks/kept/*.json`. A kept finding that another rule than today's decided is listed under
its epoch, with the id and the sentence of its time.

A page asks for a part with a comment on a line of its own, such as `<!-- claims of malach -->`, and
for one measured number of an epoch or a kept run with `{{ RUN/STUDY: CLAIM: NAME }}`, as in
`{{ 0/signal: lahoti.cnn-linear: exponent in k, CNN }}`.
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make_findings
import make_reference
from make_reference import plain as plain

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "evidence"
NOT_YET = "no kept run has measured it yet"
UNARCHIVED = "not archived"  # kept, decided by an earlier rule, and not in the history
MARKS = {"supported": "✓", "refuted": "✗", "undecided": "?", "not measured": "–"}
MOST_NUMBERS = 3  # of a claim in the overview; the claim's own section has all
MARKER = re.compile(r"^<!-- ([a-z-]+)(?: of ([a-z-]+))? -->$", re.MULTILINE)


def fill(markdown: str) -> str:
    """A page's text with every marker replaced by its part; an unknown marker is an error."""

    def part(marker: re.Match[str]) -> str:
        name, argument = marker.groups()
        if f"<!-- /{name} -->" in markdown:  # a pair of marks that some program fills in the file
            return marker.group()
        if name not in PARTS:
            raise ValueError(
                f"there is no part `{name}` to fill in; known: {', '.join(sorted(PARTS))}"
            )
        return PARTS[name](argument)

    return MARKER.sub(part, make_findings.with_numbers(markdown))


def evidence_folders() -> list[Path]:
    """The folders of evidence, in order."""
    return sorted(file.parent for file in EVIDENCE.glob("*/claims.json"))


def caveats(folder: str) -> str:
    """The paragraphs of `evidence/README.md` on one folder, as a warning."""
    file = EVIDENCE / "README.md"
    paragraphs = file.read_text(encoding="utf-8").split("\n\n") if file.exists() else []
    own = [" ".join(text.split()) for text in paragraphs if text.startswith(f"`{folder}/`")]
    return "\n\n".join(f'!!! warning "Before you quote this run"\n    {text}' for text in own)


def measured() -> dict[str, list[dict[str, Any]]]:
    """Every finding that today's rules decided, of the largest scale that measured its claim, by
    the id of the claim, with its `folder`.
    """
    from separatrix.studies import SCALES

    findings: dict[str, list[dict[str, Any]]] = {}
    for finding in kept_findings():
        if finding["verdict"] != "not measured" and is_current(finding):
            findings.setdefault(finding["id"], []).append(finding)
    largest = {
        name: max((each["scale"] for each in own), key=SCALES.index)
        for name, own in findings.items()
    }
    return {
        name: [each for each in own if each["scale"] == largest[name]]
        for name, own in findings.items()
    }


def kept_findings() -> list[dict[str, Any]]:
    """Every finding of the kept runs, with its `folder`."""
    return [
        finding | {"folder": folder.name}
        for folder in evidence_folders()
        for finding in json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    ]


def is_current(finding: dict[str, Any]) -> bool:
    """Whether the rule that the finding's claim has today decided it."""
    from separatrix.studies.epochs import by_present_rule
    from separatrix.studies.registry import all_claims

    claim = all_claims().get(finding["id"])
    return by_present_rule(finding, claim[1] if claim else None)


def earlier() -> list[dict[str, Any]]:
    """The findings of earlier epochs, and kept ones that another rule decided and that are in no
    epoch yet.
    """
    from separatrix.studies.epochs import earlier_findings

    findings = earlier_findings(EVIDENCE)
    known = {(finding["study"], finding["id"]) for finding in findings}
    return findings + [
        finding | {"epoch": UNARCHIVED}
        for finding in kept_findings()
        if not is_current(finding) and (finding["study"], finding["id"]) not in known
    ]


def verdict(finding: dict[str, Any]) -> str:
    """A verdict as a coloured word; it says if the experiment is outside the paper's conditions."""
    name = finding["verdict"]
    word = f'<span class="verdict {name}">{MARKS[name]} {name}</span>'
    about = [f"{finding['scale']} scale"] if finding.get("scale") else []
    about += ["outside the paper's conditions"] if finding["conditions_met"] is False else []
    return f"{word} ({', '.join(about)})" if about else word


def claims(paper: str) -> str:
    """The claims of a paper by study: an overview, then each claim with its evidence and reason."""
    from separatrix.studies import STUDIES

    findings = measured()
    out: list[str] = []
    for study in STUDIES.values():
        own = [claim for claim in study.claims if claim.paper == paper]
        if own:
            stop = "" if study.title[-1] in ".?!" else "."
            rows = [_overview(claim, findings.get(claim.id, [])) for claim in own]
            out += [
                f"## Study `{study.name}`",
                f"{plain(study.title)}{stop} {plain(study.summary)}.",
                _provenance(study.name),
            ]
            if any(claim.id in findings for claim in own):
                out.append("\n".join(["| claim | verdict | measured |", "|---|---|---|", *rows]))
            out += [text for claim in own for text in _detail(claim, findings.get(claim.id, []))]
    return "\n\n".join([*out, *_earlier_epochs(paper)])


def _earlier_epochs(paper: str) -> list[str]:
    """The findings under a paper's name that earlier rules decided, epoch by epoch."""
    own = [finding for finding in earlier() if finding["paper"] == paper]
    if not own:
        return []
    out = [
        "## Earlier epochs",
        "These verdicts were reached by rules that have changed since, under the ids and with the "
        "sentences of their time. They are no verdicts on the claims above. "
        "`evidence/history/README.md` says what changed and why.",
    ]
    for epoch in dict.fromkeys(finding["epoch"] for finding in own):
        rows = [
            f"| `{finding['id']}` | {verdict(finding)} | {finding['study']} "
            f"| {plain(finding['statement'])} |"
            for finding in own
            if finding["epoch"] == epoch
        ]
        head = ["| claim of that time | verdict of that time | study | sentence |"]
        out += [f"### Epoch {epoch}", "\n".join([*head, "|---|---|---|---|", *rows])]
    return out


def _provenance(study: str) -> str:
    """Links to the evidence of a study, or the command that makes it where there is none."""
    out = []
    for folder in evidence_folders():
        findings = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        findings = [finding for finding in findings if finding["study"] == study]
        own = any(finding["verdict"] != "not measured" for finding in findings)
        if own and (folder / "manifest.json").exists():
            run = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"][0]
            work = (
                f"on {plain(run['device'])}, {run['trials_run']:,} trials"
                if run["trials_run"]
                else "without trials, exact calculations"
            )
            dirty = "+dirty" if run["commit"].endswith("+dirty") else ""
            epoch = "" if any(map(is_current, findings)) else " of an earlier epoch"
            sentence = (
                f"Evidence{epoch}: [the report](../evidence/{folder.name}/README.md), made by "
                f"`{run['command']}` at commit `{run['commit'][:12]}{dirty}` {work} in "
                f"{run['wall_seconds']:.0f} s."
            )
            warning = caveats(folder.name)
            out.append(f"{sentence}\n\n{warning}" if warning else sentence)
    return (
        "\n\n".join(out)
        or f"Evidence: {NOT_YET}. To make it: `separatrix run {study} --scale full`."
    )


def _overview(claim: Any, findings: list[dict[str, Any]]) -> str:
    link = f"[`{claim.id}`](#{claim.id})"
    if not findings:
        return f"| {link} | {NOT_YET} | |"
    cells = []
    for finding in findings:
        first = finding["evidence"][:MOST_NUMBERS]
        texts = [f"{plain(evidence['name'])}: {_number(evidence)}" for evidence in first]
        more = len(finding["evidence"]) - MOST_NUMBERS
        cells.append("<br>".join([*texts, f"and {more} more"] if more > 0 else texts))
    verdicts = "<br>".join(verdict(finding) for finding in findings)
    return f"| {link} | {verdicts} | {'<br>'.join(cells)} |"


def _detail(claim: Any, findings: list[dict[str, Any]]) -> list[str]:
    out = [
        f"### `{claim.id}` {{#{claim.id}}}",
        f"> {plain(claim.statement)}",
        f"*Where:* {plain(claim.citation)}. *Conditions:* {plain(claim.conditions)}.",
    ]
    if claim.kind is not None:
        out.append(f"*Rule:* {plain(claim.kind.name)}; {plain(claim.kind.formula())}.")
    if not findings:
        return [*out, f"*Measured:* {NOT_YET}."]
    for finding in findings:
        out.append(f"*Measured:* {verdict(finding)}. {plain(finding['reason'])}.")
        if finding["outside"]:
            out.append(
                "*Where this experiment leaves the paper's conditions:* "
                f"{plain(finding['outside'])}."
            )
        rows = [
            "| quantity | estimate and interval | level | from | compared with | baselines |",
            "|---|---|---|---|---|---|",
        ]
        rows += [_row(evidence) for evidence in finding["evidence"]]
        if finding["evidence"]:
            out.append("\n".join(rows))
    return out


def _row(evidence: dict[str, Any]) -> str:
    from separatrix.report import number

    baselines = ", ".join(
        f"{plain(name)} {number(value)}" for name, value in evidence["baselines"].items()
    )
    method = f", {plain(evidence['method'])}" if evidence["method"] else ""
    cells = (
        plain(evidence["name"]),
        _number(evidence),
        f"{evidence['level']:.0%}",
        f"{evidence['count']:,}{method}",
        number(evidence["reference"]),
        baselines or "—",
    )
    return f"| {' | '.join(cells)} |"


def _number(evidence: dict[str, Any]) -> str:
    from separatrix.report import interval

    return plain(interval(evidence["estimate"], evidence["low"], evidence["high"]))


def papers(_: str | None = None) -> str:
    """A table of the papers: the question, and the numbers of claims and verdicts."""
    from separatrix.report.landing import PAPER_QUESTIONS
    from separatrix.studies import PAPERS, STUDIES

    findings = measured()
    head = ("owner", "question", "claims", *MARKS, "no kept run yet")
    rows = []
    for paper, citation in PAPERS.items():
        ids = [
            claim.id for study in STUDIES.values() for claim in study.claims if claim.paper == paper
        ]
        if not (ROOT / "docs" / "papers" / f"{paper}.md").exists():
            continue
        verdicts = [finding["verdict"] for name in ids for finding in findings.get(name, [])]
        counts = [str(verdicts.count(name)) for name in MARKS]
        missing = sum(name not in findings for name in ids)
        owner = f"[{plain(citation.split(',')[0])}]({paper}.md)"
        question = plain(PAPER_QUESTIONS[paper])
        rows.append((owner, question, str(len(ids)), *counts, str(missing)))
    return make_reference.table(head, rows)


def benchmarks(_: str | None = None) -> str:
    """The benchmark results, without the title."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    return text.split("\n", 1)[1].strip().replace("](../docs/", "](")


def calibration(what: str) -> str:
    """The table that `separatrix calibrate --intervals` or `--verdicts` printed."""
    return (EVIDENCE / f"calibration-{what}.md").read_text(encoding="utf-8").strip()


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


def notebook(_: str | None = None) -> str:
    """Links to the notebook's entries by their titles, the newest day first."""
    files = sorted((ROOT / "docs" / "notebook").glob("2*.md"), reverse=True)
    titles = {
        file: file.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ") for file in files
    }
    return "\n".join(
        f"- {file.name[:10]}: [{title}]({file.name})" for file, title in titles.items()
    )


PARTS: dict[str, Callable[[Any], str]] = {
    **make_findings.PARTS,
    **make_reference.PARTS,
    "notebook": notebook,
    "claims": claims,
    "papers": papers,
    "benchmarks": benchmarks,
    "calibration": calibration,
    "examples": examples,
    "decisions": decisions,
}
