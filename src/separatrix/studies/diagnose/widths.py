"""How many hidden units a network gets: as many as cost what another costs, in parameters or in products of a forward pass.

Products are those of the windows and of the readout, a row; the means over regions cost sums only.
"""

import math
from typing import Literal

import numpy as np

from separatrix.studies.diagnose.sights import Sight, fields_of, sight
from separatrix.studies.diagnose.training import Net

Cost = Literal["parameters", "products"]
COSTS: tuple[Cost, ...] = ("parameters", "products")


def full_width(shape: tuple[int, ...], width: int) -> int:
    """The hidden units of a full network that costs as many products as a local one with a middling field.

    >>> full_width((8, 8, 1), 16)
    81
    """
    fields = fields_of(shape)
    view = sight(shape, fields[len(fields) // 2])
    return int(np.clip(view.places.size * width // math.prod(shape[:-1]), width, 512))


def cost_of(net: Net, view: Sight, channels: int, cost: Cost) -> int:
    """The parameters of a network, or the products of its answer to one row.

    >>> view = sight((8, 1), 3)  # six windows in three regions
    >>> cost_of(Net(True, 4, 2), view, 1, "parameters"), cost_of(Net(False, 4, 2), view, 1, "products")
    (42, 96)
    """
    return net.width * _each(net, view, channels, cost) + (net.outputs if cost == "parameters" else 0)


def _each(net: Net, view: Sight, channels: int, cost: Cost) -> int:
    """What every hidden unit adds."""
    (positions, area), regions = view.places.shape, len(view.pool)
    if cost == "products":
        return positions * area * channels + regions * net.outputs
    return (1 if net.shared else positions) * (area * channels + 1) + regions * net.outputs


def matched(net: Net, view: Sight, target: int, channels: int, cost: Cost) -> Net:
    """The network with the width at which it costs as nearly as possible what the target says; at least one unit.

    >>> matched(Net(False, 4, 2), sight((8, 1), 3), 60, 1, "parameters").width  # 30 parameters a unit and 2 offsets
    2
    """
    constant = net.outputs if cost == "parameters" else 0
    return net._replace(width=max(1, round((target - constant) / _each(net, view, channels, cost))))
