"""Packing: many small parts become one larger part, so that a long run's ledger stays quick to
open.

Only parts with the same columns and types are packed together, so that no value changes. The pack
is on disk, whole, before the first of its sources is deleted: a process killed at any moment leaves
rows twice at worst, and readers take each trial once. Two processes that pack at once do no harm
either: a part is deleted only when a part with all of its trials is there, and parts with the same
trials have the same name.
"""

import contextlib
import math
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from separatrix.engine import policy
from separatrix.engine.store.index import Index
from separatrix.engine.store.parts import DamagedPart, Part, read_groups, write_part
from separatrix.errors import SeparatrixError
from separatrix.files import lock


def to_pack(parts: Iterable[Part]) -> list[list[Part]]:
    """Which parts should be packed together: those of like size, where there are many of them.

    >>> import numpy as np
    >>> small = [Part(Path(f"{i}"), "columns", 10, (0, 8), np.zeros((8, 2), np.uint64)) for i in range(policy.COMPACTION_PARTS)]
    >>> [len(group) for group in to_pack(small)], to_pack(small[1:])
    ([64], [])
    """
    tiers: dict[tuple[str, int], list[Part]] = {}
    for part in parts:
        if part.rows <= policy.COMPACTION_ROWS // 2 and part.bytes <= policy.COMPACTION_BYTES // 2:
            tiers.setdefault(
                (part.columns, int(math.log(max(part.rows, 1), policy.COMPACTION_PARTS) + 1e-9)), []
            ).append(part)
    packs = []
    for tier in tiers.values():
        while len(tier) >= policy.COMPACTION_PARTS:
            pack: list[Part] = []
            rows = size = 0
            while tier and (
                len(pack) < 2
                or (
                    rows + tier[-1].rows <= policy.COMPACTION_ROWS
                    and size + tier[-1].bytes <= policy.COMPACTION_BYTES
                )
            ):
                pack.append(tier.pop())
                rows, size = rows + pack[-1].rows, size + pack[-1].bytes
            packs.append(pack)
    return packs


def pack(folder: Path, parts: Iterable[Part]) -> int:
    """Pack what should be packed, unless another process is at it or the folder cannot be written;
    the number of packs made.

    >>> pack(Path("no-such-folder"), [])
    0
    """
    wanted = to_pack(parts)
    made = 0
    if wanted:
        with lock(folder / ".packing") as held:
            for sources in wanted if held else []:
                # A part that is gone or damaged is for others to deal with, and a full disk for the
                # next part that must be written.
                with contextlib.suppress(FileNotFoundError, DamagedPart, SeparatrixError):
                    pack_together(folder, sources)
                    made += 1
    return made


def pack_together(folder: Path, sources: list[Part]) -> Path:
    """Write one part with the trials of several, then delete those.

    >>> import tempfile
    >>> from separatrix.engine.store.parts import scan_part
    >>> folder = Path(tempfile.mkdtemp())
    >>> sources = [scan_part(write_part(folder, pa.table({"trial": [letter * 32]}))) for letter in "ab"]
    >>> scan_part(pack_together(folder, sources)).rows, len(list(folder.glob("part-*")))
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
