"""Embed the kept measurements into docs/explore.html: python docs/make_explore.py."""

import csv
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explore.html"
TABLE = ROOT / "evidence" / "signal" / "tables" / "signal-thresholds.csv"
PLACE = re.compile(r'(<script type="application/json" id="kept">).*?(</script>)', re.DOTALL)
VALUE = re.compile(r"([\d.e+]+) \[([\d.e+]+), ([\d.e+]+)\]|>= ([\d.e+]+)")


def measurements() -> dict[str, Any]:
    """The thresholds of the kept full-scale run, and where they are from."""
    points = []
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found = VALUE.fullmatch(row["m*"])
            if found is None:
                continue
            estimate, low, high, bound = (float(text) if text else None for text in found.groups())
            point = {"network": row["network"], "k": int(row["k"]), "d": int(row["d"])}
            ends = {"estimate": estimate, "low": bound or low, "high": bound or high}
            points.append(point | {"s": float(row["σ"])} | ends)
    run = json.loads((TABLE.parents[1] / "manifest.json").read_text(encoding="utf-8"))["runs"][0]
    source = (
        f"Measurements: evidence/signal, `{run['command']}`, {run['started'][:10]}, "
        f"{run['device']}, commit {run['commit'][:12]}."
    )
    return {"source": source, "points": points}


def page_with(kept: dict[str, Any], page: str) -> str:
    """The page with these measurements in it."""
    text = json.dumps(kept, ensure_ascii=False).replace("<", "\\u003c")
    return PLACE.sub(lambda found: found[1] + text + found[2], page)


if __name__ == "__main__":
    PAGE.write_text(page_with(measurements(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(measurements()['points'])} measurements")
