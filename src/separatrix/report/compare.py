"""Two runs side by side: which verdicts changed, and which numbers moved beyond their intervals."""

import dataclasses
import math
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

from separatrix.engine.lab import read_manifest
from separatrix.report.content import flattened
from separatrix.report.read import read_claims, read_outcomes
from separatrix.studies import Figure, Heatmap

Rule = Literal["apart", "outside", "within", "differs", "equal"]
RULES: dict[Rule, str] = {
    "apart": "the two intervals do not overlap",
    "outside": "the intervals overlap, and one run's estimate lies outside the other's interval",
    "differs": "the values differ, and at least one of them has no interval",
    "within": "each estimate lies inside the other's interval",
    "equal": "both values have no interval and are the same",
}
_ALIKE = 1e-9  # relative: rounding of the same number


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A measured number; an end that is None is open.

    >>> Quantity(2.0, 1.0, None).has_interval
    True
    """

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
    """A number of both runs and the rule that it falls under.

    >>> Move("claim", "lahoti.order", "ratio", Quantity(1.0), Quantity(2.0), "differs").rule
    'differs'
    """

    kind: Literal["claim", "figure"]
    where: str
    name: str
    a: Quantity
    b: Quantity
    rule: Rule


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What is known of two runs: settings that differ and changed verdicts (name, A, B), all
    numbers of both, what only one of them has.

    >>> Comparison({}, {}, (), (), (), (), ()).counts["apart"]
    0
    """

    about_a: dict[str, str]
    about_b: dict[str, str]
    settings: tuple[tuple[str, str, str], ...]
    verdicts: tuple[tuple[str, str, str], ...]
    numbers: tuple[Move, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many numbers fall under each rule."""
        return {rule: sum(move.rule == rule for move in self.numbers) for rule in RULES}

    @property
    def moved(self) -> tuple[Move, ...]:
        """The numbers that are not where they were, the clearest first."""
        order = list(RULES)
        found = [move for move in self.numbers if move.rule in ("apart", "outside", "differs")]
        return tuple(sorted(found, key=lambda move: order.index(move.rule)))

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
    """How two measurements of one number lie to each other.

    >>> rule_of(Quantity(1.0, 0.5, 1.5), Quantity(3.0, 2.0, 4.0)), rule_of(Quantity(1.0, 0.5, 1.5), Quantity(1.6, 1.2, 2.0))
    ('apart', 'outside')
    >>> rule_of(Quantity(None, 64, None), Quantity(100.0, 80.0, 120.0)), rule_of(Quantity(1.0), Quantity(1.0))
    ('within', 'equal')
    """
    if not (a.has_interval and b.has_interval):
        if a.estimate is None or b.estimate is None:
            return "equal" if a == b else "differs"
        return (
            "equal"
            if math.isclose(a.estimate, b.estimate, rel_tol=_ALIKE, abs_tol=0.0)
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

    For independent, normal estimates with equal and known errors: intervals at level 95 % then miss
    each other in 0.6 % of cases, and an estimate lies outside the other's interval in 17 %. Numbers
    that share trials are not independent of each other, so these are means, not bounds.

    >>> both = Quantity(1.0, 0.0, 2.0)
    >>> {rule: round(count, 2) for rule, count in expected_by_chance((Move("claim", "c", "x", both, both, "within"),) * 100).items()}
    {'apart': 0.56, 'outside': 16.02}
    """
    count = sum(move.a.has_interval and move.b.has_interval for move in numbers)
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2)
    apart, outside = (2 * normal.cdf(-widths * reach / math.sqrt(2)) for widths in (2, 1))
    return {"apart": count * apart, "outside": count * (outside - apart)}


