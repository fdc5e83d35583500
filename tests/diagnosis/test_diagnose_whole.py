"""Diagnoses as a whole: resuming, budgets, memory, export, known truths."""

import dataclasses
import json
import time
import tracemalloc

import jax
import numpy as np
import pytest

import separatrix as sx
from separatrix.data.labelled import Labelled, as_labelled, read_labelled
from separatrix.diagnosis import VERDICTS, Settings
from separatrix.diagnosis.api import conclude, diagnose
from separatrix.diagnosis.bench import FULL, LOCAL, SHARED, Bench, Unit
from separatrix.diagnosis.export import export_code
from separatrix.diagnosis.networks import Weights, initial, outputs_of
from separatrix.diagnosis.proof.reals import REALS
from separatrix.diagnosis.proof.run import read_lines, table_of
from separatrix.diagnosis.proof.truths import LENGTH, PATTERN, TRUTHS, signal_rows, truth
from separatrix.diagnosis.training import Recipe
from separatrix.diagnosis.verdict import UNSETTLED

QUICK = Settings(
    budget=60.0,
    first=2,
    splits=2,
    width=4,
    field=3,
    recipe=Recipe(16, 16, 2, (1e-2,)),
    explain=False,
)


def rows(count=120, shape=(6, 6), classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, *shape)).astype(np.float32), np.arange(count) % classes


def test_a_diagnosis_is_plain_json_with_every_number_in_an_interval(tmp_path):
    found = diagnose(*rows(), settings=QUICK, lab=sx.Lab(tmp_path / "out"))
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    assert plain["verdict"] in VERDICTS
    for name in ("locality_gain", "sharing_gain"):
        assert plain[name]["low"] <= plain[name]["estimate"] <= plain[name]["high"]
        assert [each["size"] for each in plain[name]["by_size"]] == plain["ladder"]
    assert set(plain["baselines"]) == {"constant", "linear", "nearest neighbours"}
    assert plain["receptive_field"]["estimate"] == 3
    assert {
        "full",
        "local",
        "shared",
        "shared, pixels permuted",
        "local, pixels permuted",
        "shared, patches permuted",
    } == set(plain["accuracy"])
    assert all(note["code"] and note["message"] for note in plain["notes"])


def test_results_are_kept_and_resumed(tmp_path, monkeypatch):
    data = as_labelled(*rows())
    first = conclude(Bench(data, QUICK, sx.Lab(tmp_path / "out")))
    monkeypatch.setattr(Bench, "_trained", lambda *_: pytest.fail("a finished unit was run again"))
    again = conclude(Bench(data, QUICK, sx.Lab(tmp_path / "out")))
    assert again.gains == first.gains
    assert again.accuracy == first.accuracy


def test_a_seed_gives_the_same_numbers_and_another_seed_others():
    a, b, c = (
        diagnose(*rows(), settings=dataclasses.replace(QUICK, seed=seed)) for seed in (0, 0, 1)
    )
    assert a.accuracy == b.accuracy
    assert a.accuracy != c.accuracy


def test_a_regression_is_measured_by_explained_variance():
    x, _ = rows(200, (8,))
    found = diagnose(x, x @ np.arange(8.0), settings=QUICK)
    assert found.about["unit"] == "share of explained variance"
    assert found.baselines["linear"].estimate > 0.9
    assert abs(found.baselines["constant"].estimate) < 0.1


def test_an_answer_comes_however_small_the_budget():
    begin = time.monotonic()
    found = diagnose(*rows(), settings=dataclasses.replace(QUICK, budget=1e-3, field=None))
    assert found.verdict == "cannot tell"
    assert "budget" in [note.code for note in found.notes]
    assert (
        time.monotonic() - begin < 60
    )  # no promise on a busy machine, but not a whole diagnosis either
    assert found.about["runs"] <= 4


def test_units_of_one_split_are_paired():
    """Arms of a split see the same rows, and a larger sample holds the smaller one."""
    bench = Bench(as_labelled(*rows()), QUICK, sx.Lab())
    bench.run(
        [Unit(arm, 3, size, 0) for arm in (FULL, LOCAL, SHARED) for size in bench.sizes.ladder]
    )
    assert len({len(result.rows) for result in bench.results.values()}) == 1
    assert all(
        result.accuracy == pytest.approx(result.rows.mean(), abs=1e-6)
        for result in bench.results.values()
    )


