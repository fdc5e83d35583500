"""Write verdicts and headline figures of evidence/ into the package: python evidence/pack.py."""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src" / "separatrix" / "report" / "kept.json"
# Headline figures of runs that are older than the marker; newer folders hold a headline.json.
OLDER = {
    "signal": "signal-fixed-k.svg",
    "patterns": "patterns-steps-adam.svg",
    "stability": "stability-gap-n.svg",
}


def pack(evidence: Path) -> dict[str, Any]:
    """The content of the package's file.

    Where two runs decide one claim, or show one study, a measured verdict counts before none,
    today's rule before another one, the settings of a scale before changed ones, the larger scale
    before the smaller one, and the newer run before the older one. Where runs differ only in their
    age and contradict each other, the claim is undecided.
    """
    from separatrix.report.content import effect
    from separatrix.studies import SCALES
    from separatrix.studies.epochs import by_present_rule
    from separatrix.studies.registry import all_claims

    present = {name: claim for name, (_, claim) in all_claims().items()}
    found: dict[str, list[tuple[Any, ...]]] = {}  # by claim: rank, what is kept, in any order
    ranks, figures = {}, {}
    for folder in sorted(path.parent for path in evidence.glob("*/claims.json")):
        runs = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"]
        shown = headlines(folder)
        for claim in json.loads((folder / "claims.json").read_text(encoding="utf-8")):
            name, study, scale = claim["id"], claim["study"], claim["scale"]
            run = run_of(runs, study)
            rank = (
                claim["verdict"] != "not measured",
                by_present_rule(claim, present.get(name)),
                " --set " not in claim["command"],
                SCALES.index(scale),
                run["started"],
            )
            if study in shown and rank > ranks.get(study, ()):
                ranks[study] = rank
                figures[study] = shown[study] | {"scale": scale}
            kept = {
                "statement": claim["statement"],
                "verdict": claim["verdict"],
                "reason": claim["reason"],
                "effect": effect(claim["evidence"][0]) if claim["evidence"] else "",
                "kind": claim.get("kind") or "",
                "formula": claim.get("formula") or "",
                "study": study,
                "folder": folder.name,
                "command": claim["command"],
                "commit": run["commit"][:12],
                "started": run["started"],
                "device": run["device"],
                "scale": scale,
            }
            found.setdefault(name, []).append((rank, folder.name, kept))
    verdicts = {name: agreed(entries) for name, entries in sorted(found.items())}
    return {"version": 2, "verdicts": verdicts, "figures": figures}


def agreed(entries: list[tuple[Any, ...]]) -> dict[str, str]:
    """What is kept of a claim: of its best run, undecided if an equally good one contradicts it."""
    rank, _, best = max(entries, key=lambda entry: entry[:2])
    equal = [kept for other, _, kept in entries if other[:-1] == rank[:-1]]
    places = {
        verdict: ", ".join(kept["folder"] for kept in equal if kept["verdict"] == verdict)
        for verdict in ("refuted", "supported")
    }
    if not all(places.values()):
        return best
    words = "; ".join(f"{verdict} in {names}" for verdict, names in places.items())
    return best | {"verdict": "undecided", "reason": f"kept runs disagree: {words}"}


def run_of(runs: list[dict[str, Any]], study: str) -> dict[str, Any]:
    """The run of a folder that ran most of a study's trials; the first one where none says it."""

    def trials(run: dict[str, Any]) -> int:
        return (run.get("studies") or {}).get(study, {}).get("trials_run", -1)

    return max(runs, key=trials)


def headlines(folder: Path) -> dict[str, dict[str, str]]:
    """The headline figures of a folder of evidence, by study."""
    named = folder / "headline.json"
    if named.exists():
        files = json.loads(named.read_text(encoding="utf-8"))
    elif folder.name in OLDER:
        about = _about(folder / "README.md", OLDER[folder.name])
        files = {folder.name: {"file": OLDER[folder.name], **about}}
    else:
        files = {}
    return {
        study: {
            "title": about["title"],
            "caption": about["caption"],
            "svg": (folder / "figures" / about["file"]).read_text(encoding="utf-8"),
        }
        for study, about in files.items()
    }


def _about(page: Path, file: str) -> dict[str, str]:
    """Title and caption of a figure, from the report in Markdown."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith(f"](figures/{file})"))
    return {"title": lines[at][2:].split("](")[0], "caption": lines[at + 2]}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    text = json.dumps(pack(ROOT / "evidence"), ensure_ascii=False, indent=1) + "\n"
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {len(text.encode()):,} bytes")
