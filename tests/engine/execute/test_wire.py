"""Chunks as text, and their rows as bytes."""

import json
import sys

import jax
import pytest

import separatrix as sx
from running import tiny
from separatrix.engine import (
    Chunk,
    Device,
    Programs,
    make_plan,
)
from separatrix.engine.execute import wire
from separatrix.errors import SeparatrixError

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="kills processes by their number"
    ),
    pytest.mark.skipif(
        jax.default_backend() != "cpu", reason="the embedded cluster is one of CPU workers"
    ),
]


# Text and bytes
def test_a_chunk_is_text_and_its_rows_are_bytes(programs):
    (chunk,) = make_plan(tiny(seeds=3), Device("cpu")).chunks
    text = wire.to_text(chunk, "cpu")
    assert isinstance(text, str)
    data = wire.answer(text)
    assert isinstance(data, bytes)
    finished = wire.from_bytes(data)
    here = programs.run(list(chunk.trials), chunk.frame)
    assert [row.keys() for row in finished.rows] == [row.keys() for row in here]
    assert [row["trial"] for row in finished.rows] == [trial.identity for trial in chunk.trials]
    assert finished.tally.trials == 3


def test_cells_of_every_kind_survive_the_way():
    rows = [
        {
            "trial": "a",
            "n": None,
            "x": float("inf"),
            "list": [0.1, 1e-300],
            "flag": True,
            "k": 2**62,
        },
        {"trial": "b", "x": -0.0, "list": []},
    ]
    back = wire.from_bytes(wire._to_bytes(rows, tally=json.dumps(vars(sx.engine.RunTally())))).rows
    assert back == [{"flag": None, "k": None, "n": None} | row for row in rows]
    assert str(back[1]["x"]) == "-0.0"


@pytest.mark.parametrize(
    "change, words",
    [
        (
            {"versions": {"separatrix": "0.0.0"}},
            r"a worker has separatrix .*, this process 0\.0\.0; install the same versions on both",
        ),
        ({"platform": "gpu"}, "a worker computes on cpu, others on gpu; use workers of one kind"),
        (
            {"folder": "/no/such/folder"},
            "a worker does not see the folder /no/such/folder; without a shared folder use "
            "--ledger",
        ),
        ({"frame": None}, "a worker failed with TypeError"),
        (
            {"trials": [{"class": "no_such_module:Task", "fields": {}}]},
            "a worker failed with ModuleNotFoundError: No module named 'no_such_module'",
        ),
    ],
)
def test_what_goes_wrong_on_a_worker_is_one_sentence(change, words):
    (chunk,) = make_plan(tiny(seeds=1), Device("cpu")).chunks
    message = json.loads(wire.to_text(chunk, "cpu")) | change
    with pytest.raises(SeparatrixError, match=words):
        wire.from_bytes(wire.answer(json.dumps(message)))


def test_a_batch_that_does_not_fit_a_worker_is_halved(monkeypatch):
    (chunk,) = make_plan(tiny(seeds=8), Device("gpu")).chunks
    tried, real = [], Programs.run

    def run(self, trials, frame, batch=1):
        tried.append(batch)
        if batch > 2:
            raise jax.errors.JaxRuntimeError(
                "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
            )
        return real(self, trials, frame, batch)

    monkeypatch.setattr(Programs, "run", run)
    made = wire.from_bytes(
        wire.answer(
            wire.to_text(Chunk(chunk.program, chunk.trials, chunk.frame, 8, chunk.cost), "cpu")
        )
    )
    assert tried == [8, 4, 2]
    assert [row["trial"] for row in made.rows] == [trial.identity for trial in chunk.trials]
