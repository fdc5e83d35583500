"""Shards: every trial in one share, shares that meet in the ledger, and studies that stop where
they would have to wait.
"""

import json

import pytest
from typer.testing import CliRunner

import separatrix as sx
from running import plain_rows, tiny
from separatrix.cli.main import app
from separatrix.engine import Shard, ShardWaits
from separatrix.errors import ParameterError, SeparatrixError

STUDY = [
    *("run", "signal-first", "--workers", "0"),
    *("--set", "seeds=4", "--set", "steps=4", "--set", "tune.moves=0"),
]


def lab_in(folder, programs, shard=None):
    lab = sx.Lab(folder, workers=0, shard=shard)
    lab._in_process.programs = programs
    return lab


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_every_trial_is_in_one_share_whatever_its_company(count):
    sweep = tiny(seeds=60)
    shares = [Shard(number, count).of(sweep) for number in range(1, count + 1)]
    assert sorted(trial.identity for share in shares for trial in share) == sorted(
        trial.identity for trial in sweep
    )
    half = sx.Sweep(sweep.trials[::2])
    for number, share in enumerate(shares, 1):
        assert set(Shard(number, count).of(half).trials) == set(share.trials) & set(half.trials)
    if count == 2:
        # 60 fair coins: both sides between 15 and 45 but for a chance of 1e-4; the trials are
        # fixed, so this never changes.
        assert 15 <= len(shares[0]) <= 45


@pytest.mark.parametrize(
    "text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "a/b", "1/2/3", "1.0/2", "1/9999999999999"]
)
def test_what_is_no_shard_is_one_sentence(text):
    with pytest.raises(
        SeparatrixError, match=r"a shard has the form i/n with 1 <= i <= n, such as 2/8"
    ):
        Shard.parse(text)


def test_a_shard_is_a_number_of_a_count():
    assert str(Shard.parse(" 2 / 8 ")) == "2/8"
    for number, count in ((0, 1), (2, 1), (1, 0), (1.5, 2)):
        with pytest.raises(ParameterError):
            Shard(number, count)
    with pytest.raises(SeparatrixError, match="need an output folder"):
        sx.Lab(shard=Shard(1, 2))


def test_shares_meet_in_the_ledger_and_nothing_is_run_twice(tmp_path, programs):
    sweep, ran = tiny(seeds=12), 0
    for number in (3, 1):
        lab = lab_in(tmp_path, programs, Shard(number, 3))
        with pytest.raises(
            ShardWaits,
            match=f"shard {number}/3 has done its share; [0-9]+ trials of other shards are missing",
        ):
            lab.run(sweep)
        assert lab.tally.trials == len(lab.shard.of(sweep))
        ran += lab.tally.trials
    last = lab_in(tmp_path, programs, Shard(2, 3))
    assert len(last.run(sweep)) == 12  # every row is there: it can go on
    ran += last.tally.trials
    assert ran == 12
    merged = lab_in(tmp_path, programs)
    assert plain_rows(merged.run(sweep)) == plain_rows(lab_in(None, programs).run(sweep))
    assert merged.tally.trials == 0
    assert {run["shard"] for run in [lab.manifest() for lab in (last, merged)]} == {"2/3", ""}


def test_a_missing_share_is_computed_by_the_run_that_merges(tmp_path, programs):
    with pytest.raises(ShardWaits):
        lab_in(tmp_path, programs, Shard(1, 2)).run(tiny(seeds=6))
    merged = lab_in(tmp_path, programs)
    assert len(merged.run(tiny(seeds=6))) == 6
    assert merged.tally.trials == len(Shard(2, 2).of(tiny(seeds=6)))


@pytest.mark.slow
def test_a_study_in_shares_gives_the_verdicts_of_the_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*more):
        out = CliRunner().invoke(app, [*STUDY, *more])
        assert out.exit_code == 0, out.output
        return out.stdout

    first = call("--out", "parts", "--shard", "1/2", "--json")
    missing = json.loads(first)["missing"]["signal-first"]
    assert 0 < missing < 12
    assert not (tmp_path / "parts" / "claims.json").exists()
    assert "all trials are finished; run the same command without --shard" in call(
        "--out", "parts", "--shard", "2/2"
    )
    assert not (tmp_path / "parts" / "claims.json").exists()
    merged, whole = (json.loads(call("--out", folder, "--json")) for folder in ("parts", "whole"))
    assert [claim | {"command": ""} for claim in merged] == [
        claim | {"command": ""} for claim in whole
    ]
    assert len(sx.engine.read_manifest(tmp_path / "parts")) == 3


@pytest.mark.parametrize(
    "options, words",
    [
        (["--engine", "ray"], "the `engine` of a run must be one of 'local', 'dask', got 'ray'"),
        (
            ["--engine", "dask", "--ledger", "nfs"],
            "the `ledger` of a run must be one of 'driver', 'shared', got 'nfs'",
        ),
        (["--scheduler", "tcp://localhost:1"], "need --engine dask"),
        (
            ["--engine", "dask", "--scheduler", "localhost"],
            "a scheduler's address has the form tls://host:port, got 'localhost'",
        ),
        (
            ["--engine", "dask", "--scheduler", "tcp://localhost:1"],
            "use tls://, or give --trust-cluster",
        ),
        (["--trust-cluster"], "need --engine dask"),
        (["--shard", "5"], "a shard has the form i/n"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    out = CliRunner().invoke(app, [*STUDY, *options])
    assert isinstance(out.exception, SeparatrixError)
    assert words in str(out.exception)
    assert not list(tmp_path.iterdir())
