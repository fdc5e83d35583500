"""Learning k-patterns: which trials are run, how their rates are tuned, and what each case needed."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.learners import Learner, Stop
from separatrix.networks import CNN, FCN, LCN, Network
from separatrix.studies.patterns.censored import Amounts
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import PatternTask
from separatrix.theory.patterns import log_window

NETWORKS = ("CNN", "LCN", "FCN")
PASSES = 3  # a step's forward pass and its gradients in the hidden layer's outputs and weights


@dataclasses.dataclass(frozen=True)
class Case:
    """One cell of the learning experiments: a variant of the task, a network, an optimizer and a
    size.

    Variants: "plain" (parity of consecutive bits), "random" (a random rule for each seed), "hidden"
    (permuted bits), "spread" (bits far apart), "biased" (P(x_i = +1) not ½), "readout" (plain, only
    the readout is trained). `samples` is the size of a fixed training set, 0 for fresh rows at each
    step.

    >>> Case("plain", "CNN", "adam", 16).window
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


def plain_cases(s: PatternsSettings) -> list[Case]:
    """The three networks at every size with every optimizer.

    >>> len(plain_cases(PatternsSettings()))
    9
    """
    return [
        Case("plain", name, optimizer, bits)
        for optimizer in s.optimizers
        for bits in s.sizes
        for name in NETWORKS
    ]


def variant_cases(s: PatternsSettings) -> list[Case]:
    """CNN and FCN with Adam on every variant.

    >>> [case.label for case in variant_cases(PatternsSettings(variants=("hidden",)))]
    ['CNN, adam, hidden, n = 16', 'FCN, adam, hidden, n = 16']
    """
    return [
        Case(variant, name, "adam", bits)
        for variant in s.variants
        for bits in s.variant_sizes
        for name in ("CNN", "FCN")
    ]


def finite_cases(s: PatternsSettings) -> list[Case]:
    """CNN and FCN with Adam on fixed training sets.

    >>> len(finite_cases(PatternsSettings(finite_samples=(64, 128))))
    4
    """
    return [
        Case("plain", name, "adam", s.finite_size, samples)
        for name in ("CNN", "FCN")
        for samples in s.finite_samples
    ]


def rates_of(s: PatternsSettings, case: Case) -> tuple[float, ...]:
    """The grid of learning rates: one for each optimizer, the same for all networks and sizes.

    >>> rates_of(PatternsSettings(), Case("plain", "CNN", "adam", 16))
    (0.01, 0.03, 0.1, 0.3)
    """
    return s.adam_rates if case.optimizer == "adam" else s.sgd_rates


def cap_of(s: PatternsSettings, case: Case) -> int:
    """The most steps that a trial of this case may take.

    >>> cap_of(PatternsSettings(), Case("plain", "FCN", "adam", 32))
    4000
    """
    return (s.full_steps if case.network == "FCN" else s.window_steps)[s.sizes.index(case.bits)]


def seeds_of(s: PatternsSettings, case: Case) -> int:
    """How many seeds a case has: more where the FCN with and without a permutation is asked to be
    equal, which is harder to show.

    >>> seeds_of(PatternsSettings(equal_seeds=99), Case("hidden", "FCN", "adam", 16))
    99
    """
    compared = (
        case.network == "FCN"
        and case.optimizer == "adam"
        and case.variant in ("plain", "hidden")
        and not case.samples
    )
    return (
        max(s.seeds, s.equal_seeds)
        if compared and case.bits in s.variant_sizes and "hidden" in s.variants
        else s.seeds
    )


