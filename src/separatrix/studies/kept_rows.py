"""Verdicts from kept rows: studies are concluded again, and nothing is trained.

The rows of a run hold all that its verdicts, tables and figures rest on. Neither a GPU nor the
images that rows were made of are needed.
"""

import contextlib
import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from separatrix.data import assume_available
from separatrix.engine import Lab, Plan, Sweep
from separatrix.engine.manifest import read_manifest
from separatrix.engine.store.table import Table
from separatrix.errors import SeparatrixError
from separatrix.files import explain_os_errors, is_regular, read_json, write_json
from separatrix.studies.claims import Finding
from separatrix.studies.replication import pool_claims, pool_studies, write_pooled
from separatrix.studies.runner import Job, jobs, make_outcomes, run_job

ROWS = ("ledger", "calculations", "separatrix.json")  # what verdicts can be recomputed from
# The traces that conclusions read, by type of task: half of the bytes of patterns are traces that
# nothing reads. All traces of other tasks are kept.
TRACES = {"PatternTask": ("step",), "SignalTask": ("step", "patch_alignment", "risk")}


def columns_to_keep(rows: pa.Table) -> list[str]:
    """The columns of rows from which verdicts, tables and figures can be recomputed.

    >>> row = {"task.type": ["PatternTask"], "trace.step": [1], "trace.loss": [0.5]}
    >>> columns_to_keep(pa.table(row))
    ['task.type', 'trace.step']
    """
    names = list(rows.column_names)
    types: list[Any] = rows["task.type"].unique().to_pylist() if "task.type" in names else []
    if not types or any(each not in TRACES for each in types):
        return names
    read = {f"trace.{name}" for each in types for name in TRACES[each]}
    return [name for name in names if not name.startswith("trace.") or name in read]


class MissingRows(SeparatrixError):
    """Verdicts were asked from kept rows, and some rows are not there.

    >>> str(MissingRows("thresholds", 3, 40))
    '3 of 40 rows of `thresholds` are not kept'
    """

    def __init__(self, what: str, missing: int, total: int):
        super().__init__(f"{missing} of {total} rows of `{what}` are not kept")
        self.what, self.missing, self.total = what, missing, total


@dataclasses.dataclass
class KeptRows(Lab):
    """A laboratory that trains nothing: it answers from the rows in its folder, or says what is
    missing.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=2)
    >>> KeptRows(tempfile.mkdtemp()).run(sweep)
    Traceback (most recent call last):
    separatrix.studies.kept_rows.MissingRows: 2 of 2 rows of `trials` are not kept
    """

    def run(self, sweep: Sweep, what: str = "trials") -> Table:
        """The rows of a sweep, which must all be there."""
        identities = [trial.identity for trial in sweep]
        missing = len(set(identities) - self.ledger.done(identities))
        if missing:
            raise MissingRows(what, missing, len(sweep))
        return super().run(sweep, what)

    def _execute(self, plan: Plan, what: str, total: int) -> None:
        """Rows that cannot be believed were set aside; nothing is trained in their place."""
        raise MissingRows(what, plan.trials, total)

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """The result of a calculation, which must be there."""

        def refuse() -> Any:
            raise MissingRows(name, 1, 1)

        return self.ledger.remember(name, parameters, refuse)

    def expect(self, trials: Iterable[Any]) -> None:
        """Nothing: no program is compiled."""

    def start(self) -> None:
        """Nothing: no worker process is started."""


