"""`benchmarks/ahead.py` without a compiler for CUDA: what it counts, and what it says."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def ahead(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    monkeypatch.setenv("XLA_FLAGS", "")  # the script sets it for its own process
    return importlib.import_module("ahead")


SASS = """
        /*0000*/                   LDG.E R4, desc[UR4][R2.64] ;
.L_x_0:
        /*0010*/                   FFMA R0, R4, R4, R0 ;
        /*0020*/              @!P0 FADD R0, R0, R1 ;
        /*0030*/               @P0 BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
.L_x_1:
        /*0050*/                   BRA `(.L_x_1);
        /*0060*/                   NOP;
"""


def test_a_loop_is_counted_and_what_follows_the_end_is_not(ahead):
    assert ahead.counted(SASS) == (3, 1, 2)


@pytest.mark.parametrize(
    ("given", "sentence"), [(["--shapes", "cube"], "the shapes must be among")]
)
def test_nonsense_gets_a_sentence(ahead, monkeypatch, capsys, given, sentence):
    monkeypatch.setattr("sys.argv", ["ahead.py", *given])
    with pytest.raises(SystemExit):
        ahead.main()
    assert sentence in capsys.readouterr().err
