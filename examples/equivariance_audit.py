# %% [markdown]
# # Which symmetries does training respect?
#
# Lower bounds for fully connected networks speak of algorithms that commute with rotations of the
# input. Does this one? The gap is the distance between "train, then rotate" and "rotate, then
# train": rounding, or of order one.

# %%
import separatrix as sx
from separatrix.inference import median_interval
from separatrix.studies.symmetry import EQUIVARIANT, GROUPS, equivariance_gaps

task = sx.SignalTask(patches=4, dimension=3, noise=0.3)
network = sx.FCN(width=4, bias=False, readout="sum", activation=sx.Tanh())
learners = {
    "gradient descent": sx.Learner(rate=0.5, steps=25),
    "adam": sx.Learner(rate=0.05, steps=25, optimizer="adam"),
}

# %%
for name, learner in learners.items():
    gaps = equivariance_gaps(
        task, network, learner, samples=100, seeds=range(6), groups=("orthogonal", "permutation")
    )
    for group, values in gaps.items():
        verdict = (
            "equivariant"
            if max(values) < EQUIVARIANT
            else "not equivariant"
            if min(values) >= EQUIVARIANT
            else "mixed"
        )
        print(
            f"{name:17} {group:12} median gap {median_interval(values)}: {verdict} "
            f"({GROUPS[group]})"
        )

# %% [markdown]
# Adam looks at coordinates one by one: it respects their permutations, not rotations. So a bound
# for rotation-equivariant algorithms says nothing about it. `separatrix audit` does this for every
# network, learner and group.
