"""What the study `pattern-width` runs: three networks over bits, widths and gradients, and the
exact gradient at the start.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.inference import Tally, Threshold, estimate_threshold
from separatrix.learners import Learner, Stop
from separatrix.studies.cells import Row, run_cells
from separatrix.studies.pattern_width.settings import PatternWidthSettings
from separatrix.studies.patterns.trials import NETWORKS, choose_rate, network_of
from separatrix.studies.study import seeds_from
from separatrix.tasks import PatternTask
from separatrix.theory.patterns import UnitActivation, hidden_below, log_window, separation_row

EXACT = "float32"  # the gradient as it is computed
ROUNDED = "bfloat16"


@dataclasses.dataclass(frozen=True)
class WidthCell:
    """A point of the phase diagram: a network with `width` filters on `bits` bits, and its
    gradient.

    `gradient` is "float32", "bfloat16", or the size of the noise as a text.

    >>> WidthCell("FCN", 32, 64).label
    'FCN, n = 32, q = 64'
    """

    network: str
    bits: int
    width: int
    gradient: str = EXACT

    @property
    def label(self) -> str:
        """The cell in words."""
        words = f"{self.network}, n = {self.bits}, q = {self.width}"
        return words if self.gradient == EXACT else f"{words}, gradient {self.gradient}"


def widths_of(s: PatternWidthSettings, network: str) -> tuple[int, ...]:
    """The widths of a network.

    >>> widths_of(PatternWidthSettings(full_widths=(128,)), "FCN")
    (4, 32, 128)
    """
    return s.every_full_width if network == "FCN" else s.widths


def gradients_of(s: PatternWidthSettings) -> list[str]:
    """The gradients that are tried: as computed, rounded, and with each noise.

    >>> gradients_of(PatternWidthSettings(noises=(0.03,)))
    ['float32', 'bfloat16', 'noise 0.03']
    """
    return [EXACT, ROUNDED, *(f"noise {noise:g}" for noise in s.noises)]


def cells_of(s: PatternWidthSettings) -> list[WidthCell]:
    """The phase diagram, and the slice over gradients.

    >>> len(cells_of(PatternWidthSettings()))
    9
    """
    plain = [
        WidthCell(name, n, q) for name in NETWORKS for n in s.sizes for q in widths_of(s, name)
    ]
    sliced = [
        WidthCell(name, n, s.noisy_width, gradient)
        for name in NETWORKS
        for n in s.noisy_sizes
        for gradient in gradients_of(s)
    ]
    return list(dict.fromkeys(plain + sliced))


def trial_of(s: PatternWidthSettings, cell: WidthCell, rate: float, seed: int) -> Trial:
    """One trial of a cell.

    >>> noisy = WidthCell("CNN", 16, 32, "noise 0.03")
    >>> trial_of(PatternWidthSettings(), noisy, rate=0.01, seed=0).learner.gradient_noise
    0.03
    """
    window = log_window(cell.bits)
    noise = cell.gradient.removeprefix("noise ")
    learner = Learner(
        rate,
        s.steps,
        loss="hinge",
        oracle="online",
        batch=s.batch,
        optimizer="adam",
        stop=Stop(target=s.left),
        gradient_noise=None if noise == cell.gradient else float(noise),
        gradient_precision=ROUNDED if cell.gradient == ROUNDED else EXACT,
    )
    task = PatternTask(cell.bits, window, start=(cell.bits - window) // 2)
    measure = Measure(test=s.test, times=s.times, spacing="log")
    return Trial(task, network_of(cell.network, window, cell.width), learner, 0, seed, measure)


def trials_of(s: PatternWidthSettings, cell: WidthCell) -> list[Trial]:
    """All trials of a cell: every rate with the tuning seeds and with the seeds of the results.

    The results of rates that are not chosen are thrown away. In one batch they cost less than a
    second program for the results would.

    >>> len(trials_of(PatternWidthSettings(), WidthCell("CNN", 16, 32)))
    5
    """
    seeds = [*tuning_seeds(s), *seeds_from(s.seed, s.seeds)]
    firsts = [trial_of(s, cell, rate, seeds[0]) for rate in s.rates]
    return [trial for first in firsts for trial in first.at_seeds(seeds)]


def tuning_seeds(s: PatternWidthSettings) -> list[int]:
    """The seeds that choose the rate and decide nothing else."""
    return list(seeds_from(s.seed, s.tuning_seeds, purpose=1))


def sweep_of(s: PatternWidthSettings) -> Sweep:
    """All trials.

    >>> len(sweep_of(PatternWidthSettings()))
    45
    """
    return Sweep(tuple(trial for cell in cells_of(s) for trial in trials_of(s, cell)))


@dataclasses.dataclass(frozen=True)
class WidthResult:
    """How many seeds of a cell left chance within the steps, at its rate."""

    rate: float
    left: int
    seeds: int

    @property
    def share(self) -> float:
        """The share of seeds that left chance."""
        return self.left / self.seeds


Results = Mapping[WidthCell, WidthResult]


def measure_all(lab: Lab, s: PatternWidthSettings) -> dict[WidthCell, WidthResult]:
    """Run every cell; cells without a finished seed are missing."""
    trials = {cell: trials_of(s, cell) for cell in cells_of(s)}
    rows = run_cells(lab, trials, "pattern-width")
    measured = {cell: result_of(s, members) for cell, members in rows.items()}
    return {cell: result for cell, result in measured.items() if result is not None}


def result_of(s: PatternWidthSettings, rows: list[Row]) -> WidthResult | None:
    """The rate by the tuning seeds, and what the other seeds did at it.

    >>> s = PatternWidthSettings(rates=(0.1, 0.2), seeds=2)
    >>> rows = [
    ...     {"seed": seed, "learner.rate.level": rate, "steps": 9, "risk": 0.4, "status": status}
    ...     for rate, status in ((0.1, "exhausted"), (0.2, "reached"))
    ...     for seed in (*tuning_seeds(s), *seeds_from(s.seed, 2))
    ... ]
    >>> result_of(s, rows)
    WidthResult(rate=0.2, left=2, seeds=2)
    """
    tuning = set(tuning_seeds(s))
    grid: dict[float, list[Row]] = {rate: [] for rate in s.rates}
    others: dict[float, list[Row]] = {rate: [] for rate in s.rates}
    for row in rows:
        rate = min(s.rates, key=lambda rate: abs(rate - row["learner.rate.level"]))
        (grid if row["seed"] in tuning else others)[rate].append(row)
    rate = choose_rate(grid)
    if rate is None or not others[rate]:
        return None
    left = sum(row["status"] == "reached" for row in others[rate])
    return WidthResult(rate, left, len(others[rate]))


def boundary(
    s: PatternWidthSettings, results: Results, network: str, bits: int
) -> Threshold | None:
    """The width from which half of the seeds leave chance, from the cells of one size.

    >>> cells = {WidthCell("FCN", 16, q): WidthResult(0.1, 6 * (q > 8), 6) for q in (4, 32)}
    >>> found = boundary(PatternWidthSettings(widths=(4, 32)), cells, "FCN", 16)
    >>> 4 < found.estimate < 32
    True
    """
    tallies = [
        Tally(width, result.left, result.seeds)
        for width in widths_of(s, network)
        if (result := results.get(WidthCell(network, bits, width))) is not None
    ]
    return estimate_threshold(tallies) if tallies else None


def exact_row(bits: int, draws: int, seed: int) -> dict[str, Any]:
    """The exact squared gradient at a Gaussian start, per unit with readout 1, and the tolerance of
    a query that hides a parity.

    >>> row = exact_row(16, draws=4, seed=0)
    >>> row["FCN"] < row["CNN"]
    True
    """
    window = log_window(bits)
    row = separation_row(
        bits, window, UnitActivation("relu"), "gaussian", bias=0.0, draws=draws, seed=seed
    )
    # Odd k ≥ 3 have no signal at bias 0: the network's biases must move first.
    if row.full.mean == 0 or row.shared.mean == 0:
        row = separation_row(
            bits, window, UnitActivation("relu"), "gaussian", draws=draws, seed=seed
        )
    return {
        "bits": bits,
        "window": window,
        "FCN": row.full.mean,
        "CNN": row.shared.mean,
        "LCN": row.local.mean,
        "hidden_below": float(hidden_below(bits, window)),
    }


def exact_rows(lab: Lab, s: PatternWidthSettings) -> list[dict[str, Any]]:
    """`exact_row` at every size, remembered by the laboratory."""
    out = []
    for bits in s.sizes:
        inputs = {"bits": bits, "draws": s.draws, "seed": s.seed}
        out.append(lab.remember("width-gradient", inputs, lambda i=inputs: exact_row(**i)))
    return out
