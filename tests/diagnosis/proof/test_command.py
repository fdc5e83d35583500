"""The proof's command, run as a user runs it: in processes of its own, and resumed."""

import json
import subprocess
import sys

TRUTH = "chirps"


def prove(out, *arguments):
    command = [sys.executable, "-m", "separatrix.diagnosis.proof", "--out", str(out)]
    return subprocess.run(
        [*command, "--only", TRUTH, "--seeds", "1", "--jobs", "1", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_case_is_run_once_and_then_kept(tmp_path):
    out = tmp_path / "lines.jsonl"
    # A budget of one second ends the case after its first trainings: the verdict does not matter.
    first = prove(out, "--budget", "1")
    assert first.returncode == 0, first.stderr
    (line,) = [json.loads(text) for text in out.read_text(encoding="utf-8").splitlines()]
    assert (line["truth"], line["seed"], line["budget"]) == (TRUTH, 0, 1.0)
    assert f"| {TRUTH} |" in first.stdout
    second = prove(out, "--budget", "1")
    assert second.returncode == 0, second.stderr
    assert "seed 0" not in second.stderr
    assert second.stdout == first.stdout


def test_an_unknown_truth_is_one_sentence(tmp_path):
    found = prove(tmp_path / "lines.jsonl", "--only", "nowhere")
    assert found.returncode == 2
    assert "there is no truth 'nowhere'" in found.stderr.splitlines()[-1]
