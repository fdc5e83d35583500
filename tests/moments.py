"""Moments of training made by hand, for tests of probes."""

import separatrix as sx
from separatrix.networks import Params


def moment(params, network, shape, direction, frame=None, gradient=None):
    """A moment before training, without rows."""
    layout = network.layout(shape, frame)
    return sx.Moment(
        0, params, params, gradient or Params(None), 0.0, network, layout, direction, None, None
    )
