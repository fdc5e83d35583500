"""Two runs compared: which verdicts changed, and which numbers moved beyond their intervals."""

import dataclasses
import math
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

from separatrix.engine import read_manifest
from separatrix.report.content import flattened
from separatrix.report.read import check_consistent, read_claims, read_outcomes
from separatrix.studies import Figure, Heatmap

Rule = Literal["apart", "outside", "within", "differs", "equal"]
RULES: dict[Rule, str] = {
    "apart": "the two intervals do not overlap",
    "outside": "the intervals overlap, and one run's estimate is outside the other's interval",
    "differs": "the values differ, and at least one of them has no interval",
    "within": "each estimate is inside the other's interval",
    "equal": "neither value has an interval, and they are the same",
}
_SAME = 1e-9  # relative difference that rounding can make


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A measured number with its interval; an end that is None is open."""

    estimate: float | None
    low: float | None = None
    high: float | None = None

    @property
    def has_interval(self) -> bool:
        """Whether at least one end is known."""
        return self.low is not None or self.high is not None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, infinite where open."""
        return (
            -math.inf if self.low is None else self.low,
            math.inf if self.high is None else self.high,
        )


@dataclasses.dataclass(frozen=True)
class Move:
    """A number that both runs have, and the rule that its two values fall under."""

    kind: Literal["claim", "figure"]
    where: str
    name: str
    a: Quantity
    b: Quantity
    rule: Rule


