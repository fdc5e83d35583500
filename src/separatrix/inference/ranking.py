"""Which law do the thresholds follow? A ranking that can say `cannot tell`.

Each law has one free constant and a scatter. Laws are compared by AICc (in sample, with a penalty)
and by the likelihood of each cell under a fit to the others (held out). One law wins only if every
other one is worse by both.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from separatrix.errors import ParameterError, SeparatrixError, check_number
from separatrix.inference.censored_regression import Rows, fit_rows, log_density, rows_of
from separatrix.inference.exponents import cluster_index
from separatrix.inference.laws import Cell, Law, columns, standard_laws
from separatrix.notes import Note

CANNOT_TELL = "cannot tell"
NONE_FITS = "none fits"
_POWER_LAW = "power law"


@dataclasses.dataclass(frozen=True)
class LawScore:
    """How well one law explains the cells.

    `delta` is the AICc above that of the best law, `weight` its share of belief, `held_out` the log
    likelihood of cells that the fit did not see, `scatter` the typical log deviation beyond
    measurement error. The `constant` multiplies the law; for the free power law it is the threshold
    at the geometric middle of the design.

    >>> LawScore("kd", "k·d", "kd", 2, -3.0, 10.5, 0.0, 0.9, -4.0, 1.2, 0.1).weight
    0.9
    """

    name: str
    formula: str
    family: str
    parameters: int
    log_likelihood: float
    aicc: float
    delta: float
    weight: float
    held_out: float
    constant: float
    scatter: float


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Laws from best to worst, and what can be concluded.

    `verdict` is the name of the one law that is left, `cannot tell`, or `none fits` when a free
    power law beats them all; `remaining` names the laws that the data do not rule out, `family`
    what they have in common, if anything.

    >>> cells = [Cell({"k": k, "d": d}, np.log(k * d), 0.05) for k in (4, 8, 16) for d in (4, 8, 16)]
    >>> ranking = rank_laws(cells)
    >>> ranking.verdict, ranking.remaining, ranking.scores[0].name
    ('kd', ('kd',), 'kd')
    """

    scores: tuple[LawScore, ...]
    verdict: str
    remaining: tuple[str, ...]
    family: str | None
    notes: tuple[Note, ...]

    def __str__(self) -> str:
        return (
            self.verdict
            if self.verdict != CANNOT_TELL
            else f"{CANNOT_TELL}: {', '.join(self.remaining)}"
        )


def rank_laws(
    cells: Iterable[Cell],
    laws: Sequence[Law] | None = None,
    power_law: Sequence[str] = ("k", "d"),
    margin: float = 6.0,
) -> Ranking:
    """Ranks laws on cells; a law stays in the race until another beats it by `margin` in AICc and
    also held out.

    A margin of 6 is an evidence ratio of 20. `power_law` names the variables of the free power law
    that serves as a check (empty for none).

    On the diagonal k = d nothing separates kd from k(k+d):

    >>> diagonal = [Cell({"k": k, "d": k}, 2 * np.log(k), 0.05) for k in (4, 6, 8, 12, 16, 24)]
    >>> print(rank_laws(diagonal, power_law=["k"]))
    cannot tell: kd, k(k+d)
    """
    cells, laws = list(cells), list(standard_laws() if laws is None else laws)
    check_number("rank_laws", "margin", margin, low=0)
    if len({law.name for law in laws}) < len(laws) or not laws:
        raise ParameterError(
            "rank_laws",
            "laws",
            "a non-empty list of laws with different names",
            [x.name for x in laws],
        )
    if len(cells) < 4:
        raise SeparatrixError(f"a ranking of laws needs at least 4 cells, got {len(cells)}")
    rows, groups, design = rows_of(cells), cluster_index(cells), columns(cells)
    if np.sum(rows.side == 0) < 2:
        raise SeparatrixError("a ranking of laws needs at least 2 cells that are not censored")
    ones = np.ones((len(cells), 1))
    shapes = {law.name: np.log(law.values(design)) for law in laws}
    scores = [
        _score(law.name, law.formula, law.family or law.name, rows, ones, shapes[law.name], groups)
        for law in laws
    ]
    notes = []
    if power_law:
        logs = np.column_stack([np.log(column) for column in columns(cells, power_law).values()])
        matrix = np.column_stack([ones, logs - logs.mean(axis=0)])
        enough = (
            len(cells) > matrix.shape[1] + 2
            and np.linalg.matrix_rank(matrix[rows.side == 0]) == matrix.shape[1]
        )
        if enough:
            formula = "·".join(f"{name}^{letter}" for name, letter in zip(power_law, "αβγδεζ"))
            scores.append(
                _score(_POWER_LAW, formula, _POWER_LAW, rows, matrix, np.zeros(len(cells)), groups)
            )
        else:
            notes.append(
                Note("no-power-law", "info", "the design cannot fit a free power law as a check")
            )
    scores = _weighted(scores)
    return _conclude(scores, shapes, margin, notes)


