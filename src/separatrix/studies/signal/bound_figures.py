"""The tables of bounds, floors and growths: constants, efficiencies, exponents and laws."""

from typing import Any

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.inference import Cell, Threshold, cell_of, fit_exponents, rank_laws, standard_laws
from separatrix.inference.bounds import largest_constant, smallest_constant
from separatrix.studies.outcome import TableData
from separatrix.studies.signal.bound_verdicts import (
    BOUNDS,
    design_of,
    growth_cells,
    is_inside,
    thresholds_of,
)
from separatrix.studies.signal.estimators import estimators_of
from separatrix.studies.signal.settings import NETWORKS, SignalSettings
from separatrix.studies.signal.trials import (
    TWO_STEPS,
    Searches,
    SignalCell,
    Thresholds,
    not_trained,
)

NAMES = {"genie": "genie", "em": "EM", "average": "averaging", "lsa": "averaging + LSA step"}


def efficiency_table(s: SignalSettings, searches: Searches, estimators: Thresholds) -> TableData:
    """For every network, regime and algorithm: the smallest, the median and the largest multiple of
    the floor's samples over cells.
    """
    algorithms: dict[tuple[str, str], dict[SignalCell, Threshold]] = {}
    for key, search in searches.items():
        if key.target == "alignment" and key.learner in ("descent", *TWO_STEPS):
            own = algorithms.setdefault((key.cell.network, key.learner), {})
            if not not_trained(s, key.cell, search):
                own[key.cell] = search.threshold
    for network in NETWORKS:
        for name in estimators_of(network):
            algorithms[network, NAMES[name]] = {
                cell: t
                for (cell, e), t in estimators.items()
                if (cell.network, e) == (network, name)
            }
    rows = []
    for (network, name), thresholds in sorted(algorithms.items()):
        for regime in s.regimes:
            ratios = [
                t.estimate / s.floor(network, regime, cell.patches, cell.dimension)
                for cell, t in thresholds.items()
                if cell.regime == regime and t.censoring == "none"
            ]
            if ratios:
                numbers = (min(ratios), float(np.median(ratios)), max(ratios))
                rows.append(
                    (network, name, regime, len(ratios), *(float(f"{n:.3g}") for n in numbers))
                )
    columns = ("network", "algorithm", "noise", "cells", "smallest", "median", "largest")
    title = (
        "Samples over the floor's (the floor is about the mean alignment, m* about half of the "
        "trials: where samples are few, a ratio can be below 1)"
    )
    return TableData("efficiency", title, columns, tuple(rows))


def constant_table(s: SignalSettings, searches: Searches) -> TableData:
    """The constant of every bound in every regime, inside and outside the noise condition."""
    descent, rows = thresholds_of(s, searches), []
    for name, (network, _, _, kind) in BOUNDS.items():
        for regime in s.regimes:
            for inside in (True, False):
                cells = [
                    point
                    for cell, t in descent.items()
                    if (cell.network, cell.regime) == (network, regime)
                    and is_inside(s, cell) == inside
                    and (point := cell_of(design_of(s, cell), t))
                ]
                if cells:
                    low, high = (
                        find(cells, kind.law) for find in (largest_constant, smallest_constant)
                    )
                    side = "inside" if inside else "outside"
                    shown = (f"{low:.3g}", f"{high:.3g}")
                    rows.append((name, kind.law.formula, regime, side, len(cells), *shown))
    columns = ("bound", "f", "noise", "condition", "cells", "smallest m*/f", "largest m*/f")
    title = "Constants of the bounds: m*/f over cells, with simultaneous 95 % intervals"
    return TableData("constants", title, columns, tuple(rows))


def exponent_table(s: SignalSettings, searches: Searches) -> TableData:
    """Exponents and the ranking of laws, with logarithms and additive constants, for every regime
    and network.
    """
    descent, rows = thresholds_of(s, searches), []
    for regime in s.regimes:
        for network in NETWORKS:
            own = {cell: t for cell, t in descent.items() if cell.regime == regime}
            cells = [
                point for inside in (True, False) for point in growth_cells(s, own, network, inside)
            ]
            if cells:
                rows.append((regime, network, *_growth(cells, regime)))
    columns = (
        *("noise", "network", "exponent in k", "exponent in d", "cells", "censored"),
        *("laws (AICc weight)", "verdict"),
    )
    return TableData("exponents", "Growth of the samples needed", columns, tuple(rows))


def _growth(cells: list[Cell], regime: str) -> tuple[Any, ...]:
    censored = sum(cell.censoring != "none" for cell in cells)
    try:
        fit = fit_exponents(cells, ("k", "d"), method="likelihood")
        exponents = str(fit.exponents["k"]), str(fit.exponents["d"])
    except SeparatrixError as error:
        return ("", "", len(cells), censored, "", str(error))
    try:
        laws = standard_laws(noise=(regime != "fixed",), logarithm=(False, True))
        ranking = rank_laws(cells, laws, constants=True)
        weights = ", ".join(f"{score.name} {score.weight:.2f}" for score in ranking.scores[:3])
        return (*exponents, len(cells), censored, weights, str(ranking))
    except SeparatrixError as error:
        return (*exponents, len(cells), censored, "", str(error))
