"""The engine: runs sweeps and remembers what they gave."""

from separatrix.engine.cost_model import CostModel
from separatrix.engine.execute.dask import Cluster, DaskRunner
from separatrix.engine.frames import Cost, Rounding, cost_of, frame_of, structure
from separatrix.engine.lab import Lab, find_device
from separatrix.engine.manifest import read_manifest
from separatrix.engine.plan import Chunk, Device, Plan, cores, make_plan
from separatrix.engine.programs import Programs, RunTally, use_compilation_cache
from separatrix.engine.shard import Shard, ShardWaits
from separatrix.engine.store.ledger import (
    DamagedPart,
    Ledger,
    Table,
    table_of,
)
from separatrix.engine.sweep import Sweep
from separatrix.engine.trial import Measure, Trial, run_trial

__all__ = [
    "Chunk",
    "Cluster",
    "Cost",
    "CostModel",
    "DamagedPart",
    "DaskRunner",
    "Device",
    "Lab",
    "Ledger",
    "Measure",
    "Plan",
    "Programs",
    "Rounding",
    "RunTally",
    "Shard",
    "ShardWaits",
    "Sweep",
    "Table",
    "Trial",
    "cores",
    "cost_of",
    "find_device",
    "frame_of",
    "make_plan",
    "read_manifest",
    "run_trial",
    "structure",
    "table_of",
    "use_compilation_cache",
]
