"""Pooling: what a readout reads of the hidden units of all windows."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.errors import ParameterError
from separatrix.networks.windows import per_axis
from separatrix.spec import Spec, static, value


class Heads(Spec):
    """Features of a readout: means over regions of windows, and the maximum over all windows.

    Args:
        regions: how many regions along each axis (an integer or a tuple); None reads every window
            by itself.
        means: 1 reads these, 0 does not.
        maximum: 1 reads the maximum of every filter over all windows, 0 does not.

    `means` and `maximum` are a mask on the readout: networks that differ there share a program.

    >>> Heads(regions=4, maximum=0).count_of(axes=1, windows=12)
    5
    """

    regions: Any = static(default=None)
    means: int = value(low=0, high=1, default=1, integer=True)
    maximum: int = value(low=0, high=1, default=1, integer=True)

    def check(self) -> None:
        if self.regions is not None:
            axes = len(self.regions) if isinstance(self.regions, tuple) else 1
            per_axis(self.regions, min(max(axes, 1), 2), "Heads", "regions")
        if self.means == 0 and self.maximum == 0:
            raise ParameterError("Heads", "maximum", "1 where `means` is 0", self.maximum)

    def along(self, axes: int) -> tuple[int, ...] | None:
        """The number of regions along each axis; None where windows are read one by one."""
        return None if self.regions is None else per_axis(self.regions, axes, "Heads", "regions")

    def count_of(self, axes: int, windows: int) -> int:
        """How many features each filter has over so many windows along so many axes."""
        along = self.along(axes)
        return (windows if along is None else math.prod(along)) + 1

    def mask(self, features: int) -> Float[Array, " features"]:
        """1 for features that are read."""
        last = jnp.arange(features) == features - 1
        return jnp.where(last, 1.0 * self.maximum, 1.0 * self.means)


def region_means(
    counts: tuple[Any, ...], along: tuple[int, ...], windows: int
) -> Float[Array, "regions windows"]:
    """The mean over the windows of each region, as a matrix.

    Args:
        counts: the real windows along each axis; may be traced.
        along: the regions along each axis.
        windows: how many windows the arrays hold; those beyond the real ones count nowhere.

    >>> region_means((4,), (2,), 5).tolist()
    [[0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5, 0.0]]
    """
    spot = jnp.arange(windows)
    if len(along) == 1:
        region, real = spot * along[0] // counts[0], spot < counts[0]
    else:
        row, column = spot // counts[1], spot % counts[1]
        region = row * along[0] // counts[0] * along[1] + column * along[1] // counts[1]
        real = spot < counts[0] * counts[1]
    member = (jnp.arange(math.prod(along))[:, None] == region) & real
    return member / jnp.maximum(member.sum(1, keepdims=True), 1)


def pooled_features(
    heads: Heads, active: Float[Array, "windows width rows"], counts: tuple[Any, ...], real: Any
) -> Float[Array, "features width rows"]:
    """The features that `heads` names, from the activations of all windows.

    Args:
        heads: which features.
        active: the activations of every filter at every window.
        counts: the real windows along each axis; may be traced.
        real: how many of the windows are real.

    >>> active = jnp.array([1.0, 3.0, 7.0]).reshape(3, 1, 1)
    >>> pooled_features(Heads(regions=1), active, (2,), 2).ravel().tolist()
    [2.0, 3.0]
    """
    along = heads.along(len(counts))
    there = (jnp.arange(len(active)) < real)[:, None, None]
    if along is None:
        first = active * there
    else:
        first = jnp.tensordot(region_means(counts, along, len(active)), active, 1)
    highest = jnp.where(there, active, -jnp.inf).max(0)[None]
    out = jnp.concatenate([first, highest])
    return out * heads.mask(len(out))[:, None, None]
