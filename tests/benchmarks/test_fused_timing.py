"""`benchmarks/fused_timing.py` on a machine without a GPU."""

import importlib
from pathlib import Path


def test_timing_runs_interpreted(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    timing = importlib.import_module("fused_timing")
    monkeypatch.setattr(
        "sys.argv",
        [
            "fused_timing.py",
            "--interpret",
            "--shapes",
            "sphere-CNN",
            "--seconds",
            "300",
            "--threads",
            "1",
        ],
    )
    timing.main()
    assert [
        line
        for line in capsys.readouterr().out.splitlines()
        if "| sphere-CNN | kernels" in line and "rror" not in line
    ]
