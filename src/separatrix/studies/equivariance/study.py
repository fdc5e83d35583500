"""Study `equivariance`: what the lower bounds of Lahoti et al. rest on, measured as a number."""

import dataclasses

import numpy as np

from separatrix.engine import Lab
from separatrix.errors import check_choice
from separatrix.inference.intervals import median_interval
from separatrix.learners import Learner, Ramp
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of
from separatrix.studies.outcome import Axis, Figure, Outcome, Series, TableData
from separatrix.studies.signal.recipes import NETWORKS, signal_network
from separatrix.studies.study import Study, seeds_from
from separatrix.studies.symmetry import EQUIVARIANT, GROUPS, equivariance_gaps
from separatrix.tasks import SignalTask

LEARNERS = ("sgd", "adam", "rmsprop", "adadelta")
ADAPTIVE = LEARNERS[1:]

CITATION = "lower bounds for equivariant algorithms; specification of the audit"
CONDITIONS = "full-batch training of one hidden layer on the signal task from a start that the group transforms with the data"


def _claim(name: str, statement: str) -> Claim:
    return Claim(f"lahoti.equivariance.{name}", statement, CITATION, CONDITIONS)


FCN_GD = _claim(
    "fcn-gd", "Gradient descent on the FCN is equivariant under all orthogonal maps of the input."
)
FCN_ADAPTIVE = _claim(
    "fcn-adaptive",
    "Adam, RMSprop and AdaDelta on the FCN are equivariant under permutations but not under all orthogonal maps.",
)
LCN_GD = _claim(
    "lcn-gd",
    "Gradient descent on the LCN is equivariant under orthogonal maps within patches and permutations of patches.",
)
CNN_GD = _claim(
    "cnn-gd",
    "Gradient descent on the CNN is equivariant under one orthogonal map applied to all patches.",
)
SMALLER = _claim(
    "smaller-groups",
    "The LCN and the CNN are not equivariant under all orthogonal maps: the FCN's lower bound does not bind them.",
)


@dataclasses.dataclass(frozen=True)
class EquivarianceSettings:
    """Sizes of the audit.

    >>> EquivarianceSettings().patches
    6
    """

    patches: int = 6
    dimension: int = 5
    noise: float = 0.3
    bias: float = 0.3
    samples: int = 200
    steps: int = 60
    draws: int = 8
    seed: int = 0


def audit(s: EquivarianceSettings, network: str, optimizer: str) -> dict[str, list[float]]:
    """The equivariance gaps of a network with an optimizer, for every group, over independent
    draws.

    >>> small = EquivarianceSettings(patches=3, dimension=2, samples=30, steps=5, draws=1)
    >>> audit(small, "FCN", "sgd")["orthogonal"][0] < EQUIVARIANT
    True
    """
    check_choice("audit", "network", network, NETWORKS)
    check_choice("audit", "optimizer", optimizer, LEARNERS)
    rates = {
        "sgd": {"CNN": 3.0, "LCN": 1.5 * s.patches, "FCN": 3.0 * s.patches}[network],
        "adadelta": 30.0,
    }
    learner = Learner(
        rate=rates.get(optimizer, 0.02),
        steps=s.steps,
        optimizer=optimizer,
        projection="ball",
        lsa_bias=Ramp(0.0, s.bias),
    )
    task = SignalTask(s.patches, s.dimension, s.noise)
    return equivariance_gaps(
        task,
        signal_network(network, s.patches, s.bias),
        learner,
        s.samples,
        seeds_from(s.seed, s.draws),
    )


