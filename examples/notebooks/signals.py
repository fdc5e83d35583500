# %% [markdown]
# # How many samples do local windows and shared weights save?
#
# A notebook on Lahoti, Karp, Winston, Singh & Li, *Role of Locality and Weight Sharing in
# Image-Based Tasks* (ICLR 2024). A signal hides in one of k noisy patches; its sign is the label.
# Three networks look for it: a convolution (CNN), a network with local windows that share nothing
# (LCN), and a fully connected one (FCN). How many samples does each need?
#
# It takes about a minute on a laptop and needs no network connection.

# %% sizes
PATCHES = [3, 6, 12]  # the sizes k that are compared
DIMENSION = 8  # of a patch
NOISE = 0.3
TRIALS = 60  # at most, for each threshold
STEPS = 150
SAMPLES = (2, 2048)  # the smallest and the largest training set

# %% [markdown]
# ## The task
#
# Every row below is one input: k patches of d numbers, one after the other. One patch holds ± the
# signal, the others hold noise only. Which patch it is changes from row to row.

# %%
import jax
import numpy as np

import separatrix as sx
from separatrix.plots import new_axes

task = sx.SignalTask(patches=6, dimension=DIMENSION, noise=NOISE)
sample = task.sample(jax.random.key(0), 12)
axes = new_axes()
picture = np.asarray(sample.x).reshape(12, -1)
axes.imshow(picture, cmap="RdBu", vmin=-1.5, vmax=1.5, aspect="auto")
axes.set(xlabel="coordinate: 6 patches of 8 numbers", ylabel="input")
axes.set_xticks(np.arange(0, 49, 8) - 0.5, [str(place) for place in range(0, 49, 8)])
axes.grid(axis="x", color="black")
axes

# %% [markdown]
# Never a risk without its baselines. The best rule that knows the signal errs rarely. The best
# linear rule errs more often: it adds up all patches, and with them the noise of those without the
# signal.

# %%
task.baselines()

# %% [markdown]
# ## Three networks
#
# They differ in what is connected and what is shared. The FCN has four hidden units per patch:
# with as many units as patches, single trainings often miss a patch, and that would say nothing
# about samples. The rates were chosen in a few trial runs; the study `signal` tunes them for every
# network with the same effort.

# %%
common = {"activation": sx.LSA(0.5), "readout": "sum", "bias": False}
start = sx.Initial("directions", scale=0.05)
networks = {
    "CNN": sx.CNN(field=1, initial=start, **common),
    "LCN": sx.LCN(field=1, initial=start, **common),
    "FCN": lambda task: sx.FCN(
        width=4 * task.patches, initial=sx.Initial("directions", scale=0.7), **common
    ),
}
learners = {
    name: sx.Learner(
        rate=rate, steps=STEPS, projection="ball", lsa_bias=sx.Ramp(0.0, 0.5, share=0.5)
    )
    for name, rate in {"CNN": 3.0, "LCN": 12.0, "FCN": 24.0}.items()
}
for name in ("CNN", "LCN"):
    print(name, networks[name].parameter_count(task.shape), "parameters")
print("FCN", networks["FCN"](task).parameter_count(task.shape), "parameters")

# %% [markdown]
# ## How many samples does each need?
#
# The *threshold* is the number of samples at which half of the trials succeed: their risk is within
# 0.05 of the best possible. `sx.compare` searches it for every network and every k, and judges the
# sentence "the CNN needs fewer samples than the others".

# %%
found = sx.compare(
    task_of=lambda k: sx.SignalTask(patches=k, dimension=DIMENSION, noise=NOISE),
    networks=networks,
    over={"k": PATCHES},
    goal=lambda task: task.baselines()["bayes"] + 0.05,
    learner=learners,
    samples=SAMPLES,
    max_trials=TRIALS,
    measure=sx.Measure(test=1024),
)
print(found)

# %%
found.to_frame().round(1)

# %% [markdown]
# ## Could any learner do better?
#
# A learner with the symmetry of its network cannot need fewer samples than a *floor*: not with
# another rate, another loss or more patience. The floors below are for a patch alignment of 0.8.

# %%
from separatrix.theory.signal import floor_samples

for k in PATCHES:
    floors = {name: floor_samples(name, k, DIMENSION, NOISE, alignment=0.8) for name in networks}
    print(f"k = {k}: " + ", ".join(f"{name} at least {floor}" for name, floor in floors.items()))

# %% [markdown]
# ## The figure for the slide
#
# A hollow mark is only a bound. `found.plot("samples.pdf")` saves the figure.

# %%
found.plot()
