"""When a learner stops, and what its end is called."""

import enum

from separatrix.spec import Spec, choice, static, value


class Status(enum.IntEnum):
    """How a trial ended.

    >>> Status.REACHED.label
    'reached'
    """

    RUNNING = -1
    REACHED = 0
    EXHAUSTED = 1
    DIVERGED = 2
    NON_FINITE = 3

    @property
    def label(self) -> str:
        """The status as it stands in tables."""
        return self.name.lower().replace("_", "-")


class Stop(Spec):
    """Reasons to stop before the steps are used up; all are looked at whenever the trial is
    measured.

    A trial is *reached* when `metric` ("risk" on the test rows, or training "loss") is at most
    `target`; *diverged* when the training loss exceeds `ceiling`; and *exhausted* when its steps
    are used up, or when the loss has not improved by the share `plateau` in `patience`
    measurements, or — for a trial that measures its sharpness — when `after_edge` steps have passed
    since the sharpness was first seen at the edge of stability, 2/η less the share
    `edge_tolerance`.

    >>> Stop(target=0.05).metric
    'risk'
    """

    target: float | None = value(default=None)
    metric: str = choice("risk", "loss", default="risk")
    plateau: float | None = value(low=0, high=1, default=None)
    patience: int = static(low=1, default=3)
    ceiling: float = value(low=0, default=1e6)
    after_edge: int | None = value(low=0, default=None, integer=True)
    edge_tolerance: float = value(low=0, high=1, default=0.01)
