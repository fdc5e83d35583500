"""What a run tells while it goes on: thresholds that tighten, never in the way of the run."""

import json
import typing

import pytest

import separatrix as sx
from separatrix.engine import Shard
from separatrix.inference import SearchPlan, Tally, estimate_threshold
from separatrix.studies import live
from separatrix.studies.live import LiveSearches, label_of, live_run, read_live, update_live
from separatrix.studies.search import Query, find_thresholds

TASK = sx.SignalTask(patches=4, dimension=4, noise=0.3)
LEARNER = sx.Learner(rate=1.0, steps=2)


class Cell(typing.NamedTuple):
    network: str
    patches: int


def query(threshold):
    """A search whose outcomes are known: a trial succeeds from some size on."""
    return Query(
        lambda samples, seed: sx.Trial(TASK, sx.CNN(field=1), LEARNER, samples, seed),
        lambda row: row["samples"] >= threshold,
        SearchPlan(minimum=4, maximum=64, max_trials=24, width=2.0),
    )


def test_a_search_tells_its_thresholds_round_by_round_and_they_are_those_it_returns(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(live, "EVERY", 0.0)
    monkeypatch.setattr(live, "SHARE", 1e9)
    seen = []
    keep = live.write_json
    monkeypatch.setattr(
        live,
        "write_json",
        lambda path, value: (seen.append(json.loads(json.dumps(value))), keep(path, value)),
    )
    lab = sx.Lab(tmp_path, workers=0)
    update_live(lab, study="mine")
    found = find_thresholds(
        lab, {Cell("CNN", 4): query(16), Cell("LCN", 8): query(1)}, "sizes", batch=8
    )
    rounds = [each["thresholds"]["mine"]["sizes"] for each in seen if "thresholds" in each]
    trials = [sum(row["trials"] for row in rows) for rows in rounds]
    assert len(rounds) > 2
    assert trials == sorted(trials)
    assert not rounds[0][0]["settled"]
    final = {row["cell"]: row for row in read_live(tmp_path)["thresholds"]["mine"]["sizes"]}
    assert set(final) == {"CNN, patches 4", "LCN, patches 8"}
    first, second = (found[cell].threshold for cell in (Cell("CNN", 4), Cell("LCN", 8)))
    assert final["CNN, patches 4"] == {
        "cell": "CNN, patches 4",
        "estimate": pytest.approx(first.estimate),
        "low": pytest.approx(first.low),
        "high": pytest.approx(first.high),
        "trials": first.trials,
        "settled": True,
    }
    assert second.censoring == "left"
    assert final["LCN, patches 8"]["estimate"] is None, "no number is made up for a bound"
    assert final["LCN, patches 8"]["low"] is None
    assert final["LCN, patches 8"]["high"] == pytest.approx(second.high)


def test_telling_is_rare_and_only_what_changed_is_estimated_anew(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: clock[0])
    asked = []

    def estimate(name):
        asked.append(name)
        return estimate_threshold([Tally(8, 0, 8), Tally(16, 8, 8)])

    searches = LiveSearches(sx.Lab(tmp_path), "sizes")
    searches.show({"a": 8, "b": 8}, estimate, lambda name: None)
    searches.show({"a": 9, "b": 9}, estimate, lambda name: None)
    assert asked == ["a", "b"], "too early for another"
    clock[0] = 2.0
    searches.show({"a": 9, "b": 8, "c": 0}, estimate, lambda name: "width")
    assert asked == ["a", "b", "a"]
    assert [row["settled"] for row in read_live(tmp_path)["thresholds"][""]["sizes"]] == [
        True,
        True,
    ]


def test_progress_is_passed_on_and_the_end_is_told_also_after_an_error(tmp_path):
    heard = []
    lab = sx.Lab(tmp_path, progress=lambda *what: heard.append(what))
    shown = lab.progress

    def run():
        with live_run(lab, ["a", "b"]):
            for done in (0, 3, 9):
                lab.progress("sweep", done, 9)
            now = read_live(tmp_path)
            assert (now["studies"], now["what"], now["done"], now["total"], now["ended"]) == (
                ["a", "b"],
                "sweep",
                9,
                9,
                False,
            )
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert heard == [("sweep", 0, 9), ("sweep", 3, 9), ("sweep", 9, 9)]
    assert lab.progress is shown
    assert read_live(tmp_path)["ended"] is True


def test_a_run_without_a_folder_a_shard_and_a_folder_that_cannot_be_written_go_on(
    tmp_path, monkeypatch
):
    with live_run(sx.Lab(), ["a"]):
        pass
    with live_run(sx.Lab(tmp_path / "shard", shard=Shard(1, 2)), ["a"]):
        pass
    assert not (tmp_path / "shard" / live.LIVE).exists()

    def fail(*_):
        raise OSError("disk full")

    lab = sx.Lab(tmp_path / "full")
    monkeypatch.setattr(live, "write_json", fail)
    with live_run(lab, ["a"]):
        pass


@pytest.mark.parametrize("text", ["", "[1]", "{", '"x"', "[" * 100_000])
def test_a_damaged_file_tells_nothing(tmp_path, text):
    (tmp_path / live.LIVE).write_text(text)
    assert read_live(tmp_path) == {}


def test_names_of_cells():
    assert label_of((Cell("CNN", 8), 0.5)) == "CNN, patches 8, 0.5"