@dataclasses.dataclass(frozen=True)
class KeptRun:
    """A folder with the rows of a run, and how it ran.

    Attributes:
        folder: where it is.
        scale: its scale.
        seed: its seed.
        changes: its changes of settings, as `--set` takes them.
        data: the data sets that were there; None where the manifest does not say.
        claims: the entries of its claims.json.
    """

    folder: Path
    scale: str
    seed: int
    changes: tuple[str, ...]
    data: tuple[str, ...] | None
    claims: list[dict[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> "KeptRun":
        """The run of a folder.

        Raises:
            SeparatrixError: its manifest or its claims are damaged.
        """
        manifest, claims = read_manifest(folder), kept_claims(folder / "claims.json")
        about = manifest[0] if manifest and isinstance(manifest[0], dict) else {}
        settings = about.get("settings")
        settings = settings if isinstance(settings, dict) else {}
        scale, seed, changes = (settings.get(key) for key in ("scale", "seed", "changes"))
        data = about.get("data")
        if not (
            isinstance(scale, str)
            and isinstance(seed, int)
            and _are_texts(changes := changes or [])
            and (data is None or _are_texts(data))
        ):
            raise SeparatrixError(
                f"the manifest.json of {folder} does not say its scale, seed and changes; "
                "run `separatrix verify` again"
            )
        seen = None if data is None else tuple(data)
        return cls(folder, scale, seed, tuple(changes), seen, claims)

    def studies(self) -> list[str]:
        """The names of its studies."""
        return list(dict.fromkeys(claim["study"] for claim in self.claims))

    def job(self, study: str) -> Job:
        """A study of the run with its settings."""
        several = len(self.studies()) > 1
        own = [text for text in self.changes if text.startswith(f"{study}.") or not several]
        return jobs([study], self.scale, self.seed, own)[0]

    def command(self, study: str) -> str:
        """The command by which a study ran."""
        commands = [c.get("command") for c in self.claims if c["study"] == study]
        return commands[0] if isinstance(commands[0], str) else ""


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


@dataclasses.dataclass(frozen=True)
class Recomputed:
    """Verdicts that were recomputed from kept rows.

    Attributes:
        claims: the entries of claims.json, pooled over seeds.
        changed: the ids whose verdict is not that of the kept claims.json, pooled over seeds.
        missing: for each run that could not be recomputed, what is missing.
    """

    claims: list[dict[str, Any]]
    changed: tuple[str, ...]
    missing: dict[str, str]


def recompute(
    folder: Path, target: Path | None = None, only: Collection[str] | None = None
) -> Recomputed:
    """Recompute every verdict from the rows that a folder keeps, without training anything.

    Args:
        folder: a results folder, or one that holds some (such as `evidence`).
        target: where to write claims.json, the manifest and the outcomes of every run, in folders
            named as those of the kept ones; None writes nothing.
        only: the studies to recompute; None takes all of them.

    Returns:
        The verdicts. Claims of a study whose rows are incomplete are `not measured`.

    Raises:
        SeparatrixError: the folder keeps no rows.
    """
    places = kept_runs(folder)
    if not places:
        raise SeparatrixError(
            f"{folder} keeps no rows of trials; `separatrix verify --out {folder}` makes some"
        )
    by_study: dict[str, dict[int, list[dict[str, Any]]]] = {}
    missing: dict[str, str] = {}
    before: dict[str, set[str]] = {}
    by_run: dict[Path, tuple[int, list[dict[str, Any]]]] = {}
    for place in places:
        run = KeptRun.read(place)
        if only is not None:
            own = [claim for claim in run.claims if claim["study"] in only]
            run = dataclasses.replace(run, claims=own)
            if not own:
                continue
        for claim in run.claims:
            before.setdefault(claim["id"], set()).add(claim["verdict"])
        written = None if target is None else target / place.relative_to(folder)
        claims = []
        for name, own, words in concluded_again(run, written):
            if words:
                missing[f"{name}, seed {run.seed}"] = words
            by_study.setdefault(name, {})[run.seed] = own
            claims += own
        by_run[place] = run.seed, claims
    if not by_run and only:
        raise SeparatrixError(f"{folder} keeps no rows of {' or '.join(only)}")
    if target is not None:
        _write_pools(folder, target, by_run)
    claims = [claim for seeds in by_study.values() for claim in pool_claims(seeds)]
    agreed = {name: min(own) if len(own) == 1 else "undecided" for name, own in before.items()}
    changed = [c["id"] for c in claims if agreed.get(c["id"], c["verdict"]) != c["verdict"]]
    return Recomputed(claims, tuple(changed), missing)


def _write_pools(
    folder: Path, target: Path, by_run: dict[Path, tuple[int, list[dict[str, Any]]]]
) -> None:
    """Pool the runs that are seeds of one folder, as `run_seeds` does."""
    parents = {place.parent for place in by_run if place.name.startswith("seed-")}
    for parent in sorted(parents):
        seeds = dict(own for place, own in sorted(by_run.items()) if place.parent == parent)
        write_pooled(target / parent.relative_to(folder), pool_studies(seeds), list(seeds))


def kept_claims(file: Path) -> list[dict[str, Any]]:
    """The entries of a kept claims.json.

    Raises:
        SeparatrixError: the file is not the claims.json of a run.
    """
    claims = read_json(file)
    keys = ("id", "verdict", "study")
    if not isinstance(claims, list) or not all(
        isinstance(claim, dict) and all(isinstance(claim.get(key), str) for key in keys)
        for claim in claims
    ):
        raise SeparatrixError(
            f"{file} is not the claims.json of a run: it must be a list of claims, each with an "
            "id, a verdict and a study"
        )
    return claims


def kept_runs(folder: Path) -> list[Path]:
    """The folders of runs with rows, a manifest and claims: `folder` itself, or some below it."""
    places = [folder, *sorted(folder.glob("*")), *sorted(folder.glob("*/seed-*"))]
    return [
        place
        for place in places
        if all((place / name).exists() for name in ("manifest.json", "claims.json"))
        and any((place / name).exists() for name in ("ledger", "calculations"))
    ]


def concluded_again(
    run: KeptRun, written: Path | None
) -> Iterator[tuple[str, list[dict[str, Any]], str]]:
    """The studies of a kept run, concluded from its rows.

    Args:
        run: the kept run.
        written: where to write its claims.json, manifest and outcomes; None writes nothing.

    Yields:
        The name of each study, its claims, and what is missing.
    """
    seen = contextlib.nullcontext() if run.data is None else assume_available(run.data)
    with tempfile.TemporaryDirectory() as scratch, seen:
        place = Path(scratch)
        _copy_rows(run.folder, place)
        claims: list[dict[str, Any]] = []
        with KeptRows(scratch, workers=0) as lab:
            make_outcomes(place)
            for name in run.studies():
                own, words = _from_rows(run, name, lab, place)
                claims += own
                yield name, own, words
        if written is not None:
            with explain_os_errors(f"make the folder {written}"):
                shutil.copytree(place / "outcomes", written / "outcomes", dirs_exist_ok=True)
                shutil.copy2(run.folder / "manifest.json", written / "manifest.json")
            write_json(written / "claims.json", claims)


def _copy_rows(source: Path, target: Path) -> None:
    """Copy rows: opening a ledger may compact it.

    Raises:
        SeparatrixError: separatrix did not make the folder.
    """
    if not is_regular(source / "separatrix.json"):
        raise SeparatrixError(f"{source} was not made by separatrix: it has no separatrix.json")
    for name in ROWS:
        here, there = source / name, target / name
        if here.is_dir():
            there.mkdir()
            with explain_os_errors(f"read the folder {here}"):
                for file in sorted(file for file in here.iterdir() if is_regular(file)):
                    shutil.copy2(file, there / file.name)
        elif is_regular(here):
            shutil.copy2(here, there)


def _from_rows(run: KeptRun, name: str, lab: Lab, place: Path) -> tuple[list[dict[str, Any]], str]:
    """The claims of one study from kept rows, and what is missing."""
    job, command = run.job(name), run.command(name)
    try:
        return run_job(job, lab, place, run.scale, run.seed, command), ""
    except MissingRows as error:
        about = {"study": name, "scale": run.scale, "seed": run.seed, "command": command}
        reason = f"the kept rows do not suffice: {error}"
        findings = [
            Finding(claim, "not measured", reason, conditions_met=None).plain() | about
            for claim in job.study.claims
        ]
        return findings, str(error)
