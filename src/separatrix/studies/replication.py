"""Replication: the same studies on several seeds, and verdicts from kept rows.

A verdict that counts is unanimous over seeds that were written down before; otherwise the claim is
undecided, and says how many seeds agree. Verdicts can be recomputed from the rows of kept trials
without training anything.
"""

import collections
import contextlib
import dataclasses
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from separatrix.engine import Lab, Plan, Sweep
from separatrix.engine.manifest import read_manifest
from separatrix.engine.store.table import Table
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.files import explain_os_errors, is_regular, read_json, write_json
from separatrix.studies.claims import Finding
from separatrix.studies.runner import Job, jobs, run_jobs

NOT_RUN = "not run"  # in place of the verdict of a seed that did not run a claim's study
ROWS = ("ledger", "calculations", "separatrix.json")  # what verdicts can be recomputed from


def read_seeds(text: str) -> tuple[int, ...]:
    """Seeds from a list such as 101,102,103, or from a file with such a list.

    Args:
        text: the list, or the path of a file such as `evidence/seeds`; lines of the file that
            start with # are comments.

    >>> read_seeds("101,102,103")
    (101, 102, 103)
    """
    numbers = text
    if not re.search(r"^[\d,\s-]*$", text) and Path(text).is_file():
        with explain_os_errors(f"read {text}"):
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        numbers = " ".join(line for line in lines if not line.lstrip().startswith("#"))
    try:
        seeds = tuple(int(part) for part in re.split(r"[,\s]+", numbers.strip()) if part)
    except ValueError:
        seeds = ()
    if not seeds or len(set(seeds)) < len(seeds) or not all(0 <= s <= 10**6 for s in seeds):
        raise ParameterError(
            "a replication",
            "seeds",
            "different integers such as 101,102 or a file of them",
            text,
        )
    return seeds


