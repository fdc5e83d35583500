"""Policy: every constant by which the engine decides something, with its unit and its reason.

Frames, batches and programs depend on these numbers, so a change of one that acts on frames or on
compiler options can change the last digits of rows: then raise `REVISION` in `trial.py` as well.
"Operations" are floating-point operations as `cost_of` counts them. Timings on a GPU were taken on
an NVIDIA H200, timings on a CPU on one core of a server.
"""

from typing import Any

# --- Devices: what is assumed of every machine of a kind, so that all of them make the same chunks

CPU_FLOPS = 1.5e10  # operations per second of one core: a cautious figure for small networks
CPU_COMPILE_SECONDS = 2.0  # per program; a second worker compiles a program only to save more
CPU_MEMORY = 8e9  # bytes; nothing is batched on a CPU, so this only completes the record
GPU_FLOPS = 5e12  # operations per second: what small networks reach, a tenth of the data sheet
GPU_COMPILE_SECONDS = 6.0  # per program
GPU_MEMORY_SHARE = 0.6  # of the device's memory, for a batch; XLA's temporary arrays need the rest
GPU_MEMORY_UNKNOWN = 16e9  # bytes of a GPU that does not tell how much memory it has

# --- Frames: sizes are rounded up so that one program serves many trials

# Sample sizes go up to 32, 128, 512, 2048: four trials' worth of padding at most, and four programs
# in place of one for every size.
FIRST_SAMPLES = 32  # rows: the smallest frame
SAMPLES_RATIO = 4.0
# From 2048 rows on, padding is what a CPU's time goes to, and frames are twice as close.
LARGE_SAMPLES = 2048  # rows
LARGE_SAMPLES_RATIO_CPU = 2.0
LARGE_SAMPLES_RATIO_GPU = 4.0
SIZES_RATIO = 2.0  # of the sizes of tasks and networks
# A GPU pads almost for free up to 32 of anything. A CPU does not: it starts at 16 and also uses
# three quarters of each size.
FIRST_SIZE_CPU = 16
FIRST_SIZE_GPU = 32
# Operations. The sample sizes of lighter trials all go up to 2048 rows: they take milliseconds of a
# CPU, and a program of their own would take seconds.
LIGHT_TRIAL = 6e7
# Operations that one random number of the training data takes, for the same decision. Steps on few
# rows cost the same whatever the sample size, but all rows are drawn.
DRAWING = 50.0
# Operations. Heavier trials of a GPU are not rounded up: the padding of a long training costs more
# than a program of its own.
UNROUNDED_TRIAL = 1e13
# Trainings of a GPU with more operations than LEVEL_TRIAL, on at most LEVEL_SAMPLES rows and with
# at most SHORT_STEP operations per step, all get LEVEL_SAMPLES rows. A GPU waits for itself at each
# step: it does a SHORT_STEP of 25 trials in about the time in which it launches a step's dozen
# kernels, so one program for many such trials is the fastest.
LEVEL_SAMPLES = 1024  # rows
LEVEL_TRIAL = 1e12  # operations
SHORT_STEP = 1.2e8  # operations

KNOWN_KINDS = 20_000  # kinds of trials whose frames are remembered, about 20 MB

# --- Chunks of a CPU: trials that a worker runs before it reports

CHUNK_SECONDS = 2.0  # progress is shown, and work is safe, about this often
CHUNK_TRIALS = 64  # at most; more would make parts of the ledger that take long to write

# --- Batches of a GPU: trials that run in one call of a program

BATCH_TRIALS = 64  # one size, so that the rounds of a growing sweep need the same programs
# Operations. Batches of heavier trials are not filled up with copies, which would cost more than a
# program of another size.
HEAVY_TRIAL = 1e12
# Operations and steps. Batches of trials that are heavier and longer are filled up to a power of
# two only.
MEDIUM_TRIAL = 1e11
MANY_STEPS = 3000
# Operations per trial (seconds of a large GPU), and per step. A trial longer than LONG_TRIAL shares
# a batch only while the batch's step stays below FULL_STEP, which fills a large GPU: more at once
# would only put off the moment at which the first is safe.
LONG_TRIAL = 1e14
FULL_STEP = 2e11