@dataclasses.dataclass(frozen=True)
class RunComparison:
    """Two runs compared, as `compare_runs` returns it.

    Attributes:
      about_a: folder, scale, seed, device, version and commit of the first run.
      about_b: the same of the second run.
      settings: settings that differ, as (name, A, B).
      verdicts: claims whose verdict changed, as (id, A, B).
      numbers: all numbers that both runs have.
      only_a: names of numbers that only the first run has.
      only_b: names of numbers that only the second run has.

    >>> low, high = Quantity(1.0, 0.9, 1.1), Quantity(2.0, 1.8, 2.2)
    >>> move = Move("claim", "lahoti.order", "ratio", low, high, "apart")
    >>> comparison = RunComparison({}, {}, (), (), (move,), (), ())
    >>> comparison.counts["apart"], comparison.moved == (move,)
    (1, True)
    """

    about_a: dict[str, str]
    about_b: dict[str, str]
    settings: tuple[tuple[str, str, str], ...]
    verdicts: tuple[tuple[str, str, str], ...]
    numbers: tuple[Move, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def counts(self) -> dict[Rule, int]:
        """The number of numbers under each rule."""
        return {rule: sum(move.rule == rule for move in self.numbers) for rule in RULES}

    @property
    def moved(self) -> tuple[Move, ...]:
        """The numbers that differ, the clearest differences first."""
        order = list(RULES)
        moved = [move for move in self.numbers if move.rule in ("apart", "outside", "differs")]
        return tuple(sorted(moved, key=lambda move: order.index(move.rule)))

    def plain(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return {
            "a": self.about_a,
            "b": self.about_b,
            "settings": [{"name": name, "a": a, "b": b} for name, a, b in self.settings],
            "verdicts": [{"id": name, "a": a, "b": b} for name, a, b in self.verdicts],
            "moved": [dataclasses.asdict(move) for move in self.moved],
            "counts": self.counts,
            "rules": RULES,
            "expected_by_chance": expected_by_chance(self.numbers),
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
        }


def rule_of(a: Quantity, b: Quantity) -> Rule:
    """The rule that two measurements of one number fall under.

    >>> rule_of(Quantity(1.0, 0.5, 1.5), Quantity(3.0, 2.0, 4.0))
    'apart'
    >>> rule_of(Quantity(1.0, 0.5, 1.5), Quantity(1.6, 1.2, 2.0))
    'outside'
    >>> rule_of(Quantity(None, 64, None), Quantity(100.0, 80.0, 120.0))
    'within'
    """
    if not (a.has_interval and b.has_interval):
        if a.estimate is None or b.estimate is None:
            return "equal" if a == b else "differs"
        return (
            "equal"
            if math.isclose(a.estimate, b.estimate, rel_tol=_SAME, abs_tol=0.0)
            else "differs"
        )
    (low_a, high_a), (low_b, high_b) = a.ends, b.ends
    if high_a < low_b or high_b < low_a:
        return "apart"
    inside_b = a.estimate is None or low_b <= a.estimate <= high_b
    inside_a = b.estimate is None or low_a <= b.estimate <= high_a
    return "within" if inside_a and inside_b else "outside"


def expected_by_chance(numbers: tuple[Move, ...], level: float = 0.95) -> dict[str, float]:
    """How many numbers with two intervals would fall under each rule if nothing differed.

    This assumes independent, normal estimates with equal and known errors. Two intervals at level
    95 % then do not overlap in 0.6 % of cases, and in 17 % an estimate is outside the other's
    interval. Numbers that share trials are not independent, so these are means, not bounds.

    >>> both = Quantity(1.0, 0.0, 2.0)
    >>> moves = (Move("claim", "c", "x", both, both, "within"),) * 100
    >>> {rule: round(count, 2) for rule, count in expected_by_chance(moves).items()}
    {'apart': 0.56, 'outside': 16.02}
    """
    count = sum(move.a.has_interval and move.b.has_interval for move in numbers)
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2)
    apart, outside = (2 * normal.cdf(-widths * reach / math.sqrt(2)) for widths in (2, 1))
    return {"apart": count * apart, "outside": count * (outside - apart)}


def compare_runs(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> RunComparison:
    """Compare two runs.

    Args:
      a: the folder of a run, or of evidence that `write_evidence` wrote (claims without figures).
      b: another one.

    Returns:
      A `RunComparison`: settings and verdicts that differ, and every number of both runs with the
      rule that it falls under.

    Raises:
      SeparatrixError: where a folder holds no run or a damaged one.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> compare_runs(folder, folder).moved
    ()
    """
    listed = [read_claims(folder) for folder in (a, b)]
    (outcomes_a, figures_a), (outcomes_b, figures_b) = read_outcomes(a), read_outcomes(b)
    for claims, outcomes in zip(listed, (outcomes_a, outcomes_b)):
        check_consistent(claims, outcomes)
    claims_a, claims_b = ({claim["id"]: claim for claim in claims} for claims in listed)
    verdicts = tuple(
        (name, claim["verdict"], claims_b[name]["verdict"])
        for name, claim in claims_a.items()
        if name in claims_b and claim["verdict"] != claims_b[name]["verdict"]
    )
    quantities_a, quantities_b = (
        dict(_quantities(claims, figures))
        for claims, figures in ((claims_a, figures_a), (claims_b, figures_b))
    )
    numbers = tuple(
        Move(*key, quantity, quantities_b[key], rule_of(quantity, quantities_b[key]))
        for key, quantity in quantities_a.items()
        if key in quantities_b
    )
    only_a, only_b = (
        tuple(
            f"{where}: {name}"
            for kind, where, name in one
            if (kind, where, name) not in other and _comparable(kind, a, b)
        )
        for one, other in ((quantities_a, quantities_b), (quantities_b, quantities_a))
    )
    return RunComparison(
        about_a=_about(a, claims_a),
        about_b=_about(b, claims_b),
        settings=tuple(_settings(outcomes_a, outcomes_b)),
        verdicts=verdicts,
        numbers=numbers,
        only_a=only_a,
        only_b=only_b,
    )


def _comparable(kind: str, *folders: str | os.PathLike[str]) -> bool:
    """Whether both folders can have numbers of this kind: evidence has no figures as data."""
    return kind == "claim" or all((Path(folder) / "outcomes").is_dir() for folder in folders)


_Key = tuple[Literal["claim", "figure"], str, str]


def _settings(
    a: dict[str, dict[str, Any]], b: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """The settings that differ, apart from the seed, of the studies that both runs have."""
    for study in a:
        both = [
            dict(flattened(outcomes[study].get("settings") or {})) if study in outcomes else {}
            for outcomes in (a, b)
        ]
        if not both[1]:
            continue
        for key in dict.fromkeys([*both[0], *both[1]]):
            values = [settings.get(key, "—") for settings in both]
            if values[0] != values[1] and key != "seed":
                yield f"{study}.{key}", values[0], values[1]


def _quantities(
    claims: dict[str, dict[str, Any]], figures_of: dict[str, list[Figure | Heatmap]]
) -> Iterator[tuple[_Key, Quantity]]:
    """Every measured number by kind, place and name.

    These are the evidence of claims and the measured points of figures.
    """
    for name, claim in claims.items():
        for evidence in claim["evidence"]:
            values = (_finite(evidence.get(key)) for key in ("estimate", "low", "high"))
            yield ("claim", name, evidence["name"]), Quantity(*values)
    for study, figures in figures_of.items():
        for figure in figures:
            if isinstance(figure, Heatmap):
                continue  # its cells are texts; their numbers are in claims or other figures
            for series in figure.series:
                if series.role != "measured" or not (series.low or series.high):
                    continue
                ends = [side or (None,) * len(series.x) for side in (series.low, series.high)]
                for x, *values in zip(series.x, series.y, *ends):
                    quantity = Quantity(*(_finite(value) for value in values))
                    if quantity != Quantity(None):
                        name = f"{series.name}, {figure.x.label} = {x}"
                        yield ("figure", f"{study}: {figure.title}", name), quantity


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _about(folder: str | os.PathLike[str], claims: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What distinguishes a run: its folder, scale, seed, device, version and commit."""
    run = next(iter(read_manifest(folder)), {})
    versions = run.get("versions") if isinstance(run, dict) else None

    def of_claims(key: str) -> str:
        values = (claim.get(key) for claim in claims.values())
        return ", ".join(dict.fromkeys(str(value) for value in values if value is not None))

    about = {
        "folder": str(folder),
        "scale": of_claims("scale"),
        "seed": of_claims("seed"),
        "device": run.get("device"),
        "version": versions.get("separatrix") if isinstance(versions, dict) else None,
        "commit": run.get("commit"),
        "finished all trials": {"True": "yes", "False": "no"}.get(str(run.get("complete"))),
    }
    return {key: str(value) for key, value in about.items() if value not in (None, "")}
