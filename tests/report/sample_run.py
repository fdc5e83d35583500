"""A small run with every kind of figure, written by hand; names may be made evil."""

import json

from separatrix.engine.store.ledger import Ledger
from separatrix.notes import Note
from separatrix.report import write_report
from separatrix.studies import (
    Axis,
    Claim,
    Evidence,
    Figure,
    Finding,
    Heatmap,
    Outcome,
    Picture,
    Series,
    TableData,
)
from separatrix.studies.live import LIVE

EVIL = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>"
CELLS = (16.0, 64.0, 256.0)


def figures(extra=""):
    """Curves with seeds, a law and a baseline; categories; a map; a picture."""
    seeds = Series(
        f"CNN{extra}", (16.0, 16.0, 64.0, 64.0), (0.38, 0.42, 0.19, 0.21), role="samples"
    )
    curves = Figure(
        "curves",
        f"Risk{extra}",
        Axis("samples m", log=True),
        Axis("risk", log=True),
        (
            Series(f"CNN{extra}", CELLS, (0.4, 0.2, 0.1), (0.35, 0.17, 0.08), (0.45, 0.23, 0.12)),
            Series(
                "FCN",
                CELLS,
                (0.5, None, 0.3),
                (0.45, None, 0.28),
                (0.55, None, 0.33),
                seeds=(24, 24, 24),
            ),
            seeds,
            Series("CNN law", CELLS, (0.41, 0.2, 0.1), role="law"),
            Series("constant", (16.0, 256.0), (0.5, 0.5), role="baseline"),
        ),
        f"A caption{extra}.",
    )
    bars = Figure(
        "bars",
        "By task",
        Axis("task"),
        Axis("gap"),
        (Series("CNN", ("plain", "shifted"), (0.1, 0.2), (0.05, 0.1), (0.15, 0.3)),),
    )
    cells = Heatmap(
        "map",
        "Thresholds",
        Axis("k"),
        Axis("d"),
        Axis("m*", log=True),
        (10, 20),
        (5, 6),
        ((12.0, 40.0), (None, 90.0)),
        ((f"12 [10, 14]{extra}", "40 [33, 52]"), ("?", "at least 90")),
        ((False, False), (False, True)),
    )
    picture = Picture(
        "picture", "Patches", Axis(""), Axis(""), (), "", ("one",), ((((255, 0, 0), (0, 0, 0)),),)
    )
    return curves, bars, cells, picture


def documents(extra="", drawn=None):
    """The plain values of a run with three claims."""
    evidence = Evidence(
        f"risk: CNN minus FCN{extra}",
        -0.378,
        -0.395,
        -0.357,
        12,
        method="paired bootstrap",
        reference=0.0,
    )
    verdicts = (
        ("lahoti.first", "supported"),
        ("lahoti.second", "undecided"),
        ("malach.third", "refuted"),
    )
    findings = tuple(
        Finding(
            Claim(name, f"The CNN's risk is lower{extra}.", "Theorem 1", "σ at most 1/√k"),
            verdict,
            "because",
            True,
            (evidence,),
        )
        for name, verdict in verdicts
    )
    table = TableData(
        "risks", f"Risks{extra}", ("network", "risk"), ((f"CNN{extra}", 0.123456789), ("FCN", None))
    )
    plain = Outcome(
        findings,
        figures(extra) if drawn is None else drawn,
        (table,),
        (Note("a", "warning", f"mind{extra}"),),
    ).plain()
    about = {"study": "sample", "scale": "quick", "seed": 0, "command": "separatrix run sample"}
    outcome = (
        about
        | {"title": f"A study{extra}", "summary": "k = 10", "settings": {"task": {"noise": 0.1}}}
        | plain
    )
    return [each | about for each in plain["findings"]], outcome


def write_run(folder, extra="", drawn=None, change=lambda claims, outcome: None):
    """Write the run into a folder; `change` may alter its plain values first."""
    claims, outcome = documents(extra, drawn)
    change(claims, outcome)
    outcome["findings"] = claims
    (folder / "outcomes").mkdir(parents=True)
    (folder / "outcomes" / "sample.json").write_text(json.dumps(outcome), encoding="utf-8")
    (folder / "claims.json").write_text(json.dumps(claims), encoding="utf-8")
    return folder


ROWS = [
    {
        "cell": f"CNN, patches 8 {EVIL}",
        "estimate": 41.5,
        "low": 30.0,
        "high": 55.0,
        "trials": 96,
        "settled": False,
    },
    {
        "cell": "FCN, patches 8",
        "estimate": None,
        "low": 512.0,
        "high": None,
        "trials": 40,
        "settled": True,
    },
]


GOING = {
    "studies": ["sample", "other"],
    "study": "other",
    "what": "thresholds",
    "done": 3,
    "total": 12,
    "ended": False,
    "thresholds": {"other": {"thresholds": ROWS}},
}


def make_run(folder):
    """A run that goes on: a finished study with its report, trials, and thresholds so far."""
    write_run(folder)
    (folder / "separatrix.json").write_text('{"format": "1"}')
    rows = [
        {
            "trial": f"{i:032x}",
            "task.type": "SignalTask",
            "network.connectivity": "shared",
            "status": "reached",
        }
        for i in range(5)
    ]
    Ledger.open(folder).write(rows)
    (folder / LIVE).write_text(json.dumps(GOING))
    write_report(folder)
    return folder
