"""What the comparison of a whole study reads, and its sentences where there is nothing to read."""

import importlib
from pathlib import Path

import pytest

import separatrix as sx
from running import tiny


@pytest.fixture
def images(monkeypatch):
    """The benchmark, which finds its neighbours as a script does."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("images")


def test_a_folder_without_results_is_one_sentence_and_stays_as_it_was(images, tmp_path):
    with pytest.raises(SystemExit, match=r"is no folder of results"):
        images.rows_of(str(tmp_path))
    assert not list(tmp_path.iterdir())
    with pytest.raises(SystemExit, match=r"nowhere is no folder of results"):
        images.rows_of("nowhere")


def test_rows_of_other_studies_have_no_columns_of_images_and_none_is_taken(images, tmp_path):
    with sx.Lab(tmp_path, workers=0) as lab:
        lab.run(tiny(seeds=2))
    rows = images.rows_of(str(tmp_path))
    assert len(rows) == 2
    assert rows["task.permuted"].isna().all()
    assert not (rows["task.type"] == "ImageTask").any()
    assert (rows["run.seconds"] > 0).all()


@pytest.mark.parametrize(
    "given, words",
    [
        (["--steps", "-1"], "at least 0"),
        (["--untried"], "goes with --implementations"),
        (["--study", "x", "--device", "cpu"], "needs a GPU and CIFAR-10"),
    ],
)
def test_nonsense_is_one_sentence(images, monkeypatch, capsys, given, words):
    monkeypatch.setattr(images, "one_core", lambda: None)
    monkeypatch.setattr("sys.argv", ["images.py", *given])
    with pytest.raises(SystemExit) as ended:
        images.main()
    assert words in capsys.readouterr().err + str(ended.value)
