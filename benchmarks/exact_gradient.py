"""Seconds for exact population gradients and degree masses, with their errors; JSON on stdout.

Run with OMP_NUM_THREADS=1 for the time of one core. The target: n = 4096, k = 12, 256 units within
2 s.
"""

import json
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from separatrix.theory.patterns.enumeration import walsh_hadamard
from separatrix.theory.patterns.fourier import fourier_gradient
from separatrix.theory.patterns.gradients import lattice_gradient, split_gradient
from separatrix.theory.patterns.masses import degree_mass
from separatrix.theory.patterns.units import UnitActivation

REPEATS = 3
Result = TypeVar("Result")


def timed(run: Callable[[], Result]) -> tuple[float, Result]:
    """The median of a few timings after a first call, and that call's result."""
    result, seconds = run(), []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), result


def main() -> None:
    rng = np.random.default_rng(0)
    figures = []
    for name in ("relu", "clipped", "tanh"):
        activation = UnitActivation(name)
        for bits, window, units in ((64, 6, 256), (1024, 10, 256), (4096, 12, 256)):
            weights = rng.standard_normal((units, bits)) / np.sqrt(bits)
            seconds, gradient = timed(
                lambda w=weights, k=window, a=activation: fourier_gradient(w, 0.3, np.arange(k), a)
            )
            relative = gradient.first_layer_error / np.sqrt(gradient.squared)
            figures.append(
                {
                    "what": "fourier_gradient",
                    "activation": name,
                    "bits": bits,
                    "window": window,
                    "units": units,
                    "seconds": seconds,
                    "nodes": gradient.nodes,
                    "median_relative_error": float(np.median(relative)),
                }
            )
        seconds, mass = timed(
            lambda a=activation: degree_mass(rng.standard_normal(4096) / 64, 0.3, 13, a)
        )
        figures.append(
            {
                "what": "degree_mass",
                "activation": name,
                "bits": 4096,
                "degree": 13,
                "seconds": seconds,
                "nodes": mass.nodes,
                "relative_error": float(mass.error[11] / mass.mass[11]),
            }
        )
    relu = UnitActivation("relu")
    for bits in (24, 32):
        weights = rng.standard_normal((4, bits)) / np.sqrt(bits)
        seconds, _ = timed(lambda w=weights: split_gradient(w, 0.3, np.arange(5), relu))
        figures.append({"what": "split_gradient", "bits": bits, "seconds_per_unit": seconds / 4})
    signs = rng.choice([-1 / 64, 1 / 64], (256, 4096))
    figures.append(
        {
            "what": "lattice_gradient",
            "bits": 4096,
            "window": 12,
            "units": 256,
            "seconds": timed(lambda: lattice_gradient(signs, 0.3, np.arange(12), relu))[0],
        }
    )
    values = rng.standard_normal(2**20)
    figures.append(
        {"what": "walsh_hadamard", "bits": 20, "seconds": timed(lambda: walsh_hadamard(values))[0]}
    )
    print(json.dumps({"benchmark": "exact_gradient", "figures": figures}, indent=1))


if __name__ == "__main__":
    main()
