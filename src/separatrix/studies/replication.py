"""Replication: the same studies on several seeds.

A verdict that counts is unanimous over seeds that were written down before; otherwise the claim is
undecided, and says how many seeds agree.
"""

import collections
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from separatrix.engine.manifest import read_manifest
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.files import explain_os_errors, read_json, write_json

NOT_RUN = "not run"  # in place of the verdict of a seed that did not run a claim's study


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
