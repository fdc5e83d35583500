# %% [markdown]
# # The gradient at the start, exactly
#
# How much does one unit learn about the parity of k = log2 n neighbouring bits from its first
# gradient? No inputs are sampled: the population gradient is computed exactly, up to thousands of
# bits. What is left of chance is the draw of the unit's weights, hence the intervals.

# %%
import itertools

import numpy as np

from separatrix.theory.patterns import (
    UnitActivation,
    cube_gradient,
    degree_profile,
    separation_row,
    support_average,
)

print(
    f"{'n':>6} {'k':>3}  {'fully connected unit':32} {'convolutional filter':32} "
    f"{'Theorem 12 allows':>18}"
)
for exponent in (4, 6, 8, 10):
    row = separation_row(
        bits=2**exponent,
        window=exponent,
        activation=UnitActivation("relu"),
        draws=6,
        plain_draws=6,
        filters=256,
    )
    cells = [
        f"{each.mean:.2e} [{each.low:.1e}, {each.high:.1e}]" for each in (row.full, row.shared)
    ]
    print(f"{row.bits:6} {row.window:3}  {cells[0]:32} {cells[1]:32} {row.paper:18.2e}")

# %% [markdown]
# The filter's signal falls slowly, the unit's faster than any power of n. An identity says why:
# averaged over supports, a unit's squared gradient is set by the Fourier mass of σ' at the degrees
# k-1 and k+1, divided by the number of sets of k bits. Check it against enumeration of all 2^n
# inputs:

# %%
n, k, bias = 8, 3, 0.3
weights = np.random.default_rng(0).standard_normal(n) / np.sqrt(n)
activation = UnitActivation("tanh")
enumerated = np.mean(
    [
        cube_gradient(weights, bias, support, activation).squared.sum()
        for support in itertools.combinations(range(n), k)
    ]
)
masses = degree_profile(weights, bias, activation)
identity = support_average(n, k, mass_below=masses[k - 1], mass_above=masses[k + 1]).first_layer
print(f"enumerated {enumerated:.12f}, by the identity {identity:.12f}")
assert abs(enumerated - identity) < 1e-12
