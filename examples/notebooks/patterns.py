# %% [markdown]
# # Why gradient descent finds short patterns with a convolution and not without
#
# A notebook on Malach & Shalev-Shwartz, *Computational Separation between Convolutional and
# Fully-Connected Networks* (ICLR 2021). The label is the parity of k = log2 n neighbouring bits
# out of n. Both networks can represent it. Only one of them gets a gradient that says so.
#
# It takes about a minute on a laptop and needs no network connection.

# %% sizes
EXPONENTS = [4, 5, 6, 7, 8, 9, 10]  # of n = 2^k in the exact part
DRAWS = 6  # of a unit's weights
BITS = [8, 16, 32]  # n in the trained part
STEPS = 4000
SEEDS = 5

# %% [markdown]
# ## The first gradient, exactly
#
# How much does one unit learn about the parity from its first gradient? No inputs are sampled: the
# gradient over all 2^n inputs is computed exactly. What is left of chance is the draw of the unit's
# weights.

# %%
from separatrix.theory.patterns import UnitActivation, separation_row

rows = [
    separation_row(
        bits=2**k,
        window=k,
        activation=UnitActivation("relu"),
        draws=DRAWS,
        plain_draws=DRAWS,
        filters=128,
    )
    for k in EXPONENTS
]
for row in rows:
    print(
        f"n = {row.bits:5}, k = {row.window:2}: fully connected unit {row.full.mean:.1e}, "
        f"convolutional filter {row.shared.mean:.1e}"
    )

# %% [markdown]
# The fully connected unit's squared gradient falls faster than any power of n. Theorem 12 says why:
# averaged over all sets of k bits it is at most about 1/C(n, k). The filter sees k bits only, and
# there are few sets of k neighbours.

# %%
from separatrix.plots import new_axes

sizes = [row.bits for row in rows]
axes = new_axes()
axes.loglog(sizes, [row.shared.mean for row in rows], "o-", label="convolutional filter")
axes.loglog(sizes, [row.full.mean for row in rows], "^-", label="fully connected unit")
axes.loglog(sizes, [row.paper for row in rows], "--", color="grey", label="Theorem 12 allows")
axes.set(xlabel="bits n (k = log2 n)", ylabel="squared gradient at the start")
axes.legend()
axes

# %% [markdown]
# ## Does it matter once they train?
#
# A small gradient at the start is an argument, not yet a fact about training. So train both, on
# fresh rows at every step, and count the steps until 95 % accuracy. The rate is the same for both;
# the study `patterns` tunes it for each.

# %%
import numpy as np

import separatrix as sx

learner = sx.Learner(
    rate=0.03,
    steps=STEPS,
    loss="hinge",
    oracle="online",
    batch=64,
    optimizer="adam",
    stop=sx.Stop(target=0.05),
)
measure = sx.Measure(test=512, times=12, spacing="log")
lab = sx.Lab()


def steps_needed(network: sx.Network, task: sx.PatternTask) -> list[float]:
    """The steps of every seed; infinite where the steps did not suffice."""
    trial = sx.Trial(task, network, learner, samples=0, measure=measure)
    table = lab.run(sx.Sweep(tuple(trial.at_seeds(range(SEEDS))))).to_pandas()
    return np.where(table["status"] == "reached", table["steps"], np.inf).tolist()


steps: dict[tuple[str, int], list[float]] = {}
for n in BITS:
    k = int(np.log2(n))
    task = sx.PatternTask(bits=n, window=k, start=(n - k) // 2)
    for name, network in {"CNN": sx.CNN(k, 32), "FCN": sx.FCN(32)}.items():
        steps[name, n] = steps_needed(network, task)
        reached = sum(np.isfinite(steps[name, n]))
        print(f"n = {n:2}, {name}: {reached} of {SEEDS} seeds reach 95 %")

# %% [markdown]
# ## The figure for the slide
#
# Medians over seeds. Where half of the seeds or more did not get there, only a lower bound is
# known: the mark is hollow.

# %%
axes = new_axes()
for name, mark, colour in (("CNN", "o", "#0072b2"), ("FCN", "^", "#d55e00")):
    medians = np.array([np.median(steps[name, n]) for n in BITS])
    known = np.isfinite(medians)
    axes.loglog(np.array(BITS)[known], medians[known], f"{mark}-", color=colour, label=name)
    if not known.all():
        bounds = np.array(BITS)[~known]
        axes.loglog(
            bounds,
            np.full(len(bounds), STEPS),
            mark,
            color=colour,
            fillstyle="none",
            markersize=9,
            label=f"{name}: more than {STEPS}",
        )
axes.set(xlabel="bits n (k = log2 n)", ylabel="steps to 95 % accuracy")
axes.legend()
axes
