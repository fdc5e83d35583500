"""The generated parts about findings: the dashboard, what was found of a paper, the gallery."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

from make_reference import plain, table

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "evidence"
NUMBER = re.compile(r"\{\{ ([\w.-]+)/([\w.-]+): ([\w.-]+): (.+?) \}\}")
IMAGE = re.compile(r"^!\[(.*?)\]\(figures/(.*?)\)\n\n(.*)$", re.MULTILINE)
HEAD = ("theorem", "sentence", "verdict", "constant or effect", "conditions", "evidence")
# The figures that show most of a paper's question; where a newer run has others, its headline.
SHOWN = {
    "malach": {"patterns": ("patterns-steps-adam.svg", "patterns-gradient-relu-gaussian.svg")},
    "lahoti": {"signal": ("signal-samples-root.svg",), "signal-map": ("signal-map-map.svg",)},
    "liang": {"stability": ("stability-gap.svg", "stability-patch-elbow.svg")},
    "ours": {"dial": ("dial-map-cifar10.svg", "dial-decomposition-cifar10.svg")},
    "dial": {"dial": ("dial-map-cifar10.svg", "dial-labels-cifar10.svg")},
}


def with_numbers(markdown: str) -> str:
    """A page's text with every `{{ RUN/STUDY: CLAIM: NAME }}` replaced by the number there.

    RUN is an epoch of the history, or a folder of evidence with several studies.

    Raises:
        ValueError: there is no such number.
    """
    from separatrix.report import interval

    def number(found: re.Match[str]) -> str:
        run, study, claim, name = found.groups()
        file = EVIDENCE / "history" / run / f"{study}.json"
        file = file if file.exists() else EVIDENCE / run / "claims.json"
        findings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        for finding in findings:
            for evidence in finding["evidence"]:
                here = (finding["study"], finding["id"], evidence["name"])
                if here == (study, claim, name):
                    ends = [evidence[end] for end in ("estimate", "low", "high")]
                    return plain(interval(*ends if len(set(ends)) > 1 else ends[:1]))
        raise ValueError(f"there is no number {found.group()} in evidence/")

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


def decided_now(claim: Any) -> Any:
    """The kept verdict of a run by today's rule that measured the claim; None without one."""
    found = kept_verdict(claim)
    measured = found is not None and found.current and found.verdict != "not measured"
    return found if measured else None


def folder_of(study: str) -> Path:
    """The folder of evidence that decides a study's claims by today's rules, or else its own."""
    from separatrix.studies import STUDIES

    kept = filter(None, map(decided_now, STUDIES[study].claims))
    names = [each.folder for each in kept if each.study == study]
    return EVIDENCE / (names[0] if names else study)


def kept_finding(claim: Any, kept: Any) -> dict[str, Any]:
    """The entry of the kept claims.json that a kept verdict is from."""
    text = (EVIDENCE / kept.folder / "claims.json").read_text(encoding="utf-8")
    return next(each for each in json.loads(text) if each["id"] == claim.id)


def findings(_: str | None = None) -> str:
    """Every claim by owner: where it stands, its verdict, its constant, the conditions, the age.

    Findings of earlier epochs follow, folded away where there are newer ones.
    """
    from separatrix.studies import PAPERS

    out = []
    for paper in PAPERS:
        file = ROOT / "docs" / "papers" / f"{paper}.md"
        if not file.exists():
            continue
        title = file.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        own = all_claims(paper)
        kept = {claim.id: decided_now(claim) for claim in own}
        current = [claim for claim in own if kept[claim.id]]
        waiting = [claim for claim in own if claim not in current]
        out += [f"## [{plain(title)}](papers/{paper}.md)", counts(own)]
        if current:
            rows = [_row(claim, kept[claim.id], paper) for claim in current]
            out.append(table(HEAD, rows))
        before = [_earlier_row(finding) for finding in earlier(paper)]
        if before:
            words = "By the rules of earlier epochs (they count for nothing today)"
            out += _folded(words, table(HEAD, before), is_open=not current)
        if waiting:
            rows = [(_where(claim, paper), plain(claim.statement)) for claim in waiting]
            words = f"{len(waiting)} claims of today that no kept run has measured"
            out += _folded(words, table(("theorem", "sentence"), rows))
    return "\n\n".join(out)


def _folded(title: str, text: str, is_open: bool = False) -> list[str]:
    lines = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
    return [f'???{"+" if is_open else ""} note "{title}"', lines]


