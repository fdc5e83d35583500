"""The claims of the equivariance audit, and how gaps decide them.

The lower bounds of Lahoti et al. are about equivariant algorithms. Which algorithms are equivariant
under which group is our question: an equivariant one has gaps of the size of rounding errors in
every draw, so its claim is an identity. That an algorithm is *not* equivariant is a comparison: its
mean gap over random elements of the group is above the tolerance.
"""

from separatrix.inference.estimates import MeanOf
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.equivariance.trials import LEARNERS, Gaps
from separatrix.studies.kinds import Comparison, Identity, Kind, Together
from separatrix.studies.symmetry import EQUIVARIANT, GROUPS

ADAPTIVE = LEARNERS[1:]
CITATION = (
    "no paper's sentence; the lower bound of Lahoti et al. on FCNs assumes an algorithm that is "
    "equivariant under orthogonal maps"
)
# `equivariance_gaps` refuses a learner or a network that does not meet them.
CONDITIONS = (
    "full-batch training of one hidden layer on the signal task, from a start that the group "
    "transforms with the data, in double precision"
)


def _equivariant(group: str) -> Identity:
    return Identity(
        f"the predictor trained on transformed data = the transformed predictor ({GROUPS[group]})",
        tolerance=EQUIVARIANT,
    )


def _broken(group: str) -> Comparison:
    return Comparison(f"mean relative gap under {GROUPS[group]}", "above", EQUIVARIANT)


def _claim(name: str, statement: str, kind: Kind) -> Claim:
    return Claim(f"ours.equivariance.{name}", statement, CITATION, CONDITIONS, kind)


FCN_GD = _claim(
    "fcn-gd",
    "Gradient descent on the fully connected network (FCN) is equivariant under all orthogonal "
    "maps of the input: trained on rotated data from a rotated start, it gives the rotated "
    "predictor.",
    _equivariant("orthogonal"),
)
FCN_ADAPTIVE = _claim(
    "fcn-adaptive",
    "Adam, RMSprop and AdaDelta on the fully connected network (FCN) are equivariant under "
    "permutations of the coordinates but not under all orthogonal maps.",
    Together(
        (
            ("permutations", _equivariant("permutation")),
            ("orthogonal maps", _broken("orthogonal")),
        )
    ),
)
LCN_GD = _claim(
    "lcn-gd",
    "Gradient descent on the locally connected network (LCN) is equivariant under orthogonal maps "
    "within patches and permutations of patches.",
    _equivariant("patchwise"),
)
CNN_GD = _claim(
    "cnn-gd",
    "Gradient descent on the convolutional network (CNN) is equivariant under one orthogonal map "
    "applied to all patches.",
    _equivariant("shared"),
)
SMALLER = _claim(
    "smaller-groups",
    "Gradient descent on the LCN and on the CNN is not equivariant under all orthogonal maps, so "
    "the lower bound on FCNs does not bind them.",
    _broken("orthogonal"),
)


def judge_all(gaps: Gaps) -> tuple[Finding, ...]:
    """The findings of the audit, in the order of its claims.

    Args:
        gaps: relative gaps by network and optimizer, then by group, one per draw.
    """

    def errors(network: str, optimizers: tuple[str, ...], group: str) -> dict[str, float]:
        return {
            f"{network} with {optimizer}, draw {draw}": gap
            for optimizer in optimizers
            for draw, gap in enumerate(gaps[network, optimizer][group])
        }

    def means(*pairs: tuple[str, str]) -> dict[str, MeanOf | None]:
        draws = {" with ".join(pair): gaps[pair]["orthogonal"] for pair in pairs}
        return {
            name: MeanOf(tuple(values)) if len(values) > 1 else None
            for name, values in draws.items()
        }

    adaptive = {
        "permutations": errors("FCN", ADAPTIVE, "permutation"),
        "orthogonal maps": means(*(("FCN", optimizer) for optimizer in ADAPTIVE)),
    }
    return (
        judge(FCN_GD, errors("FCN", ("sgd",), "orthogonal")),
        judge(FCN_ADAPTIVE, adaptive),
        judge(LCN_GD, errors("LCN", ("sgd",), "patchwise")),
        judge(CNN_GD, errors("CNN", ("sgd",), "shared")),
        judge(SMALLER, means(("LCN", "sgd"), ("CNN", "sgd"))),
    )
