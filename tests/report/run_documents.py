"""The documents of a run with one study, which tests change before they write them."""

import json

from separatrix.notes import Note
from separatrix.report.figure.draw import Drawing
from separatrix.studies import Axis, Claim, Evidence, Figure, Finding, Outcome, Series, TableData

NOTHING_DRAWN = Drawing("<svg></svg>", "<svg/>", ())


EVIL = "<script>alert(1)</script>"


RUN = {
    "command": "separatrix verify --scale quick",
    "started": "2030-01-02T03:04:05+00:00",
    "wall_seconds": 83.2,
    "compile_seconds": 12.2,
    "run_seconds": 50.1,
    "programs_compiled": 6,
    "trials_run": 36,
    "complete": True,
    "peak_memory_bytes": 812345678,
    "device": "x86_64",
    "workers": 2,
    "versions": {"separatrix": "0.1.0", "jax": "0.10.0"},
}


def outcome_of(study="signal-first", figures=2):
    claim = Claim("lahoti.first", "The CNN's risk is lower.", "Theorem 1", "σ at most 1/√k")
    evidence = Evidence(
        "risk: CNN minus FCN",
        -0.37836,
        -0.3947,
        -0.35672,
        12,
        method="paired bootstrap",
        reference=0.0,
        baselines={"constant": 0.5},
    )
    drawn = tuple(
        Figure(
            f"risk-{i}",
            f"Risk {i}",
            Axis("samples", True),
            Axis("risk", True),
            (Series("CNN", (1, 2, 4), (0.2, 0.1, 0.0)),),
            "A caption.",
        )
        for i in range(figures)
    )
    return Outcome(
        (Finding(claim, "supported", "because", False, (evidence,), "σ = 2 exceeds 0.3"),),
        drawn,
        (
            TableData(
                "risks",
                "Risks",
                ("network", "risk", "p-value"),
                (("CNN", 0.123456, 1e-9), ("FCN", None, 0.5)),
            ),
        ),
        (Note("a", "warning", "mind the gap"),),
    ).plain()


def documents(**changes):
    plain_outcome = outcome_of()
    about = {
        "study": "signal-first",
        "scale": "quick",
        "seed": 0,
        "command": "separatrix run signal-first",
    }
    claims = [each | about for each in plain_outcome["findings"]]
    outcome = (
        about
        | {"title": "First experiment", "summary": "k = 10", "settings": {"task": {"noise": 0.1}}}
        | plain_outcome
    )
    return {"claims": claims, "outcome": outcome, "manifest": {"runs": [RUN, RUN]}} | changes


def write(folder, docs):
    (folder / "outcomes").mkdir(exist_ok=True)
    for name, file in (
        ("claims", "claims.json"),
        ("outcome", "outcomes/signal-first.json"),
        ("manifest", "manifest.json"),
    ):
        if docs[name] is not None:
            text = docs[name] if isinstance(docs[name], str) else json.dumps(docs[name])
            (folder / file).write_text(text, encoding="utf-8")
    return folder
