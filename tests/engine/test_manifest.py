"""Manifests."""

import json

import separatrix as sx
from separatrix.engine.store import ledger


def test_the_manifest_keeps_the_newest_hundred_runs(tmp_path):
    assert ledger.FORMAT == "1"
    for number in range(3):
        lab = sx.Lab(tmp_path, command=f"run {number}")
        lab.write_manifest()
    runs = sx.engine.read_manifest(tmp_path)
    assert [run["command"] for run in runs] == ["run 2", "run 1", "run 0"]
    assert {
        "versions",
        "commit",
        "device",
        "precision",
        "flags",
        "wall_seconds",
        "compile_seconds",
        "peak_memory_bytes",
    } <= set(runs[0])
    (tmp_path / "manifest.json").write_text(json.dumps({"runs": runs[:1] * 100}))
    sx.Lab(tmp_path, command="newest").write_manifest()
    assert len(sx.engine.read_manifest(tmp_path)) == 100
    (tmp_path / "manifest.json").write_text("not JSON")
    sx.Lab(tmp_path, command="after").write_manifest()
    assert len(sx.engine.read_manifest(tmp_path)) == 1
