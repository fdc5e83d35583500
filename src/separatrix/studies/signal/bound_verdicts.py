"""The bounds of the paper as claims, with the laws and the cells from which growths are judged.

A bound is judged as a bound: its ratio to the law must not drift with a size. The same laws serve
our own questions: outside the noise condition, against the floors, and whether the bound is the
law.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.inference import Cell, Law, Threshold, cell_of
from separatrix.inference.bounds import bend_along, largest_constant, smallest_constant
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.kinds import Equivalence, LowerBound, Together, UpperBound
from separatrix.studies.signal.settings import NETWORKS, REGIMES, SignalSettings
from separatrix.studies.signal.trials import (
    Searches,
    SignalCell,
    SignalRecipe,
    cell_trial,
    not_trained,
)
from separatrix.theory.signal import bounds_for

LEAST_SAMPLES = 10  # cells with fewer samples are too coarse to carry a growth
LEAST_CELLS = 4  # measured cells without which a regime has no constant of its own
BEND = 0.10  # of the rise; a larger bend is no straight line
PAIRS = (("CNN", "LCN"), ("LCN", "FCN"))

CONDITIONS = (
    "one hidden layer, LSA activation, patches of the same dimension, one signal per image, σ at "
    "most about 1/√k"
)
FULL_CONDITIONS = (
    f"{CONDITIONS}; for the FCN algorithms equivariant under O(kd), a final bias of at least 0.01 "
    "and k at most exponential in d"
)


def _law(name: str, formula: str, function: Callable[[Any], Any], *terms: Law) -> Law:
    return Law(name, formula, function, terms=terms)


def _variance(design: Mapping[str, Any]) -> Any:
    return design["sigma"] ** 2


def _log(design: Mapping[str, Any]) -> Any:
    return np.log(design["k"] * design["d"])


_K = _law("k", "σ²k·ln(kd)", lambda g: _variance(g) * g["k"] * _log(g))
_D = _law("d", "σ²d·ln(kd)", lambda g: _variance(g) * g["d"] * _log(g))
_KK = _law("k²", "σ²k²·ln(kd)", lambda g: _variance(g) * g["k"] ** 2 * _log(g))
_KD = _law("kd", "σ²kd·ln(kd)", lambda g: _variance(g) * g["k"] * g["d"] * _log(g))
CNN_UPPER = _law(
    "(k+d)ln", "σ²(k+d)·ln(kd)", lambda g: _variance(g) * (g["k"] + g["d"]) * _log(g), _K, _D
)
LCN_UPPER = _law(
    "k(k+d)ln",
    "σ²k(k+d)·ln(kd)",
    lambda g: _variance(g) * g["k"] * (g["k"] + g["d"]) * _log(g),
    _KK,
    _KD,
)
LCN_LOWER = _law("kd", "σ²kd", lambda g: _variance(g) * g["k"] * g["d"])
FCN_LOWER = _law("k²d", "σ²k²d", lambda g: _variance(g) * g["k"] ** 2 * g["d"])
GAIN = _law(
    "kd/(k+d)ln",
    "kd/((k+d)·ln(kd))",
    lambda g: g["k"] * g["d"] / ((g["k"] + g["d"]) * _log(g)),
)
FLOOR = _law("floor", "m_floor", lambda g: g["floor"])
LAWS = {"CNN": CNN_UPPER, "LCN": LCN_UPPER, "FCN": FCN_LOWER}
SIZES = ("k", "d")


def _upper(quantity: str, law: Law) -> UpperBound:
    return UpperBound(quantity, law, SIZES, group="regime")


def _lower(quantity: str, law: Law) -> LowerBound:
    return LowerBound(quantity, law, SIZES, group="regime")


BOUNDS = {
    "cnn-upper": (
        "CNN",
        "The CNN needs at most Õ(σ²(k+d)) samples: m* ≤ C·σ²(k+d)ln(kd) for k patches of d "
        "dimensions and noise σ.",
        "abstract; theorem on CNNs",
        _upper("m* of the CNN", CNN_UPPER),
    ),
    "lcn-upper": (
        "LCN",
        "The LCN needs at most Õ(σ²k(k+d)) samples: m* ≤ C·σ²k(k+d)ln(kd).",
        "abstract; theorem on LCNs",
        _upper("m* of the LCN", LCN_UPPER),
    ),
    "lcn-lower": (
        "LCN",
        "The LCN needs at least Ω(σ²kd) samples: m* ≥ c·σ²kd.",
        "abstract; theorem on LCNs",
        _lower("m* of the LCN", LCN_LOWER),
    ),
    "fcn-lower": (
        "FCN",
        "An algorithm that is equivariant under O(kd) needs at least Ω(σ²k²d) samples on the FCN: "
        "m* ≥ c·σ²k²d.",
        "abstract; theorem on FCNs",
        _lower("m* of the FCN", FCN_LOWER),
    ),
}
BOUND_CLAIMS = {
    name: Claim(
        f"lahoti.{name}",
        statement,
        citation,
        FULL_CONDITIONS if network == "FCN" else CONDITIONS,
        kind,
    )
    for name, (network, statement, citation, kind) in BOUNDS.items()
}
OUTSIDE_CLAIMS = {
    name: Claim(
        f"ours.outside.{name}",
        f"Outside the paper's noise condition too (σ = .3 above 1/√k): {statement}",
        "ours; the paper assumes σ at most about 1/√k",
        "σ above 1/√k",
        kind,
    )
    for name, (_, statement, _, kind) in BOUNDS.items()
}
SEPARATION = Claim(
    "lahoti.separation",
    "What weight sharing saves (samples of the LCN over those of the CNN) and what locality saves "
    "(FCN over LCN) grow at least as the ratios of the bounds, kd/((k+d)ln(kd)), when k and d "
    "grow together.",
    "abstract: k+d, k(k+d) and kd, k²d",
    FULL_CONDITIONS,
    Together(
        tuple(
            (
                f"{larger}/{smaller}",
                LowerBound(
                    f"m* of the {larger} over the {smaller}'s", GAIN, ("√(kd)",), group="shape"
                ),
            )
            for smaller, larger in PAIRS
        )
    ),
)
AFFINE = {
    network: Claim(
        f"lahoti.{network.lower()}-affine",
        f"The {network}'s samples over {unit} are affine in k and in d, as a + b·k and a + b·d.",
        "figures; summary, second and third experiment",
        CONDITIONS,
        Together(
            tuple(
                (size, Equivalence(f"bend in {size}, as a share of the rise", BEND))
                for size in SIZES
            )
        ),
    )
    for network, unit in (("CNN", "σ²"), ("LCN", "σ²k"))
}
TWO_STEP = Claim(
    "lahoti.two-step",
    "Two steps of gradient descent on the CNN, an average of labelled patches and a step through "
    "the LSA activation, need at most Õ(σ²(k+d)) samples.",
    "theorem on CNNs (analysis of two steps); the constants are second-hand",
    CONDITIONS,
    _upper("m* of two steps", CNN_UPPER),
)
EFFICIENCY = {
    network: Claim(
        f"ours.efficiency.{network.lower()}",
        f"Tuned descent on the {network} stays within a constant of the floor: m* ≤ C·m_floor.",
        "ours",
        CONDITIONS,
        _upper(f"m* of the {network}", FLOOR),
    )
    for network in NETWORKS
}
LAW_CLAIMS = {
    network: Claim(
        f"ours.law.{network.lower()}",
        f"The {network}'s samples under tuned descent grow as {LAWS[network].formula}, neither "
        "faster nor slower.",
        "ours; the paper states bounds",
        CONDITIONS,
        Together(
            (
                ("at most", _upper("m*", LAWS[network])),
                ("at least", _lower("m*", LAWS[network])),
            )
        ),
    )
    for network in NETWORKS
}


def is_inside(s: SignalSettings, cell: SignalCell) -> bool:
    """Whether the noise of a cell is at most 1/√k.

    >>> is_inside(SignalSettings(), SignalCell("fixed", "CNN", 12, 6))
    False
    """
    return s.sigma(cell.regime, cell.patches) <= (1 + 1e-9) / math.sqrt(cell.patches)


def outside_of(s: SignalSettings, cells: Iterable[SignalCell]) -> str:
    """In words, how cells lie outside the paper's conditions; empty when none does.

    >>> outside_of(SignalSettings(), [SignalCell("fixed", "CNN", 16, 8)])
    'σ exceeds 1/√k at k = 16'
    """
    cells, words = list(cells), []
    far = sorted({cell.patches for cell in cells if not is_inside(s, cell)})
    if far:
        words.append(f"σ exceeds 1/√k at k = {', '.join(str(k) for k in far)}")
    full = [cell for cell in cells if cell.network == "FCN"]
    if full:
        learner = cell_trial(s, full[0], SignalRecipe(bias=s.bias), 2, 0).learner
        equivariant = learner.optimizer == "sgd" and not learner.sparsity
        words += [
            f"it is not the case that {condition.text}"
            for cell in full
            for condition in bounds_for("FCN")[0].conditions(
                cell.patches,
                cell.dimension,
                s.sigma(cell.regime, cell.patches),
                s.bias,
                equivariant,
            )[1:]
            if condition.met is False
        ]
    return "; ".join(dict.fromkeys(words))


def thresholds_of(
    s: SignalSettings, searches: Searches, learner: str = "descent", target: str = "alignment"
) -> dict[SignalCell, Threshold]:
    """The thresholds of a learner in every cell; without cells in which the network did not train.

    >>> thresholds_of(SignalSettings(), {})
    {}
    """
    return {
        key.cell: search.threshold
        for key, search in searches.items()
        if (key.learner, key.target) == (learner, target) and not not_trained(s, key.cell, search)
    }


def design_of(s: SignalSettings, cell: SignalCell) -> dict[str, float]:
    """The design columns of a cell: k, d, σ, the floor, and the number of its regime.

    >>> design_of(SignalSettings(), SignalCell("root", "LCN", 4, 3))["sigma"]
    0.5
    """
    return {
        "k": float(cell.patches),
        "d": float(cell.dimension),
        "sigma": s.sigma(cell.regime, cell.patches),
        "floor": float(s.floor(cell.network, cell.regime, cell.patches, cell.dimension)),
        "regime": float(list(REGIMES).index(cell.regime)),
    }


def growth_cells(
    s: SignalSettings, thresholds: Mapping[SignalCell, Threshold], network: str, inside: bool
) -> list[Cell]:
    """The cells from which a network's growth is measured: inside (or outside) the noise condition,
    with at least `LEAST_SAMPLES` samples, in regimes with at least `LEAST_CELLS` such cells.

    >>> growth_cells(SignalSettings(), {}, "CNN", inside=True)
    []
    """
    cells = []
    for cell, threshold in thresholds.items():
        if cell.network != network or is_inside(s, cell) != inside:
            continue
        known = threshold.high if math.isnan(threshold.estimate) else threshold.estimate
        if known >= LEAST_SAMPLES and (point := cell_of(design_of(s, cell), threshold)):
            cells.append(point)
    return with_enough(cells)


def with_enough(cells: Iterable[Cell]) -> list[Cell]:
    """The cells of regimes that vary both sizes over enough measured cells.

    >>> with_enough([Cell({"regime": 0.0, "k": 2.0, "d": 2.0}, 1.0, 0.1)])
    []
    """
    cells, out = list(cells), []
    for regime in sorted({cell.design["regime"] for cell in cells}):
        own = [cell for cell in cells if cell.design["regime"] == regime]
        known = [cell for cell in own if cell.censoring == "none"]
        vary = all(len({cell.design[size] for cell in known}) > 1 for size in SIZES)
        if len(known) >= LEAST_CELLS and vary:
            out += own
    return out


def ratio_cells(
    s: SignalSettings, thresholds: Mapping[SignalCell, Threshold], larger: str, smaller: str
) -> list[Cell]:
    """Log ratios of two networks' samples in the cells that both have, inside the conditions.

    Each shape d/k of each regime has a constant of its own: along other lines the ratio of the
    bounds is not yet the power that it becomes, and (k + d)/d looks like a drift. Shapes with a
    single cell say nothing.

    >>> ratio_cells(SignalSettings(), {}, "LCN", "CNN")
    []
    """
    out = []
    for cell, threshold in thresholds.items():
        other = thresholds.get(cell._replace(network=smaller))
        if cell.network != larger or other is None or not is_inside(s, cell):
            continue
        known = threshold.censoring == other.censoring == "none"
        if known and other.estimate >= LEAST_SAMPLES:
            value = math.log(threshold.estimate / other.estimate)
            error = math.hypot(threshold.log_error, other.log_error)
            shape = math.log2(cell.dimension / cell.patches)
            design = design_of(s, cell)
            design["√(kd)"] = math.sqrt(design["k"] * design["d"])
            design["shape"] = round(shape, 6) + 100 * design["regime"]
            out.append(Cell(design, value, error))
    shapes = [cell.design["shape"] for cell in out]
    return [cell for cell in out if shapes.count(cell.design["shape"]) > 1]


def judge_bound(
    s: SignalSettings,
    claim: Claim,
    thresholds: Mapping[SignalCell, Threshold],
    network: str,
    inside: bool,
) -> Finding:
    """The drift of a network's samples against a bound, and the constant over all cells, also those
    that are too coarse to carry a growth.

    >>> judge_bound(SignalSettings(), TWO_STEP, {}, "CNN", inside=True).verdict
    'not measured'
    """
    own = {
        cell: threshold
        for cell, threshold in thresholds.items()
        if cell.network == network and is_inside(s, cell) == inside
    }
    cells = growth_cells(s, thresholds, network, inside)
    kind: Any = claim.kind
    every = [point for cell, t in own.items() if (point := cell_of(design_of(s, cell), t))]
    also = []
    if every:
        find = smallest_constant if isinstance(kind, UpperBound) else largest_constant
        name = f"{kind.letter} over all {len(every)} cells, the smallest included"
        also.append(Evidence.of(name, find(every, kind.law)))
    reason = "" if cells else _why_not(own, inside)
    outside = outside_of(s, own) if claim.paper == "lahoti" else ""
    return judge(claim, cells, outside, reason, also)


def _why_not(own: Mapping[SignalCell, Threshold], inside: bool) -> str:
    if not own:
        side = "inside" if inside else "outside"
        return f"no cell {side} the noise condition was measured at this scale"
    return (
        f"fewer than {LEAST_CELLS} cells of a regime need at least {LEAST_SAMPLES} samples: they "
        "are too coarse to carry a growth"
    )


def judge_law(
    s: SignalSettings, thresholds: Mapping[SignalCell, Threshold], network: str
) -> Finding:
    """Whether samples grow neither faster nor slower than a bound."""
    cells = growth_cells(s, thresholds, network, inside=True)
    evidence = {"at most": cells, "at least": cells} if cells else {}
    return judge(LAW_CLAIMS[network], evidence, reason="" if cells else "too few cells carry it")


def judge_separation(s: SignalSettings, thresholds: Mapping[SignalCell, Threshold]) -> Finding:
    """The growth of LCN over CNN and of FCN over LCN against the ratio of the bounds."""
    evidence: dict[str, list[Cell]] = {}
    for smaller, larger in PAIRS:
        cells = ratio_cells(s, thresholds, larger, smaller)
        if cells:
            evidence[f"{larger}/{smaller}"] = cells
    used = [cell for cell in thresholds if is_inside(s, cell)]
    return judge(SEPARATION, evidence, outside_of(s, used) if evidence else "")


def judge_affine(
    s: SignalSettings, thresholds: Mapping[SignalCell, Threshold], network: str
) -> Finding:
    """The bend of a network's samples in k and in d, each line of the grid with its own constants.

    >>> judge_affine(SignalSettings(), {}, "CNN").verdict
    'not measured'
    """
    cells = growth_cells(s, thresholds, network, inside=True)
    scaled = []
    for cell in cells:
        design = dict(cell.design)
        unit = 2 * math.log(design["sigma"]) + (math.log(design["k"]) if network == "LCN" else 0.0)
        for size, other in (SIZES, SIZES[::-1]):
            design[f"line {size}"] = 1e6 * design["regime"] + design[other]
        scaled.append(Cell(design, cell.value - unit, cell.error, cell.censoring))
    evidence: dict[str, Any] = {}
    why = []
    for size in SIZES:
        try:
            evidence[size] = {"all lines": bend_along(_long(scaled, size), size, f"line {size}")}
        except SeparatrixError as error:
            why.append(str(error))
    return judge(AFFINE[network], evidence, reason="; ".join(why))


def _long(cells: Iterable[Cell], size: str) -> list[Cell]:
    """The cells of lines with at least three measured sizes: two make any line straight."""
    known = [cell for cell in cells if cell.censoring == "none"]
    lines: dict[float, list[Cell]] = {}
    for cell in known:
        lines.setdefault(cell.design[f"line {size}"], []).append(cell)
    return [cell for own in lines.values() if len(own) >= 3 for cell in own]
