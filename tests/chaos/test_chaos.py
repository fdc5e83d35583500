"""The shorter version of `make chaos`: a few runs of the faults that need no worker processes."""

import random
import sys

import pytest
from faults import (
    clock_jumps,
    column_forged,
    device_memory,
    disk_full,
    driver_killed,
    hostile_worker,
    identities_swapped,
    killed_while_compacting,
    killed_while_writing,
    part_corrupted,
    part_forged,
    part_truncated,
    two_at_once,
    two_verifies,
)
from harness import Bench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and looks at /proc"),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("chaos"))
    yield made
    made.close()


@pytest.mark.parametrize(
    "fault, times",
    [
        (driver_killed, 3),
        (killed_while_writing, 2),
        (killed_while_compacting, 3),
        (disk_full, 1),
        (clock_jumps, 1),
        (two_at_once, 1),
        (device_memory, 1),
        (part_corrupted, 3),
        (part_truncated, 2),
        (identities_swapped, 1),
        (column_forged, 1),
        (part_forged, 1),
        (two_verifies, 1),
        (hostile_worker, 1),
    ],
    ids=lambda item: getattr(item, "__name__", None),
)
def test_a_disturbed_run_comes_back_whole(bench, fault, times):
    rng = random.Random(fault.__name__)
    for _ in range(times):
        fault(bench, rng)