def earlier(paper: str) -> list[dict[str, Any]]:
    """The findings of earlier epochs under an owner's name, with their epoch and run."""
    from separatrix.studies.epochs import earlier_findings

    out = []
    for finding in earlier_findings(EVIDENCE):
        manifest = EVIDENCE / finding["study"] / "manifest.json"
        if finding["paper"] == paper and manifest.exists():
            run = json.loads(manifest.read_text(encoding="utf-8"))["runs"][0]
            out.append(finding | {"run": run})
    return out


def _earlier_row(finding: dict[str, Any]) -> tuple[str, ...]:
    from separatrix.report.content import effect

    first = finding["evidence"][0] if finding["evidence"] else None
    return (
        plain(finding["citation"]),
        plain(finding["statement"]),
        f"{finding['verdict']} (epoch {finding['epoch']})",
        f"{plain(first['name'])}: {plain(effect(first))}" if first else "",
        _inside(finding),
        _run(finding["study"], finding["run"]["started"][:10], finding["run"]["commit"]),
    )


def _run(folder: str, day: str, commit: str) -> str:
    """The day and the commit of a kept run, with a link to its report."""
    return f'<span class="day">[{day}](evidence/{folder}/README.md)</span> `{commit[:7]}`'


def _inside(finding: dict[str, Any]) -> str:
    """Whether the experiment was inside the claim's conditions, in words."""
    met = finding.get("conditions_met")
    return "" if met is None else "inside" if met else f"outside: {plain(finding['outside'])}"


def counts(claims: list[Any]) -> str:
    """How many claims the kept runs decide by today's rules, in one sentence."""
    found = [kept for kept in map(decided_now, claims) if kept is not None]
    if not found:
        return f"{len(claims)} claims, none measured yet by a kept run of today's rules."
    now = [kept.verdict for kept in found]
    parts = [f"{now.count(verdict)} {verdict}" for verdict in ("supported", "refuted", "undecided")]
    places = " and ".join(sorted({kept.place for kept in found}))
    return (
        f"{len(claims)} claims; kept runs by today's rules, at {places}: {', '.join(parts)}; "
        f"{len(claims) - len(found)} not measured."
    )


def _where(claim: Any, paper: str) -> str:
    return f"[{plain(claim.citation)}](papers/claims-{paper}.md#{claim.id})"


def _row(claim: Any, kept: Any, paper: str) -> tuple[str, ...]:
    finding = kept_finding(claim, kept)
    return (
        _where(claim, paper),
        plain(claim.statement),
        f'<span class="verdict {kept.verdict.split()[0]}">{kept.words}</span>',
        _number(finding, kept),
        _inside(finding),
        _run(kept.folder, kept.day, kept.commit),
    )


def constant(finding: dict[str, Any]) -> str:
    """The constant that covers every cell of a bound; empty for other claims."""
    from separatrix.report import interval

    for evidence in finding.get("evidence", ()):
        if re.match(r"(smallest|largest) [Cc] with ", evidence["name"]):
            ends = (evidence[end] for end in ("estimate", "low", "high"))
            return f"{evidence['name'].split()[1]} = {plain(interval(*ends))}"
    return ""


# What was found of a paper.


def answer(paper: str) -> str:
    """The decided claims of an owner by today's rules, and what is missing."""
    own = all_claims(paper)
    decided = [(claim, kept) for claim in own if (kept := decided_now(claim))]
    out = [counts(own)]
    if not decided:
        out.append(
            '!!! note "No run by today\'s rules is kept yet"\n'
            "    What follows is of an earlier epoch: the runs are whole, and the rules that "
            "judged them have changed since."
        )
    for verdict in ("refuted", "supported", "undecided"):
        rows = [
            f"- **{verdict}** ([details](claims-{paper}.md#{claim.id})): {plain(claim.statement)}"
            + _measured(claim, kept)
            for claim, kept in decided
            if kept.verdict == verdict
        ]
        out += ["\n".join(rows)] if rows else []
    return "\n\n".join(out)


def _measured(claim: Any, kept: Any) -> str:
    """The number behind a verdict, to follow its sentence."""
    words = _number(kept_finding(claim, kept), kept)
    return f" *{words}*" if words else ""


def _number(finding: dict[str, Any], kept: Any) -> str:
    """The constant of a bound, or else the first number with its name."""
    if words := constant(finding):
        return words
    return f"{plain(finding['evidence'][0]['name'])}: {plain(kept.effect)}" if kept.effect else ""


# Run by run.


