"""Malach & Shalev-Shwartz: bounds, exact population gradients and exact learners for k-patterns, in
plain NumPy.
"""

from separatrix.theory.patterns.bounds import (
    Corollary5Sizes,
    Theorem4Bound,
    Theorem4Sizes,
    corollary5,
    theorem4,
    theorem4_rate,
    theorem4_sizes,
)
from separatrix.theory.patterns.degree_mass import DegreeMass, degree_mass, gaussian_degree_mass
from separatrix.theory.patterns.fourier_gradient import fourier_gradient
from separatrix.theory.patterns.gradient_separation import (
    SeparationRow,
    crossing,
    draw_units,
    log_window,
    separation_row,
    separation_table,
)
from separatrix.theory.patterns.hardness import (
    SupportAverage,
    Theorem12Bound,
    support_average,
    theorem12,
)
from separatrix.theory.patterns.junta import SearchResult, junta_search, pack_columns, window_search
from separatrix.theory.patterns.lattice_gradient import lattice_degree_mass, lattice_gradient
from separatrix.theory.patterns.lemmas import Lemma8Bound, Theorem10Bound, lemma8, lemma9, theorem10
from separatrix.theory.patterns.parity_gradient import ParityGradient, cube_gradient, window_support
from separatrix.theory.patterns.population_gradient import (
    network_squared_norm,
    population_gradient,
    window_gradient,
)
from separatrix.theory.patterns.readout import (
    CoverageDraws,
    CoverageFailure,
    ReadoutCertificate,
    coverage_draws,
    coverage_failure,
    cube,
    draw_pattern_counts,
    lemma6_error,
    lemma6_readout,
    needed_filters,
    parity_table,
    pattern_index,
)
from separatrix.theory.patterns.split_gradient import split_gradient
from separatrix.theory.patterns.units import UnitActivation
from separatrix.theory.patterns.walsh import degree_profile, preactivations, walsh_hadamard

__all__ = [
    "Corollary5Sizes",
    "CoverageDraws",
    "CoverageFailure",
    "DegreeMass",
    "Lemma8Bound",
    "ParityGradient",
    "ReadoutCertificate",
    "SearchResult",
    "SeparationRow",
    "SupportAverage",
    "Theorem4Bound",
    "Theorem4Sizes",
    "Theorem10Bound",
    "Theorem12Bound",
    "UnitActivation",
    "corollary5",
    "coverage_draws",
    "coverage_failure",
    "crossing",
    "cube",
    "cube_gradient",
    "degree_mass",
    "degree_profile",
    "draw_pattern_counts",
    "draw_units",
    "fourier_gradient",
    "gaussian_degree_mass",
    "junta_search",
    "lattice_degree_mass",
    "lattice_gradient",
    "lemma6_error",
    "lemma6_readout",
    "lemma8",
    "lemma9",
    "log_window",
    "needed_filters",
    "network_squared_norm",
    "pack_columns",
    "parity_table",
    "pattern_index",
    "population_gradient",
    "preactivations",
    "separation_row",
    "separation_table",
    "split_gradient",
    "support_average",
    "theorem4",
    "theorem4_rate",
    "theorem4_sizes",
    "theorem10",
    "theorem12",
    "walsh_hadamard",
    "window_gradient",
    "window_search",
    "window_support",
]
