"""The faults: each disturbs one run, has it resumed, and says in a few words what was seen; an
assertion fails where a row is lost.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet as pq
from harness import HERE, STUDY, WORKERS, parts_of, rows_of

from separatrix.engine import Ledger
from separatrix.engine.policy import COMPACTION_PARTS
from separatrix.engine.store.parts import write_part
from separatrix.spec import digest


def _killed(bench, argv, folder, when):
    command = bench.zygote.start(argv, folder)
    when(command)
    command.signal()
    code, _ = command.finish()
    assert code in (-signal.SIGKILL, 0)
    return f"{bench.resume(argv, folder)} trials kept" if code else "ended before"


def driver_killed(bench, rng):
    """the driver is killed at a random moment"""
    folder, wanted = bench.folder(), rng.randrange(7)
    seconds = bench.whole(HERE).seconds

    def moment(command):
        # Of a run's time most is its beginning; so a number of parts is drawn, and some time after
        # the last of them.
        if wanted == 0:
            time.sleep(rng.uniform(0, seconds))
        elif command.until(lambda: len(parts_of(folder)) >= wanted):
            time.sleep(rng.uniform(0, 0.03) * seconds)

    return _killed(bench, HERE, folder, moment)


def killed_while_writing(bench, rng):
    """the driver is killed while it writes a part of the ledger"""
    folder, wanted = bench.folder(), rng.randrange(6)

    def writing():
        ledger = folder / "out" / "ledger"
        names = os.listdir(ledger) if ledger.is_dir() else []
        return len(names) > wanted and any(name.endswith(".tmp") for name in names)

    return _killed(bench, HERE, folder, lambda command: command.until(writing, every=0.0))


def worker_killed(bench, rng):
    """a worker process is killed at a random moment"""
    seconds = bench.whole(WORKERS).seconds
    folder = bench.folder()
    command = bench.zygote.start(WORKERS, folder)
    if command.until(lambda: len(command.children()) >= 2):
        time.sleep(rng.uniform(0, 0.5) * seconds)
        for pid in command.children()[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    code, said = command.finish()
    if code == 0:
        bench.check(WORKERS, folder)
        return "ended before"
    assert said == "separatrix: a worker process ended unexpectedly\n", said
    return f"{bench.resume(WORKERS, folder)} trials kept"


def killed_while_compacting(bench, rng):
    """a process that merges many parts into one is killed at a random moment"""
    folder = bench.folder()
    ledger = Ledger.open(folder / "out")
    wanted = [{"trial": digest(number), "number": number} for number in range(COMPACTION_PARTS)]
    for row in wanted:
        write_part(ledger.parts, pa.table({name: [value] for name, value in row.items()}))
    command = bench.zygote.start((), folder, compact=str(folder / "out"))
    time.sleep(rng.uniform(0, 0.15))
    command.signal()
    command.finish()
    left = len(parts_of(folder))
    assert (
        sorted(Ledger(folder / "out").read().arrow.to_pylist(), key=lambda row: row["number"])
        == wanted
    )
    shutil.rmtree(folder)
    return f"{left} parts left"


def dask_worker_killed(bench, rng):
    """a worker of the Dask cluster is killed while the study runs"""
    folder = bench.folder()
    argv = (*STUDY, "--workers", "2", "--engine", "dask")
    command = bench.zygote.start(argv, folder)

    def workers():
        below = subprocess.run(
            ["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        clusters = {
            line.split()[0]
            for line in below
            if "separatrix.engine.execute.embedded" in line and line.split()[1] == str(command.pid)
        }
        return [
            int(line.split()[0])
            for line in below
            if line.split()[1] in clusters and "spawn_main" in line
        ]

    hit = command.until(lambda: len(workers()) == 2 and parts_of(folder), every=0.05)
    if hit:
        os.kill(workers()[rng.randrange(2)], signal.SIGKILL)
    code, said = command.finish()
    assert code == 0, said
    assert rows_of(folder) == bench.whole(WORKERS).rows, "rows differ"
    shutil.rmtree(folder)
    return "went on without it" if hit else "ended before"


def disk_full(bench, rng):
    """the disk is full: files cannot grow beyond some size"""
    folder = bench.folder()
    code, said = bench.zygote.start(
        HERE, folder, limit_files=rng.choice([100, 3000, 6000, 15000])
    ).finish()
    assert code == 1, said
    assert said.startswith("separatrix: cannot write "), said
    assert said.count("\n") == 1, said
    return f"one sentence; {bench.resume(HERE, folder)} trials kept"


def small_disk(bench, rng):
    """a disk of 64 KiB (a tmpfs) fills up"""
    folder = bench.folder()
    (folder / "out").mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder / "out")],
        capture_output=True,
    ).returncode:
        return "not tried: no right to mount"
    try:
        code, said = bench.zygote.start(HERE, folder).finish()
        assert code == 1, said
        assert "No space left on device" in said, said
        assert said.count("\n") == 1, said
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder / "out")], check=True)
        code, said = bench.zygote.start(HERE, folder).finish()
        assert code == 0, said
        bench.check(HERE, folder)
    finally:
        subprocess.run(["umount", str(folder / "out")], check=True)
    return "one sentence, and resumed with more room"


def read_only_folder(bench, rng):
    """the output folder is read-only (a tmpfs)"""
    folder = bench.folder()
    (folder / "out").mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder / "out")], capture_output=True
    ).returncode:
        return "not tried: no right to mount"
    try:
        code, said = bench.zygote.start(HERE, folder).finish()
    finally:
        subprocess.run(["umount", str(folder / "out")], check=True)
    assert code == 1, said
    assert "Read-only file system" in said, said
    assert said.count("\n") == 1, said
    return "one sentence"


def clock_jumps(bench, rng):
    """the clock jumps by years between any two looks at it, and parts are dated in the future"""
    folder = bench.finished()
    for place, part in enumerate(parts_of(folder)):
        if place % 2:
            part.unlink()
        else:
            os.utime(part, (4e9, 4e9))
    code, said = bench.zygote.start((*HERE, "--budget", "1h"), folder, jump_clock=3e8).finish()
    assert code == 0, said
    assert rows_of(folder) == bench.whole(HERE).rows, "rows differ"
    shutil.rmtree(folder)
    return "rows the same"


def two_at_once(bench, rng):
    """two runs write to one folder at once"""
    folder = bench.folder()
    first = bench.zygote.start(HERE, folder)
    time.sleep(rng.uniform(0, 0.5) * bench.whole(HERE).seconds)
    second = bench.zygote.start(HERE, folder)
    codes = [command.finish()[0] for command in (first, second)]
    assert codes == [0, 0], (folder / "err.txt").read_text()
    bench.check(HERE, folder)
    shutil.rmtree(folder)
    return "both ended well"


def device_memory(bench, rng):
    """the device has memory for a part of a batch only (simulated)"""
    folder = bench.folder()
    room = rng.choice([1, 5, 20])
    code, said = bench.zygote.start(HERE, folder, small_device=room).finish()
    assert code == 0, said
    assert [row["trial"] for row in rows_of(folder)] == [
        row["trial"] for row in bench.whole(HERE).rows
    ]
    shutil.rmtree(folder)
    return f"batches of 64 halved until {room} fit"


def ctrl_c_twice(bench, rng):
    """Ctrl-C, and again at once"""
    seconds = bench.whole(WORKERS).seconds
    folder = bench.folder()
    command = bench.zygote.start(WORKERS, folder)
    command.until(lambda: len(command.children()) >= 2)
    time.sleep(rng.uniform(0, 0.4) * seconds)
    for _ in range(2):
        command.signal(signal.SIGINT)
        time.sleep(rng.uniform(0, 0.05))
    children = command.children()
    code, said = command.finish()
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in children), "workers are left"
    if code == 0:
        return "ended before"
    assert code in (1, -signal.SIGINT), (code, said)
    assert "Traceback" not in said, said
    return f"{bench.resume(WORKERS, folder)} trials kept"


def part_corrupted(bench, rng):
    """a byte of a part is changed"""
    folder = bench.finished()
    part = rng.choice(parts_of(folder))
    data = bytearray(part.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    part.write_bytes(bytes(data))
    return _mended(bench, folder, part)


def part_truncated(bench, rng):
    """a part is cut off"""
    folder = bench.finished()
    part = rng.choice(parts_of(folder))
    os.truncate(part, rng.randrange(part.stat().st_size))
    return _mended(bench, folder, part)


def _mended(bench, folder, part):
    code, said = bench.zygote.start(HERE, folder).finish()
    assert code == 0 or "was not written by separatrix" in said, said
    # The changed bit was in the mark by which a part is known: the file is named, and is the user's
    # to move
    if code:
        assert part.name in said
        part.unlink()
        code, said = bench.zygote.start(HERE, folder).finish()
    bench.check(HERE, folder)
    named = part.name in said or not part.with_name(part.name + ".damaged").exists()
    assert named, said
    again = int(re.search(r"(\d+) trials run", said)[1])
    seen = "named and computed again" if again else "harmless: nothing that is read depends on it"
    assert (folder / "out" / "claims.json").exists()
    shutil.rmtree(folder)
    return seen


def _rewritten(folder, change):
    """Every part of a run with its rows changed; names and checksums fit the new rows."""
    for part in parts_of(folder):
        table = pq.read_table(part)
        part.unlink()
        write_part(part.parent, change(table.replace_schema_metadata()))


def _computed_again(bench, folder):
    """The run resumed: forged rows are named, set aside and computed again."""
    code, said = bench.zygote.start(HERE, folder).finish()
    assert code == 0, said
    assert "set aside" in said, said
    bench.check(HERE, folder)
    again = int(re.search(r"(\d+) trials run", said)[1])
    shutil.rmtree(folder)
    assert again
    return "named and computed again"


def identities_swapped(bench, rng):
    """the identities of all rows are exchanged: every network gets the rows of another"""
    folder = bench.finished()
    tables = [pq.read_table(part).replace_schema_metadata() for part in parts_of(folder)]
    trials = [trial for table in tables for trial in table["trial"].to_pylist()]
    shift = rng.randrange(1, len(trials))
    moved = iter(trials[shift:] + trials[:shift])

    def change(table):
        column = pa.array([next(moved) for _ in range(table.num_rows)])
        return table.set_column(table.column_names.index("trial"), "trial", column)

    _rewritten(folder, change)
    return _computed_again(bench, folder)


def column_forged(bench, rng):
    """a column that says what a trial was is changed in every row, checksums included"""
    folder = bench.finished()
    name = rng.choice(["seed", "samples", "network.connectivity", "task.noise"])

    def change(table):
        values = table[name].to_pylist()
        wrong = [f"{v}x" if isinstance(v, str) else v + 1 for v in values]
        return table.set_column(table.column_names.index(name), name, pa.array(wrong))

    _rewritten(folder, change)
    return _computed_again(bench, folder)


def part_forged(bench, rng):
    """a part with other results for some trials is added"""
    folder = bench.finished()
    table = pq.read_table(rng.choice(parts_of(folder))).replace_schema_metadata()
    some = table.slice(0, max(1, table.num_rows - 1))
    risk = pa.array([value + 0.5 for value in some["risk"].to_pylist()])
    forged = some.set_column(some.column_names.index("risk"), "risk", risk)
    write_part(folder / "out" / "ledger", forged)
    return _computed_again(bench, folder)


def two_verifies(bench, rng):
    """two processes recompute the verdicts of one folder at once"""
    folder = bench.folder()
    shutil.copytree(bench.whole(HERE).folder / "out", folder / "out")
    before = {file: file.read_bytes() for file in (folder / "out").rglob("*") if file.is_file()}
    texts = []
    for name in ("a", "b"):
        (folder / name).mkdir()
        os.symlink(folder / "out", folder / name / "out")
    argv = ("verify", "--from", "out", "--json")
    commands = [bench.zygote.start(argv, folder / name) for name in ("a", "b")]
    for command, name in zip(commands, ("a", "b")):
        code, said = command.finish()
        assert code == 0, said
        texts.append((folder / name / "out.txt").read_text())
    assert texts[0] == texts[1]
    assert "verdict" in texts[0]
    assert all(file.read_bytes() == data for file, data in before.items()), "the folder changed"
    shutil.rmtree(folder)
    return "the same verdicts, and nothing written"


def hostile_worker(bench, rng):
    """a worker answers with pickles that run code, damaged bytes, or rows of other trials"""
    import distributed.protocol
    from distributed.protocol.serialize import ToPickle

    from malformed import answers
    from separatrix.engine.execute.secure import Refused, no_pickles

    folder = bench.folder()

    class Planted:
        def __reduce__(self):
            return os.mkdir, (str(folder / "ran"),)

    frames = distributed.protocol.dumps({"result": ToPickle(Planted())})
    with no_pickles():
        assert isinstance(distributed.protocol.loads(frames)["result"], Refused)
    assert not (folder / "ran").exists()
    for _ in range(100):
        what, words = answers(rng)
        assert what != "internal error", words
    return "refused"


def diagnose_killed(bench, rng):
    """`separatrix diagnose` is killed at a random moment and run again"""
    folder = bench.folder()
    argv = ("diagnose", "iris", "--budget", "20s", "--out", "out")
    command = bench.zygote.start(argv, folder)
    time.sleep(rng.uniform(2, 15))
    command.signal()
    command.finish()
    code, said = bench.zygote.start(argv, folder).finish()
    assert code == 0, said
    assert (folder / "out" / "diagnosis.json").stat().st_size > 0
    shutil.rmtree(folder)
    return "ended well the second time"


# Fault, and how often of a hundred runs it is tried; the first four are kills with signal 9.
KILLS = {
    driver_killed: 45,
    killed_while_writing: 30,
    worker_killed: 15,
    killed_while_compacting: 10,
}
OTHERS = {
    dask_worker_killed: 2,
    disk_full: 4,
    small_disk: 1,
    read_only_folder: 1,
    clock_jumps: 2,
    two_at_once: 5,
    device_memory: 3,
    ctrl_c_twice: 5,
    part_corrupted: 20,
    part_truncated: 10,
    identities_swapped: 10,
    column_forged: 10,
    part_forged: 10,
    two_verifies: 3,
    hostile_worker: 10,
    diagnose_killed: 3,
}
