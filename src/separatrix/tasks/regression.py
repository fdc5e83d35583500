"""Shared by the regression tasks: a hidden teacher over views of the input, and noisy labels."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from separatrix.errors import check_integer
from separatrix.streams import draw, named, normal, uniform
from separatrix.tasks.base import Sample, Task

TEACHERS = ("local", "dense", "none")


class Teacher(NamedTuple):
    """A two-layer ReLU network that labels inputs; and the hidden directions that inputs are made
    of, or None.
    """

    weights: Float[Array, "units span"]
    bias: Float[Array, " units"]
    readout: Float[Array, " units"]
    offset: Float[Array, ""]
    axes: Float[Array, "axes patch"] | None = None


def unit_rows(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Vectors drawn uniformly from the unit sphere (the last axis).

    >>> import jax
    >>> bool(jnp.allclose(jnp.linalg.norm(unit_rows(jax.random.key(0), (5, 3)), axis=-1), 1.0))
    True
    """
    raw = draw(normal, key, shape)
    return raw / jnp.linalg.norm(raw, axis=-1, keepdims=True)


class RegressionTask(Task):
    """A task whose labels are the values of a teacher plus Gaussian noise.

    The teacher is `local`, v·mean over views of φ(w·x_l - b) + β; `dense`, the same with units that
    see the whole input (a control that a shared network cannot express); or `none`, the constant 0,
    so that labels are pure noise (a control with nothing to learn). Its weights are unit vectors, b
    ~ U(-½, ½), β ~ U(-1, 1), v ~ N(0, gain²/units). Teacher, inputs and noise come from separate
    random streams. Subclasses have the fields `patch`, `noise`, `teacher`, `units` and `gain`, and
    define `inputs`.

    >>> from separatrix.tasks import SphereTask
    >>> isinstance(SphereTask(dimension=20, patch=5), RegressionTask)
    True
    """

    patch: eqx.AbstractVar[int]
    noise: eqx.AbstractVar[float]
    teacher: eqx.AbstractVar[str]
    units: eqx.AbstractVar[int]
    gain: eqx.AbstractVar[float]

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """The number of coordinates of an input."""

    @abc.abstractmethod
    def inputs(self, key: Key[Array, ""], rows: int, truth: Any) -> Float[Array, "rows length"]:
        """Draw inputs, independently of the teacher."""

    def check(self) -> None:
        check_integer(type(self).__name__, "patch", self.patch, 1, self.length)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.length, 1)

    def places(self) -> np.ndarray:
        """The coordinates of each view of the local teacher, (views, patch): disjoint blocks unless
        a task overrides this.
        """
        views = self.length // self.patch
        return np.arange(views * self.patch).reshape(views, self.patch)

    def truth(self, key: Key[Array, ""], within: Any = None) -> Teacher:
        span = self.length if self.teacher == "dense" else self.patch
        return Teacher(
            unit_rows(named(key, "weights"), (self.units, span)),
            draw(uniform, named(key, "bias"), (self.units,)) - 0.5,
            draw(normal, named(key, "readout"), (self.units,)) * self.gain / np.sqrt(self.units),
            2.0 * draw(uniform, named(key, "offset"), (1,))[0] - 1.0,
            self.directions(named(key, "axes")),
        )

    def directions(self, key: Key[Array, ""]) -> Float[Array, "axes patch"] | None:
        """The hidden directions that inputs are made of, or None."""
        del key
        return None

    def clean(self, x: Float[Array, "rows length 1"], truth: Any) -> Float[Array, " rows"]:
        flat = x[:, :, 0]
        if self.teacher == "none":
            return jnp.zeros(len(flat), flat.dtype)
        seen = flat[:, None, :] if self.teacher == "dense" else flat[:, self.places()]
        hidden = jax.nn.relu(seen @ truth.weights.T - truth.bias)  # (rows, views, units)
        return hidden.mean(1) @ truth.readout + truth.offset

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        x = self.inputs(named(key, "inputs"), rows, truth)[:, :, None]
        return Sample(
            x, self.clean(x, truth) + self.noise * draw(normal, named(key, "noise"), (rows,))
        )

    def baselines(self) -> dict[str, float]:
        # The risk of the best constant is the variance of the teacher, which depends on the seed;
        # the probe `regression` measures it.
        return {"constant": 0.0} if self.teacher == "none" else {}
