# %% [markdown]
# # How many samples does a network need?
#
# A threshold search buys trials where they narrow the interval most. It ends with a number and its
# interval, or with a bound.

# %%
import separatrix as sx
from separatrix.inference import SearchPlan, threshold_ratio
from separatrix.report import interval
from separatrix.studies.search import Query, find_thresholds

task = sx.SignalTask(patches=6, dimension=6, noise=0.3)
common = {
    "activation": sx.LSA(0.5),
    "readout": "sum",
    "bias": False,
    "initial": sx.Initial("directions", scale=0.05),
}
networks = {"CNN": sx.CNN(field=1, **common), "LCN": sx.LCN(field=1, **common)}
rates = {"CNN": 3.0, "LCN": 9.0}
goal = task.baselines()["bayes"] + 0.05
measure = sx.Measure(test=512)


# %% [markdown]
# A query says how a trial of so many samples is made, and what counts as success.


# %%
def query(name: str) -> Query:
    """The search of one network's threshold."""
    learner = sx.Learner(
        rate=rates[name], steps=60, projection="ball", lsa_bias=sx.Ramp(0.0, 0.5, share=0.5)
    )
    return Query(
        trial=lambda samples, seed: sx.Trial(task, networks[name], learner, samples, seed, measure),
        success=lambda row: row["risk"] <= goal,
        plan=SearchPlan(minimum=2, maximum=512, width=1.0, max_trials=48),
    )


found = find_thresholds(sx.Lab(), {name: query(name) for name in networks}, "thresholds", batch=64)
for name, each in found.items():
    threshold = each.threshold
    print(
        f"{name}: {threshold} samples for risk {goal:.3f}, from {threshold.trials} trials",
        *(note.code for note in threshold.notes),
    )

# %% [markdown]
# The ratio is what weight sharing saves. If a search ended at a bound, so does the ratio.

# %%
saved = threshold_ratio(found["LCN"].threshold, found["CNN"].threshold)
print("LCN over CNN:", interval(saved.estimate, saved.low, saved.high))
