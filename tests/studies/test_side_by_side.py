"""Studies in processes of their own: order, budget, failures, resuming. The processes are stand-ins
that need no JAX; `tests/cli/test_verify.py` runs real ones.
"""

import json
import sys
import textwrap

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies import side_by_side
from separatrix.studies.side_by_side import StudiesRun, default_count, run_side_by_side

STUDIES = ("signal-first", "pattern-readout", "cifar")  # cifar takes longest
STAND_IN = """
    import json, os, pathlib, signal, sys, time

    order = json.loads(sys.stdin.readline())
    name, folder = order["study"], pathlib.Path(order["folder"])
    share = os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"]
    with open(folder / "orders", "a") as file:
        file.write(json.dumps(order | {"share": share}) + "\\n")
    (folder / f"live-{name}.json").write_text('{"what": "sweep", "done": 2, "total": 5}')
    plan = PLAN.get(name, "ends")
    if plan == "waits":
        sys.stdin.read()
        sys.exit(1)
    if plan == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if plan == "fails" or (plan == "needs the GPU" and order["count"] > 1):
        sys.exit("RESOURCE_EXHAUSTED: out of memory")
    keys = ("study", "scale", "seed", "command")
    claim = {"id": f"ours.{name}", "verdict": "supported"}
    outcome = {key: order[key] for key in keys} | {"findings": [claim]}
    (folder / "outcomes" / f"{name}.json").write_text(json.dumps(outcome))
    facts = dict(programs_compiled=2, trials_run=3, compile_seconds=1.0, run_seconds=0.5)
    record = facts | dict(programs_with_kernels=0, complete=plan != "half", notes=[])
    record |= dict(device="a GPU", workers=1, commit=COMMIT, settings=order["settings"])
    record["studies"] = {name: facts}
    (folder / "logs" / f"{name}.json").write_text(json.dumps(record))
"""


@pytest.fixture
def stand_ins(monkeypatch, tmp_path):
    """Replace the processes of studies by small programs that follow a plan."""

    def use(commit="c0ffee", **plan):
        plan = {name.replace("_", "-"): words for name, words in plan.items()}
        head = f"PLAN, COMMIT = {plan!r}, {commit!r}\n"
        program = head + textwrap.dedent(STAND_IN)
        monkeypatch.setattr(side_by_side, "PROCESS", (sys.executable, "-S", "-c", program))
        monkeypatch.setattr(side_by_side, "source_commit", lambda: "c0ffee")
        monkeypatch.setattr(side_by_side, "EVERY", 0.0)

    return use


def orders(folder):
    return [json.loads(line) for line in (folder / "orders").read_text().splitlines()]


def test_the_longest_begins_first_and_everything_is_in_one_folder(stand_ins, tmp_path):
    stand_ins()
    heard = []
    run = StudiesRun(
        STUDIES, "quick", 7, tmp_path, ["cifar.seeds=2"], budget=60.0, command="a test"
    )
    ended = run_side_by_side(run, 3, lambda *words: heard.append(words[:2]))
    assert [claim["id"] for claim in ended.claims] == [f"ours.{name}" for name in STUDIES]
    assert (ended.failures, ended.waiting, ended.complete) == ({}, [], True)
    assert (ended.tally.trials, ended.tally.programs) == (9, 6)
    by_study = {order["study"]: order for order in orders(tmp_path)}
    assert heard[:3] == [(name, "begins") for name in ("cifar", "pattern-readout", "signal-first")]
    assert {order["slot"] for order in by_study.values()} == {0, 1, 2}
    assert {order["share"] for order in by_study.values()} == {"0.300"}
    assert by_study["cifar"]["changes"] == ["cifar.seeds=2"]
    assert by_study["signal-first"]["changes"] == []
    assert all(0.0 < order["budget"] <= 60.0 for order in by_study.values())
    assert json.loads((tmp_path / "claims.json").read_text()) == ended.claims
    (record,) = json.loads((tmp_path / "manifest.json").read_text())["runs"]
    assert (record["side_by_side"], record["device"], record["trials_run"]) == (3, "a GPU", 9)
    assert record["settings"] == {"scale": "quick", "seed": 7, "changes": ["cifar.seeds=2"]}
    assert set(record["studies"]) == set(STUDIES)
    live = json.loads((tmp_path / "live.json").read_text())
    assert (live["studies"], live["ended"]) == (list(STUDIES), True)
    assert not list(tmp_path.glob("live-*"))


