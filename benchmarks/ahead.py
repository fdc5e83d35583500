"""Kernels compiled for an H200 that is not there: registers, warps that fit on a processor, and how
many instructions are multiply-adds.

    # no GPU and no driver needed; nvdisasm comes with triton
    python -m pip install "jax[cuda13]" triton
    JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1 python benchmarks/ahead.py --shapes LCN,FCN-20

The shapes and tilings are those of `fused_timing.py`. Instructions are those of the compiled loops;
at one per cycle on each of an H200's 528 schedulers they bound a kernel's time from below. The
table cannot say how long warps wait.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TARGET = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048
  core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 4800000000000 l2_cache_size: 62914560 clock_rate_ghz: 1.98
  device_memory_size: 150000000000
  shared_memory_per_block_optin: 232448 cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 patch: 0 }
runtime_version { major: 13 minor: 0 patch: 0 }
device_description_str: "NVIDIA H200"
"""
REGISTERS = 16_384  # of each of a processor's four schedulers
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_]*)(.*)")


def program_for(tool: str, *places: str) -> str:
    """Where a tool of CUDA lies: on the PATH, or in one of the installed packages; a sentence where
    it is not.
    """
    for package in ("nvidia", "triton"):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            if found := next(Path(folder).glob(f"**/bin/{tool}"), None):
                return str(found)
    return shutil.which(tool) or sys.exit(
        f"ahead.py: there is no {tool}: python -m pip install {' '.join(places)}"
    )


def device() -> Any:
    """The H200, or a sentence."""
    from jax.experimental import topologies

    try:
        return topologies.get_topology_desc(
            "h200", "cuda", target_config=TARGET, topology="1x1x1"
        ).devices[0]
    except Exception as error:  # whatever is missing
        sys.exit(
            f"ahead.py: JAX cannot compile for CUDA here ({' '.join(str(error).split())[:100]}): "
            'python -m pip install "jax[cuda13]"'
        )


def kernels_of(shape: Any, tiling: Any, folder: Path) -> list[Path]:
    """The PTX of a training step's kernels."""
    import jax

    import fused_timing

    where = jax.sharding.SingleDeviceSharding(device())
    given = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=where),
        jax.eval_shape(lambda: fused_timing.drawn(shape)),
    )
    for old in folder.glob("*.ptx"):
        old.unlink()
    train, _ = fused_timing.programs_of(tiling, 10)
    train.lower(*given).compile(
        compiler_options={"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
    )
    return sorted(
        file for file in folder.glob("*.ptx") if re.search(r"\.entry units_", file.read_text())
    )


def counted(sass: str) -> tuple[int, int, int]:
    """Instructions inside loops, multiply-adds among them, and instructions outside of loops, up to
    the program's end.

    >>> loop = ".L_x_0:\\n  /*1*/  FFMA R1, R1, R2, R1 ;\\n  /*2*/  @P0 BRA `(.L_x_0) ;\\n"
    >>> counted("  /*0*/  MOV R1, R2 ;\\n" + loop + "  /*3*/  EXIT ;\\n")
    (2, 1, 2)
    """
    labels: dict[str, int] = {}
    found: list[tuple[str, str]] = []
    for line in sass.splitlines():
        if label := re.match(r"^\.(L_x_\d+):", line.strip()):
            labels[label[1]] = len(found)
        elif instruction := INSTRUCTION.match(line):
            found.append((instruction[1], instruction[2]))
    inside: set[int] = set()
    end = len(found)
    for i, (name, rest) in enumerate(found):
        target = re.search(r"\.(L_x_\d+)", rest) if name == "BRA" else None
        if target and labels.get(target[1], i) < i:
            inside |= set(range(labels[target[1]], i + 1))
        elif name == "BRA" and target and labels.get(target[1]) == i:  # padding after the end
            end = min(end, i)
    return len(inside), sum(found[i][0] == "FFMA" for i in inside), end - len(inside)


def main() -> None:
    """Check what is asked for, and print the table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--shapes",
        default="LCN,sphere-CNN,images-CNN,FCN-20,signal-FCN",
        help="shapes of fused_timing.py",
    )
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XLA_FLAGS"] = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder}"  # read when JAX is imported
        )
        import fused_timing

        if unknown := [name for name in given.shapes.split(",") if name not in fused_timing.SHAPES]:
            arguments.error(
                f"the shapes must be among {', '.join(fused_timing.SHAPES)}, got "
                f"{', '.join(unknown)}"
            )
        device()
        table(given.shapes.split(","), Path(folder))


def table(shapes: list[str], folder: Path) -> None:
    """Compile every tiling and print what became of it."""
    import fused_timing

    assemble, disassemble = program_for("ptxas", '"jax[cuda13]"'), program_for("nvdisasm", "triton")
    print(
        "| shape | tiling | kernel | registers | spilled bytes | warps a processor | "
        "instructions in loops | multiply-adds | outside |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in shapes:
        shape = fused_timing.SHAPES[name]._replace(networks=2)
        for tiling in fused_timing.tilings_of(name, shape, False)[1:]:
            for file in kernels_of(shape, tiling, folder):
                binary = folder / "kernel.cubin"
                told = subprocess.run(
                    [assemble, "-v", "-arch=sm_90a", str(file), "-o", str(binary)],
                    capture_output=True,
                    text=True,
                ).stderr
                sass = subprocess.run(
                    [disassemble, "-c", str(binary)], capture_output=True, text=True
                ).stdout
                if "registers" not in told:
                    sys.exit(
                        f"ahead.py: ptxas made nothing of {name}: {' '.join(told.split())[:200]}"
                    )
                registers, spilled = (
                    int(re.findall(rule, told)[0])
                    for rule in (r"Used (\d+) registers", r"(\d+) bytes spill stores")
                )
                inside, adds, outside = counted(sass)
                kernel = re.findall(r"\.entry (\w+)", file.read_text())[0]
                # Registers are given in blocks of eight a thread.
                warps = min(32, 4 * (REGISTERS // (32 * 8 * -(-registers // 8))))
                words, share = (
                    fused_timing.words_of(tiling),
                    f"{adds / inside:.0%}" if inside else "",
                )
                print(
                    f"| {name} | {words} | {kernel} | {registers} | {spilled} | {warps} | "
                    f"{inside} | {share} | {outside} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
