"""Regression: excess risk beside its baselines, and the generalization gap."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError
from separatrix.learners import Rows
from separatrix.probes.base import Moment, probe


def clean_risk(scores: Float[Array, " rows"], rows: Rows) -> Float[Array, ""]:
    """The weighted mean squared distance of scores to the noiseless labels.

    >>> rows = Rows(None, jnp.zeros(2), jnp.full(2, 0.5), clean=jnp.array([1.0, 2.0]))
    >>> float(clean_risk(jnp.array([1.0, 4.0]), rows))
    2.0
    """
    return rows.weight @ jnp.square(scores - _clean(rows))


def constant_risk(rows: Rows) -> Float[Array, ""]:
    """The risk of the best constant: the variance of the noiseless labels.

    >>> rows = Rows(None, jnp.zeros(2), jnp.full(2, 0.5), clean=jnp.array([1.0, 3.0]))
    >>> float(constant_risk(rows))
    1.0
    """
    clean = _clean(rows)
    return rows.weight @ jnp.square(clean - rows.weight @ clean)


def noise_energy(rows: Rows) -> Float[Array, ""]:
    """The realised noise: the mean squared distance of the labels to the noiseless ones.

    >>> labels, clean = jnp.array([1.0, 5.0]), jnp.array([1.0, 3.0])
    >>> float(noise_energy(Rows(None, labels, jnp.full(2, 0.5), clean)))
    2.0
    """
    return rows.weight @ jnp.square(rows.y - _clean(rows))


@probe("regression", needs="regression")
def regression(moment: Moment) -> dict[str, Array]:
    """What a reader needs beside an excess risk.

    - `excess`: mean squared distance to the noiseless labels on fresh inputs (the trial's `risk`);
      `fitted`: on the training inputs, so that an interpolator has the noise energy here and a
      perfect learner 0;
    - `constant`: the best constant's excess risk; `noise`: the realised noise energy of the
      training labels; `mse`: the training MSE;
    - `gap`: |excess + noise - mse|; `gap_nominal`: the same with the nominal σ² in place of the
      realised energy.
    """
    excess = clean_risk(
        moment.network.scores(moment.params, moment.test.patches, moment.layout), moment.test
    )
    scores = moment.network.scores(moment.params, moment.train.patches, moment.layout)
    mse = moment.train.weight @ jnp.square(scores - moment.train.y)
    noise = noise_energy(moment.train)
    return {
        "excess": excess,
        "fitted": clean_risk(scores, moment.train),
        "constant": constant_risk(moment.test),
        "noise": noise,
        "mse": mse,
        "gap": jnp.abs(excess + noise - mse),
        "gap_nominal": jnp.abs(excess + moment.task.noise**2 - mse),
    }


def _clean(rows: Rows) -> Float[Array, " rows"]:
    if rows.clean is None:
        raise SeparatrixError(
            "regression probes need a task with noiseless labels (such as SphereTask)"
        )
    return rows.clean
