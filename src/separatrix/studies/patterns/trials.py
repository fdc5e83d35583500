"""What the study `patterns` trains: networks with tuned rates."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.inference.censored_medians import Amounts
from separatrix.learners import Learner, Stop
from separatrix.networks import CNN, FCN, LCN, Initial, Network
from separatrix.studies.cells import Row, run_cells
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import run_grids
from separatrix.tasks import PatternTask
from separatrix.theory.patterns import log_window

NETWORKS = ("CNN", "LCN", "FCN")
# A step is a forward pass and the gradients in the hidden layer's outputs and in its weights.
PASSES = 3


@dataclasses.dataclass(frozen=True)
class PatternCase:
    """One cell of the learning experiments: a variant of the task, a network, an optimizer and a
    size.

    Variants: "plain" (parity of consecutive bits), "random" (a random rule for each seed), "hidden"
    (permuted bits), "spread" (bits far apart), "biased" (P(x_i = +1) not ½), "readout" (plain, only
    the readout is trained), "signs" (plain, from Theorem 4's start in the first layer; CNN only).
    `samples` is the size of a fixed training set, 0 for fresh rows at each
    step.

    >>> PatternCase("plain", "CNN", "adam", 16).window
    4
    """

    variant: str
    network: str
    optimizer: str
    bits: int
    samples: int = 0

    @property
    def window(self) -> int:
        """k = ⌈log2 n⌉."""
        return log_window(self.bits)

    @property
    def label(self) -> str:
        """The case in words."""
        rows = f", {self.samples} samples" if self.samples else ""
        return f"{self.network}, {self.optimizer}, {self.variant}, n = {self.bits}{rows}"


def network_of(name: str, window: int, filters: int) -> Network:
    """The three networks at one number of filters, with which the CNN and the FCN have equally many
    parameters: q(n+2).

    >>> [network_of(name, 4, 8).parameter_count((16, 1)) for name in ("CNN", "LCN", "FCN")]
    [144, 624, 144]
    """
    return {"CNN": CNN(window, filters), "LCN": LCN(window, filters), "FCN": FCN(filters)}[name]


def plain_cases(s: PatternsSettings) -> list[PatternCase]:
    """The three networks at every size with every optimizer.

    >>> len(plain_cases(PatternsSettings()))
    9
    """
    return [
        PatternCase("plain", name, optimizer, bits)
        for optimizer in s.learning.optimizers
        for bits in s.learning.sizes
        for name in NETWORKS
    ]


def variant_cases(s: PatternsSettings) -> list[PatternCase]:
    """CNN and FCN with Adam on every variant; Theorem 4's start is the CNN's alone.

    >>> s = PatternsSettings().replace(learning={"variants": ("hidden",)})
    >>> [case.label for case in variant_cases(s)]
    ['CNN, adam, hidden, n = 16', 'FCN, adam, hidden, n = 16']
    """
    return [
        PatternCase(variant, name, "adam", bits)
        for variant in s.learning.variants
        for bits in s.learning.variant_sizes
        for name in (("CNN",) if variant == "signs" else ("CNN", "FCN"))
    ]


def finite_cases(s: PatternsSettings) -> list[PatternCase]:
    """CNN and FCN with Adam on fixed training sets.

    >>> len(finite_cases(PatternsSettings().replace(learning={"finite_samples": (64, 128)})))
    4
    """
    return [
        PatternCase("plain", name, "adam", s.learning.finite_size, samples)
        for name in ("CNN", "FCN")
        for samples in s.learning.finite_samples
    ]


def rates_of(s: PatternsSettings, case: PatternCase) -> tuple[float, ...]:
    """The grid of learning rates: one for each optimizer, the same for all networks and sizes.

    >>> rates_of(PatternsSettings(), PatternCase("plain", "CNN", "adam", 16))
    (0.01, 0.03, 0.1, 0.3)
    """
    return s.learning.adam_rates if case.optimizer == "adam" else s.learning.sgd_rates


def cap_of(s: PatternsSettings, case: PatternCase) -> int:
    """The most steps that a trial of this case may take.

    >>> cap_of(PatternsSettings(), PatternCase("plain", "FCN", "adam", 32))
    4000
    """
    return (s.learning.full_steps if case.network == "FCN" else s.learning.window_steps)[
        s.learning.sizes.index(case.bits)
    ]


def trial_of(s: PatternsSettings, case: PatternCase, rate: float, seed: int) -> Trial:
    """One trial of a case.

    >>> case = PatternCase("hidden", "CNN", "adam", 16)
    >>> trial_of(PatternsSettings(), case, rate=0.01, seed=3).task.hidden
    True
    """
    more: dict[str, Any] = {"start": (case.bits - case.window) // 2}
    match case.variant:
        case "random":
            more |= {"rule": "random", "rule_seed": seed % (2**31 - 1)}
        case "hidden":
            more |= {"hidden": True}
        case "spread":
            more = {"spread": True}
        case "biased":
            more |= {"probability": s.learning.probability}
    train = ("readout",) if case.variant == "readout" else ("weights", "bias", "readout", "offset")
    learner = Learner(
        rate,
        cap_of(s, case),
        loss="hinge",
        oracle="empirical" if case.samples else "online",
        batch=s.learning.batch,
        optimizer=case.optimizer,
        train=train,
        stop=Stop(target=s.learning.target),
    )
    # The gap between risk and training risk is asked for where there is a training set.
    probes = ("risk", "train_risk") if case.samples else ("risk",)
    measure = Measure(probes, test=s.learning.test, times=s.learning.times, spacing="log")
    task = PatternTask(case.bits, case.window, **more)
    network = network_of(case.network, case.window, s.learning.filters)
    if case.variant == "signs":
        network = network.replace(initial=Initial("signs"))
    return Trial(
        task,
        network,
        learner,
        case.samples,
        seed,
        measure,
    )


def trials_of(
    s: PatternsSettings, case: PatternCase, rate: float, seeds: Sequence[int]
) -> list[Trial]:
    """The trials of a case, one per seed; a random rule is another one for every seed.

    >>> case = PatternCase("random", "CNN", "adam", 16)
    >>> [trial.task.rule_seed for trial in trials_of(PatternsSettings(), case, 0.01, range(3))]
    [0, 1, 2]
    """
    if case.variant == "random":
        return [trial_of(s, case, rate, seed) for seed in seeds]
    return trial_of(s, case, rate, seeds[0]).at_seeds(seeds)


def tuning_trials(
    s: PatternsSettings, cases: Iterable[PatternCase]
) -> dict[PatternCase, dict[float, list[Trial]]]:
    """For each case that is tuned and each rate of its grid, the trials that decide, on held-out
    seeds.

    >>> grids = tuning_trials(PatternsSettings(), [PatternCase("plain", "CNN", "adam", 16)])
    >>> [len(trials) for grid in grids.values() for trials in grid.values()]
    [2, 2, 2, 2]
    """
    seeds = seeds_from(s.seed, s.learning.tuning_seeds, purpose=1)
    tuned = {tuning_case(s, case) for case in cases}
    return {
        case: {rate: trials_of(s, case, rate, seeds) for rate in rates_of(s, case)}
        for case in sorted(tuned, key=lambda case: case.label)
    }


def tuning_case(s: PatternsSettings, case: PatternCase) -> PatternCase:
    """The case on which the rate of a case is tuned: itself, but for two exceptions.

    Finite training sets take the rate of the largest one. The FCN on permuted bits takes its rate
    on ordered ones: to it they are the same task, and two noisy choices would tell them apart.

    >>> s = PatternsSettings().replace(learning={"finite_samples": (8, 64)})
    >>> tuning_case(s, PatternCase("plain", "CNN", "adam", 16, samples=8)).samples
    64
    >>> tuning_case(s, PatternCase("hidden", "FCN", "adam", 16)).variant
    'plain'
    """
    if case.variant == "hidden" and case.network == "FCN":
        return dataclasses.replace(case, variant="plain")
    return (
        dataclasses.replace(case, samples=max(s.learning.finite_samples)) if case.samples else case
    )


def choose_rate(grid: Mapping[float, list[Row]]) -> float | None:
    """The rate at which most seeds reach the target; then in the fewest steps on average; then with
    the smallest risk. None where no trial was run.

    A run that did not reach the target counts as the longest of all, however early it ended: one
    that diverges is not a fast one.

    >>> def row(steps):
    ...     return {"status": "reached", "steps": steps, "risk": 0.0}
    >>> choose_rate({0.1: [row(9)], 0.3: [row(5)], 1.0: []})
    0.3
    """
    scores = {}
    longest = max((row["steps"] for rows in grid.values() for row in rows), default=0)
    for rate, rows in grid.items():
        if rows:
            reached = [row["status"] == "reached" for row in rows]
            steps = [row["steps"] if good else longest for row, good in zip(rows, reached)]
            risks = [_risk(row, otherwise=1.0) for row in rows]
            scores[rate] = (-np.mean(reached), np.mean(steps), np.mean(risks))
    return min(scores, key=lambda rate: scores[rate]) if scores else None


def _risk(row: Row, otherwise: float) -> float:
    """The risk of a trial, or another number where it is not finite."""
    risk = row["risk"]
    return risk if risk is not None and math.isfinite(risk) else otherwise


@dataclasses.dataclass(frozen=True)
class CaseResult:
    """What the seeds of a case needed at its tuned rate."""

    case: PatternCase
    rate: float
    steps: Amounts
    seconds: Amounts
    risks: np.ndarray
    reached: int
    broken: int  # diverged or not finite
    train_risks: np.ndarray | None = None  # of fixed training sets

    @classmethod
    def of(cls, case: PatternCase, rate: float, rows: list[Row]) -> "CaseResult":
        """From the rows of the trials.

        What did not reach the target is cut off at its steps, whatever ended it.

        >>> row = {"status": "reached", "steps": 9, "trace.step": [0, 7, 9], "risk": 0.0}
        >>> case = PatternCase("plain", "CNN", "adam", 16)
        >>> CaseResult.of(case, 0.1, [row | {"run.seconds": 0.1}] * 2).steps.lower.tolist()
        [8.0, 8.0]
        """
        reached = np.array([row["status"] == "reached" for row in rows])
        steps = np.array([row["steps"] for row in rows], float)
        after_previous = np.array(
            [
                row["trace.step"][-2] + 1 if len(row["trace.step"]) > 1 else row["steps"]
                for row in rows
            ],
            float,
        )
        seconds = np.maximum([row["run.seconds"] for row in rows], 1e-9)
        return cls(
            case,
            rate,
            steps=Amounts.of(
                np.maximum(np.where(reached, after_previous, steps), 1.0),
                np.where(reached, np.maximum(steps, 1.0), np.inf),
            ),
            seconds=Amounts.of(seconds, np.where(reached, seconds, np.inf)),
            risks=np.array([_risk(row, otherwise=0.5) for row in rows]),
            reached=int(reached.sum()),
            broken=sum(row["status"] in ("diverged", "non-finite") for row in rows),
            train_risks=np.array([row["train_risk"] for row in rows]) if case.samples else None,
        )


@dataclasses.dataclass(frozen=True)
class LearningResults:
    """All cases that were measured, and the rates that were chosen."""

    cases: Mapping[PatternCase, CaseResult]
    rates: Mapping[PatternCase, float]

    def get(
        self, variant: str, network: str, optimizer: str, bits: int, samples: int = 0
    ) -> CaseResult | None:
        """The measured case, where there is one."""
        return self.cases.get(PatternCase(variant, network, optimizer, bits, samples))


def all_cases(s: PatternsSettings) -> list[PatternCase]:
    """Every case of the settings.

    >>> len(all_cases(PatternsSettings()))
    14
    """
    return plain_cases(s) + variant_cases(s) + finite_cases(s)


def learning_sweeps(s: PatternsSettings) -> dict[str, Sweep]:
    """The tuning trials, and as many trials of results as there will be (here at each grid's middle
    rate: the tuned one is not known).

    >>> {name: len(sweep) for name, sweep in learning_sweeps(PatternsSettings()).items()}
    {'tuning': 104, 'results': 196}
    """
    cases, seeds = all_cases(s), seeds_from(s.seed, s.learning.seeds)
    tuning = [
        trial
        for grid in tuning_trials(s, cases).values()
        for trials in grid.values()
        for trial in trials
    ]
    middle = {case: rates_of(s, case)[len(rates_of(s, case)) // 2] for case in cases}
    results = [trial for case in cases for trial in trials_of(s, case, middle[case], seeds)]
    return {"tuning": Sweep(tuple(tuning)), "results": Sweep(tuple(results))}


def learn(lab: Lab, s: PatternsSettings) -> LearningResults:
    """Tune every case, then run its seeds at the chosen rate; cases that a budget cut off are
    missing or have fewer seeds.
    """
    cases, seeds = all_cases(s), seeds_from(s.seed, s.learning.seeds)
    grids = run_grids(lab, tuning_trials(s, cases), "patterns: tuning")
    chosen = {case: choose_rate(grid) for case, grid in grids.items()}
    rates = {case: rate for case, rate in chosen.items() if rate is not None}
    trials = {
        case: trials_of(s, case, rates[tuning_case(s, case)], seeds)
        for case in cases
        if tuning_case(s, case) in rates
    }
    rows = run_cells(lab, trials, "patterns: results")
    results = {
        case: CaseResult.of(case, rates[tuning_case(s, case)], members)
        for case, members in rows.items()
        if len(members) >= 2
    }
    return LearningResults(results, rates)
