"""The engine: runs sweeps and remembers what they gave."""

from separatrix.engine.execute.dask import Cluster, DaskRunner
from separatrix.engine.frames import Cost, Rounding, cost_of, frame_of, structure
from separatrix.engine.lab import Lab, find_device, read_manifest
from separatrix.engine.plan import Chunk, Device, Plan, cores, make_plan
from separatrix.engine.programs import Programs, Tally, use_compilation_cache
from separatrix.engine.shard import Shard, ShardWaits
from separatrix.engine.speed import Speed, find_speed, fit_speed, keep_speed
from separatrix.engine.store.ledger import (
    DamagedPart,
    Ledger,
    Table,
    table_of,
)
from separatrix.engine.sweep import Sweep
from separatrix.engine.trial import Measure, Trial, run_trial
from separatrix.engine.work import Making, Work, bytes_of, making_of, work_of

__all__ = [
    "Chunk",
    "Cluster",
    "Cost",
    "DamagedPart",
    "DaskRunner",
    "Device",
    "Lab",
    "Ledger",
    "Making",
    "Measure",
    "Plan",
    "Programs",
    "Rounding",
    "Shard",
    "ShardWaits",
    "Speed",
    "Sweep",
    "Table",
    "Tally",
    "Trial",
    "Work",
    "bytes_of",
    "cores",
    "cost_of",
    "find_device",
    "find_speed",
    "fit_speed",
    "frame_of",
    "keep_speed",
    "make_plan",
    "making_of",
    "read_manifest",
    "run_trial",
    "structure",
    "table_of",
    "use_compilation_cache",
    "work_of",
]
