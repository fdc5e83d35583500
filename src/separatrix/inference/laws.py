"""Laws: candidate scalings of a threshold with the design, each with one free constant.

A law is a small object: a name, a formula to read, and a function from design columns to positive
values. Anyone can add one: `Law("k sqrt(d)", "k·√d", lambda design: design["k"] *
np.sqrt(design["d"]))`.

`rank_laws` compares laws by AICc (in sample, with a penalty) and by the likelihood of each cell
under a fit to the others (held out). Each law has one free constant and a scatter. One law wins
only if all others are worse by both measures; otherwise the verdict is `cannot tell`.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.errors import ParameterError, SeparatrixError, check_number
from separatrix.inference.censored_regression import (
    Cell,
    Observations,
    cluster_index,
    columns,
    fit_rows,
    log_density,
    observations_of,
)
from separatrix.notes import Note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Design = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Law:
    """A scaling of thresholds with the design, up to a constant.

    Args:
        name: A short name, such as `kd`.
        formula: The formula as a reader sees it.
        function: A function from the columns of a design to positive values.
        family: A name shared by laws that differ only by slowly varying or noise factors.

    >>> law = Law("kd", "k·d", lambda design: design["k"] * design["d"])
    >>> law.values({"k": np.array([2.0]), "d": np.array([5.0])})
    array([10.])
    """

    name: str
    formula: str
    function: Callable[[Design], Any]
    family: str = ""
    terms: tuple["Law", ...] = ()  # the summands, where the law is a sum

    def values(self, design: Design) -> np.ndarray:
        """The law at each row of the design, checked to be finite and positive.

        >>> standard_laws()[0].values({"k": np.array([2.0]), "d": np.array([5.0])})
        array([7.])
        """
        try:
            values = np.asarray(self.function(design), dtype=float)
        except KeyError as error:
            known = ", ".join(sorted(design))
            raise SeparatrixError(
                f"the law {self.name} needs a column {error}, the design has: {known}"
            ) from error
        if not np.all(np.isfinite(values)) or np.any(values <= 0):
            raise ParameterError(
                f"the law {self.name}",
                "values",
                "finite and > 0 on the whole design",
                values.tolist(),
            )
        return values


_BASES: tuple[tuple[str, str, Callable[[Design], Any]], ...] = (
    ("k+d", "k + d", lambda design: design["k"] + design["d"]),
    ("kd", "k·d", lambda design: design["k"] * design["d"]),
    ("k(k+d)", "k·(k + d)", lambda design: design["k"] * (design["k"] + design["d"])),
    ("k²d", "k²·d", lambda design: design["k"] ** 2 * design["d"]),
)


def _times(base: Callable[[Design], Any], noise: bool, logarithm: bool) -> Callable[[Design], Any]:
    def product(design: Design) -> Any:
        value = base(design)
        if noise:
            value = value * design["sigma"] ** 2
        if logarithm:
            value = value * np.log(design["k"] * design["d"])
        return value

    return product


def standard_laws(
    noise: Iterable[bool] = (False,), logarithm: Iterable[bool] = (False,)
) -> tuple[Law, ...]:
    """The named laws k+d, kd, k(k+d), k²d, with and without the factors σ² and log(kd).

    Args:
        noise: Whether laws have the factor σ²; `(False, True)` gives both. Use it only if σ varies
            over the design: a constant factor makes two laws the same.
        logarithm: Whether laws have the factor log(kd); `(False, True)` gives both.

    >>> [law.name for law in standard_laws(logarithm=(False, True))][:5]
    ['k+d', 'kd', 'k(k+d)', 'k²d', '(k+d)·log(kd)']
    """
    laws = []
    for with_noise in noise:
        for with_log in logarithm:
            for name, formula, base in _BASES:
                bracket = f"({name})" if name == "k+d" and (with_noise or with_log) else name
                factors = ("σ²·" if with_noise else "") + bracket + ("·log(kd)" if with_log else "")
                words = (
                    ("σ²·" if with_noise else "")
                    + f"({formula})"
                    + ("·log(k·d)" if with_log else "")
                )
                laws.append(Law(factors, words, _times(base, with_noise, with_log), family=name))
    return tuple(laws)


CANNOT_TELL = "cannot tell"
NONE_FITS = "none fits"
_POWER_LAW = "power law"
_PLUS = " + constant"


@dataclasses.dataclass(frozen=True)
class LawScore:
    """How well one law explains the cells.

    `delta` is the AICc above that of the best law and `weight` the Akaike weight. `held_out` is the
    log likelihood of cells that the fit did not see. `scatter` is the typical deviation of log
    thresholds beyond measurement error. The `constant` multiplies the law; for the free power law
    it is the threshold at the geometric mean of the design.
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

    `verdict` is the name of the only law that the data do not rule out, `cannot tell`, or `none
    fits` when a free power law beats all named ones. `remaining` names the laws that the data do
    not rule out, and `family` is their common family, if they have one.

    >>> sizes = (4, 8, 16)
    >>> cells = [Cell({"k": k, "d": d}, np.log(k * d), 0.05) for k in sizes for d in sizes]
    >>> ranking = rank_laws(cells)
    >>> ranking.verdict, ranking.remaining, ranking.scores[0].name
    ('kd', ('kd',), 'kd')
    """

    scores: tuple[LawScore, ...]
    verdict: str
    remaining: tuple[str, ...]
    family: str | None
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        lines = [f"Ranking: {self}"]
        lines += [
            f"  {score.name}: AICc {score.delta:+.3g}, weight {score.weight:.2g}, "
            f"constant {score.constant:.3g}"
            for score in self.scores[:7]
        ]
        return "\n".join([*lines, *(f"  {note.message}" for note in self.notes[:2])])

    def _repr_html_(self) -> str:
        return f"<b>{escape(str(self))}</b>" + self.to_frame().to_html(index=False)

    def to_frame(self) -> "pd.DataFrame":
        """The laws from best to worst, one row per law."""
        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(score) for score in self.scores])

    def plot(self) -> "Axes":
        """Draw by how much each law explains the cells worse than the best one.

        Returns:
            Axes of matplotlib, which a notebook shows.
        """
        from separatrix.plots import new_axes

        axes = new_axes()
        frame = self.to_frame().iloc[::-1]
        colours = ["C0" if name in self.remaining else "lightgrey" for name in frame["name"]]
        axes.barh(frame["name"], frame["delta"], color=colours)
        axes.set(xlabel="AICc above the best law (blue: not ruled out)")
        return axes

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
    constants: bool = False,
) -> Ranking:
    """Rank laws on measured cells.

    A law is ruled out if another law beats it by `margin` in AICc and also on held-out cells. Laws
    that an additive constant turns into each other on the design are never told apart: on a cross
    through (20, 20), kd is 20(k + d) - 400.

    Args:
        cells: At least four cells, two of them not censored.
        laws: The candidates; `standard_laws()` if None.
        power_law: The variables of a free power law that serves as a check; empty for no check.
        margin: The difference in AICc that rules a law out; 6 is an evidence ratio of 20.
        constants: Whether each law is offered with an additive constant too.

    Returns:
        The laws from best to worst and the conclusion.

    Raises:
        SeparatrixError: If there are too few cells.

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
    rows, groups, design = observations_of(cells), cluster_index(cells), columns(cells)
    if np.sum(rows.side == 0) < 2:
        raise SeparatrixError("a ranking of laws needs at least 2 cells that are not censored")
    ones = np.ones((len(cells), 1))
    shapes = {law.name: np.log(law.values(design)) for law in laws}
    scores = [
        _score(law.name, law.formula, law.family or law.name, rows, ones, shapes[law.name], groups)
        for law in laws
    ]
    if constants:
        scores += [_with_constant(law, rows, shapes[law.name], groups) for law in laws]
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
    rows: Observations,
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


