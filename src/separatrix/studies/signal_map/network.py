"""Every network between the fully connected and the convolutional one as one network, whose place
on the map is two numbers.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from separatrix.errors import ParameterError
from separatrix.networks import (
    LSA,
    Frame,
    Initial,
    Layout,
    Network,
    Params,
    Patches,
    Windows,
    windows,
)
from separatrix.spec import value


class MapNetwork(Network):
    """One unit a patch; unit p looks at the `reach` patches p, p+1, … (around the edge), and the
    units share `sharing` filters.

    It is the function of `Network("shared", 1, field=reach, groups=sharing, border="wrap")`
    (tested), with both numbers as values: one program serves the whole map. For that it is written
    as a full network of one unit a patch, whose weights are the filters put in their places; it
    costs what the full network costs.

    >>> import jax
    >>> network = map_network(patches=4, reach=2, sharing=1, bias=0.5, norm=0.05)
    >>> network.apply(network.init(jax.random.key(0), (4, 3)), jax.numpy.ones((5, 4, 3))).shape
    (5,)
    """

    reach: int = value(low=1, default=1, integer=True)  # patches that a unit sees
    sharing: int = value(
        low=1, default=1, integer=True
    )  # filters: 1 is a convolution, one a patch a local network

    def check(self) -> None:
        for name, wanted in (
            ("connectivity", "full"),
            ("border", "wrap"),
            ("readout", "sum"),
            ("bias", False),
            ("start", None),
        ):
            if getattr(self, name) != wanted:
                raise ParameterError("MapNetwork", name, repr(wanted), getattr(self, name))
        for name in ("reach", "sharing"):
            if getattr(self, name) > self.width:
                raise ParameterError(
                    "MapNetwork", name, f"at most its units ({self.width})", getattr(self, name)
                )

    def windows(self, shape: tuple[int, ...]) -> Windows:
        """One window, the whole input; what a unit does not see has weight 0."""
        return windows(shape, None, 1)

    def init(
        self, key: Key[Array, ""], shape: tuple[int, ...], within: Frame | None = None
    ) -> Params:
        """Filters of the initial norm on the patches that they see; filters beyond the last group
        are 0.
        """
        params = super().init(key, shape, within)
        weights = params.only_layer.weights
        filters = self._seen(weights) * (jnp.arange(weights.shape[1]) < self.sharing)[None, :, None]
        norm = jnp.linalg.norm(filters, axis=-1, keepdims=True)
        return params._replace(
            weights=filters * (self.initial.scale / jnp.where(norm > 0, norm, 1.0))
        )

    def scores(self, params: Params, patches: Patches, layout: Layout) -> Any:
        """The outputs of the full network whose weights are the filters in their places."""
        placed = self.placed(params.only_layer.weights)
        return super().scores(params._replace(weights=placed), patches, layout)

    def placed(self, filters: Float[Array, "1 units span"]) -> Float[Array, "1 units span"]:
        """The weights of every unit over the whole input."""
        _, units, span = filters.shape
        # A product with zeros and ones, and below a shear by slices: unlike a gather, both have
        # gradients that are sums in a fixed order, also on a GPU.
        member = jax.nn.one_hot(
            np.arange(units) * self.sharing // units, units, dtype=filters.dtype
        )
        tied = (member @ self._seen(filters)[0]).reshape(units, units, span // units)
        # Unit p's filter moves p patches to the right, around the edge: of two copies of each row
        # in a line, read rows that are one shorter, so that each begins one patch earlier than the
        # last.
        line = jnp.concatenate([tied, tied], axis=1).reshape(2 * units * units, span // units)
        return (
            line[units:]
            .reshape(units, 2 * units - 1, span // units)[:, :units]
            .reshape(1, units, span)
        )

    def _seen(self, filters: Float[Array, "1 units span"]) -> Float[Array, "1 units span"]:
        """The filters with zeros beyond their reach; the first patch of a filter is its unit's own."""
        _, units, span = filters.shape
        return filters * jnp.repeat(jnp.arange(units) < self.reach, span // units)


def map_network(patches: int, reach: int, sharing: int, bias: float, norm: float) -> MapNetwork:
    """The network at one place of the map, with LSA activation.

    >>> map_network(8, reach=1, sharing=8, bias=0.5, norm=0.05).sharing
    8
    """
    return MapNetwork(
        "full",
        patches,
        activation=LSA(bias),
        readout="sum",
        bias=False,
        initial=Initial("directions", scale=norm),
        border="wrap",
        reach=reach,
        sharing=sharing,
    )
