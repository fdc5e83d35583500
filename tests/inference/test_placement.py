import numpy as np
import pytest

from separatrix.errors import ParameterError
from separatrix.inference import (
    Proposal,
    SearchPlan,
    Tally,
    estimate_threshold,
    merge,
    propose,
    propose_batch,
    stop_reason,
)
from separatrix.inference.coverage import SyntheticLearner

PLAN = SearchPlan(minimum=8, maximum=4096, width=0.6)


def cost(evidence):
    return sum(entry.resource * entry.trials for entry in evidence)


def test_bracketing_starts_cheap_and_climbs_by_two():
    seen = []
    asked = []
    for _ in range(4):
        (proposal,) = propose(seen, 64, PLAN)
        asked.append(proposal.resource)
        seen.append(Tally(proposal.resource, 0, proposal.repetitions))
    assert asked == [8, 16, 32, 64]


def test_a_known_start_descends_when_it_succeeds():
    plan = SearchPlan(minimum=8, maximum=4096, start=128)
    assert propose([], 8, plan)[0].resource == 128
    assert propose([Tally(128, 4, 4)], 8, plan)[0].resource == 64


def test_lookahead_fills_a_batch():
    plan = SearchPlan(minimum=8, maximum=4096, lookahead=3)
    assert [p.resource for p in propose([], 64, plan)] == [8, 16, 32]
    assert [p.resource for p in propose([], 8, plan)] == [8, 16]


def test_refinement_stays_near_the_bracket_and_within_the_batch():
    seen = [Tally(8, 0, 4), Tally(16, 0, 4), Tally(32, 0, 4), Tally(64, 4, 4)]
    for batch in (1, 5, 16, 64):
        proposals = propose(seen, batch, PLAN)
        assert sum(p.repetitions for p in proposals) == batch
        assert all(16 <= p.resource <= 128 and p.resource in PLAN.grid() for p in proposals)


def test_same_observations_same_proposal_in_any_order():
    seen = [Tally(8, 0, 4), Tally(16, 1, 4), Tally(32, 3, 4)]
    assert propose(seen, 16, PLAN) == propose(seen[::-1], 16, PLAN)
    split = [Tally(8, 0, 2), Tally(8, 0, 2), *seen[1:]]
    assert propose(split, 16, PLAN) == propose(seen, 16, PLAN)


def test_searches_end_for_the_stated_reason():
    rng = np.random.default_rng(0)
    cases = {"width": 100.0, "left-censored": 1.0, "right-censored": 1e6}
    for reason, threshold in cases.items():
        evidence = SyntheticLearner(threshold).search(PLAN, 16, rng)
        assert stop_reason(evidence, PLAN) == reason
        assert propose(evidence, 16, PLAN) == []
    tight = SearchPlan(minimum=8, maximum=4096, width=0.001, max_trials=50)
    evidence = SyntheticLearner(100.0).search(tight, 16, rng)
    assert stop_reason(evidence, tight) == "trials"
    assert sum(entry.trials for entry in evidence) == 50


def test_never_proposes_outside_the_range_nor_too_much():
    rng = np.random.default_rng(1)
    plan = SearchPlan(minimum=10, maximum=300, width=0.5, max_trials=200)
    for threshold in np.geomspace(3, 1000, 9):
        evidence = SyntheticLearner(float(threshold), scale=0.4).search(plan, 24, rng)
        assert evidence[0].resource >= 10
        assert evidence[-1].resource <= 300
        assert sum(entry.trials for entry in evidence) <= 200


def test_three_times_cheaper_than_the_full_grid():
    rng = np.random.default_rng(2)
    spent, full = 0.0, 0.0
    plan = SearchPlan(minimum=8, maximum=4096, width=0.5)
    for threshold in (40.0, 150.0, 600.0):
        learner = SyntheticLearner(threshold)
        evidence = learner.search(plan, 16, rng)
        assert estimate_threshold(evidence).log_width <= 0.5
        spent += cost(evidence) / threshold
        everything = ()
        while not everything or estimate_threshold(everything).log_width > 0.5:
            everything = merge((*everything, *learner.sweep(plan.grid(), 2, rng)))
        full += cost(everything) / threshold
    assert full > 3 * spent


def test_several_cells_share_a_batch():
    done = [Tally(8, 9, 9)]
    cells = {
        "new": [],
        "climbing": [Tally(8, 0, 4)],
        "fine": [Tally(8, 0, 8), Tally(16, 8, 8)],
        "done": done,
    }
    wanted = propose_batch(cells, 40, PLAN)
    assert {proposal.cell for proposal in wanted} == {"new", "climbing", "fine"}
    assert sum(proposal.repetitions for proposal in wanted) <= 40
    # What bracketing does not use goes to the cell that can use it.
    assert sum(p.repetitions for p in wanted if p.cell == "fine") == 40 - 8
    crowd = {name: [] for name in range(30)}
    assert sum(p.repetitions for p in propose_batch(crowd, 40, PLAN)) == 40
    assert propose_batch({"done": done}, 40, PLAN) == []
    own = propose_batch(
        {"a": [], "b": []}, 8, {"a": PLAN, "b": SearchPlan(minimum=100, maximum=200)}
    )
    assert [p.resource for p in own] == [8, 100]


def test_wrong_use_gets_one_sentence():
    with pytest.raises(ParameterError, match="`maximum` of SearchPlan"):
        SearchPlan(minimum=8, maximum=4)
    with pytest.raises(ParameterError, match="`batch` of propose"):
        propose([], 0, PLAN)
    with pytest.raises(ParameterError, match="`start` of SearchPlan"):
        SearchPlan(minimum=8, maximum=64, start=100)


def test_a_first_level_at_one_half_is_followed_by_its_neighbours():
    plan = SearchPlan(minimum=2, maximum=4096, start=64)
    assert propose([Tally(64, 2, 4)], batch=20, plan=plan) == [Proposal(32, 4), Proposal(128, 4)]
    assert propose([Tally(64, 2, 4)], batch=4, plan=plan) == [Proposal(32, 4)]
    assert propose([Tally(4096, 2, 4)], batch=20, plan=plan) == [Proposal(2048, 4)]