class Equivariance(Study[EquivarianceSettings]):
    """Which networks and learners respect which symmetries.

    >>> Equivariance().name
    'equivariance'
    """

    name = "equivariance"
    title = "Equivariance audit: which algorithms the lower bounds speak of"
    summary = "For each group, network and learner: how far training and transforming are from commuting (Lahoti et al.)"
    claims = (FCN_GD, FCN_ADAPTIVE, LCN_GD, CNN_GD, SMALLER)
    scales = {  # noqa: RUF012
        "quick": EquivarianceSettings(draws=6),
        "laptop": EquivarianceSettings(patches=10, dimension=10, samples=1000, steps=200, draws=16),
        "full": EquivarianceSettings(patches=20, dimension=20, samples=4000, steps=200, draws=32),
    }

    def conclude(self, lab: Lab, settings: EquivarianceSettings) -> Outcome:
        s = settings
        pairs = [("FCN", optimizer) for optimizer in LEARNERS] + [
            (n, o) for n in ("LCN", "CNN") for o in ("sgd", "adam")
        ]
        gaps: dict[tuple[str, str], dict[str, list[float]]] = {}
        for done, (network, optimizer) in enumerate(pairs):
            given = dataclasses.asdict(s) | {
                "network": network,
                "optimizer": optimizer,
                "precision": "float64",
            }
            gaps[network, optimizer] = lab.remember(
                "equivariance", given, lambda n=network, o=optimizer: audit(s, n, o)
            )
            if lab.progress is not None:
                lab.progress(self.name, done + 1, len(pairs))

        def small(network: str, optimizer: str, group: str) -> tuple[Verdict, Evidence]:
            return judge(
                gaps[network, optimizer][group], True, f"gap of {network} with {optimizer}, {group}"
            )

        def large(network: str, optimizer: str, group: str) -> tuple[Verdict, Evidence]:
            return judge(
                gaps[network, optimizer][group],
                False,
                f"gap of {network} with {optimizer}, {group}",
            )

        parts = {
            FCN_GD: [small("FCN", "sgd", "orthogonal")],
            FCN_ADAPTIVE: [
                part
                for o in ADAPTIVE
                for part in (small("FCN", o, "permutation"), large("FCN", o, "orthogonal"))
            ],
            LCN_GD: [small("LCN", "sgd", "patchwise")],
            CNN_GD: [small("CNN", "sgd", "shared")],
            SMALLER: [large("LCN", "sgd", "orthogonal"), large("CNN", "sgd", "orthogonal")],
        }
        findings = tuple(
            Finding(
                claim,
                all_of([verdict for verdict, _ in each]),
                "; ".join(
                    f"{e.name}: median {e.estimate:.2g} over {e.count} draws" for _, e in each
                ),
                True,
                tuple(e for _, e in each),
            )
            for claim, each in parts.items()
        )
        rows = tuple(
            (
                network,
                optimizer,
                group,
                *_spread(values),
                "yes" if max(values) < EQUIVARIANT else "no",
            )
            for (network, optimizer), by_group in gaps.items()
            for group, values in by_group.items()
        )
        columns = (
            "network",
            "learner",
            "group",
            "median gap",
            "smallest",
            "largest",
            "equivariant",
        )
        table = TableData(
            "gaps",
            f"Equivariance gaps (below {EQUIVARIANT:g} in every draw counts as equivariant)",
            columns,
            rows,
        )
        return Outcome(findings, (self._figure(gaps),), (table,))

    def _figure(self, gaps: dict[tuple[str, str], dict[str, list[float]]]) -> Figure:
        names = tuple(f"{network} {optimizer}" for network, optimizer in gaps)
        series = []
        for group in GROUPS:
            spreads = [_spread(by_group[group]) for by_group in gaps.values()]
            middle, low, high = (tuple(column) for column in zip(*spreads))
            series.append(
                Series(
                    group,
                    names,
                    middle,
                    low,
                    high,
                    seeds=tuple(len(by_group[group]) for by_group in gaps.values()),
                )
            )
        line = Series(
            f"rounding ({EQUIVARIANT:g})",
            (names[0], names[-1]),
            (EQUIVARIANT, EQUIVARIANT),
            role="baseline",
        )
        return Figure(
            "gaps",
            "How far training and transforming are from commuting",
            Axis(""),
            Axis("relative gap", log=True),
            (*series, line),
            "Median over draws, with the smallest and the largest draw.",
        )


def judge(values: list[float], equivariant: bool, name: str) -> tuple[Verdict, Evidence]:
    """Whether every draw lies below the line (equivariant) or above it; mixed draws cannot tell.

    >>> judge([1e-6, 2e-6], True, "gap")[0], judge([0.5, 1e-6], True, "gap")[0]
    ('supported', 'undecided')
    """
    below = [value < EQUIVARIANT for value in values]
    wanted = below if equivariant else [not each for each in below]
    verdict: Verdict = "supported" if all(wanted) else "refuted" if not any(wanted) else "undecided"
    return verdict, Evidence.of(name, median_interval(values), EQUIVARIANT)


def _spread(values: list[float]) -> tuple[float, float, float]:
    return float(np.median(values)), float(min(values)), float(max(values))
