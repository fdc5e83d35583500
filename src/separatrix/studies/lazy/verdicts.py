"""The claims of the study `lazy`, and the samples that are their evidence."""

from separatrix.inference.censored_medians import MedianRatio
from separatrix.inference.estimates import Estimate
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Comparison, Identity
from separatrix.studies.lazy.settings import LazySettings
from separatrix.studies.lazy.trials import NETWORKS, Errors, LazyCell, amounts_of, sizes_of

SETTING = {
    "cube": "On the parity of neighbouring bits",
    "signal": "On a signal in a random patch of noise",
    "sphere": "On a teacher over windows of a point on a sphere",
}
_CONDITIONS = (
    "exact tangent kernels of one hidden layer; the ridge, and of trained networks the best "
    "moment, are chosen on the same number of rows beside the training set"
)


def _pays(task: str, name: str, statement: str, more: str, fewer: str) -> Claim:
    kind = Comparison(f"median samples, {more} over {fewer}", "above", 1.0)
    sentence = f"{SETTING[task]}, {statement}"
    return Claim(f"ours.lazy.{task}.{name}", sentence, "ours", _CONDITIONS, kind)


LOCALITY = {
    task: _pays(
        task,
        "locality",
        "the advantage of locality is already in the kernel: the fully connected network's kernel "
        "needs more samples than the locally connected one's.",
        "FCN's kernel",
        "LCN's kernel",
    )
    for task in SETTING
}
SHARING = {
    task: _pays(
        task,
        "sharing",
        "the advantage of weight sharing is already in the kernel: the locally connected network's "
        "kernel needs more samples than the convolutional one's.",
        "LCN's kernel",
        "CNN's kernel",
    )
    for task in ("signal", "sphere")
}
FEATURES = {
    task: _pays(
        task,
        "features",
        "every network needs fewer samples when it is trained than its own kernel does.",
        "the kernel",
        "the trained network",
    )
    for task in ("cube", "signal")
}
NO_SHARING = Claim(
    "ours.lazy.cube.no-sharing",
    "With a readout for every position, a convolutional and a locally connected network have the "
    "same kernels, so what sharing does there is not in the kernel.",
    "ours",
    "exact conjugate and tangent kernels of one hidden layer",
    Identity("kernel of the CNN = kernel of the LCN", 1e-5),
)
CLAIMS = (*LOCALITY.values(), *SHARING.values(), *FEATURES.values(), NO_SHARING)


def findings(s: LazySettings, errors: Errors, gaps: dict[str, float]) -> tuple[Finding, ...]:
    """The verdict on every claim, from the errors of kernels and networks by number of samples.

    >>> {finding.verdict for finding in findings(LazySettings(), {}, {})}
    {'not measured'}
    """
    return (
        *(judge(LOCALITY[task], ratios(s, errors, task, "FCN", "LCN")) for task in LOCALITY),
        *(judge(SHARING[task], ratios(s, errors, task, "LCN", "CNN")) for task in SHARING),
        *(_features(s, errors, task) for task in FEATURES),
        judge(NO_SHARING, gaps),
    )


def ratios(
    s: LazySettings, errors: Errors, task: str, more: str, fewer: str
) -> dict[str, Estimate | None]:
    """How many times more samples one kernel needs than another, at every size.

    Sizes at which neither kernel learns from the largest training set are left out.
    """
    cells = {
        f"{task} {size}": (LazyCell(task, size, more), LazyCell(task, size, fewer))
        for size in sizes_of(s, task)
    }
    return _compared(s, errors, cells)


def _features(s: LazySettings, errors: Errors, task: str) -> Finding:
    cells = {
        f"{network}, {task} {size}": (
            LazyCell(task, size, network),
            LazyCell(task, size, network, trained=True),
        )
        for size in sizes_of(s, task)
        for network in NETWORKS
    }
    reason = "" if s.networks else "no network was trained beside the kernels; set `networks=true`"
    return judge(FEATURES[task], _compared(s, errors, cells), reason=reason)


def _compared(
    s: LazySettings, errors: Errors, cells: dict[str, tuple[LazyCell, LazyCell]]
) -> dict[str, Estimate | None]:
    out: dict[str, Estimate | None] = {}
    for name, (more, fewer) in cells.items():
        if more in errors and fewer in errors:
            first, second = (amounts_of(s, cell.task, errors[cell]) for cell in (more, fewer))
            if first.censored < first.count or second.censored < second.count:
                out[name] = MedianRatio(first, second, s.seed)
    return out
