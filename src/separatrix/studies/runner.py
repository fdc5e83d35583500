"""Running studies: from names and a scale to claims.json and one outcome file per study."""

import contextlib
import dataclasses
import itertools
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from separatrix.engine import Lab, Plan, ShardWaits, Sweep
from separatrix.engine.manifest import study_facts
from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.files import explain_os_errors, write_json
from separatrix.studies.claims import check_unique
from separatrix.studies.live import live_run, update_live
from separatrix.studies.registry import PLACES, find_study
from separatrix.studies.settings import plain_settings
from separatrix.studies.study import Study
from separatrix.units import human_seconds


def split_changes(changes: list[str], names: list[str]) -> dict[str, dict[str, str]]:
    """Sort changes such as `signal.seeds=3` by study.

    Args:
        changes: texts of the form `study.setting=value`. With one study its name may be left out.
            A setting may itself be dotted, as in `stability.flat.steps=100`.
        names: the studies of the run.

    Returns:
        For each study the text of every changed setting, by its name.

    Raises:
        SeparatrixError: a change has another form, or names no study of the run.

    >>> split_changes(["seeds=3"], ["signal-first"])
    {'signal-first': {'seeds': '3'}}
    """
    out: dict[str, dict[str, str]] = {name: {} for name in names}
    for change in changes:
        path, equals, text = change.partition("=")
        head, dot, rest = path.strip().partition(".")
        if not equals or not (rest if dot else head):
            raise SeparatrixError(
                f"a change must have the form study.setting=value, got {change!r}"
            )
        if dot and head in out:
            study, setting = head, rest
        elif dot and (len(names) > 1 or head in PLACES):
            raise UnknownNameError("study in this run", head, out)
        elif len(names) > 1:
            raise SeparatrixError(
                f"with several studies a change must name its study, as in {names[0]}.{change}"
            )
        else:
            study, setting = names[0], path.strip()
        out[study][setting] = text.strip()
    return out


@dataclasses.dataclass(frozen=True)
class Job:
    """A study with its resolved settings."""

    study: Study[Any]
    settings: Any


def jobs(
    names: list[str], scale: str, seed: int = 0, changes: list[str] | None = None
) -> list[Job]:
    """The studies of a run with their settings resolved, before anything runs.

    Args:
        names: the names of the studies.
        scale: "quick", "laptop" or "full".
        seed: the run's `--seed`; runs with different seeds share no trial.
        changes: texts such as `seeds=3` or `signal.seeds=3` (see `split_changes`).

    Raises:
        SeparatrixError: a name is unknown, or a setting is not allowed.

    >>> jobs(["pattern-readout"], "quick", changes=["windows=2,3"])[0].settings.windows
    (2, 3)
    """
    studies = [find_study(name) for name in names]
    sorted_changes = split_changes(changes or [], names)
    return [
        Job(study, study.settings(scale, seed, sorted_changes[study.name])) for study in studies
    ]


def plan_jobs(run: list[Job], lab: Lab) -> dict[str, Plan]:
    """What each study would run now.

    >>> from separatrix.engine import Lab
    >>> plan_jobs(jobs(["signal-first"], "quick"), Lab())["signal-first"].trials
    54
    """
    return {
        job.study.name: lab.plan(sum(job.study.sweeps(job.settings).values(), Sweep(())))
        for job in run
    }


def expect_job(job: Job, lab: Lab) -> None:
    """Tell the laboratory what a study will probably run, so that idle workers compile it ahead.

    This is for quick runs, which mostly wait for the compiler. Building the sweeps of larger scales
    would take up to half a minute.

    >>> from separatrix.engine import Lab
    >>> expect_job(jobs(["signal-first"], "quick")[0], Lab(workers=0))
    """
    with contextlib.suppress(SeparatrixError):  # the study itself says what is wrong
        lab.expect(itertools.chain.from_iterable(job.study.sweeps(job.settings).values()))


def run_jobs(run: list[Job], lab: Lab, scale: str, seed: int, command: str) -> list[dict[str, Any]]:
    """Run studies one after another.

    Each outcome is written as soon as its study ends, so that an interrupted run keeps it.

    Args:
        run: the studies with their settings.
        lab: a laboratory with an output folder.
        scale: the scale, as outcomes say it.
        seed: the run's seed, as outcomes say it.
        command: the command that started the run, as outcomes say it.

    Returns:
        The findings of all studies, as in claims.json.

    Raises:
        SeparatrixError: the laboratory has no folder, or two claims of the studies have one id.

    >>> import tempfile
    >>> from separatrix.engine import Lab
    >>> run_jobs([], Lab(tempfile.mkdtemp()), "quick", 0, "")
    []
    """
    folder = lab.ledger.folder
    if folder is None:
        raise SeparatrixError("studies need an output folder")
    check_unique(claim for job in run for claim in job.study.claims)
    if run:
        lab.start()
    claims: list[dict[str, Any]] = []
    make_outcomes(folder)
    try:
        with live_run(lab, [job.study.name for job in run]):
            for job in run:
                claims += run_job(job, lab, folder, scale, seed, command)
        write_claims(folder, claims, [job.study.name for job in run])
    finally:
        lab.write_manifest()
    return claims