def trial_of(s: PatternsSettings, case: Case, rate: float, seed: int) -> Trial:
    """One trial of a case.

    >>> trial_of(PatternsSettings(), Case("hidden", "CNN", "adam", 16), 0.01, seed=3).task.hidden
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
            more |= {"probability": s.probability}
    train = ("readout",) if case.variant == "readout" else ("weights", "bias", "readout", "offset")
    learner = Learner(
        rate,
        cap_of(s, case),
        loss="hinge",
        oracle="empirical" if case.samples else "online",
        batch=s.batch,
        optimizer=case.optimizer,
        train=train,
        stop=Stop(target=s.target),
    )
    measure = Measure(test=s.test, times=s.times, spacing="log")
    task = PatternTask(case.bits, case.window, **more)
    return Trial(
        task, network_of(case.network, case.window, s.filters), learner, case.samples, seed, measure
    )


def tuning_trials(s: PatternsSettings, cases: Iterable[Case]) -> dict[Case, list[Trial]]:
    """For each case the trials that choose its rate: the whole grid, on seeds that the results
    never see.

    >>> found = tuning_trials(PatternsSettings(), [Case("plain", "CNN", "adam", 16)])
    >>> [len(trials) for trials in found.values()]
    [8]
    """
    seeds = seeds_from(s.seed, s.tuning_seeds, purpose=1)
    tuned = {tuning_case(s, case) for case in cases}
    ordered = sorted(tuned, key=lambda case: case.label)
    return {
        case: [trial_of(s, case, rate, seed) for rate in rates_of(s, case) for seed in seeds]
        for case in ordered
    }


def tuning_case(s: PatternsSettings, case: Case) -> Case:
    """The case on which the rate of a case is tuned: itself, but for two exceptions.

    Finite training sets take the rate of the largest one. The FCN on permuted bits takes its rate
    on ordered ones: to it they are the same task, and two noisy choices would tell them apart.

    >>> tuning_case(PatternsSettings(finite_samples=(8, 64)), Case("plain", "CNN", "adam", 16, 8)).samples
    64
    >>> tuning_case(PatternsSettings(), Case("hidden", "FCN", "adam", 16)).variant
    'plain'
    """
    if case.variant == "hidden" and case.network == "FCN":
        return dataclasses.replace(case, variant="plain")
    return dataclasses.replace(case, samples=max(s.finite_samples)) if case.samples else case


def choose_rate(rows: list[dict[str, Any]], rates: tuple[float, ...]) -> float | None:
    """The rate at which most seeds reach the target; then in the fewest steps on average; then with
    the smallest risk.

    A run that did not reach the target counts as the longest of all, however early it ended: one
    that diverges is not a fast one.

    >>> rows = [{"learner.rate.level": r, "status": "reached", "steps": t, "risk": 0.0} for r, t in ((0.1, 9), (0.3, 5))]
    >>> choose_rate(rows, (0.1, 0.3, 1.0))
    0.3
    """
    scores = {}
    longest = max((row["steps"] for row in rows), default=0)
    for rate in rates:
        mine = [row for row in rows if row["learner.rate.level"] == rate]
        if mine:
            reached = np.mean([row["status"] == "reached" for row in mine])
            risks = [
                row["risk"] if row["risk"] is not None and np.isfinite(row["risk"]) else 1.0
                for row in mine
            ]
            steps = [row["steps"] if row["status"] == "reached" else longest for row in mine]
            scores[rate] = (-reached, np.mean(steps), np.mean(risks))
    return min(scores, key=lambda rate: scores[rate]) if scores else None


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the seeds of a case did at its tuned rate.

    >>> row = {"status": "reached", "steps": 9, "trace.step": [0, 7, 9], "risk": 0.0, "run.seconds": 0.1}
    >>> Measured.of(Case("plain", "CNN", "adam", 16), 0.1, [row, row]).steps.lower.tolist()
    [8.0, 8.0]
    """

    case: Case
    rate: float
    steps: Amounts
    seconds: Amounts
    risks: np.ndarray
    reached: int
    broken: int  # diverged or not finite

    @classmethod
    def of(cls, case: Case, rate: float, rows: list[dict[str, Any]]) -> "Measured":
        """From the rows of the trials.

        What did not reach the target is cut off at its steps, whatever ended it.
        """
        good = np.array([row["status"] == "reached" for row in rows])
        steps = np.array([row["steps"] for row in rows], float)
        before = np.array(
            [
                row["trace.step"][-2] + 1 if len(row["trace.step"]) > 1 else row["steps"]
                for row in rows
            ],
            float,
        )
        seconds = np.array([row["run.seconds"] for row in rows])
        needed = Amounts.of(
            np.maximum(np.where(good, before, steps), 1.0),
            np.where(good, np.maximum(steps, 1.0), np.inf),
        )
        time = Amounts.of(
            np.maximum(seconds, 1e-9), np.where(good, np.maximum(seconds, 1e-9), np.inf)
        )
        risks = np.array(
            [
                0.5 if row["risk"] is None or not np.isfinite(row["risk"]) else row["risk"]
                for row in rows
            ]
        )
        broken = sum(row["status"] in ("diverged", "non-finite") for row in rows)
        return cls(case, rate, needed, time, risks, int(good.sum()), broken)