def test_millions_of_rows_on_disk_are_never_all_in_memory(tmp_path):
    """10⁶ × 3072 bytes (a sparse file): only the rows of one split become floating point."""
    count = 1_000_000
    inputs = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (count, 32, 32, 3))
    labels = (np.arange(count) % 2).astype(np.int32)
    data = Labelled(
        "big", inputs, labels, ("a", "b"), "image", (), np.arange(count, dtype=np.int32), "big"
    )
    bench = Bench(data, Settings(), sx.Lab())
    tracemalloc.start()
    learn, check, test = bench.rows(0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (learn.x.shape, check.x.shape, test.x.shape) == (
        (1600, 1024, 3),
        (300, 1024, 3),
        (1000, 1024, 3),
    )
    assert peak < 200 * 2**20  # the rows as float32 are 36 MB; all of them would be 12 GB


@pytest.mark.parametrize(
    ("verdict", "shape"),
    [
        ("convolution pays", (8, 8, 3)),
        ("locality pays, sharing does not", (10,)),
        ("neither pays", (8, 8, 3)),
        ("locality pays, sharing unsettled", (16, 16)),
        ("neither pays", (16, 16)),
    ],
)
def test_the_exported_network_runs_and_learns(verdict, shape, capsys):
    x, y = rows(60, shape)
    bench = Bench(as_labelled(x, y, name='my """ \\ data'), QUICK, sx.Lab())
    empty = diagnose(x, y, settings=dataclasses.replace(QUICK, budget=1e-3))
    code = export_code(bench, dataclasses.replace(empty, verdict=verdict, name=bench.data.name))
    exec(compile(code, "exported.py", "exec"), {"__name__": "__main__"})
    before, after = (
        float(word)
        for word in capsys.readouterr().out.replace(",", "").split()
        if word.replace(".", "").isdigit() and "." in word
    )
    assert after < before - 0.1  # four units learn some of 64 random labels


def test_the_exported_convolution_is_the_network_of_the_diagnosis():
    x, y = rows(60, (9, 9))
    bench = Bench(as_labelled(x, y), QUICK, sx.Lab())
    found = dataclasses.replace(
        diagnose(x, y, settings=dataclasses.replace(QUICK, budget=1e-3)), verdict="convolution pays"
    )
    space = {"__name__": "exported"}
    exec(compile(export_code(bench, found), "exported.py", "exec"), space)
    view = bench.sight(SHARED, 3)
    np.testing.assert_array_equal(space["places"](), view.places)
    np.testing.assert_allclose(space["pool"](), view.pool)


@pytest.mark.parametrize("verdict", ["convolution pays", "locality pays, sharing does not"])
def test_the_exported_network_of_two_layers_answers_as_that_of_the_diagnosis(verdict):
    x, y = rows(60, (17, 16))
    bench = Bench(as_labelled(x, y), QUICK, sx.Lab())
    found = dataclasses.replace(
        diagnose(x, y, settings=dataclasses.replace(QUICK, budget=1e-3)), verdict=verdict
    )
    space = {"__name__": "exported"}
    exec(compile(export_code(bench, found), "exported.py", "exec"), space)
    model = space["Recommended"](jax.random.key(0))
    arm = SHARED if verdict == "convolution pays" else LOCAL
    net, view = bench.net(arm, 3), bench.sight(arm, 3)
    params = Weights(
        model.first.weights,
        model.first.bias,
        model.readout,
        model.offset,
        model.second.weights,
        model.second.bias,
    )
    drawn = initial(
        net, len(view.places), view.places.shape[1], len(view.pool), np.random.default_rng(0)
    )
    assert [part.shape for part in params] == [part.shape for part in drawn]
    expected = outputs_of(net, params, x[:5].reshape(5, -1, 1), view.places, view.pool)
    np.testing.assert_allclose(jax.vmap(model)(x[:5, :, :, None]), expected, atol=1e-5)


# Synthetic truths.


def test_the_patterns_of_the_synthetic_signal_are_orthogonal_and_even():
    x, y = signal_rows(0, 1e-6, moving=False, rows=4000)
    seen = x[:, np.abs(x).max(0) > 1e-3]
    assert seen.shape[1] == PATTERN
    assert x.shape[1] == LENGTH
    products = seen[y == 0][:50] @ seen[y == 1][:50].T
    np.testing.assert_allclose(products, 0, atol=1e-4)
    assert (
        abs(seen[y == 0].mean(0)).max() < 0.05
    )  # every sign equally often: no linear function tells classes apart
    scrambled, _ = signal_rows(0, 1e-6, moving=False, permuted=True, rows=4000)
    np.testing.assert_allclose(np.sort(scrambled, 1), np.sort(x, 1), atol=1e-7)


def test_the_proof_counts_right_unsure_and_wrong(tmp_path):
    name = "moving signal"
    lines = [
        {"revision": 1, "truth": name, "seed": s, "verdict": v, "seconds": 5.0}
        for s, v in enumerate(["convolution pays", "cannot tell", "neither pays"])
    ]
    assert "| 3 | 1 | 1 | 1 |" in table_of(lines)
    permuted = [
        line | {"truth": "digits, permuted"} for line in lines
    ]  # there "cannot tell" is right, and "convolution pays" wrong
    assert "| 3 | 2 | 0 | 1 |" in table_of(permuted)
    # With sharing unsettled: half an answer where locality pays, right for images, wrong where
    # neither pays.
    half = {"revision": 1, "seed": 0, "verdict": UNSETTLED, "seconds": 5.0}
    counts = {
        "moving signal": "1 | 0 | 1 | 0",
        "fixed signal": "1 | 0 | 1 | 0",
        "linear teacher": "1 | 0 | 0 | 1",
        "digits": "1 | 1 | 0 | 0",
        "fixed signal, permuted": "1 | 0 | 0 | 1",
        "digits, permuted": "1 | 0 | 0 | 1",
        "wine": "1 | 0 | 0 | 1",
    }
    for truth_, found in counts.items():
        assert f"| {found} |" in table_of([half | {"truth": truth_}]), truth_
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"revision": 1, "tru')
    assert len(read_lines(file)) == 3
    file.write_text("".join(json.dumps(line | {"truth": "mnist"}) + "\n" for line in lines))
    assert read_lines(file) == []  # real data were judged by other networks then


def test_permuted_images_have_the_same_pixels_in_one_other_order():
    plain, permuted = read_labelled("digits"), REALS["digits, permuted"][1](3)
    assert permuted.classes == plain.classes
    np.testing.assert_array_equal(permuted.labels, plain.labels)
    a, b = plain.inputs.reshape(len(plain), -1), permuted.inputs.reshape(len(plain), -1)
    order = [
        np.flatnonzero((a == b[:, [j]]).all(0)) for j in range(b.shape[1])
    ]  # where each pixel came from; constant ones may be several
    assert all(len(found) >= 1 for found in order)
    assert not (a == b).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTHS)
def test_known_truths_get_the_right_verdict(name):
    data, right = truth(name, seed=12345)
    assert diagnose(data, budget=300).verdict == right
