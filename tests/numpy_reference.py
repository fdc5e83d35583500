"""An independent implementation of networks and gradient descent: NumPy, float64, loops, gradients
by hand.
"""

import itertools

import numpy as np

ACTIVATIONS = {
    "ReLU": (lambda z, _: np.maximum(z, 0.0), lambda z, _: (z > 0) * 1.0),
    "ClippedReLU": (
        lambda z, c: np.minimum(np.maximum(z, 0.0), c),
        lambda z, c: ((z > 0) & (z < c)) * 1.0,
    ),
    "Tanh": (lambda z, _: np.tanh(z), lambda z, _: 1.0 - np.tanh(z) ** 2),
    "LSA": (
        lambda z, b: np.maximum(z - b, 0.0) - np.maximum(-z - b, 0.0),
        lambda z, b: (np.abs(z) > b) * 1.0,
    ),
}

# Each loss as (value, derivative with respect to the score).
LOSSES = {
    "hinge": (
        lambda s, y: np.maximum(0.0, 1.0 - y * s),
        lambda s, y: np.where(y * s < 1.0, -y, 0.0),
    ),
    "logistic": (lambda s, y: np.logaddexp(0.0, -y * s), lambda s, y: -y / (1.0 + np.exp(y * s))),
    "squared": (lambda s, y: (s - y) ** 2, lambda s, y: 2.0 * (s - y)),
    "half-squared": (lambda s, y: 0.5 * (s - y) ** 2, lambda s, y: s - y),
    "correlation": (lambda s, y: -y * s, lambda s, y: -y + 0.0 * s),
}


def parameter_of(activation):
    """The parameter of an activation; 0 if it has none."""
    return getattr(activation, "bias", getattr(activation, "ceiling", 0.0))


def patches_of(x, field, stride):
    """(positions, span, rows), window by window."""
    rows, *space, _ = x.shape
    axes = len(space)
    field = (
        tuple(space) if field is None else (field if isinstance(field, tuple) else (field,) * axes)
    )
    stride = stride if isinstance(stride, tuple) else (stride,) * axes
    corners = [range(0, n - f + 1, s) for n, f, s in zip(space, field, stride)]
    cuts = []
    for corner in itertools.product(*corners):
        window = x[(slice(None), *(slice(c, c + f) for c, f in zip(corner, field)))]
        cuts.append(window.reshape(rows, -1).T)
    return np.stack(cuts).astype(np.float64)


def random_params(network, shape, rng, scale=1.0):
    """Parameters of the right shapes as a dictionary of float64 arrays; parts that the network
    lacks are missing.
    """
    positions, span, _ = patches_of(np.zeros((1, *shape)), network.field, network.stride).shape
    groups = positions if network.connectivity == "local" else 1
    out = {"weights": scale * rng.standard_normal((groups, network.width, span))}
    if network.bias:
        out["bias"] = scale * rng.standard_normal((groups, network.width))
    if network.readout == "positions":
        out["readout"] = scale * rng.standard_normal((positions, network.width))
    if network.readout == "pooled":
        out["readout"] = scale * rng.standard_normal(network.width)
    if network.offset:
        out["offset"] = scale * np.asarray(rng.standard_normal())
    return out


def unit_by_unit(network, params, x):
    """Scores by a plain loop over rows, windows and filters."""
    act, _ = ACTIVATIONS[type(network.activation).__name__]
    level = parameter_of(network.activation)
    patches = patches_of(x, network.field, network.stride)
    positions, _, rows = patches.shape
    scores = np.zeros(rows)
    for r in range(rows):
        total = 0.0
        for p in range(positions):
            for f in range(network.width):
                group = p if network.connectivity == "local" else 0
                z = float(np.dot(params["weights"][group, f], patches[p, :, r]))
                if network.bias:
                    z += params["bias"][group, f]
                weight = {
                    "positions": lambda p, f: params["readout"][p, f],
                    "pooled": lambda p, f: params["readout"][f] / positions,
                    "sum": lambda p, f: 1.0,
                }[network.readout](p, f)
                total += weight * act(z, level)
        scores[r] = total + (params["offset"] if network.offset else 0.0)
    return scores


def forward(network, params, patches, level):
    """Scores of all rows, and the residuals of the backward pass: (scores, hidden inputs, hidden
    outputs, coefficients).
    """
    act, _ = ACTIVATIONS[type(network.activation).__name__]
    positions = patches.shape[0]
    z = np.einsum(
        "pfs,psr->pfr",
        np.broadcast_to(params["weights"], (positions, *params["weights"].shape[1:])),
        patches,
    )
    if network.bias:
        z = z + params["bias"][:, :, None]
    shape = (positions, network.width)
    readout = {
        "sum": 1.0,
        "pooled": params.get("readout", 0.0) / positions,
        "positions": params.get("readout"),
    }[network.readout]
    coefficients = np.broadcast_to(readout, shape)
    hidden = act(z, level)
    scores = np.einsum("pf,pfr->r", coefficients, hidden) + params.get("offset", 0.0)
    return scores, z, hidden, coefficients


def loss_and_gradient(network, params, patches, y, weight, loss, level=None):
    """The weighted mean loss and its gradient in every part, by hand."""
    level = parameter_of(network.activation) if level is None else level
    value, loss_derivative = LOSSES[loss]
    _, derivative = ACTIVATIONS[type(network.activation).__name__]
    scores, z, hidden, coefficients = forward(network, params, patches, level)
    cotangent = weight * loss_derivative(scores, y)  # per row
    inner = coefficients[:, :, None] * derivative(z, level) * cotangent  # per position, filter, row
    weights = np.einsum("pfr,psr->pfs", inner, patches)
    bias = inner.sum(2)
    if network.connectivity != "local":
        weights, bias = weights.sum(0, keepdims=True), bias.sum(0, keepdims=True)
    gradient = {"weights": weights}
    if network.bias:
        gradient["bias"] = bias
    if network.readout != "sum":
        readout = np.einsum("pfr,r->pf", hidden, cotangent)
        gradient["readout"] = readout.mean(0) if network.readout == "pooled" else readout
    if network.offset:
        gradient["offset"] = cotangent.sum()
    return float(weight @ value(scores, y)), gradient


def project(weights, projection):
    """Project the weights of each unit into the unit ball or onto the unit sphere."""
    if projection == "none":
        return weights
    norm = np.linalg.norm(weights, axis=-1, keepdims=True)
    return weights / (np.maximum(norm, 1.0) if projection == "ball" else norm)


def descend(
    network, params, rows_at, steps, rate, loss, projection="none", level_at=None, train=None
):
    """Plain gradient descent; `rows_at(step)` gives (patches, y, weight), `level_at(step)` the
    activation's bias.
    """
    params = {name: np.array(part, np.float64) for name, part in params.items()}
    for step in range(steps):
        level = None if level_at is None else level_at(step)
        _, gradient = loss_and_gradient(network, params, *rows_at(step), loss, level)
        for name in params:
            if train is None or name in train:
                params[name] = (
                    params[name] - (rate(step) if callable(rate) else rate) * gradient[name]
                )
        params["weights"] = project(params["weights"], projection)
    return params


def risk(network, params, patches, y):
    """The share of wrong signs, ties counted half."""
    scores = forward(network, params, patches, parameter_of(network.activation))[0]
    return float(np.mean((scores * y < 0) + 0.5 * (scores * y == 0)))