def runs(_: str | None = None) -> str:
    """Every claim's verdict in every kept run by today's rules, and the full runs pooled.

    Runs with changed settings ask another question and are left out.
    """
    from separatrix.studies.epochs import by_present_rule
    from separatrix.studies.registry import all_claims as registered
    from separatrix.studies.replication import pool_studies
    from separatrix.studies.settings import SCALES

    present = {name: claim for name, (_, claim) in registered().items()}
    found: dict[tuple[int, int], dict[str, Any]] = {}  # by scale and seed
    for file in sorted(EVIDENCE.glob("*/claims.json")):
        for finding in json.loads(file.read_text(encoding="utf-8")):
            name = finding["id"]
            if " --set " not in finding["command"] and by_present_rule(finding, present.get(name)):
                place = SCALES.index(finding["scale"]), finding["seed"]
                found.setdefault(place, {})[name] = finding
    columns = {place: found[place] for place in sorted(found)}
    full = {
        seed: list(findings.values())
        for (scale, seed), findings in columns.items()
        if SCALES[scale] == "full"
    }
    together = {claim["id"]: claim["verdict"] for claim in pool_studies(full)}
    rows = []
    for name, claim in present.items():
        own = [findings.get(name, {}).get("verdict", "") for findings in columns.values()]
        if any(own):
            link = f"[`{name}`](papers/claims-{claim.paper}.md#{name})"
            rows.append((link, *map(_verdict, own), _verdict(together.get(name, ""))))
    places = (f"{SCALES[scale]}, seed {seed}" for scale, seed in columns)
    heads = ("claim", *places, "full runs together")
    return f"{_agreement(list(columns.values()))}\n\n{table(heads, rows)}"


def _verdict(verdict: str) -> str:
    return f'<span class="verdict {verdict.split()[0]}">{verdict}</span>' if verdict else ""


def _agreement(columns: list[dict[str, Any]]) -> str:
    """How often two runs that measured the same claim say the same, in one sentence."""
    pairs = [
        {one[name]["verdict"], other[name]["verdict"]}
        for one, other in itertools.combinations(columns, 2)
        for name in one.keys() & other.keys()
    ]
    pairs = [pair for pair in pairs if "not measured" not in pair]
    if not pairs:
        return "One run only: nothing to compare yet."
    alike = sum(len(pair) == 1 for pair in pairs)
    contrary = pairs.count({"supported", "refuted"})
    return (
        f"Of {len(pairs)} pairs of verdicts on one claim in two runs, {alike} are the same and "
        f"{contrary} are contrary; in the others one run could not decide."
    )


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
        folder = folder_of(study)
        if not (folder / "README.md").exists():
            continue
        found = figures_of(folder)
        own = [file for file in found if folder.name == study or _shows(file, study)]
        wanted = [file for file in files if file in own]
        wanted += [file for file in own if file not in wanted][: len(files) - len(wanted)]
        up = "../" if name != "dial" else ""
        out += [_figure(study, folder, file, *found[file], up=up) for file in wanted]
    return "\n\n".join(out)


def _shows(file: str, study: str) -> bool:
    """Whether a figure is one of a study, in a folder of several: `signal-map` is not `signal`."""
    from separatrix.studies import STUDIES

    longest = max((name for name in STUDIES if file.startswith(f"{name}-")), key=len, default="")
    return longest == study


def _figure(study: str, folder: Path, file: str, title: str, caption: str, up: str = "") -> str:
    place = f"{up}evidence/{folder.name}/figures/{file}"
    about = f"*{plain(title)}.* {caption} From [the kept run of `{study}`, {_scale(folder)}]"
    return f"![{title}]({place})\n\n{about}({up}evidence/{folder.name}/README.md).\n{{ .caption }}"


def _scale(folder: Path) -> str:
    """The scale of a kept run, and whether its rules are not those of today."""
    from separatrix.studies.registry import all_claims as registered

    findings = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    claims = [claim for _, claim in registered().values()]
    today = any(kept.folder == folder.name for kept in filter(None, map(decided_now, claims)))
    return f"{findings[0]['scale']} scale{'' if today else ', an earlier epoch'}"


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
            out += [
                f"## `{folder.name}`",
                f"[The report](evidence/{folder.name}/README.md), {_scale(folder)}.",
            ]
            out.append('<div class="gallery" markdown>\n\n' + "\n\n".join(cells) + "\n\n</div>")
    return "\n\n".join(out)


PARTS = {
    "findings": findings,
    "runs": runs,
    "answer": answer,
    "figures": figures,
    "gallery": gallery,
}