def run_seeds(
    seeds: Sequence[int],
    folder: Path,
    run_one: Callable[[Path, int], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Run studies once per seed and pool their claims.

    Args:
        seeds: one run each, in the folder `seed-N`.
        folder: where the pooled claims.json and the folders of the runs are.
        run_one: runs the studies in a folder with a seed; returns the findings, as in claims.json.

    Returns:
        The pooled claims.
    """
    pooled = pool_studies({seed: run_one(folder / f"seed-{seed}", seed) for seed in seeds})
    write_pooled(folder, pooled, seeds)
    return pooled


def write_pooled(folder: Path, pooled: list[dict[str, Any]], seeds: Sequence[int]) -> None:
    """Write pooled claims, all manifests as one, and for each study the outcome of its first seed.

    Captions and titles say which seed the figures and tables show.

    Args:
        folder: the folder that holds the runs as `seed-N`.
        pooled: their pooled claims.
        seeds: their seeds.
    """
    write_json(folder / "claims.json", pooled)
    runs = [run for seed in seeds for run in read_manifest(folder / f"seed-{seed}")]
    write_json(folder / "manifest.json", {"runs": runs})
    with explain_os_errors("make the folder of outcomes"):
        (folder / "outcomes").mkdir(exist_ok=True)
    for study, seed in {claim["study"]: claim["seed"] for claim in pooled}.items():
        name = f"{study}.json"
        outcome = read_json(folder / f"seed-{seed}" / "outcomes" / name)
        write_json(folder / "outcomes" / name, _of_one_seed(outcome, seed, seeds))


def _of_one_seed(outcome: dict[str, Any], seed: int, seeds: Sequence[int]) -> dict[str, Any]:
    """An outcome whose figures and tables say that they are of one seed of several."""
    if len(seeds) == 1:
        return outcome
    figures = [
        figure | {"caption": f"{figure['caption']} Shown is seed {seed}.".strip()}
        for figure in outcome["figures"]
    ]
    tables = [table | {"title": f"{table['title']} (seed {seed})"} for table in outcome["tables"]]
    return outcome | {"figures": figures, "tables": tables}


def pool_studies(runs: Mapping[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The claims of several seeds as one list; a study may be missing from the runs of some seeds.

    Args:
        runs: the entries of claims.json by seed.

    Returns:
        One entry per claim, as `pool_claims` makes it from the seeds that have its study. In
        `seeds`, the other seeds are "not run".

    >>> entry = {"id": "a.b", "study": "s", "verdict": "supported", "reason": "", "evidence": []}
    >>> pool_studies({1: [entry], 2: []})[0]["seeds"]
    {'1': 'supported', '2': 'not run'}
    """
    studies = dict.fromkeys(claim["study"] for claims in runs.values() for claim in claims)
    out = []
    for study in studies:
        own = {
            seed: [claim for claim in claims if claim["study"] == study]
            for seed, claims in runs.items()
        }
        there = {seed: claims for seed, claims in own.items() if claims}
        left_out = [str(seed) for seed in runs if seed not in there]
        for claim in pool_claims(there):
            if left_out:
                words = f"{len(there)} of {len(runs)} seeds were run; {claim['reason']}"
                verdicts = {str(seed): claim["seeds"].get(str(seed), NOT_RUN) for seed in runs}
                claim = claim | {"reason": words, "seeds": verdicts}
            out.append(claim)
    return out


def pool_claims(runs: Mapping[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The claims of several seeds as one list: unanimous verdicts, or undecided.

    Args:
        runs: the entries of claims.json by seed.

    Returns:
        One entry per claim. `seeds` maps each seed to its verdict; numbers are averages over seeds.

    Raises:
        SeparatrixError: the runs do not have the same claims.

    >>> entry = {"id": "lahoti.order", "verdict": "supported", "reason": "clear", "evidence": []}
    >>> pooled = pool_claims({1: [entry], 2: [{**entry, "verdict": "undecided"}]})
    >>> pooled[0]["verdict"], pooled[0]["reason"]
    ('undecided', '1 of 2 seeds: supported (1), undecided (2); seed 1: clear')
    """
    if not runs:
        raise SeparatrixError("there are no runs to pool")
    tables = {seed: {claim["id"]: claim for claim in claims} for seed, claims in runs.items()}
    first = next(iter(tables))
    for seed, table in tables.items():
        if set(table) != set(tables[first]):
            odd = sorted(set(table) ^ set(tables[first]))
            raise SeparatrixError(
                f"the runs of seeds {first} and {seed} have different claims, such as `{odd[0]}`"
            )
    return [
        _pooled({seed: table[name] for seed, table in tables.items()}) for name in tables[first]
    ]


def _pooled(entries: dict[int, dict[str, Any]]) -> dict[str, Any]:
    seeds = list(entries)
    out = dict(entries[seeds[0]])
    verdicts = {seed: entry["verdict"] for seed, entry in entries.items()}
    if len(seeds) == 1:
        return out | {"seeds": {str(seeds[0]): out["verdict"]}}
    counts = collections.Counter(verdicts.values())
    common, most = counts.most_common(1)[0]
    shared = f"seed {seeds[0]}: {out['reason']}"
    if most == len(seeds):
        out["reason"] = f"all {len(seeds)} seeds; {shared}"
    else:
        parts = ", ".join(
            f"{verdict} ({', '.join(str(s) for s in seeds if verdicts[s] == verdict)})"
            for verdict in dict.fromkeys(verdicts.values())
        )
        out["verdict"] = "undecided"
        out["reason"] = f"{most} of {len(seeds)} seeds: {parts}; {shared}"
        if "settle" in out:
            odd = next(entry for entry in entries.values() if entry["verdict"] != common)
            out["settle"] = odd.get("settle") or "more trials in each seed"
    met = {entry.get("conditions_met") for entry in entries.values()}
    out["conditions_met"] = None if None in met else met == {True}
    out["outside"] = next((e["outside"] for e in entries.values() if e.get("outside")), "")
    out["evidence"] = _pooled_evidence([entry.get("evidence", []) for entry in entries.values()])
    out["seeds"] = {str(seed): verdict for seed, verdict in verdicts.items()}
    out["seed"] = seeds[0]
    return out


def _pooled_evidence(lists: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Numbers that every seed has, as their averages with the intervals of independent runs."""
    tables = [{each["name"]: each for each in evidence} for evidence in lists]
    names = [name for name in tables[0] if all(name in table for table in tables)]
    return [_average([table[name] for table in tables]) for name in names]


def _average(numbers: list[dict[str, Any]]) -> dict[str, Any]:
    out = dict(numbers[0])
    estimates = [each["estimate"] for each in numbers]
    out["count"] = sum(each["count"] for each in numbers)
    if any(value is None for value in estimates):
        lows = [each["low"] for each in numbers]
        highs = [each["high"] for each in numbers]
        out["estimate"] = None
        out["low"] = None if None in lows else min(lows)
        out["high"] = None if None in highs else max(highs)
        return out
    out["estimate"] = sum(estimates) / len(estimates)
    for side in ("low", "high"):
        ends = [each[side] for each in numbers]
        if None in ends:
            out[side] = None
            continue
        half = math.hypot(*(end - value for end, value in zip(ends, estimates))) / len(ends)
        out[side] = out["estimate"] + (half if side == "high" else -half)
    out["method"] = f"mean over {len(numbers)} seeds of: {out.get('method') or 'estimates'}"
    out["spread"] = [min(estimates), max(estimates)]
    return out


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
    separatrix.studies.replication.MissingRows: 2 of 2 rows of `trials` are not kept
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


def recompute(folder: Path) -> Recomputed:
    """Recompute every verdict from the rows that a folder keeps, without training anything.

    Args:
        folder: a results folder, or one that holds some (such as `evidence`).

    Returns:
        The verdicts. Claims of a study whose rows are incomplete are `not measured`.

    Raises:
        SeparatrixError: the folder keeps no rows.
    """
    runs = kept_runs(folder)
    if not runs:
        raise SeparatrixError(
            f"{folder} keeps no rows of trials; `separatrix verify --out {folder}` makes some"
        )
    by_study: dict[str, dict[int, list[dict[str, Any]]]] = {}
    missing: dict[str, str] = {}
    before: dict[str, set[str]] = {}
    for run in runs:
        scale, seed, changes, kept = _how_it_ran(run)
        for claim in kept:
            before.setdefault(claim["id"], set()).add(claim["verdict"])
        names = list(dict.fromkeys(claim["study"] for claim in kept))
        for name in names:
            several = len(names) > 1
            own = [text for text in changes if text.startswith(f"{name}.") or not several]
            job = jobs([name], scale, seed, own)[0]
            claims, words = _from_rows(run, job, scale, seed)
            if words:
                missing[f"{name}, seed {seed}"] = words
            by_study.setdefault(name, {})[seed] = claims
    claims = [claim for seeds in by_study.values() for claim in pool_claims(seeds)]
    agreed = {name: min(own) if len(own) == 1 else "undecided" for name, own in before.items()}
    changed = [c["id"] for c in claims if agreed.get(c["id"], c["verdict"]) != c["verdict"]]
    return Recomputed(claims, tuple(changed), missing)


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


def _how_it_ran(run: Path) -> tuple[str, int, list[str], list[dict[str, Any]]]:
    """The scale, the seed, the changes of settings and the claims of a kept run."""
    manifest, claims = read_manifest(run), kept_claims(run / "claims.json")
    settings = manifest[0].get("settings") if manifest and isinstance(manifest[0], dict) else None
    settings = settings if isinstance(settings, dict) else {}
    scale, seed, changes = (settings.get(key) for key in ("scale", "seed", "changes"))
    if not (
        isinstance(scale, str)
        and isinstance(seed, int)
        and isinstance(changes := changes or [], list)
        and all(isinstance(change, str) for change in changes)
    ):
        raise SeparatrixError(
            f"the manifest.json of {run} does not say its scale, seed and changes; "
            "run `separatrix verify` again"
        )
    return scale, seed, changes, claims


def kept_runs(folder: Path) -> list[Path]:
    """The folders of runs with rows, a manifest and claims: `folder` itself, or some below it."""
    places = [folder, *sorted(folder.glob("*")), *sorted(folder.glob("*/seed-*"))]
    return [
        place
        for place in places
        if all((place / name).exists() for name in ("manifest.json", "claims.json"))
        and any((place / name).exists() for name in ("ledger", "calculations"))
    ]


def _from_rows(run: Path, job: Job, scale: str, seed: int) -> tuple[list[dict[str, Any]], str]:
    """The claims of one study from kept rows, and what is missing."""
    command = f"separatrix verify --from {run}"
    with tempfile.TemporaryDirectory() as scratch:
        # A copy: opening a ledger may compact it.
        for name in ROWS:
            source, target = run / name, Path(scratch) / name
            if source.is_dir():
                target.mkdir()
                with explain_os_errors(f"read the folder {source}"):
                    files = sorted(file for file in source.iterdir() if is_regular(file))
                    for file in files:
                        shutil.copy2(file, target / file.name)
            elif is_regular(source):
                shutil.copy2(source, target)
        with contextlib.ExitStack() as stack:
            lab = stack.enter_context(KeptRows(scratch, workers=0, command=command))
            try:
                return run_jobs([job], lab, scale, seed, command), ""
            except MissingRows as error:
                about = {"study": job.study.name, "scale": scale, "seed": seed, "command": command}
                reason = f"the kept rows do not suffice: {error}"
                findings = [
                    Finding(claim, "not measured", reason, conditions_met=None).plain() | about
                    for claim in job.study.claims
                ]
                return findings, str(error)