def make_outcomes(folder: Path) -> None:
    """Make the folder of outcomes in a results folder."""
    with explain_os_errors("make the folder of outcomes"):
        (folder / "outcomes").mkdir(exist_ok=True)


def run_job(
    job: Job, lab: Lab, folder: Path, scale: str, seed: int, command: str
) -> list[dict[str, Any]]:
    """Run one study and write its outcome; its findings, as in claims.json."""
    update_live(lab, study=job.study.name, what="", done=0, total=0)
    before, begin = lab.tally, time.monotonic()
    if scale == "quick":
        expect_job(job, lab)
    outcome = job.study.conclude(lab, job.settings).plain()
    outcome["findings"] = [
        with_command(finding, job.study, scale) for finding in outcome["findings"]
    ]
    about = {"scale": scale, "seed": seed, "command": command}
    head = {
        "study": job.study.name,
        "title": job.study.title,
        "summary": job.study.summary,
        "question": job.study.question or job.study.title,
        **about,
    }
    settings = json.loads(json.dumps(plain_settings(job.settings)))
    content = head | {"settings": settings} | outcome
    write_json(folder / "outcomes" / f"{job.study.name}.json", content)
    lab.studies[job.study.name] = study_facts(before, lab.tally, time.monotonic() - begin)
    return claims_of(content)


def claims_of(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of claims.json that an outcome file stands for.

    >>> outcome = {"study": "signal", "scale": "quick", "seed": 0, "command": "", "findings": []}
    >>> claims_of(outcome)
    []
    """
    about = {key: outcome[key] for key in ("study", "scale", "seed", "command")}
    return [finding | about for finding in outcome["findings"]]


def write_claims(folder: Path, claims: list[dict[str, Any]], names: Iterable[str]) -> None:
    """Write claims.json, and forget the outcomes of studies that are not in this run."""
    write_json(folder / "claims.json", claims)
    kept = set(names)
    for file in (folder / "outcomes").glob("*.json"):
        if file.stem not in kept:
            file.unlink()


def with_command(finding: dict[str, Any], study: Study[Any], scale: str) -> dict[str, Any]:
    """A finding whose `settle` also names the command that would settle it, and what it costs.

    Findings that are decided, and those of studies without kinds, stay as they are.

    Args:
        finding: the finding as plain values.
        study: the study that decides the claim.
        scale: the scale that it ran at.
    """
    if "settle" not in finding or finding["verdict"] in ("supported", "refuted"):
        return finding
    minutes, effort = study.full_minutes, finding.get("effort")
    command = f"`separatrix run {study.name} --scale full`"
    machine = study.full_machine
    cost = "" if minutes is None else f" ({human_seconds(60 * minutes)} on {machine})"
    if scale != "full":
        words = f"{command} measures more{cost}"
    elif finding["verdict"] == "not measured":
        words = "no scale of this study measures it"
    elif effort is None or minutes is None:
        words = f"the full scale has run{cost}; its settings decide how much is measured (--set)"
    else:
        words = f"that is about {human_seconds(60 * minutes * effort)} on {machine}"
    return finding | {"settle": "; ".join(filter(None, (finding["settle"], words)))}


def run_shard(run: list[Job], lab: Lab) -> dict[str, int]:
    """Run a shard's share of studies, as far as that goes without waiting for other shards.

    What a study asks for next may depend on earlier results, so it stops at the first sweep that is
    not complete. A last run without a shard gives the verdicts.

    Returns:
        For each study how many trials of other shards are missing.

    >>> import tempfile
    >>> from separatrix.engine import Lab, Shard
    >>> run_shard([], Lab(tempfile.mkdtemp(), shard=Shard(1, 2)))
    {}
    """
    missing: dict[str, int] = {}
    try:
        for job in run:
            try:
                job.study.conclude(lab, job.settings)
                missing[job.study.name] = 0
            except ShardWaits as waits:
                missing[job.study.name] = waits.missing
    finally:
        lab.write_manifest()
    return missing
