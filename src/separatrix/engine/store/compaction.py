"""Compaction: many small parts become one larger part, so that a long run's ledger stays quick to
open.

Only parts with the same columns and types are merged, so that no value changes. The merged part is
on disk, complete, before the first of its sources is deleted: a process killed at any moment leaves
rows twice at worst, and readers take each trial once. Two processes that compact at once do no harm
either: a part is deleted only when a part with all of its trials exists, and parts with the same
trials have the same name.
"""

import contextlib
import math
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from separatrix.engine import policy
from separatrix.engine.store.index import Index
from separatrix.engine.store.parts import DamagedPart, Part, read_groups, scan_part, write_part
from separatrix.errors import SeparatrixError
from separatrix.files import lock

LOCK = ".compaction"
TIGHT = 15  # zstd's level for rows that are kept under version control


def groups_to_merge(parts: Iterable[Part]) -> list[list[Part]]:
    """Which parts should be merged: those of similar size, where there are many of them.

    >>> import numpy as np
    >>> keys = np.zeros((8, 2), np.uint64)
    >>> small = [Part(Path(f"{i}"), "columns", 10, (0, 8), keys) for i in range(64)]
    >>> [len(group) for group in groups_to_merge(small)], groups_to_merge(small[1:])
    ([64], [])
    """
    fanout, most_rows = policy.COMPACTION_PARTS, policy.COMPACTION_ROWS
    most_bytes = policy.COMPACTION_BYTES
    tiers: dict[tuple[str, int], list[Part]] = {}
    for part in parts:
        if part.rows <= most_rows // 2 and part.bytes <= most_bytes // 2:
            tier = int(math.log(max(part.rows, 1), fanout) + 1e-9)
            tiers.setdefault((part.columns, tier), []).append(part)
    groups = []
    for tier in tiers.values():
        while len(tier) >= fanout:
            group: list[Part] = []
            rows = size = 0
            while tier and (
                len(group) < 2
                or (rows + tier[-1].rows <= most_rows and size + tier[-1].bytes <= most_bytes)
            ):
                group.append(tier.pop())
                rows, size = rows + group[-1].rows, size + group[-1].bytes
            groups.append(group)
    return groups


def compact(folder: Path, parts: Iterable[Part]) -> int:
    """Merge what should be merged, unless another process does or the folder cannot be written.

    Returns:
      How many parts were made.

    >>> compact(Path("no-such-folder"), [])
    0
    """
    groups = groups_to_merge(parts)
    merged = 0
    if groups:
        with lock(folder / LOCK) as held:
            for sources in groups if held else []:
                # Readers deal with a part that is gone or damaged. A full disk is for the next
                # part that must be written.
                with contextlib.suppress(FileNotFoundError, DamagedPart, SeparatrixError):
                    merge_parts(folder, sources)
                    merged += 1
    return merged


def merge_parts(folder: Path, sources: list[Part]) -> Path:
    """Write one part with the trials of several, then delete those.

    >>> import tempfile
    >>> from separatrix.engine.store.parts import scan_part
    >>> folder = Path(tempfile.mkdtemp())
    >>> tables = [pa.table({"trial": [letter * 32]}) for letter in "ab"]
    >>> sources = [scan_part(write_part(folder, table)) for table in tables]
    >>> scan_part(merge_parts(folder, sources)).rows, len(list(folder.glob("part-*")))
    (2, 1)
    """
    table = pa.concat_tables([group for part in sources for group in read_groups(part)])
    index = Index.of(sources)
    if len(first := index.first_of_each()) < len(table):
        table = table.take(pa.array(first))
    written = max(part.file.stat().st_mtime for part in sources)
    target = write_part(folder, table.combine_chunks(), written)
    for part in sources:
        if part.file.name != target.name:
            part.file.unlink(missing_ok=True)
    return target


def pack(
    files: Iterable[Path], target: Path, wanted: Callable[[pa.Table], list[str]] | None = None
) -> list[Path]:
    """Write the rows of parts as few parts, tightly compressed: one per set of columns.

    Args:
      files: the parts; they stay as they are.
      target: the folder of the new parts.
      wanted: which columns of some rows are written; None for all.

    Returns:
      The new parts.

    Raises:
      DamagedPart: if a checksum is wrong.

    >>> import tempfile
    >>> folder, packed = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    >>> tables = [pa.table({"trial": [letter * 32]}) for letter in "ab"]
    >>> [scan_part(file).rows for file in pack([write_part(folder, t) for t in tables], packed)]
    [2]
    """
    alike: dict[str, list[Part]] = {}
    for file in sorted(files):
        part = scan_part(file)
        alike.setdefault(part.columns, []).append(part)
    out = []
    for parts in alike.values():
        table = pa.concat_tables([group for part in parts for group in read_groups(part)])
        if len(first := Index.of(parts).first_of_each()) < len(table):
            table = table.take(pa.array(first))
        if wanted is not None:
            table = table.select(wanted(table))
        out.append(write_part(target, table.combine_chunks(), level=TIGHT))
    return out
