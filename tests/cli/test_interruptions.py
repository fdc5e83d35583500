"""Runs that are killed or interrupted: one sentence, nothing left behind, and the same claims in
the end.
"""

import random
import shutil
import signal
import sys
import time

import pytest

import separatrix as sx
from running import Driver
from separatrix.engine import Ledger

COMMAND = [
    *("run", "signal-first", "--scale", "quick", "--set", "seeds=4", "--set", "steps=4"),
    *("--out", "out", "--workers", "2"),
]
TRIALS = 12

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks for processes in /proc"
)


def parts(folder):
    return [file for file in (folder / "out" / "ledger").glob("part-*") if file.is_file()]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The folder of a run that nothing disturbed; it fills the cache of compiled programs, too."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    driver = Driver(COMMAND, folder)
    code, _, err = driver.finish(300)
    assert code == 0, err
    assert f"{TRIALS} trials run" in err
    driver.assert_alone()
    return folder


@pytest.mark.slow
def test_kill_9_at_any_moment_and_the_same_command_give_the_same_claims(uninterrupted, tmp_path):
    moments = random.Random(0)
    # Once before anything is finished and once after the first part, each with some time more.
    for needed in (0, 1):
        driver = Driver(COMMAND, tmp_path)
        reached = driver.wait_for(
            lambda needed=needed: (
                (tmp_path / "out" / "ledger").is_dir() and len(parts(tmp_path)) >= needed
            )
        )
        time.sleep(moments.uniform(0, 0.3))
        assert reached
        driver.process.kill()
        assert driver.finish()[0] in (-signal.SIGKILL, 0)  # 0 if it was faster than the moment
        driver.assert_alone()
        kept = Ledger(tmp_path / "out").done()
        assert len(kept) >= needed
    driver = Driver(COMMAND, tmp_path)
    code, _, err = driver.finish()
    assert code == 0, err
    # What was finished before was not computed again.
    assert f"{TRIALS - len(kept)} trials run" in err
    assert (tmp_path / "out" / "claims.json").read_bytes() == (
        uninterrupted / "out" / "claims.json"
    ).read_bytes()
    driver.assert_alone()


def test_ctrl_c_ends_with_one_sentence_and_keeps_what_is_done(uninterrupted, tmp_path):
    # On a busy machine a run may end before the signal comes: then it is tried again, with the
    # signal earlier.
    for attempt in range(5):
        # A folder with one part: there is something to keep, and something left to do.
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        shutil.copytree(uninterrupted / "out", tmp_path / "out")
        for file in parts(tmp_path)[1:]:
            file.unlink()
        (tmp_path / "out" / "claims.json").unlink()
        before = Ledger(tmp_path / "out").done()
        driver = Driver(COMMAND, tmp_path)
        started = driver.wait_for(
            lambda driver=driver, attempt=attempt: (
                len(driver.workers()) >= (2 if attempt < 2 else 1)
            )
        )
        driver.process.send_signal(signal.SIGINT)
        code, out, err = driver.finish()
        driver.assert_alone()
        if started and code == 1:
            break
    assert (code, out) == (1, "")
    assert err.startswith("separatrix: interrupted: ")
    assert err.count("\n") == 1
    assert Ledger.open(tmp_path / "out").done() >= before
    assert not (tmp_path / "out" / "claims.json").exists()
    assert sx.engine.read_manifest(tmp_path / "out")[0]["complete"] is False
