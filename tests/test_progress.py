"""The progress bar: when it appears, when it goes away, and that it can be switched off."""

import io

import pytest
from rich.console import Console

import separatrix as sx
from running import tiny
from separatrix.progress import ProgressBar


@pytest.fixture
def screen():
    """A terminal that remembers what was written to it."""
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def test_short_work_shows_nothing(screen):
    bar = ProgressBar(after=60.0, console=screen)
    for done in range(4):
        bar("trials", done, 3)
    assert screen.file.getvalue() == ""


def test_long_work_shows_a_bar_that_goes_away(screen):
    bar = ProgressBar(after=0.0, console=screen)
    bar("thresholds", 0, 3)
    assert bar.wait(10.0)
    bar("thresholds", 1, 3)
    assert bar.shown
    bar("thresholds", 3, 3)
    assert not bar.shown
    assert "thresholds" in screen.file.getvalue()
    bar("laws", 0, 2)
    assert bar.wait(10.0)
    bar.close()
    assert not bar.shown, "after an error the bar goes away, too"
    assert "laws" in screen.file.getvalue()


def test_without_a_terminal_there_is_no_bar():
    console = Console(file=io.StringIO())
    bar = ProgressBar(after=0.0, console=console)
    bar("trials", 0, 3)
    assert not bar.wait(0.0)
    bar("trials", 3, 3)
    assert console.file.getvalue() == ""


def test_a_laboratory_has_one_unless_it_is_switched_off(programs):
    assert isinstance(sx.Lab().progress, ProgressBar)
    assert isinstance(sx.Lab(progress=True).progress, ProgressBar)
    lab = sx.Lab(workers=0, progress=False)
    lab._in_process.programs = programs
    assert len(lab.run(tiny(seeds=2))) == 2


def test_a_run_that_fails_leaves_no_bar(screen, programs):
    lab = sx.Lab(workers=0)
    lab._in_process.programs = programs
    lab.progress = bar = ProgressBar(after=0.0, console=screen)

    def broken(*_):
        assert bar.wait(10.0)
        raise RuntimeError("no")

    lab.ledger.write = broken
    with pytest.raises(RuntimeError, match="no"):
        lab.run(tiny(seeds=2))
    assert not bar.shown