def _with_constant(law: Law, rows: Observations, shape: np.ndarray, groups: np.ndarray) -> LawScore:
    """The score of a law with the additive constant that fits best."""
    share = np.exp(shape.min() - shape)
    offsets = [shape + np.log1p(math.expm1(s) * share) for s in np.linspace(-2.2, 2.4, 47)]
    ones = np.ones((rows.value.size, 1))
    likelihoods = [fit_rows(rows, ones, offset).log_likelihood.max() for offset in offsets]
    best = offsets[int(np.argmax(likelihoods))]
    name, formula = law.name + _PLUS, law.formula + _PLUS
    score = _score(name, formula, law.family or law.name, rows, ones, best, groups)
    count, parameters = rows.value.size, score.parameters + 1
    correction = 2 * parameters * (parameters + 1) / max(count - parameters - 1, 1)
    aicc = -2 * score.log_likelihood + 2 * parameters + correction
    return dataclasses.replace(score, parameters=parameters, aicc=aicc)


def _held_out(
    rows: Observations, matrix: np.ndarray, offset: np.ndarray, groups: np.ndarray
) -> float:
    """Sum over clusters of the log likelihood of the cluster under the fit to all others, averaged
    over scatters.
    """
    scatters = np.concatenate([[0.0], np.geomspace(0.02, 2.0, 14)])
    members = np.arange(groups.max() + 1)
    training = (groups[None, :] != members[:, None]).astype(float)
    fit = fit_rows(rows, matrix, offset, scatters, training[:, None, :], iterations=12)
    # The error of the fitted coefficients is part of what a prediction does not know.
    covariance = np.linalg.inv(fit.information + 1e-6 * np.eye(matrix.shape[1]))
    doubt = np.einsum("ni,...ij,nj->...n", matrix, covariance, matrix)
    variance = rows.error**2 + fit.scatter[..., None] ** 2 + doubt + 1e-8
    density = log_density(rows, offset + fit.coefficients @ matrix.T, variance)
    unseen = (density * (1 - training)[:, None, :]).sum(axis=-1)
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
    named = [score for score in scores if score.name != _POWER_LAW]
    best = named[0]
    free = next((score for score in scores if score.name == _POWER_LAW), None)
    if free is not None and best.aicc - free.aicc >= margin and free.held_out > best.held_out:
        text = (
            f"a free power law beats the best named law, {best.name}, "
            f"by {best.aicc - free.aicc:.1f} in AICc"
        )
        return Ranking(
            tuple(scores), NONE_FITS, (), None, (*notes, Note("none-fits", "warning", text))
        )
    remaining = [
        s for s in named if s is best or s.aicc - best.aicc < margin or s.held_out >= best.held_out
    ]
    own = best.name.removesuffix(_PLUS)
    collinear = [
        score
        for score in named
        if score not in remaining
        and score.name in shapes
        and score.name != own
        and _collinear(shapes[score.name], shapes[own])
    ]
    if collinear:
        names_of = ", ".join([own, *(score.name for score in collinear)])
        text = (
            f"{names_of} differ only by an additive constant on this design; vary k and d "
            "independently (a full grid, not a cross) to tell them apart"
        )
        notes.append(Note("laws-collinear", "warning", text))
        remaining += collinear
    names = tuple(score.name for score in remaining)
    twins = [
        name
        for name in names
        if name in shapes and name != own and _coincide(shapes[name], shapes[own])
    ]
    if twins:
        text = (
            f"{', '.join([best.name, *twins])} differ only by a constant on this design: no data "
            "on it can tell them apart"
        )
        notes.append(Note("laws-coincide", "warning", text))
    if len(remaining) > 1 + len(twins) + len(collinear):
        text = (
            f"the data do not separate {', '.join(names)}; vary the design more widely or add "
            "trials"
        )
        notes.append(Note("laws-not-separated", "info", text))
    families = {score.family for score in remaining}
    family = families.pop() if len(families) == 1 else None
    verdict = best.name if len(remaining) == 1 else CANNOT_TELL
    if family is not None and all(name.removesuffix(_PLUS) == own for name in names):
        verdict = own  # with and without a constant it is the same law
    return Ranking(tuple(scores), verdict, names, family, tuple(notes))


def _collinear(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether one law is the other one times a factor plus a constant on the design."""
    values = np.exp(first - first.max())
    basis = np.column_stack([np.ones(second.size), np.exp(second - second.max())])
    solution = np.linalg.lstsq(basis, values, rcond=None)[0]
    return bool(np.abs(basis @ solution - values).max() < 1e-9)


def _coincide(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.ptp(first - second) < 1e-9)
