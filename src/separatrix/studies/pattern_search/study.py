"""Study `pattern-search`: what must be searched when the order of the bits is unknown?"""

from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.outcome import Outcome
from separatrix.studies.pattern_search.figures import (
    learner_figures,
    learner_table,
    order_figure,
    order_table,
    query_figure,
    query_table,
    search_figures,
    search_table,
)
from separatrix.studies.pattern_search.settings import SCALES, PatternSearchSettings
from separatrix.studies.pattern_search.trials import (
    measure_learners,
    measure_orders,
    measure_search,
    query_rows,
    sweep_of,
)
from separatrix.studies.pattern_search.verdicts import (
    CLAIMS,
    linear_finding,
    order_findings,
    query_finding,
    search_finding,
)
from separatrix.studies.study import Study


class PatternSearch(Study[PatternSearchSettings]):
    """Section 5 on k-patterns: searches over windows, sets and orders, and statistical queries."""

    name = "pattern-search"
    title = "k-patterns in unknown order: what must be searched?"
    summary = (
        "Window, junta, low-degree and linear learners counted in candidates, samples and seconds; "
        "architecture search over random orders; statistical queries"
    )
    claims = CLAIMS
    scales = SCALES
    beside_trials = "searches without a network"
    # Searches take 60 s of one processor core, as measured; ten small programs 50 s.
    full_minutes = 3
    full_machine = "one H200, estimated"

    def sweeps(self, settings: PatternSearchSettings) -> dict[str, Sweep]:
        return {"pattern-search": sweep_of(settings)}

    def conclude(self, lab: Lab, settings: PatternSearchSettings) -> Outcome:
        s = settings
        if lab.shard:  # a shard runs its trials first: it then waits for those of others
            measure_orders(lab, s)
        searches, learnt, queries = measure_search(lab, s), measure_learners(lab, s), query_rows(s)
        tried = measure_orders(lab, s)
        found = (
            search_finding(searches),
            query_finding(queries),
            *order_findings(s, tried, searches),
            linear_finding(s, learnt),
        )
        figures = (
            *learner_figures(s, learnt),
            order_figure(s, tried),
            query_figure(queries),
            *search_figures(searches),
        )
        tables = (
            learner_table(learnt),
            order_table(s, tried, searches),
            query_table(queries),
            search_table(searches),
        )
        return Outcome(found, figures, tables, notes(s))


def notes(s: PatternSearchSettings) -> tuple[Note, ...]:
    """What a reader must know beside the counts."""
    part = s.orders
    return (
        Note(
            "learners",
            "info",
            "Junta search tests every set of k bits against pairs of rows; the low-degree "
            "algorithm estimates every Fourier coefficient up to degree k; the learner of Mossel, "
            "O'Donnell and Servedio stops at degree 3k/4 and solves linear equations over two "
            "elements. A learner gets 16, 32, 64, … rows until it names the bits, at most "
            f"{s.most_samples}; it is left out where candidates times rows exceed {s.most_work:g}.",
        ),
        Note(
            "orders",
            "info",
            f"Each order is a CNN of {part.filters} filters, hinge loss, Adam with rate "
            f"{part.rate:g}, {part.batch} fresh rows a step and at most {part.steps} steps. An "
            "order drawn at random after an unknown one is again uniform, so every network hides "
            "the bits by an order of its own. The recipe was not tuned, but the quick scale's "
            "orders and steps were raised from 384 and 150 after a look at seed 41, and the orders "
            "of the laptop and the full scale after the chance of a decision had been computed; "
            "controls on ordered bits say whether it learns.",
        ),
        Note(
            "queries",
            "info",
            "Parities are orthogonal, so an oracle of tolerance τ may answer 0 to a query for all "
            "but 1/τ² of them. The count is a bound for every algorithm that asks queries, "
            "gradient descent on the population loss among them, and not for one that reads rows.",
        ),
    )
