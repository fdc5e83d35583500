"""Schedules: numbers that change while a learner runs (a learning rate, the threshold of an
activation).
"""

import abc
import numbers
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.spec import Spec, as_float, value


class Schedule(Spec):
    """A number as a function of the step.

    A plain number where a schedule is expected becomes a `Constant`.

    >>> float(as_schedule(0.5)(step=3, steps=10))
    0.5
    """

    @abc.abstractmethod
    def __call__(self, step: Any, steps: int) -> Float[Array, ""]:
        """The number at a step.

        Args:
            step: the step, from 0; it may be traced.
            steps: the number of steps in all.
        """


class Constant(Schedule):
    """The same number at every step.

    Args:
        level: the number.

    >>> float(Constant(0.5)(step=7, steps=10))
    0.5
    """

    level: float = value()

    def __call__(self, step: Any, steps: int) -> Float[Array, ""]:
        return jnp.asarray(self.level, jnp.float32)


class Ramp(Schedule):
    """A straight line from `begin` to `end`, then `end`.

    Args:
        begin: the number at step 0.
        end: the number at the end of the line and after it.
        share: the share of the steps that the line takes, in (0, 1].

    >>> ramp = Ramp(begin=0.0, end=1.0, share=0.5)
    >>> [float(ramp(step, 8)) for step in (0, 2, 4, 7)]
    [0.0, 0.5, 1.0, 1.0]
    """

    begin: float = value()
    end: float = value()
    share: float = value(low=0, high=1, open_low=True, default=0.5)

    def __call__(self, step: Any, steps: int) -> Float[Array, ""]:
        progress = jnp.clip(step / (self.share * steps), 0.0, 1.0)
        return self.begin + (self.end - self.begin) * progress


class Stages(Schedule):
    """One number at the first step, another one after it.

    Args:
        first: the number at step 0.
        later: the number at every later step.

    >>> [float(Stages(1.0, 1000.0)(step, 2)) for step in (0, 1)]
    [1.0, 1000.0]
    """

    first: float = value()
    later: float = value()

    def __call__(self, step: Any, steps: int) -> Float[Array, ""]:
        return jnp.where(step < 1, self.first, self.later)


class Cosine(Schedule):
    """Half a cosine, from `begin` at the first step down to 0 after the last.

    Args:
        begin: the number at step 0.

    >>> [round(float(Cosine(2.0)(step, 4)), 3) for step in (0, 2, 4)]
    [2.0, 1.0, 0.0]
    """

    begin: float = value()

    def __call__(self, step: Any, steps: int) -> Float[Array, ""]:
        return self.begin * 0.5 * (1.0 + jnp.cos(jnp.pi * step / steps))


def as_schedule(schedule: Any) -> Any:
    """A schedule from a schedule or a plain number.

    Anything else is returned as it is, for the owner's check to refuse.

    >>> as_schedule(2.0)
    Constant(level=2.0)
    """
    is_number = isinstance(schedule, numbers.Real) and not isinstance(schedule, bool)
    return Constant(as_float(schedule)) if is_number else schedule
