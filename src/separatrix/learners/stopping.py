"""When a learner stops, and what its end is called."""

import enum
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from separatrix.spec import Spec, choice, static, value


class Status(enum.IntEnum):
    """How a trial ended: `REACHED`, `EXHAUSTED`, `DIVERGED` or `NON_FINITE`; `RUNNING` before.

    >>> Status.NON_FINITE.label
    'non-finite'
    """

    RUNNING = -1
    REACHED = 0
    EXHAUSTED = 1
    DIVERGED = 2
    NON_FINITE = 3

    @property
    def label(self) -> str:
        """The status as tables show it."""
        return self.name.lower().replace("_", "-")


class Stop(Spec):
    """Reasons to stop before the steps are used up; they are checked at every measurement.

    A trial is *reached* when its metric is at most the target; *diverged* when its training loss
    exceeds the ceiling; *non-finite* when that loss is not a finite number; and *exhausted* when
    its steps are used up, or on a plateau, or some steps after the edge of stability.

    Args:
        target: the value of the metric to reach; None for no target.
        metric: "risk" (on the test rows) or "loss" (on the training rows).
        plateau: the share by which the loss must improve on its best; None for no plateau.
        patience: measurements in a row without that improvement before the trial ends.
        ceiling: the largest training loss.
        after_edge: steps that a trial goes on after its sharpness was first seen at the edge of
            stability; None to go on to the end. It needs the probe `sharpness`.
        edge_tolerance: how far below the edge 2/η the sharpness may be, as a share of it.

    >>> Stop(target=0.05, plateau=0.01, patience=5).metric
    'risk'
    """

    target: float | None = value(default=None)
    metric: str = choice("risk", "loss", default="risk")
    plateau: float | None = value(low=0, high=1, default=None)
    patience: int = static(low=1, default=3)
    ceiling: float = value(low=0, default=1e6)
    after_edge: int | None = value(low=0, default=None, integer=True)
    edge_tolerance: float = value(low=0, high=1, default=0.01)


def edge_step(
    before: Any, step: Any, sharpness: Float[Array, ""], rate: Any, tolerance: Any
) -> Int[Array, ""]:
    """The first measured step at which the sharpness was at least (1 - tolerance)·2/η, or -1 while
    it has not been.

    Loss and step size must use the same convention (MSE with or without the ½), as a learner's own
    loss and rate do.

    >>> int(edge_step(-1, 50, jnp.array(9.99), rate=0.2, tolerance=0.01))
    50
    >>> int(edge_step(50, 60, jnp.array(3.0), rate=0.2, tolerance=0.01))
    50
    """
    at_edge = sharpness >= (1.0 - tolerance) * 2.0 / rate
    return jnp.where((jnp.asarray(before) < 0) & at_edge, step, before).astype(jnp.int32)
