"""How many hidden units a network gets: as many as cost what another costs, in parameters or in
products of a forward pass.

Products are those of the windows and of the readout, a row; the means over regions cost sums only.
"""

import bisect
import math
from typing import Literal

import numpy as np

from separatrix.diagnosis.networks import Net, deep_of
from separatrix.diagnosis.sights import Sight, fields_of, sight

Cost = Literal["parameters", "products"]
COSTS: tuple[Cost, ...] = ("parameters", "products")
MOST = 512  # hidden units of a full network


def full_width(shape: tuple[int, ...], width: int, growth: int = 8) -> int:
    """The hidden units of a full network, a layer, that costs as many products as a local one with
    a middling field.

    >>> full_width((8, 8, 1), 16), full_width((28, 28, 1), 16)
    (81, 319)
    """
    fields = fields_of(shape)
    view = sight(shape, fields[len(fields) // 2])
    first = view.places.size * width
    if not view.counts:
        return int(np.clip(first // math.prod(shape[:-1]), width, MOST))
    deep = deep_of(view.counts)
    target = first * shape[-1] + math.prod(deep.counts) * deep.side**2 * width * growth * width
    inputs = math.prod(shape)  # two layers of h units: h·inputs + h² products
    return int(np.clip((math.sqrt(inputs**2 + 4 * target) - inputs) / 2, width, MOST))


def cost_of(net: Net, view: Sight, channels: int, cost: Cost) -> int:
    """The parameters of a network, or the products of its answer to one row.

    >>> view = sight((8, 1), 3)  # six windows in three regions
    >>> cost_of(Net(True, 4, 2), view, 1, "parameters"), cost_of(Net(False, 4, 2), view, 1, "products")
    (42, 96)
    """
    (positions, area), regions = view.places.shape, len(view.pool)
    layers = [(positions, area * channels, net.width)]
    if net.second:
        deep = deep_of(net.counts)
        layers.append((math.prod(deep.counts), deep.side**2 * net.width, net.second))
    readout = regions * layers[-1][2] * net.outputs
    if cost == "products":
        return readout + sum(count * span * width for count, span, width in layers)
    return (
        readout
        + net.outputs
        + sum((1 if net.shared else count) * (span + 1) * width for count, span, width in layers)
    )


def matched(net: Net, view: Sight, target: int, channels: int, cost: Cost) -> Net:
    """The network with the width at which it costs as nearly as possible what the target says; at
    least one unit. A second layer grows with the first.

    >>> matched(Net(False, 4, 2), sight((8, 1), 3), 60, 1, "parameters").width  # 30 parameters a unit and 2 offsets
    2
    """

    def wide(width: int) -> Net:
        return net._replace(
            width=width, second=max(1, round(net.second * width / net.width)) if net.second else 0
        )

    def price(width: int) -> int:
        return cost_of(wide(width), view, channels, cost)

    above = (
        bisect.bisect_left(range(1, 1 << 20), target, key=price) + 1
    )  # the first width that costs at least as much
    return wide(min((max(1, above - 1), above), key=lambda width: abs(price(width) - target)))
