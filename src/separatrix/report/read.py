"""Reading what a run left on disk: whole and well formed, or one sentence that says what is wrong."""

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

from separatrix.errors import SeparatrixError, shown
from separatrix.studies import Figure, Heatmap, figure_from

VERDICTS = ("supported", "refuted", "undecided")
ROLES = ("measured", "samples", "law", "bound", "baseline")
# Characters that neither XML nor a terminal can show, and halves of surrogate pairs, which UTF-8
# cannot write.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_WORDS = {str: "text", list: "a list", dict: "an object", int: "an integer", bool: "true or false"}


@dataclasses.dataclass(frozen=True)
class RunFiles:
    """What a run folder holds: claims, outcomes by study, and the runs of its manifest (the newest
    first).

    >>> RunFiles([], {}, {}, []).claims
    []
    """

    claims: list[dict[str, Any]]
    outcomes: dict[str, dict[str, Any]]
    figures: dict[str, list[Figure | Heatmap]]
    runs: list[dict[str, Any]]


def read_run(folder: str | os.PathLike[str]) -> RunFiles:
    """Everything that a report needs from a run folder.

    >>> read_run("no-such-folder")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no folder no-such-folder; run `separatrix verify --out no-such-folder` first
    """
    path = Path(folder)
    claims = read_claims(path)
    outcomes, figures = read_outcomes(path)
    for claim in claims:
        if claim.get("study") and claim["study"] not in outcomes:
            raise SeparatrixError(
                f"claims.json names the study {claim['study']!r}, whose file in outcomes/ is missing; run it again"
            )
    return RunFiles(claims, outcomes, figures, _read_runs(path / "manifest.json"))


