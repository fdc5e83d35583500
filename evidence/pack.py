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
    """The content of the package's file; where two runs decide one claim, the newer one counts."""
    from separatrix.report.content import effect

    runs = []
    for folder in sorted(path.parent for path in evidence.glob("*/claims.json")):
        run = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"][0]
        runs.append((run["started"], folder, run))
    verdicts, figures = {}, {}
    for started, folder, run in sorted(runs, key=lambda each: each[:2]):
        for claim in json.loads((folder / "claims.json").read_text(encoding="utf-8")):
            verdicts[claim["id"]] = {
                "statement": claim["statement"],
                "verdict": claim["verdict"],
                "reason": claim["reason"],
                "effect": effect(claim["evidence"][0]) if claim["evidence"] else "",
                "kind": claim.get("kind") or "",
                "formula": claim.get("formula") or "",
                "study": claim["study"],
                "command": claim["command"],
                "commit": run["commit"][:12],
                "started": started,
                "device": run["device"],
            }
        figures |= headlines(folder)
    return {"version": 1, "verdicts": dict(sorted(verdicts.items())), "figures": figures}


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
