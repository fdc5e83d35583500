"""Reading the files of a run: complete and well formed, or one sentence that says what is wrong."""

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

from separatrix.engine.store.ledger import check_mark
from separatrix.errors import SeparatrixError, shown
from separatrix.files import explain_os_errors, read_regular
from separatrix.studies import Figure, Heatmap, figure_from
from separatrix.studies.kinds import VERDICTS as VERDICTS
from separatrix.studies.replication import NOT_RUN

ROLES = ("measured", "samples", "law", "bound", "floor", "baseline")
# Characters that neither XML nor a terminal can show, and halves of surrogate pairs, which UTF-8
# cannot write.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_WORDS = {str: "text", list: "a list", dict: "an object", int: "an integer", bool: "true or false"}
_CLAIM_TEXTS = (
    "source",
    "citation",
    "conditions",
    "reason",
    "outside",
    "study",
    "scale",
    "command",
    "kind",
    "rule",
    "formula",
    "settle",
)


@dataclasses.dataclass(frozen=True)
class RunFiles:
    """The content of a run's folder.

    `outcomes` and `figures` are by study; `runs` are those of the manifest, the newest first.
    """

    claims: list[dict[str, Any]]
    outcomes: dict[str, dict[str, Any]]
    figures: dict[str, list[Figure | Heatmap]]
    runs: list[dict[str, Any]]


def read_run(folder: str | os.PathLike[str]) -> RunFiles:
    """Everything that a report needs from a run's folder.

    >>> read_run("no-such-folder")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no folder no-such-folder; run `separatrix verify
    --out no-such-folder` first
    """
    path = Path(folder)
    claims = read_claims(path)
    outcomes, figures = read_outcomes(path)
    for claim in claims:
        study = _need(claim, "study", str, "claims.json")
        if study not in outcomes:
            raise SeparatrixError(
                f"claims.json names the study {study!r}, whose file in outcomes/ is missing; "
                "run it again"
            )
    check_consistent(claims, outcomes)
    return RunFiles(claims, outcomes, figures, _read_runs(path / "manifest.json"))


def check_consistent(claims: list[dict[str, Any]], outcomes: dict[str, dict[str, Any]]) -> None:
    """Check that the claims of a run are those that its outcomes found.

    Raises:
      SeparatrixError: if a claim is there twice, differs from the finding in its outcome, or if
        an outcome has a finding that is not among the claims.

    >>> claim = {"id": "a.b", "verdict": "supported", "study": "s"}
    >>> check_consistent([claim], {"s": {"findings": [{"id": "a.b", "verdict": "refuted"}]}})
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: claims.json says that a.b is supported, and outcomes/ that it
    is refuted; run the study again
    """
    seen: set[str] = set()
    for claim in claims:
        name, outcome = claim["id"], outcomes.get(claim.get("study") or "")
        if name in seen:
            raise _damaged("claims.json", f"it has the claim {name} twice")
        seen.add(name)
        if outcome is None:
            continue
        findings = outcome.get("findings")
        finding = next(
            (each for each in findings or [] if isinstance(each, dict) and each.get("id") == name),
            None,
        )
        if finding is None:
            raise SeparatrixError(
                f"claims.json has the claim {name}, which the outcome of its study lacks; "
                "run the study again"
            )
        # Of several seeds, a claim pools the verdicts, and the outcome is that of the first.
        seeds = claim.get("seeds")
        seeds = seeds if isinstance(seeds, dict) else {}
        seeds = {seed: each for seed, each in seeds.items() if each != NOT_RUN}
        pooled = len(seeds) > 1
        verdict = claim["verdict"]
        if pooled:
            verdicts = {str(each) for each in seeds.values()}
            agreed = verdicts.pop() if len(verdicts) == 1 else "undecided"
            if verdict != agreed:
                raise _damaged("claims.json", f"the seeds of {name} give {agreed}, not {verdict}")
            verdict = seeds.get(str(claim.get("seed")))
        if finding.get("verdict") != verdict:
            raise SeparatrixError(
                f"claims.json says that {name} is {verdict}, and outcomes/ that it is "
                f"{finding.get('verdict')}; run the study again"
            )
        if not pooled and finding.get("evidence", claim["evidence"]) != claim["evidence"]:
            raise SeparatrixError(
                f"claims.json and outcomes/ have different evidence for {name}; run the study again"
            )

    found = {
        (study, str(finding.get("id")))
        for study, outcome in outcomes.items()
        for finding in outcome.get("findings") or []
        if isinstance(finding, dict)
    }
    if left_out := sorted(found - {(str(claim.get("study")), claim["id"]) for claim in claims}):
        study, name = left_out[0]
        raise SeparatrixError(
            f"the outcome of {study} has the claim {name}, which claims.json lacks; "
            "run the study again"
        )