# --- Where a sweep runs

# Operations. A laboratory without a folder runs lighter sweeps in its own process: worker processes
# take seconds to start.
IN_PROCESS_SWEEP = 1e10

# --- Programs: how they are compiled

# XLA's options by kind of device; `benchmarks/compiling.py` sets it to time what options do.
COMPILER_OPTIONS: dict[str, dict[str, Any]] = {}
# Operations per call below which a program spends longer in the compiler than in running, and the
# options that compile it faster. On a CPU, XLA's older loops compile in 0.6 to 0.8 of the time and
# run up to a third slower. On a GPU, XLA times several implementations of each product on the
# device itself, which programs that compile at the same time disturb: 15 programs together took
# 161 s, and 26 s without that tuning. The library's products lose less by that than Triton's.
LIGHT_PROGRAM = {"cpu": 2e9, "gpu": 1e15}
LIGHT_PROGRAM_OPTIONS: dict[str, dict[str, Any]] = {
    "cpu": {"xla_cpu_use_fusion_emitters": False},
    "gpu": {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False},
}
# Operations per call from which a program asks for our kernels (`networks/kernels`), and from which
# also for fully connected networks. Kernels compile for 6 to 14 seconds more. 1e14 operations then
# take 9 to 20 seconds less with windows, and 2 seconds less without (`benchmarks/floors.py`).
KERNELS = {"gpu": 3e13}
KERNELS_OF_FULL = {"gpu": 5e14}

# --- Waiting

# Seconds after the end of a budget for which a run waits for chunks that workers have begun: about
# one chunk, whose work would be lost otherwise.
PATIENCE = 3.0
STORED_SECONDS = 60.0  # until rows that a worker wrote must be seen: network folders lag behind
CLUSTER_LOOK_SECONDS = 1.0  # between two looks at which workers a cluster has
CLUSTER_FETCH_SECONDS = 60.0  # until an answer that a worker of a cluster holds counts as lost
CLUSTER_PATIENCE = 600.0  # seconds for a scheduler that is away, or for a first worker
# Workers that may be lost with a chunk before it is given up: one loss is bad luck, three are the
# chunk's doing.
LOST_WORKERS = 3

# --- The ledger

ROW_GROUP = 8192  # rows that are read from a part when one of them is wanted
# Rows up to which the name of a part is compared with identities that are not hashes; only tests
# have such identities.
NAMED_ROWS = 4096
# Bytes up to which a ledger is read completely and checked when it is opened; larger ones are
# checked where they are read.
VERIFIED_BYTES = 2**26
# Bytes that a part may take in memory, and its columns; ours have a tenth of that at most.
PART_BYTES = 2**32
PART_COLUMNS = 10_000
TEXT_BYTES = 2**29  # of the text columns that are read at once, written out; ours have a hundredth
# Times that a sweep is read before a run gives up, while somebody damages its rows again and again.
DAMAGED_READS = 10
CACHED_BYTES = 2**29  # of rows that stay in memory
SMALL_INDEX = 100_000  # rows up to which sorting the whole index again takes no noticeable time
COMPACTION_PARTS = 64  # parts of about the same size that are merged into one
COMPACTION_ROWS = 2**18  # at most, of a merged part
COMPACTION_BYTES = 2**26  # at most, of a merged part: what one process reads in a second
MANIFEST_RUNS = 100  # runs that a folder's manifest keeps
# Options with which XLA records nothing in CUDA graphs, for programs that cannot be recorded.
NO_COMMAND_BUFFERS = {"xla_gpu_enable_command_buffer": ""}
