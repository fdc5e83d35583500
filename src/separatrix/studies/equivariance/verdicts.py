"""The claims of the equivariance audit, and how gaps decide them."""

from separatrix.inference.intervals import median_interval
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of
from separatrix.studies.equivariance.trials import LEARNERS, Gaps
from separatrix.studies.symmetry import EQUIVARIANT

ADAPTIVE = LEARNERS[1:]
CITATION = "lower bounds for equivariant algorithms; specification of the audit"
CONDITIONS = (
    "full-batch training of one hidden layer on the signal task from a start that the group "
    "transforms with the data"
)


def _claim(name: str, statement: str) -> Claim:
    return Claim(f"lahoti.equivariance.{name}", statement, CITATION, CONDITIONS)


FCN_GD = _claim(
    "fcn-gd", "Gradient descent on the FCN is equivariant under all orthogonal maps of the input."
)
FCN_ADAPTIVE = _claim(
    "fcn-adaptive",
    "Adam, RMSprop and AdaDelta on the FCN are equivariant under permutations but not under all "
    "orthogonal maps.",
)
LCN_GD = _claim(
    "lcn-gd",
    "Gradient descent on the LCN is equivariant under orthogonal maps within patches and "
    "permutations of patches.",
)
CNN_GD = _claim(
    "cnn-gd",
    "Gradient descent on the CNN is equivariant under one orthogonal map applied to all patches.",
)
SMALLER = _claim(
    "smaller-groups",
    "The LCN and the CNN are not equivariant under all orthogonal maps: the FCN's lower bound "
    "does not bind them.",
)


def judge_all(gaps: Gaps) -> tuple[Finding, ...]:
    """The findings of the audit, in the order of its claims."""

    def part(
        network: str, optimizer: str, group: str, equivariant: bool
    ) -> tuple[Verdict, Evidence]:
        name = f"gap of {network} with {optimizer}, {group}"
        return judge(gaps[network, optimizer][group], equivariant, name)

    parts = {
        FCN_GD: [part("FCN", "sgd", "orthogonal", True)],
        FCN_ADAPTIVE: [
            part("FCN", optimizer, group, equivariant)
            for optimizer in ADAPTIVE
            for group, equivariant in (("permutation", True), ("orthogonal", False))
        ],
        LCN_GD: [part("LCN", "sgd", "patchwise", True)],
        CNN_GD: [part("CNN", "sgd", "shared", True)],
        SMALLER: [part(network, "sgd", "orthogonal", False) for network in ("LCN", "CNN")],
    }
    return tuple(
        Finding(
            claim,
            all_of([verdict for verdict, _ in judged]),
            "; ".join(
                f"{evidence.name}: median {evidence.estimate:.2g} over {evidence.count} draws"
                for _, evidence in judged
            ),
            conditions_met=True,
            evidence=tuple(evidence for _, evidence in judged),
        )
        for claim, judged in parts.items()
    )


def judge(gaps: list[float], equivariant: bool, name: str) -> tuple[Verdict, Evidence]:
    """Whether every draw's gap is below the line (equivariant) or above it; mixed draws decide
    nothing.

    >>> judge([1e-6, 2e-6], True, "gap")[0], judge([0.5, 1e-6], True, "gap")[0]
    ('supported', 'undecided')
    """
    agree = [(gap < EQUIVARIANT) == equivariant for gap in gaps]
    verdict: Verdict = "supported" if all(agree) else "refuted" if not any(agree) else "undecided"
    return verdict, Evidence.of(name, median_interval(gaps), EQUIVARIANT)