def _score(
    name: str,
    formula: str,
    family: str,
    rows: Rows,
    matrix: np.ndarray,
    offset: np.ndarray,
    groups: np.ndarray,
) -> LawScore:
    fit = fit_rows(rows, matrix, offset)
    best, count = fit.likeliest, rows.value.size
    parameters = matrix.shape[1] + 1
    log_likelihood = float(fit.log_likelihood[best])
    correction = 2 * parameters * (parameters + 1) / (count - parameters - 1)
    return LawScore(
        name=name,
        formula=formula,
        family=family,
        parameters=parameters,
        log_likelihood=log_likelihood,
        aicc=-2 * log_likelihood + 2 * parameters + correction,
        delta=0.0,
        weight=0.0,
        held_out=_held_out(rows, matrix, offset, groups),
        constant=float(np.exp(fit.coefficients[best, 0])),
        scatter=float(fit.scatter[best]),
    )


def _held_out(rows: Rows, matrix: np.ndarray, offset: np.ndarray, groups: np.ndarray) -> float:
    """Sum over clusters of the log likelihood of the cluster under the fit to all others, averaged
    over scatters.
    """
    scatters = np.concatenate([[0.0], np.geomspace(0.02, 2.0, 14)])
    members = np.arange(groups.max() + 1)
    kept = (groups[None, :] != members[:, None]).astype(float)
    fit = fit_rows(rows, matrix, offset, scatters, kept[:, None, :], iterations=12)
    # The error of the fitted coefficients is part of what a prediction does not know.
    covariance = np.linalg.inv(fit.information + 1e-6 * np.eye(matrix.shape[1]))
    doubt = np.einsum("ni,...ij,nj->...n", matrix, covariance, matrix)
    variance = rows.error**2 + fit.scatter[..., None] ** 2 + doubt + 1e-8
    density = log_density(rows, offset + fit.coefficients @ matrix.T, variance)
    unseen = (density * (1 - kept)[:, None, :]).sum(axis=-1)
    unit = max(float(np.median(rows.error)) / 2, 0.01)
    weights = np.stack(
        [
            dataclasses.replace(
                fit,
                scatter=fit.scatter[place],
                coefficients=fit.coefficients[place],
                log_likelihood=fit.log_likelihood[place],
                information=fit.information[place],
            ).weights(unit)
            for place in members
        ]
    )
    peak = unseen.max(axis=1)
    return float(np.sum(peak + np.log(np.sum(weights * np.exp(unseen - peak[:, None]), axis=1))))


def _weighted(scores: Sequence[LawScore]) -> list[LawScore]:
    least = min(score.aicc for score in scores)
    total = sum(np.exp(-(score.aicc - least) / 2) for score in scores)
    ranked = [
        dataclasses.replace(
            score, delta=score.aicc - least, weight=float(np.exp(-(score.aicc - least) / 2) / total)
        )
        for score in scores
    ]
    return sorted(ranked, key=lambda score: score.aicc)


def _conclude(
    scores: Sequence[LawScore], shapes: dict[str, np.ndarray], margin: float, notes: list[Note]
) -> Ranking:
    named = [score for score in scores if score.name in shapes]
    best = named[0]
    free = next((score for score in scores if score.name not in shapes), None)
    if free is not None and best.aicc - free.aicc >= margin and free.held_out > best.held_out:
        text = f"a free power law beats the best named law, {best.name}, by {best.aicc - free.aicc:.1f} in AICc"
        return Ranking(
            tuple(scores), NONE_FITS, (), None, (*notes, Note("none-fits", "warning", text))
        )
    remaining = [
        s for s in named if s is best or s.aicc - best.aicc < margin or s.held_out >= best.held_out
    ]
    names = tuple(score.name for score in remaining)
    twins = [
        name for name in names if name != best.name and _coincide(shapes[name], shapes[best.name])
    ]
    if twins:
        text = f"{', '.join([best.name, *twins])} differ only by a constant on this design: no data on it can tell them apart"
        notes.append(Note("laws-coincide", "warning", text))
    if len(remaining) > 1 + len(twins):
        text = f"the data do not separate {', '.join(names)}; vary the design more widely or add trials"
        notes.append(Note("laws-not-separated", "info", text))
    families = {score.family for score in remaining}
    family = families.pop() if len(families) == 1 else None
    verdict = best.name if len(remaining) == 1 else CANNOT_TELL
    return Ranking(tuple(scores), verdict, names, family, tuple(notes))


def _coincide(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.ptp(first - second) < 1e-9)
