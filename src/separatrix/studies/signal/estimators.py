"""Thresholds of estimators, the algorithms that are not networks, in every cell of a study."""

import functools
from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.inference import estimate_threshold
from separatrix.studies.search import Ask, Ladder, climb_ladder, climb_together
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.signal.trials import SignalCell, Thresholds, signal_cells
from separatrix.studies.study import seeds_from
from separatrix.theory.signal import (
    ESTIMATORS,
    TrainingSet,
    batched_alignments,
    drawn_alignments,
    estimator_frame,
)

EXACT_DRAWS = 400  # per size, of alignments whose distribution is known: errors of about 2 %
# Where searches with estimators begin, as multiples of the floor
ESTIMATOR_BEGIN = {"em": 1.7, "lsa": 4.0, "average": 8.0}
FEW = 8  # trials per size while a search widens
CHUNK_SETS = 1024  # training sets whose results are kept in one file


def estimators_of(network: str) -> tuple[str, ...]:
    """The estimators that can reach the alignment: an average cannot tell the FCN's patches apart.

    >>> estimators_of("FCN")
    ('genie', 'em')
    """
    return ("genie", "em") if network == "FCN" else ESTIMATORS


def measure_estimators(lab: Lab, s: SignalSettings) -> Thresholds:
    """Thresholds, by patch alignment, of every estimator in every cell.

    All searches go forward together: what they ask for in a round runs in few programs. Results
    are kept as they come, so that a later run goes on from there. When the budget ends first, the
    estimators whose searches have not ended are missing, and the run is not complete.
    """
    ladders = {
        (cell, estimator): _ladder(s, cell, estimator)
        for cell in signal_cells(s)
        for estimator in estimators_of(cell.network)
    }
    found = climb_together(ladders, functools.partial(_successes, lab, s))
    if len(found) < len(ladders):
        lab.complete = False
    return {name: estimate_threshold(tallies) for name, tallies in found.items()}


def _ladder(s: SignalSettings, cell: SignalCell, estimator: str) -> Ladder:
    floor = s.floor(cell.network, cell.regime, cell.patches, cell.dimension)
    start = floor * ESTIMATOR_BEGIN.get(estimator, 1.0)
    if estimator in ("genie", "average"):
        return climb_ladder(start, s.search.ratio, EXACT_DRAWS, EXACT_DRAWS)
    # A full network's trials cost more and scatter less.
    trials = s.estimator_trials // (2 if cell.network == "FCN" else 1)
    return climb_ladder(start, s.search.ratio, FEW, trials // 6)


def _successes(
    lab: Lab, s: SignalSettings, asks: list[tuple[tuple[SignalCell, str], Ask]]
) -> list[int] | None:
    """How many of the trials that searches ask for reach the alignment; None when time is up."""
    first = seeds_from(s.seed, 1)[0]
    successes, sets, owners = [0] * len(asks), [], []
    for place, ((cell, estimator), ask) in enumerate(asks):
        one = TrainingSet(
            estimator,
            cell.network,
            cell.patches,
            cell.dimension,
            s.sigma(cell.regime, cell.patches),
            ask.samples,
            first + ask.first,
        )
        if estimator in ("genie", "average"):
            rng = np.random.default_rng([one.seed, ask.samples, cell.patches, cell.dimension])
            aligned = drawn_alignments(rng, *one[:-1], ask.trials).mean(1)
            successes[place] = int((aligned >= s.alignment).sum())
        else:
            sets += [one._replace(seed=one.seed + index) for index in range(ask.trials)]
            owners += [place] * ask.trials
    # Equal frames stand together, so that few batches are not full.
    order = sorted(range(len(sets)), key=lambda index: estimator_frame(sets[index]))
    for start in range(0, len(order), CHUNK_SETS):
        if lab.out_of_time():
            return None
        part = order[start : start + CHUNK_SETS]
        lab.report_progress("estimators", start, len(order))
        chunk = [sets[index] for index in part]
        parameters = {"sets": runs_of(chunk), "bias": s.bias}
        aligned = lab.remember(
            "signal-estimator",
            parameters,
            lambda chunk=chunk: batched_alignments(chunk, s.bias).round(6).tolist(),
        )
        for index, value in zip(part, aligned, strict=True):
            successes[owners[index]] += value >= s.alignment
    return successes


def runs_of(sets: list[TrainingSet]) -> list[list[Any]]:
    """Training sets in short: neighbours whose seeds follow each other are one entry, and its last
    number counts them.

    >>> one = TrainingSet("em", "LCN", 4, 3, 0.3, 16, 7)
    >>> runs_of([one, one._replace(seed=8), one._replace(seed=10)])
    [['em', 'LCN', 4, 3, 0.3, 16, 7, 2], ['em', 'LCN', 4, 3, 0.3, 16, 10, 1]]
    """
    out: list[list[Any]] = []
    for one in sets:
        last = out[-1] if out else None
        if last and [*one[:-1], one.seed] == [*last[:-2], last[-2] + last[-1]]:
            last[-1] += 1
        else:
            out.append([*one, 1])
    return out