@dataclasses.dataclass(frozen=True)
class Learned:
    """All cases that were measured, and the rates that were chosen.

    >>> Learned({}, {}).get("plain", "CNN", "adam", 16) is None
    True
    """

    cases: Mapping[Case, Measured]
    rates: Mapping[Case, float]

    def get(
        self, variant: str, network: str, optimizer: str, bits: int, samples: int = 0
    ) -> Measured | None:
        """The measured case, where there is one."""
        return self.cases.get(Case(variant, network, optimizer, bits, samples))


def all_cases(s: PatternsSettings) -> list[Case]:
    """Every case of the settings.

    >>> len(all_cases(PatternsSettings()))
    13
    """
    return plain_cases(s) + variant_cases(s) + finite_cases(s)


def learning_sweeps(s: PatternsSettings) -> dict[str, Sweep]:
    """The tuning trials, and as many trials of results as there will be (here at each grid's middle
    rate: the tuned one is not known).

    >>> {name: len(sweep) for name, sweep in learning_sweeps(PatternsSettings()).items()}
    {'tuning': 96, 'results': 182}
    """
    cases = all_cases(s)
    tuning = [trial for trials in tuning_trials(s, cases).values() for trial in trials]
    results = [
        trial_of(s, case, rates_of(s, case)[len(rates_of(s, case)) // 2], seed)
        for case in cases
        for seed in seeds_from(s.seed, seeds_of(s, case))
    ]
    return {"tuning": Sweep(tuple(tuning)), "results": Sweep(tuple(results))}


def learn(lab: Lab, s: PatternsSettings) -> Learned:
    """Tune every case, then run its seeds at the chosen rate; cases that a budget cut off are
    missing or have fewer seeds.
    """
    cases = all_cases(s)
    tuning = tuning_trials(s, cases)
    rows = _rows(lab, [trial for trials in tuning.values() for trial in trials], "patterns: tuning")
    rates = {}
    for case, trials in tuning.items():
        rate = choose_rate(
            [rows[t.identity] for t in trials if t.identity in rows], rates_of(s, case)
        )
        if rate is not None:
            rates[case] = rate
    results = {
        case: [
            trial_of(s, case, rates[tuning_case(s, case)], seed)
            for seed in seeds_from(s.seed, seeds_of(s, case))
        ]
        for case in cases
        if tuning_case(s, case) in rates
    }
    rows = _rows(
        lab, [trial for trials in results.values() for trial in trials], "patterns: results"
    )
    measured = {}
    for case, trials in results.items():
        mine = [rows[t.identity] for t in trials if t.identity in rows]
        if len(mine) >= 2:
            measured[case] = Measured.of(case, rates[tuning_case(s, case)], mine)
    return Learned(measured, rates)


def _rows(lab: Lab, trials: list[Trial], what: str) -> dict[str, dict[str, Any]]:
    return {row["trial"]: row for row in lab.run(Sweep(tuple(trials)), what).arrow.to_pylist()}
