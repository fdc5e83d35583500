# %% [markdown]
# # At the edge of stability: the size of the patch decides, not that of the input
#
# A notebook on Liang, Singh, Parhi, Cloninger & Wang, *The Inductive Bias of Convolutional Neural
# Networks* (arXiv 2603.04807). Gradient descent with a constant step η goes to the *edge of
# stability*: the sharpness, the largest eigenvalue of the Hessian, ends near 2/η. Which networks
# generalize there, and which fit the noise?
#
# It takes about a minute on a laptop and needs no network connection.

# %% sizes
DIMENSION = 30  # of the input
PATCH = 5  # the receptive field of the convolution
SAMPLES = [64, 128, 256, 512]
WIDTH = 32
RATE = 0.2
STEPS = 1500
SEEDS = 3

# %% [markdown]
# ## Why 2/η?
#
# On a quadratic valley of curvature λ a step of gradient descent multiplies the distance to the
# bottom by 1 − ηλ. That shrinks it exactly if λ < 2/η.

# %%
for curvature in (0.5, 0.9, 1.0, 1.1):
    factor = 1 - RATE * (curvature * 2 / RATE)
    print(
        f"λ = {curvature:3} · 2/η: after 20 steps {abs(factor) ** 20:.2g} of the distance is left"
    )

# %% [markdown]
# ## Two networks on a sphere
#
# Inputs are uniform on a sphere of 30 dimensions. A teacher that looks at windows of 5 coordinates
# labels them, and noise of variance 1 is added. A convolution with the same windows and a fully
# connected network learn from n samples.

# %%
import numpy as np

import separatrix as sx
from separatrix.plots import new_axes

task = sx.SphereTask(dimension=DIMENSION, patch=PATCH, noise=1.0)
networks = {
    "CNN": sx.CNN(PATCH, WIDTH, stride=PATCH, readout="pooled", offset=True),
    "FCN": sx.FCN(WIDTH, offset=True),
}
learner = sx.Learner(rate=RATE, steps=STEPS, loss="squared")
measure = sx.Measure(probes=("sharpness", "regression"), test=1024, times=15)
lab = sx.Lab()
tables = {
    name: lab.run(
        sx.Sweep.grid(task, network, learner, samples=SAMPLES, seeds=SEEDS, measure=measure)
    ).to_pandas()
    for name, network in networks.items()
}

# %% [markdown]
# ## Do they go to the edge?
#
# One line per seed, at the largest n: the sharpness in units of 2/η.

# %%
axes = new_axes()
for name, colour in (("CNN", "#0072b2"), ("FCN", "#d55e00")):
    rows = tables[name][tables[name]["samples"] == SAMPLES[-1]]
    for number, (_, row) in enumerate(rows.iterrows()):
        line = np.asarray(row["trace.sharpness"]) * RATE / 2
        label = name if number == 0 else None
        axes.plot(np.asarray(row["trace.step"]), line, color=colour, label=label)
axes.axhline(1.0, color="grey", linestyle="--", label="the edge")
axes.set(xlabel="step", ylabel="sharpness · η/2")
axes.legend()
axes

# %% [markdown]
# ## Who generalizes there?
#
# The *gap* is the excess risk plus the energy of the noise minus the training error: 0 for a
# perfect learner, and at least the energy of the noise (here about 1) for one that interpolates.

# %%
for name, table in tables.items():
    gaps = table.groupby("samples")["regression.gap"].agg(["mean", "min", "max"])
    print(f"{name}\n{gaps.round(2)}\n")

# %% [markdown]
# ## The figure for the slide
#
# More samples help the convolution whose windows are small; how much they help the other network is
# what the paper's theorem on fully connected networks is about. Three seeds and small sizes show
# the direction, not the rate: the study `stability` measures it with intervals.

# %%
axes = new_axes()
for name, mark, colour in (("CNN", "o", "#0072b2"), ("FCN", "^", "#d55e00")):
    gaps = tables[name].groupby("samples")["regression.gap"].agg(["mean", "min", "max"])
    axes.loglog(gaps.index, gaps["mean"], f"{mark}-", color=colour, label=name)
    axes.fill_between(gaps.index, gaps["min"], gaps["max"], color=colour, alpha=0.2)
axes.set(xlabel="samples n", ylabel="generalization gap")
axes.legend()
axes
