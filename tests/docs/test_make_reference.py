"""The generated reference names every command, setting, column and field, and its schema holds."""

import importlib
import json
import sys
from pathlib import Path

import jax
import pytest

import separatrix as sx
from separatrix.engine.trial import run_trial
from separatrix.report import with_kept
from separatrix.studies import STUDIES, jobs, run_jobs
from separatrix.studies.settings import plain_settings

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
make_reference = importlib.import_module("make_reference")

SCHEMA = json.loads(make_reference.SCHEMA.read_text(encoding="utf-8"))
KINDS = {
    "string": str,
    "array": list,
    "object": dict,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def errors(value, schema, place="$"):
    """What is wrong with a value by the part of JSON Schema that ours uses."""
    if "$ref" in schema:
        return errors(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], place)
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{place}: {value!r} is not allowed"]
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    right = any(isinstance(value, KINDS[kind]) for kind in kinds)
    if not right or (isinstance(value, bool) and "boolean" not in kinds):
        return [f"{place}: {value!r} is not {' or '.join(kinds)}"]
    out = []
    if isinstance(value, list):
        for place_in, item in enumerate(value):
            out += errors(item, schema.get("items", {}), f"{place}[{place_in}]")
    if isinstance(value, dict) and "additionalProperties" in schema:
        known, others = schema.get("properties", {}), schema["additionalProperties"]
        out += [
            f"{place}.{name} is missing" for name in schema.get("required", []) if name not in value
        ]
        for name, item in value.items():
            if name in known or others:
                out += errors(item, known.get(name, others), f"{place}.{name}")
            else:
                out.append(f"{place}.{name} is unknown")
    return out


FILES = [*ROOT.glob("evidence/*/claims.json"), *ROOT.glob("evidence/history/*/*.json")]


@pytest.mark.parametrize("file", sorted(FILES), ids=lambda file: str(file.relative_to(ROOT)))
def test_kept_claims_fit_the_schema(file):
    assert errors(json.loads(file.read_text(encoding="utf-8")), SCHEMA) == []


def test_written_claims_fit_the_schema(tmp_path):
    run = jobs(["pattern-readout"], "quick", changes=["windows=2"])
    run_jobs(run, sx.Lab(tmp_path, workers=0), "quick", seed=0, command="a test")
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert claims
    assert errors(claims, SCHEMA) == []
    assert errors(with_kept(claims), SCHEMA) == []
    assert {"kind", "rule", "formula", "level"} <= set(claims[0])


def test_a_wrong_file_does_not_fit_the_schema():
    good = json.loads((ROOT / "evidence/cifar/claims.json").read_text(encoding="utf-8"))[0]
    assert errors([good], SCHEMA) == []
    for change in (
        {"verdict": "perhaps"},
        {"seed": "3"},
        {"new": 1},
        {"evidence": [{"name": "x"}]},
    ):
        assert errors([good | change], SCHEMA), change
    assert errors([{name: fact for name, fact in good.items() if name != "reason"}], SCHEMA)


def test_the_fields_of_the_schema_are_on_the_page():
    page = make_reference.claims_schema()
    for part in SCHEMA["$defs"].values():
        assert all(f"| `{field}` |" in page for field in part["properties"])
    assert SCHEMA["$id"].endswith("/2")
    assert "version 2" in page


def test_every_command_and_option_is_on_the_page():
    page = make_reference.commands()
    for command in ("list", "explain", "run", "verify", "diagnose", "data get", "evidence archive"):
        assert f" `separatrix {command}`\n" in page
    for option in (
        "--scale",
        "--budget",
        "--shard",
        "--label",
        "--figures",
        "--calibrate",
        "--why",
    ):
        assert f"`{option}" in page or f", {option}" in page


def test_every_setting_is_on_the_page_with_its_value_at_every_scale():
    page = make_reference.settings()
    for study in STUDIES.values():
        section = page.split(f"## `{study.name}`\n")[1].split("\n## ")[0]
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        assert len(rows) == len(plain_settings(study.scales["quick"])) - 1, "all but the seed"
    trials = next(line for line in page.splitlines() if line.startswith("| `search.trials` |"))
    scales = STUDIES["signal"].scales
    assert trials.endswith(
        " | ".join(str(scales[scale].search.trials) for scale in ("quick", "laptop", "full")) + " |"
    )


def test_every_column_of_a_row_is_on_the_page():
    learner = sx.Learner(rate=1.0, steps=5)
    trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8)
    results = jax.eval_shape(lambda: run_trial(trial, trial.root(), trial))
    page = make_reference.columns()
    for name in (*trial.row_head(), *results, "run.seconds"):
        parent = name.rpartition(".")[0]  # fields of an activation or schedule: by their owner
        known = any(f"| `{each}` |" in page for each in (name, parent))
        assert known or name.startswith("trace.") or name.endswith("type"), name
