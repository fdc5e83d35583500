"""What the study `patterns` computes without training: certificates, exact gradients, symmetry and
embeddings.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from separatrix.engine import Lab
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, embed
from separatrix.streams import named
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.trials import LearningResults
from separatrix.studies.study import seeds_from
from separatrix.studies.symmetry import equivariance_gaps
from separatrix.tasks import PatternTask
from separatrix.theory.patterns import (
    UnitActivation,
    log_window,
    separation_row,
    vc_dimension,
    vc_gap,
)
from separatrix.theory.patterns.theorem4_run import Theorem4Run, certify

# (activation, initialisation): ReLU has no ceiling; the last is Theorem 4's own start, where all
# draws agree.
FAMILIES = (("relu", "gaussian"), ("tanh", "gaussian"), ("clipped", "theorem4"))


def certificate_runs(s: PatternsSettings) -> list[Theorem4Run]:
    """The runs of Theorem 4's recipe that the settings ask for.

    >>> certificate_runs(PatternsSettings())[0]
    Theorem4Run(bits=4, window=2, filters=8192, steps=5000, ceiling=1.0, records=40, local=False)
    """
    part = s.certificate
    sizes = list(zip(part.bits, part.windows, part.filters, part.steps))
    shared = [Theorem4Run(*run, s.ceiling, part.records) for run in sizes]
    return shared + [dataclasses.replace(run, local=True) for run in shared[: part.local]]


def measure_certificates(lab: Lab, s: PatternsSettings) -> list[dict[str, Any]]:
    """`certify` on every run of the settings, remembered by the laboratory."""
    count, out = s.certificate.seeds, []
    for run in certificate_runs(s):
        inputs = dataclasses.asdict(run) | {"seed": s.seed, "count": count, "delta": s.delta}
        out.append(
            lab.remember(
                "certificate",
                inputs,
                lambda run=run: certify(run, seeds_from(s.seed, count), s.delta),
            )
        )
    return out


def gradient_row(
    bits: int, window: int, activation: str, initialisation: str, draws: int, seed: int
) -> dict[str, Any]:
    """`separation_row` as plain values.

    >>> row = gradient_row(16, 4, "tanh", "gaussian", draws=4, seed=0)
    >>> row["full"]["high"] < row["paper"]
    True
    """
    row = separation_row(
        bits, window, UnitActivation(activation), initialisation, draws=draws, seed=seed
    )
    numbers = {
        "paper_readout": row.paper_readout,
        "ratio": row.ratio,
        "bounded_ratio": row.bounded_ratio,
    }
    finite = {name: number if np.isfinite(number) else None for name, number in numbers.items()}
    return dataclasses.asdict(row) | finite


def measure_gradients(lab: Lab, s: PatternsSettings) -> dict[str, list[dict[str, Any]]]:
    """The rows of every family at k = ⌈log2 n⌉, and of tanh at a fixed window, remembered by the
    laboratory.

    >>> s = PatternsSettings().replace(gradient={"sizes": (8, 16), "draws": 2})
    >>> list(measure_gradients(Lab(), s))
    ['relu, gaussian', 'tanh, gaussian', 'clipped, theorem4', 'tanh, gaussian, k = 3']
    """
    part = s.gradient
    families: dict[str, tuple[str, str, int | None]] = {
        f"{activation}, {initialisation}": (activation, initialisation, None)
        for activation, initialisation in FAMILIES
    }
    families[f"tanh, gaussian, k = {part.window}"] = ("tanh", "gaussian", part.window)
    out: dict[str, list[dict[str, Any]]] = {}
    for name, (activation, initialisation, fixed) in families.items():
        out[name] = []
        for bits in part.sizes:
            inputs = {
                "bits": bits,
                "window": fixed or log_window(bits),
                "activation": activation,
                "initialisation": initialisation,
                "draws": part.draws,
                "seed": s.seed,
            }
            row = lab.remember("gradient", inputs, lambda inputs=inputs: gradient_row(**inputs))
            out[name].append(row)
    return out


def symmetry_gaps(lab: Lab, s: PatternsSettings) -> dict[str, list[float]]:
    """How far training the FCN is from commuting with permutations of the bits, by optimizer."""
    bits = min(s.learning.sizes)
    task = PatternTask(bits, log_window(bits))
    out = {}
    for optimizer, rate in (("sgd", 0.1), ("adam", 0.01)):
        learner = Learner(rate, 30, loss="hinge", optimizer=optimizer)
        inputs = {"bits": bits, "optimizer": optimizer, "seed": s.seed}
        out[optimizer] = lab.remember(
            "permutation-symmetry",
            inputs,
            lambda learner=learner: equivariance_gaps(
                task, FCN(16), learner, 64, seeds_from(s.seed, 3), ("permutation",)
            )["permutation"],
        )
    return out


def expression_errors(s: PatternsSettings) -> dict[str, float]:
    """The relative error with which the FCN that embeds a random CNN computes what the CNN does.

    >>> small = PatternsSettings().replace(learning={"variant_sizes": (), "sizes": (8,),
    ...     "full_steps": (1,), "window_steps": (1,)})
    >>> max(expression_errors(small).values()) < 1e-5
    True
    """
    out = {}
    for bits in s.learning.sizes:
        for seed in seeds_from(s.seed, 3):
            error = _expression_error(bits, jax.random.key(seed))
            out[f"n = {bits}, draw {len(out)}"] = float(error)
    return out


@functools.partial(jax.jit, static_argnums=0)
def _expression_error(bits: int, key: Any) -> Any:
    """In one program per size: operation by operation they would be a hundred."""
    network = CNN(log_window(bits), 16)
    params = network.init(named(key, "init"), (bits, 1))
    x = jnp.sign(jax.random.normal(named(key, "x"), (256, bits, 1)))
    full, wide = embed(network, params, (bits, 1), to="full")
    scores = network.apply(params, x)
    return jnp.linalg.norm(full.apply(wide, x) - scores) / jnp.linalg.norm(scores)


def generalization_rows(s: PatternsSettings, learned: LearningResults) -> list[dict[str, Any]]:
    """For every trained CNN with a fixed training set, the gap between risk and training risk, and
    the VC bound on it.
    """
    rows = []
    for case, result in learned.cases.items():
        if not case.samples or case.network != "CNN" or result.train_risks is None:
            continue
        filters, windows = s.learning.filters, case.bits - case.window + 1
        dimension = vc_dimension(filters * (case.window + 1), filters * windows, filters * windows)
        bound = float(vc_gap(dimension, case.samples, s.delta))
        rows += [
            {
                "label": f"n = {case.bits}, m = {case.samples}, seed {number}",
                "samples": case.samples,
                "gap": float(risk - trained),
                "bound": bound,
            }
            for number, (risk, trained) in enumerate(zip(result.risks, result.train_risks))
        ]
    return rows
