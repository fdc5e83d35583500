"""The generated parts about findings: the dashboard, what was found of a paper, the gallery."""

import json
import re
from pathlib import Path
from typing import Any

from make_reference import plain, table

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "evidence"
NOT_YET = "not yet measured at full scale"
NUMBER = re.compile(r"\{\{ ([\w.-]+)/([\w.-]+): ([\w.-]+): (.+?) \}\}")
IMAGE = re.compile(r"^!\[(.*?)\]\(figures/(.*?)\)\n\n(.*)$", re.MULTILINE)
# The figures that show most of a paper's question; where a newer run has others, its headline.
SHOWN = {
    "malach": {"patterns": ("patterns-steps-adam.svg", "patterns-gradient-relu-gaussian.svg")},
    "lahoti": {"signal": ("signal-fixed-k.svg",), "signal-map": ("signal-map-map.svg",)},
    "liang": {"stability": ("stability-gap-n.svg", "stability-patch-elbow.svg")},
    "ours": {"dial": ("dial-map-cifar10.svg", "dial-decomposition-cifar10.svg")},
    "dial": {"dial": ("dial-map-cifar10.svg", "dial-labels-cifar10.svg")},
}


def with_numbers(markdown: str) -> str:
    """A page's text with every `{{ EPOCH/STUDY: CLAIM: NAME }}` replaced by the number there.

    Raises:
        ValueError: there is no such number.
    """
    from separatrix.report import interval

    def number(found: re.Match[str]) -> str:
        epoch, study, claim, name = found.groups()
        file = EVIDENCE / "history" / epoch / f"{study}.json"
        findings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        for finding in findings:
            for evidence in finding["evidence"]:
                if (finding["id"], evidence["name"]) == (claim, name):
                    ends = (evidence[end] for end in ("estimate", "low", "high"))
                    return plain(interval(*ends))
        raise ValueError(f"there is no number {found.group()} in evidence/history")

    return NUMBER.sub(number, markdown)


def all_claims(paper: str) -> list[Any]:
    """The claims of an owner, over all studies."""
    from separatrix.studies import STUDIES

    return [claim for study in STUDIES.values() for claim in study.claims if claim.paper == paper]


def kept_verdict(claim: Any) -> Any:
    """The kept verdict on a claim, None where there is none."""
    from separatrix.report import kept_evidence

    rule = {"kind": claim.kind.name, "formula": claim.kind.formula()} if claim.kind else {}
    return kept_evidence().of({"id": claim.id, "statement": claim.statement} | rule)


def kept_finding(claim: Any, study: str) -> dict[str, Any]:
    """The entry of a kept claims.json on a claim; empty where there is none."""
    file = EVIDENCE / study / "claims.json"
    findings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return next((finding for finding in findings if finding["id"] == claim.id), {})


def findings(_: str | None = None) -> str:
    """Every claim by owner: where it stands, its verdict, its constant, the conditions, the age."""
    from separatrix.studies import PAPERS

    out = []
    for paper, title in PAPERS.items():
        if not (ROOT / "docs" / "papers" / f"{paper}.md").exists():
            continue
        own = all_claims(paper)
        kept = {claim.id: kept_verdict(claim) for claim in own}
        measured = [claim for claim in own if kept[claim.id] is not None]
        waiting = [claim for claim in own if kept[claim.id] is None]
        out += [f"## {plain(title)}", counts(own)]
        if measured:
            head = (
                "theorem",
                "sentence",
                "verdict",
                "constant or effect",
                "conditions",
                "evidence",
            )
            out.append(table(head, (_row(claim, kept[claim.id], paper) for claim in measured)))
        if waiting:
            rows = [(_where(claim, paper), plain(claim.statement)) for claim in waiting]
            title = f"{len(waiting)} claims without a kept run by these sentences"
            out += [f'??? note "{title}"', _indented(table(("theorem", "sentence"), rows))]
    return "\n\n".join(out)


def counts(claims: list[Any]) -> str:
    """How many claims the kept runs decide by today's rules, in one sentence."""
    found = [kept_verdict(claim) for claim in claims]
    now = [kept.verdict for kept in found if kept is not None and kept.current]
    before = sum(kept is not None and not kept.current for kept in found)
    parts = [f"{now.count(verdict)} {verdict}" for verdict in ("supported", "refuted", "undecided")]
    text = f"{len(claims)} claims; kept full-scale runs by today's rules: {', '.join(parts)}."
    return f"{text} {before} more were decided by an earlier rule." if before else text