def read_claims(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The claims in the folder of a run or of evidence."""
    path = Path(folder)
    with explain_os_errors(f"read the folder {shown(str(path))}"):
        there, claimed = path.is_dir(), os.path.lexists(path / "claims.json")
        if there:
            os.listdir(path)
    if not there:
        raise SeparatrixError(
            f"there is no folder {path}; run `separatrix verify --out {path}` first"
        )
    if not claimed:
        raise SeparatrixError(
            f"{path} holds no claims.json; run `separatrix verify --out {path}` first"
        )
    check_mark(path)
    claims = _read(path / "claims.json", list)
    for claim in claims:
        _check_claim(claim, "claims.json")
    return claims


def read_outcomes(
    folder: str | os.PathLike[str],
) -> tuple[dict[str, dict[str, Any]], dict[str, list[Figure | Heatmap]]]:
    """The outcomes in a folder and their figures, by study.

    >>> read_outcomes("no-such-folder")
    ({}, {})
    """
    path = Path(folder)
    outcomes, figures = {}, {}
    with explain_os_errors(f"read the folder {path / 'outcomes'}"):
        names = os.listdir(path / "outcomes") if (path / "outcomes").is_dir() else []
    for file in sorted(path / "outcomes" / name for name in names):
        if file.name.startswith(".") or file.suffix != ".json":
            continue
        outcome = _read(file, dict)
        name = _need(outcome, "study", str, f"outcomes/{file.name}")
        if name in outcomes:
            raise SeparatrixError(
                f"outcomes/ has two outcomes of the study {name}, the second in {file.name}; "
                "move one of them away"
            )
        figures[name] = _check_outcome(outcome, f"outcomes/{file.name}")
        outcomes[name] = outcome
    return outcomes, figures


def readable(value: Any) -> Any:
    """The same plain values with unprintable characters replaced and huge numbers removed.

    >>> readable({"name": ["bad\\x00name", float("nan")]})
    {'name': ['bad�name', None]}
    """
    if isinstance(value, str):
        return _UNPRINTABLE.sub("\ufffd", value)
    if isinstance(value, int | float) and not abs(value) <= 1e300:
        return None
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, dict):
        return {readable(key): readable(item) for key, item in value.items()}
    return value


def _damaged(where: str, problem: str) -> SeparatrixError:
    return SeparatrixError(f"{where} is damaged: {problem}; run the study again")


def _read(file: Path, kind: type) -> Any:
    try:
        value = readable(json.loads(read_regular(file).decode("utf-8")))
    except OSError as error:
        raise SeparatrixError(f"cannot read {file}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise SeparatrixError(f"{file} is damaged (it is not JSON); run the study again") from error
    if not isinstance(value, kind):
        raise SeparatrixError(
            f"{file} is damaged (it must hold {_WORDS[kind]}); run the study again"
        )
    return value


def _read_runs(file: Path) -> list[dict[str, Any]]:
    if not os.path.lexists(file):
        return []
    runs = _need(_read(file, dict), "runs", list, "manifest.json")
    if not all(isinstance(run, dict) for run in runs):
        raise _damaged("manifest.json", "its `runs` must be objects")
    return runs


def _need(data: Any, key: str, kind: type, where: str) -> Any:
    value = data.get(key) if isinstance(data, dict) else None
    if not isinstance(value, kind):
        raise _damaged(where, f"its `{key}` must be {_WORDS[kind]}, got {shown(value)}")
    return value


def _check_claim(claim: Any, where: str) -> None:
    for key in ("id", "paper", "statement"):
        _need(claim, key, str, where)
    if claim.get("verdict") not in VERDICTS:
        verdict = shown(claim.get("verdict"))
        raise _damaged(
            where,
            f"the verdict of {claim['id']} must be one of {', '.join(VERDICTS)}, got {verdict}",
        )
    if not isinstance(claim.get("conditions_met"), bool | None):
        _need(claim, "conditions_met", bool, where)
    for key in _CLAIM_TEXTS:
        if claim.get(key) is not None:
            _need(claim, key, str, where)
    _check_numbers([claim.get("level"), claim.get("effort")], "level", where)
    for evidence in _need(claim, "evidence", list, where):
        _need(evidence, "name", str, where)
        keys = ("estimate", "low", "high", "count", "level", "reference")
        _check_numbers([evidence.get(key) for key in keys], "evidence", where)
        if evidence.get("method") is not None:
            _need(evidence, "method", str, where)
        if evidence.get("baselines") is not None:
            baselines = _need(evidence, "baselines", dict, where)
            _check_numbers(list(baselines.values()), "baselines", where)


def _check_outcome(outcome: dict[str, Any], where: str) -> list[Figure | Heatmap]:
    for key in ("title", "summary", "command"):
        _need(outcome, key, str, where)
    for note in _need(outcome, "notes", list, where):
        for key in ("severity", "message"):
            _need(note, key, str, where)
    for table in _need(outcome, "tables", list, where):
        _need(table, "title", str, where)
        width = len(_need(table, "columns", list, where))
        for row in _need(table, "rows", list, where):
            if not isinstance(row, list) or len(row) != width:
                raise _damaged(
                    where, f"a row of the table {table['title']!r} does not fit its columns"
                )
    if outcome.get("settings") is not None:
        _need(outcome, "settings", dict, where)
    return [_read_figure(plain, where) for plain in _need(outcome, "figures", list, where)]


def _read_figure(plain: Any, where: str) -> Figure | Heatmap:
    for key in ("name", "title", "caption"):
        _need(plain, key, str, where)
    for key in ("x", "y"):
        _need(_need(plain, key, dict, where), "label", str, where)
    if "hatched" in plain:
        _check_cells(plain, where)
    else:
        for series in _need(plain, "series", list, where):
            _check_series(series, where)
    try:
        return figure_from(plain)
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(where, f"its figure {plain['name']!r} cannot be read") from error


def _check_series(series: Any, where: str) -> None:
    label = _need(series, "label", str, where)
    size = len(_need(series, "x", list, where))
    for key in ("y", "low", "high", "seeds"):
        values = _need(series, key, list, where) if key in series or key == "y" else []
        _check_numbers(values, key, where)
        if len(values) != size and (key == "y" or values):
            raise _damaged(
                where, f"the `{key}` of {label!r} has {len(values)} values for {size} points"
            )
    nested = any(isinstance(value, list | dict) for value in series["x"])
    if series.get("role", "measured") not in ROLES or nested:
        raise _damaged(where, f"the series {label!r} cannot be drawn")


def _check_cells(plain: dict[str, Any], where: str) -> None:
    """Each grid of a map must fit the map's rows and columns."""
    _need(_need(plain, "z", dict, where), "label", str, where)
    ends = plain.get("ends")
    if ends is not None:
        _check_numbers(_need(plain, "ends", list, where), "ends", where)
        if (
            len(ends) != 2
            or None in ends
            or not ends[0] < ends[1]
            or (plain["z"].get("log") and ends[0] <= 0)
        ):
            raise _damaged(where, f"the `ends` of {plain['name']!r} must be two ascending numbers")
    height = len(_need(plain, "rows", list, where))
    width = len(_need(plain, "columns", list, where))
    for key, kind in (("values", None), ("texts", str), ("hatched", bool)):
        grid = _need(plain, key, list, where)
        name = f"the `{key}` of {plain['name']!r}"
        rows_fit = all(isinstance(row, list) and len(row) == width for row in grid)
        if len(grid) != height or not rows_fit:
            raise _damaged(where, f"{name} do not fit its rows and columns")
        for row in grid:
            if kind is None:
                _check_numbers(row, key, where)
            elif not all(isinstance(value, kind) for value in row):
                raise _damaged(where, f"{name} must be {_WORDS[kind]}")


def _check_numbers(values: list[Any], key: str, where: str) -> None:
    for value in values:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise _damaged(where, f"its `{key}` must hold numbers, got {shown(value)}")
