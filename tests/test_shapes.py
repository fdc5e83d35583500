"""The shapes that signatures state, checked by jaxtyping and beartype while trials of every kind
are traced.
"""

import subprocess
import sys

import pytest

# In a process of its own: the import hook must come before the package, and it would refuse the
# plain numbers of the doctests.
SCRIPT = """
import jaxtyping
with jaxtyping.install_import_hook(
    [f"separatrix.{name}" for name in ("streams", "tasks", "networks", "learners", "probes")],
    "beartype.beartype",
):
    import separatrix as sx
    import separatrix.engine, separatrix.probes
import jax, jax.numpy as jnp
from separatrix.engine import Rounding, frame_of, run_trial
from separatrix.networks import distance, embed

common = {"activation": sx.LSA(0.3), "readout": "sum", "bias": False}
signal, learner = sx.SignalTask(9, 3, 0.3, signals=2), sx.Learner(1.0, 4)
ramp = sx.Learner(sx.Ramp(1.0, 0.5), 4, projection="ball", lsa_bias=sx.Ramp(0.0, 0.3))
bits = sx.PatternTask(6, 3, rule="random", hidden=True)
probes = sx.Measure(("alignment", "drift", "signal_gradient", "weight_norm", "train_risk"), test=5)
trials = [
    sx.Trial(signal, sx.CNN(1, 2, **common), ramp, 10, 0, probes),
    sx.Trial(signal, sx.LCN(2, readout="pooled", offset=True), learner, 10, 0, probes),
    sx.Trial(signal, sx.FCN(9, activation=sx.ClippedReLU()),
             sx.Learner(1.0, 4, "squared", optimizer="adam", batch=3), 10, 0, probes),
    sx.Trial(bits, sx.CNN(3, 4, initial=sx.Initial("signs")),
             sx.Learner(0.1, 4, "hinge", "population")),
    sx.Trial(bits, sx.FCN(8, start=sx.CNN(3, 2)), sx.Learner(0.1, 4, "correlation", "online", 5),
             measure=sx.Measure(("off_locality", "off_sharing"), test=5)),
    sx.Trial(signal, sx.CNN(2, 2, groups=3, border="wrap"), learner, 10, 0, probes),
    sx.Trial(signal, sx.CNN(1, 2, depth=2, pool=(1, 2), next_field=2), learner, 10, 0, probes),
    sx.Trial(bits, sx.LCN(sx.Views(4, 2, blocks=1), 2, readout="pooled", offset=True), learner, 10),
]
for trial in trials:
    frame = frame_of(trial, Rounding(2.0, 2.0))
    # Arrays are traced, plain numbers stay plain.
    jax.eval_shape(lambda words: run_trial(trial, words, frame), trial.root())

image = sx.CNN(3, 4, depth=3, outputs=10, offset=True, pool=(2, 1, 2))
jax.eval_shape(lambda key, x: image.apply(image.init(key, (32, 32, 3)), x),
               jax.random.key(0), jnp.ones((5, 32, 32, 3)))
sx.learners.logistic(jnp.ones((2, 3)), jnp.ones(2))

# The hook is really on: a wrong shape is refused.
try:
    sx.learners.hinge(jnp.ones((2, 2)), jnp.ones(2))
except jaxtyping.TypeCheckError:
    print("checked")
"""


def test_signatures_state_the_shapes_that_trials_have():
    pytest.importorskip("beartype")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["checked"]
