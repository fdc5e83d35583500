"""One call for the exact population gradient of a unit, whatever its weights; and the same for
units that see one window.
"""

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import check_choice, check_integer
from separatrix.theory.patterns.fourier_gradient import fourier_gradient
from separatrix.theory.patterns.lattice_gradient import is_lattice, lattice_gradient
from separatrix.theory.patterns.parity_gradient import ParityGradient, check_units, cube_gradient
from separatrix.theory.patterns.split_gradient import split_gradient
from separatrix.theory.patterns.units import UnitActivation

METHODS = ("auto", "enumeration", "lattice", "split", "fourier")


def choose_method(weights: np.ndarray, activation: UnitActivation) -> str:
    """The method that is exact, or most accurate, for these weights.

    >>> choose_method(np.full((2, 4096), 1 / 64), UnitActivation("relu"))
    'lattice'
    >>> choose_method(np.random.default_rng(0).standard_normal((2, 64)), UnitActivation("relu"))
    'fourier'
    """
    bits = weights.shape[1]
    if is_lattice(weights).all():
        return "lattice"
    if bits <= 12 or (bits <= 20 and len(weights) << bits <= 1 << 24):
        return "enumeration"
    # Between the cube and about 36 bits the Fourier sum of a kinked activation leaves an error of
    # 2^{-n/2}.
    return "split" if activation.kinks and bits <= 36 else "fourier"


def population_gradient(
    weights: ArrayLike,
    bias: ArrayLike,
    support: ArrayLike,
    activation: UnitActivation,
    readout: ArrayLike = 1.0,
    method: str = "auto",
) -> ParityGradient:
    """The population gradient of fully connected units against the parity of the bits in `support`,
    with its error.

    >>> rng = np.random.default_rng(0)
    >>> small, large = rng.standard_normal((2, 10)) / 3, rng.standard_normal((2, 2000)) / 45
    >>> [population_gradient(w, 0.3, [0, 1, 2], UnitActivation("relu")).method for w in (small, large)]
    ['enumeration', 'fourier']
    """
    check_choice("population_gradient", "method", method, METHODS)
    rows = check_units("population_gradient", weights, bias, support, readout)[0]
    chosen = choose_method(rows, activation) if method == "auto" else method
    run = {
        "enumeration": cube_gradient,
        "lattice": lattice_gradient,
        "split": split_gradient,
        "fourier": fourier_gradient,
    }[chosen]
    return run(weights, bias, support, activation, readout)


def window_gradient(
    filters: ArrayLike, bias: ArrayLike, activation: UnitActivation, readout: ArrayLike = 1.0
) -> ParityGradient:
    """The gradient of filters that see a window of k bits, against the parity of a window of k
    bits.

    Of the n-k+1 windows only the matching one contributes, in a convolutional as in a locally
    connected network: for any other, χ_I·x_j holds a bit that the filter does not see, and the
    expectation is exactly 0. So `readout` is u at the matching window and the rows of the result
    are the gradients of the q filters there; a locally connected network's other windows have
    gradient 0.

    >>> gradient = window_gradient([[0.5, 0.5], [0.5, -0.5]], -0.5, UnitActivation("relu"))  # Theorem 4's filters, k = 2
    >>> gradient.first_layer.tolist(), gradient.readout.tolist()
    ([[-0.25, -0.25], [0.25, -0.25]], [-0.125, 0.125])
    """
    rows = np.atleast_2d(np.asarray(filters, np.float64))
    return cube_gradient(rows, bias, np.arange(rows.shape[1]), activation, readout)


def network_squared_norm(
    gradient: ParityGradient, windows: int = 1, *, shared: bool = True
) -> tuple[float, float]:
    """||∂L/∂W||² of a whole network, and its mean per unit: q units, or q for each window when
    weights are not shared.

    >>> gradient = window_gradient([[0.5, 0.5], [0.5, -0.5]], -0.5, UnitActivation("relu"))
    >>> [round(v, 6) for v in network_squared_norm(gradient)]
    [0.25, 0.125]
    >>> [round(v, 6) for v in network_squared_norm(gradient, windows=5, shared=False)]
    [0.25, 0.025]
    """
    check_integer("network_squared_norm", "windows", windows, 1)
    total = float(gradient.squared.sum())
    return total, total / (len(gradient.log_squared) * (1 if shared else windows))
