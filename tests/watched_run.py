"""A folder with two parts of a ledger, as a run leaves it: for tests of watching."""

import os

from separatrix.engine.store.ledger import Ledger

NETWORKS = ("shared", "local", "full")


def rows(name, count, status="reached"):
    """Rows of a ledger with identities of their own."""
    return [
        {
            "trial": f"{name}{i:031x}",
            "task.type": "SignalTask",
            "network.connectivity": NETWORKS[i % 3],
            "status": status,
            "risk": 0.1,
        }
        for i in range(count)
    ]


def write_ledger(folder):
    """30 trials of long ago, and 12 of half a minute ago, by a clock that stands at 10,000 s."""
    ledger = Ledger.open(folder)
    for name, count, age in (("a", 30, 1000), ("b", 12, 30)):
        before = set(ledger.files())
        ledger.write(rows(name, count))
        for file in set(ledger.files()) - before:
            os.utime(file, (10_000 - age, 10_000 - age))
    return folder
