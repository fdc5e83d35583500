"""Whether kept tables and figures are those that kept rows give, byte for byte."""

import dataclasses
import tempfile
from collections.abc import Collection
from pathlib import Path

from separatrix.files import is_regular, read_regular
from separatrix.report.write import write_evidence
from separatrix.studies.kept_rows import Recomputed, recompute

COMPARED = ("figures/*.svg", "tables/*.csv", "headline.json")


@dataclasses.dataclass(frozen=True)
class Rebuilt:
    """What kept rows give, beside what is kept.

    Attributes:
        verdicts: the verdicts, recomputed.
        same: how many kept tables and figures came out the same, byte for byte.
        different: the kept files that did not, and those that are missing on one side.
    """

    verdicts: Recomputed
    same: int
    different: tuple[str, ...]


def rebuild(folder: Path, only: Collection[str] | None = None) -> Rebuilt:
    """Recompute verdicts, tables and figures from the rows that a folder keeps.

    Tables and figures are compared in every folder that `separatrix report --evidence` wrote.

    Args:
        folder: a folder of evidence, a results folder, or one that holds some.
        only: the studies to recompute; None takes all of them.

    Raises:
        SeparatrixError: the folder keeps no rows, or is damaged.
    """
    with tempfile.TemporaryDirectory() as scratch:
        results, evidence = Path(scratch) / "results", Path(scratch) / "evidence"
        verdicts = recompute(folder, results, only)
        same, different = 0, list[str]()
        for made in sorted(file.parent for file in results.rglob("claims.json")):
            place = made.relative_to(results)
            kept = files_of(folder / place)
            if not kept:
                continue
            write_evidence(made, evidence / place)
            again = files_of(evidence / place)
            # With some of the studies, the files of the others are not made.
            names = {*kept, *again} if only is None else again.keys() - {"headline.json"}
            for name in sorted(names):
                if kept.get(name) == again.get(name):
                    same += 1
                else:
                    different.append((place / name).as_posix())
    return Rebuilt(verdicts, same, tuple(different))


def files_of(folder: Path) -> dict[str, bytes]:
    """The tables and figures of a folder of evidence, by their names in it.

    >>> files_of(Path("no-such-folder"))
    {}
    """
    return {
        file.relative_to(folder).as_posix(): read_regular(file)
        for pattern in COMPARED
        for file in sorted(folder.glob(pattern))
        if is_regular(file)
    }