def compare_runs(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> Comparison:
    """Compare two run folders, or folders of evidence (which have claims and no outcomes).

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "claims.json").write_text("[]")
    >>> compare_runs(folder, folder).moved
    ()
    """
    claims_a, claims_b = (
        {claim["id"]: claim for claim in read_claims(folder)} for folder in (a, b)
    )
    verdicts = tuple(
        (name, claim["verdict"], claims_b[name]["verdict"])
        for name, claim in claims_a.items()
        if name in claims_b and claim["verdict"] != claims_b[name]["verdict"]
    )
    (outcomes_a, figures_a), (outcomes_b, figures_b) = read_outcomes(a), read_outcomes(b)
    found_a, found_b = (
        dict(_quantities(claims, figures))
        for claims, figures in ((claims_a, figures_a), (claims_b, figures_b))
    )
    numbers = tuple(
        Move(*key, each, found_b[key], rule_of(each, found_b[key]))
        for key, each in found_a.items()
        if key in found_b
    )
    only_a, only_b = (
        tuple(
            f"{where}: {name}"
            for kind, where, name in one
            if (kind, where, name) not in other and _comparable(kind, a, b)
        )
        for one, other in ((found_a, found_b), (found_b, found_a))
    )
    about = _about(a, claims_a), _about(b, claims_b)
    return Comparison(
        *about, tuple(_settings(outcomes_a, outcomes_b)), verdicts, numbers, only_a, only_b
    )


def _comparable(kind: str, *folders: str | os.PathLike[str]) -> bool:
    """Whether both folders can have numbers of this kind: evidence has no figures as data."""
    return kind == "claim" or all((Path(folder) / "outcomes").is_dir() for folder in folders)


_Key = tuple[Literal["claim", "figure"], str, str]


def _settings(
    a: dict[str, dict[str, Any]], b: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """The settings of studies in both runs that differ, but for the seed."""
    for study in a:
        both = [
            dict(flattened(outcomes[study].get("settings") or {})) if study in outcomes else {}
            for outcomes in (a, b)
        ]
        if not both[1]:
            continue
        for key in dict.fromkeys([*both[0], *both[1]]):
            values = [each.get(key, "—") for each in both]
            if values[0] != values[1] and key != "seed":
                yield f"{study}.{key}", values[0], values[1]


def _quantities(
    claims: dict[str, dict[str, Any]], figures_of: dict[str, list[Figure | Heatmap]]
) -> Iterator[tuple[_Key, Quantity]]:
    """Every measured number by kind, place and name: the evidence of claims and the measured points
    of figures.
    """
    for name, claim in claims.items():
        for each in claim["evidence"]:
            yield (
                ("claim", name, each["name"]),
                Quantity(*(_finite(each.get(key)) for key in ("estimate", "low", "high"))),
            )
    for study, figures in figures_of.items():
        for figure in figures:
            if isinstance(figure, Heatmap):
                # Its cells are texts; their numbers stand in the claims or in another figure
                continue
            for series in figure.series:
                if series.role != "measured" or not (series.low or series.high):
                    continue
                ends = [side or (None,) * len(series.x) for side in (series.low, series.high)]
                for x, *values in zip(series.x, series.y, *ends):
                    quantity = Quantity(*(_finite(value) for value in values))
                    if quantity != Quantity(None):
                        yield (
                            (
                                "figure",
                                f"{study}: {figure.title}",
                                f"{series.label}, {figure.x.label} = {x}",
                            ),
                            quantity,
                        )


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _about(folder: str | os.PathLike[str], claims: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What parts this run from another: where it is, its scale and seed, device, version and
    commit.
    """
    run = next(iter(read_manifest(folder)), {})
    versions = run.get("versions") if isinstance(run, dict) else None
    told = {
        "folder": str(folder),
        "scale": ", ".join(
            dict.fromkeys(
                str(claim.get("scale"))
                for claim in claims.values()
                if claim.get("scale") is not None
            )
        ),
        "seed": ", ".join(
            dict.fromkeys(
                str(claim.get("seed")) for claim in claims.values() if claim.get("seed") is not None
            )
        ),
        "device": run.get("device"),
        "version": versions.get("separatrix") if isinstance(versions, dict) else None,
        "commit": run.get("commit"),
        "finished all trials": {"True": "yes", "False": "no"}.get(str(run.get("complete"))),
    }
    return {key: str(value) for key, value in told.items() if value not in (None, "")}
