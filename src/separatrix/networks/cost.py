"""What a network costs: parameters, multiply-adds, and the numbers that it holds in memory."""

import math
from typing import TYPE_CHECKING, NamedTuple

from separatrix.networks.convolutions import holds_windows
from separatrix.networks.layers import convolves, layers

if TYPE_CHECKING:
    from separatrix.networks.network import Network


class Costs(NamedTuple):
    """What a network of any depth costs on one input."""

    parameters: int  # of the hidden layers
    products: int  # multiply-adds into hidden units
    read: int  # units that the readout reads
    cut: int  # numbers per row once it is cut into patches
    hidden: int  # numbers that the hidden layers hold


def costs(network: "Network", shape: tuple[int, ...]) -> Costs:
    """The costs of a network on an input of `shape`.

    >>> from separatrix.networks import FCN
    >>> costs(FCN(width=5, depth=2, bias=False), (4, 2))
    Costs(parameters=65, products=65, read=5, cut=8, hidden=15)
    """
    whole = network.layered and convolves(network, shape)
    chain = layers(network, shape)
    hidden = [layer.windows.positions * network.width for layer in chain]
    patches = [layer.windows.positions * layer.windows.span for layer in chain]
    held_patches = (sum(patches) if holds_windows() else 0) if whole else sum(patches[1:])
    return Costs(
        parameters=sum(
            network.count_groups(layer.windows)
            * network.width
            * (layer.windows.span + network.bias)
            for layer in chain
        ),
        products=sum(units * layer.windows.span for units, layer in zip(hidden, chain)),
        read=_features(network, len(shape) - 1, math.prod(chain[-1].pooled)) * network.width,
        cut=math.prod(shape) if whole else patches[0],
        hidden=sum(hidden) + held_patches,
    )


def _features(network: "Network", axes: int, windows: int) -> int:
    """How many numbers per filter the readout reads."""
    return windows if network.heads is None else network.heads.count_of(axes, windows)


def parameter_count(network: "Network", shape: tuple[int, ...]) -> int:
    """How many numbers of a network training may change.

    >>> from separatrix.networks import CNN
    >>> parameter_count(CNN(field=3, width=2), (8, 1))
    20
    """
    cost = costs(network, shape)
    readout = {"positions": cost.read, "pooled": network.width, "sum": 0}[network.readout]
    return cost.parameters + (readout + network.offset) * network.outputs


def flops(network: "Network", shape: tuple[int, ...]) -> int:
    """Operations of one forward pass on one input; a multiply-add counts as two.

    >>> from separatrix.networks import FCN
    >>> flops(FCN(width=10), (8, 1))
    180
    """
    cost = costs(network, shape)
    return 2 * (cost.products + cost.read * network.outputs)