def read_claims(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The claims of a run, or of evidence kept of one.

    >>> read_claims("no-such-folder")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no folder no-such-folder; run `separatrix verify --out no-such-folder` first
    """
    path = Path(folder)
    if not path.is_dir():
        raise SeparatrixError(
            f"there is no folder {path}; run `separatrix verify --out {path}` first"
        )
    if not (path / "claims.json").exists():
        raise SeparatrixError(
            f"{path} holds no claims.json; run `separatrix verify --out {path}` first"
        )
    claims = _read(path / "claims.json", list)
    for claim in claims:
        _check_claim(claim, "claims.json")
    return claims


def read_outcomes(
    folder: str | os.PathLike[str],
) -> tuple[dict[str, dict[str, Any]], dict[str, list[Figure | Heatmap]]]:
    """The outcomes of the studies that a folder holds, and their figures, by the study's name.

    >>> read_outcomes("no-such-folder")
    ({}, {})
    """
    path = Path(folder)
    outcomes, figures = {}, {}
    for file in sorted((path / "outcomes").glob("*.json")) if (path / "outcomes").is_dir() else []:
        if file.name.startswith("."):
            continue
        outcome = _read(file, dict)
        name = _need(outcome, "study", str, f"outcomes/{file.name}")
        figures[name] = _check_outcome(outcome, f"outcomes/{file.name}")
        outcomes[name] = outcome
    return outcomes, figures


def readable(item: Any) -> Any:
    """The same plain values without what cannot be shown: characters are replaced, numbers beyond
    all bounds left out.

    >>> readable({"name": ["bad\\x00name", float("nan")]})
    {'name': ['bad�name', None]}
    """
    if isinstance(item, str):
        return _UNPRINTABLE.sub("\ufffd", item)
    if isinstance(item, int | float) and not abs(item) <= 1e300:
        return None
    if isinstance(item, list):
        return [readable(each) for each in item]
    if isinstance(item, dict):
        return {readable(key): readable(each) for key, each in item.items()}
    return item


def _read(file: Path, kind: type) -> Any:
    try:
        value = readable(json.loads(file.read_text(encoding="utf-8")))
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
    if not file.exists():
        return []
    runs = _need(_read(file, dict), "runs", list, "manifest.json")
    if not all(isinstance(run, dict) for run in runs):
        raise SeparatrixError(
            "manifest.json is damaged: its `runs` must be objects; run the study again"
        )
    return runs


def _need(data: Any, key: str, kind: type, where: str) -> Any:
    value = data.get(key) if isinstance(data, dict) else None
    if not isinstance(value, kind):
        raise SeparatrixError(
            f"{where} is damaged: its `{key}` must be {_WORDS[kind]}, got {shown(value)}; run the study again"
        )
    return value


def _check_claim(claim: Any, where: str) -> None:
    for key in ("id", "paper", "statement"):
        _need(claim, key, str, where)
    if claim.get("verdict") not in VERDICTS:
        raise SeparatrixError(
            f"{where} is damaged: the verdict of {claim['id']} must be one of {', '.join(VERDICTS)}, "
            f"got {shown(claim.get('verdict'))}; run the study again"
        )
    if not isinstance(claim.get("conditions_met"), bool | None):
        _need(claim, "conditions_met", bool, where)
    for key in (
        "source",
        "citation",
        "conditions",
        "reason",
        "outside",
        "study",
        "scale",
        "command",
    ):
        if claim.get(key) is not None:
            _need(claim, key, str, where)
    for evidence in _need(claim, "evidence", list, where):
        _need(evidence, "name", str, where)
        _numbers(
            [
                evidence.get(key)
                for key in ("estimate", "low", "high", "count", "level", "reference")
            ],
            "evidence",
            where,
        )
        if evidence.get("method") is not None:
            _need(evidence, "method", str, where)
        if evidence.get("baselines") is not None:
            _numbers(list(_need(evidence, "baselines", dict, where).values()), "baselines", where)


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
                raise SeparatrixError(
                    f"{where} is damaged: a row of the table {table['title']!r} does not fit its columns"
                )
    if outcome.get("settings") is not None:
        _need(outcome, "settings", dict, where)
    return [_figure(plain, where) for plain in _need(outcome, "figures", list, where)]


def _figure(plain: Any, where: str) -> Figure | Heatmap:
    for key in ("name", "title", "caption"):
        _need(plain, key, str, where)
    for key in ("x", "y"):
        _need(_need(plain, key, dict, where), "label", str, where)
    if "hatched" in plain:
        _check_cells(plain, where)
    for series in [] if "hatched" in plain else _need(plain, "series", list, where):
        _need(series, "label", str, where)
        size = len(_need(series, "x", list, where))
        for key in ("y", "low", "high", "seeds"):
            values = _need(series, key, list, where) if key in series or key == "y" else []
            _numbers(values, key, where)
            if len(values) != size and (key == "y" or values):
                raise SeparatrixError(
                    f"{where} is damaged: the `{key}` of {series['label']!r} has {len(values)} values for {size} points"
                )
        if series.get("role", "measured") not in ROLES or any(
            isinstance(each, list | dict) for each in series["x"]
        ):
            raise SeparatrixError(
                f"{where} is damaged: the series {series['label']!r} cannot be drawn; run the study again"
            )
    try:
        return figure_from(plain)
    except (KeyError, TypeError, AttributeError) as error:
        raise SeparatrixError(
            f"{where} is damaged: its figure {plain['name']!r} cannot be read; run the study again"
        ) from error


def _check_cells(plain: dict[str, Any], where: str) -> None:
    """The grids of a map have a row for each of its rows and an entry for each of its columns."""
    _need(_need(plain, "z", dict, where), "label", str, where)
    height, width = (
        len(_need(plain, "rows", list, where)),
        len(_need(plain, "columns", list, where)),
    )
    for key, kind in (("values", None), ("texts", str), ("hatched", bool)):
        grid = _need(plain, key, list, where)
        if len(grid) != height or not all(
            isinstance(row, list) and len(row) == width for row in grid
        ):
            raise SeparatrixError(
                f"{where} is damaged: the `{key}` of {plain['name']!r} do not fit its rows and columns; run the study again"
            )
        for row in grid:
            if kind is None:
                _numbers(row, key, where)
            elif not all(isinstance(each, kind) for each in row):
                raise SeparatrixError(
                    f"{where} is damaged: the `{key}` of {plain['name']!r} must be {_WORDS[kind]}; run the study again"
                )


def _numbers(values: list[Any], key: str, where: str) -> None:
    for value in values:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise SeparatrixError(
                f"{where} is damaged: its `{key}` must hold numbers, got {shown(value)}; run the study again"
            )
