"""Exported code gives the outputs of the network that it was made from."""

import dataclasses

import jax
import numpy as np
import pytest

from separatrix.diagnosis.export import network_code
from separatrix.diagnosis.networks import Candidate, Windows, network_of, regions_of

CASES = {
    "tiles": (Candidate("shared", 0.01, 4, 4), Windows((4, 6), (4, 6)), (24, 1)),
    "strided": (Candidate("shared", 0.01, 3, 1, maximum=0), Windows((3, 5), (1, 1)), (20, 2)),
    "maximum": (Candidate("shared", 0.01, 3, 1, means=0), Windows((3, 5), (1, 1)), (20, 2)),
    "biases": (Candidate("shared", 0.01, 4, 4, place_bias=1), Windows((4,), (4,)), (24, 1)),
    "local": (Candidate("local", 0.01, 3, 3), Windows((3, 4), (3, 4)), (24, 1)),
    "image": (Candidate("shared", 0.01, 2, 1), Windows((2, 3), (1, 1)), (7, 7, 1)),
    "deep": (Candidate("shared", 0.01, 5, 2, 2), Windows((5,), (2,), 2), (24, 24, 1)),
    "deep local": (Candidate("local", 0.01, 3, 1, 2), Windows((3,), (1,), 2), (8, 8, 1)),
    "full": (Candidate("full", 0.01, width=5), None, (6, 2)),
    "full deep": (Candidate("full", 0.01, width=5, depth=2), None, (6, 2)),
}


def arrays_of(candidate, params, sizes) -> dict[str, np.ndarray]:
    """The network's arrays in the shapes of the exported code, without padding."""
    out = {}
    for layer, part in enumerate(params.layers):
        for name, array in (("weights", part.weights), ("bias", part.bias)):
            size = sizes[f"{name}{layer}"]
            array = np.asarray(array)
            if len(size) < array.ndim:
                array = array[0]
            out[f"{name}{layer}"] = array[tuple(slice(n) for n in size)]
    readout = np.asarray(params.readout)
    readout = (
        readout if readout.ndim == 3 or candidate.connectivity == "full" else readout[..., None]
    )
    size = sizes["readout"]
    if candidate.connectivity == "full":
        out["readout"] = readout.reshape(size)
    else:
        means = readout[: size[0] - candidate.maximum]
        parts = [means] * candidate.means + [readout[-1:]] * candidate.maximum
        out["readout"] = np.concatenate(parts)
    out["offset"] = np.asarray(params.offset).reshape(-1)
    return out


@pytest.mark.parametrize("framework", ["equinox", "torch"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_same_outputs(case, framework, outputs):
    if framework == "torch":
        pytest.importorskip("torch")
    candidate, group, shape = CASES[case]
    if group is not None and candidate.connectivity == "shared":
        candidate = dataclasses.replace(candidate, regions=regions_of(group, shape))
    network = network_of(candidate, group, shape, outputs)
    params = network.init(jax.random.key(0), shape)
    noise = iter(jax.random.split(jax.random.key(1), 12))
    params = jax.tree.map(lambda a: a + 0.1 * jax.random.normal(next(noise), a.shape), params)
    x = np.random.default_rng(0).normal(size=(5, *shape)).astype(np.float32)
    space: dict = {"__name__": "exported"}
    exec(compile(network_code(candidate, shape, outputs, framework), "net.py", "exec"), space)
    model = space["Network"]().load(arrays_of(candidate, params, space["SIZES"]))
    given = x if framework == "equinox" else __import__("torch").tensor(x)
    found = model(given)
    found = np.asarray(found if framework == "equinox" else found.detach())
    assert found.shape == ((5,) if outputs == 1 else (5, 3))
    assert np.allclose(found, network.apply(params, x), atol=2e-4)