def _where(claim: Any, paper: str) -> str:
    return f"[{plain(claim.citation)}](papers/{paper}.md#{claim.id})"


def _row(claim: Any, kept: Any, paper: str) -> tuple[str, ...]:
    finding = kept_finding(claim, kept.study)
    inside = {True: "inside", False: f"outside: {plain(finding.get('outside', ''))}", None: ""}
    shown = kept.words
    if kept.current:
        shown = f'<span class="verdict {kept.verdict.split()[0]}">{kept.words}</span>'
    return (
        _where(claim, paper),
        plain(claim.statement),
        shown,
        constant(finding) or plain(kept.effect),
        inside[finding.get("conditions_met")],
        f"[{kept.day}](evidence/{kept.study}/README.md), `{kept.commit[:7]}`",
    )


def constant(finding: dict[str, Any]) -> str:
    """The constant that covers every cell of a bound; empty for other claims."""
    from separatrix.report import interval

    for evidence in finding.get("evidence", ()):
        if re.match(r"(smallest|largest) [Cc] with ", evidence["name"]):
            ends = (evidence[end] for end in ("estimate", "low", "high"))
            return f"{evidence['name'].split()[1]} = {plain(interval(*ends))}"
    return ""


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


# What was found of a paper.


def answer(paper: str) -> str:
    """The decided claims of an owner by today's rules, and what is missing."""
    own = all_claims(paper)
    decided = [(claim, kept) for claim in own if (kept := kept_verdict(claim)) and kept.current]
    out = [counts(own)]
    if not decided:
        out.append(
            '!!! note "No full-scale run by today\'s rules is kept yet"\n'
            "    What follows is of an earlier epoch: the runs are whole, and the rules that judged "
            "them have changed since."
        )
    for verdict in ("refuted", "supported", "undecided"):
        rows = [
            f"- **{verdict}** ([details](#{claim.id})): {plain(claim.statement)}"
            + (f" *{plain(kept.effect)}*" if kept.effect else "")
            for claim, kept in decided
            if kept.verdict == verdict
        ]
        out += ["\n".join(rows)] if rows else []
    return "\n\n".join(out)


def figures_of(folder: Path) -> dict[str, tuple[str, str]]:
    """The title and the caption of every figure of a kept run, by file; the headline first."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = {file: (title, caption) for title, file, caption in IMAGE.findall(text)}
    named = folder / "headline.json"
    if named.exists():
        first = [about["file"] for about in json.loads(named.read_text(encoding="utf-8")).values()]
        found = {file: found[file] for file in first if file in found} | found
    return found


def figures(name: str) -> str:
    """The figures that show most of a paper's or a study's question, with their captions."""
    out = []
    for study, files in SHOWN[name].items():
        if not (EVIDENCE / study / "README.md").exists():
            continue
        found = figures_of(EVIDENCE / study)
        wanted = [file for file in files if file in found]
        wanted += [file for file in found if file not in wanted][: len(files) - len(wanted)]
        up = "../" if name != "dial" else ""
        out += [_figure(study, file, *found[file], up=up) for file in wanted]
    return "\n\n".join(out)


def _figure(study: str, file: str, title: str, caption: str, up: str = "") -> str:
    place = f"{up}evidence/{study}/figures/{file}"
    about = f"*{plain(title)}.* {caption} From [the kept run of `{study}`]"
    return f"![{title}]({place})\n\n{about}({up}evidence/{study}/README.md).\n{{ .caption }}"


def gallery(_: str | None = None) -> str:
    """All figures of all kept runs."""
    out = []
    for folder in sorted(file.parent for file in EVIDENCE.glob("*/claims.json")):
        cells = [
            f'<figure markdown="span">\n[![{title}](evidence/{folder.name}/figures/{file})'
            f"{{ loading=lazy }}](evidence/{folder.name}/figures/{file})\n"
            f"<figcaption>{plain(title)}</figcaption>\n</figure>"
            for file, (title, _) in figures_of(folder).items()
        ]
        if cells:
            out += [f"## `{folder.name}`", f"[The report](evidence/{folder.name}/README.md)"]
            out.append('<div class="gallery" markdown>\n\n' + "\n\n".join(cells) + "\n\n</div>")
    return "\n\n".join(out)


PARTS = {"findings": findings, "answer": answer, "figures": figures, "gallery": gallery}