def test_what_fails_beside_others_is_tried_alone_and_the_others_go_on(stand_ins, tmp_path):
    stand_ins(cifar="needs the GPU", pattern_readout="fails")
    ended = run_side_by_side(StudiesRun(STUDIES, "quick", 0, tmp_path), 2)
    assert [claim["study"] for claim in ended.claims] == ["signal-first", "cifar"]
    assert not ended.complete
    assert ended.failures == {
        "pattern-readout": "the study pattern-readout failed: RESOURCE_EXHAUSTED: out of memory "
        f"(its log is {tmp_path}/logs/pattern-readout.log)"
    }
    again = [order for order in orders(tmp_path) if order["count"] == 1]
    assert [(order["study"], order["share"]) for order in again] == [
        ("cifar", "0.900"),
        ("pattern-readout", "0.900"),
    ]


def test_a_process_that_is_killed_is_a_sentence_and_the_next_run_goes_on(stand_ins, tmp_path):
    stand_ins(cifar="dies", signal_first="half")
    run = StudiesRun(STUDIES, "quick", 0, tmp_path)
    ended = run_side_by_side(run, 2)
    assert ended.failures["cifar"].startswith("the study cifar was ended by signal 9; its log is ")
    (tmp_path / "orders").unlink()
    stand_ins()
    ended = run_side_by_side(run, 2)
    # What the same commit has finished is not begun again; what was incomplete or failed is.
    assert {order["study"] for order in orders(tmp_path)} == {"cifar", "signal-first"}
    assert ended.complete
    assert len(ended.claims) == 3
    assert ended.tally.trials == 6


def test_what_another_commit_finished_is_begun_again(stand_ins, tmp_path):
    stand_ins(commit="other")
    run = StudiesRun(STUDIES[:1], "quick", 0, tmp_path)
    run_side_by_side(run, 2)
    run_side_by_side(run, 2)
    assert len(orders(tmp_path)) == 2


def test_no_study_begins_after_the_budget(stand_ins, tmp_path):
    stand_ins()
    ended = run_side_by_side(StudiesRun(STUDIES, "quick", 0, tmp_path, budget=0.0), 2)
    assert ended.waiting == ["cifar", "pattern-readout", "signal-first"]
    assert (ended.claims, ended.complete) == ([], False)
    assert not (tmp_path / "orders").exists()


def test_an_interrupt_ends_every_process(stand_ins, tmp_path):
    stand_ins(cifar="waits", pattern_readout="waits")
    seen = []

    def told(study, what, done, total):
        if what == "sweep":
            seen.append((study, done, total))
        if len({each[0] for each in seen}) == 2:
            raise KeyboardInterrupt

    with pytest.raises(SeparatrixError, match="the same command goes on from there"):
        run_side_by_side(StudiesRun(STUDIES[1:], "quick", 0, tmp_path), 2, told)
    assert set(seen) == {("cifar", 2, 5), ("pattern-readout", 2, 5)}
    assert json.loads((tmp_path / "manifest.json").read_text())["runs"][0]["complete"] is False
    assert not (tmp_path / "claims.json").exists()


def test_where_every_study_fails_there_is_one_sentence(stand_ins, tmp_path):
    stand_ins(cifar="fails")
    with pytest.raises(SeparatrixError, match="no study ended well; the study cifar failed"):
        run_side_by_side(StudiesRun(["cifar"], "quick", 0, tmp_path), 1)


def test_a_cpu_runs_one_study_at_a_time():
    assert default_count() == 1
