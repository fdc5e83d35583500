"""The claims of the part `sphere`: the gap over receptive field m, sample size n and dimension d.

Only runs that ended at the edge of stability are judged. A cell *interpolates* when its training
MSE is below a tenth of the noise energy.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.inference import Interval
from separatrix.inference.censored_regression import Cell
from separatrix.inference.estimates import Estimate, Known, ShareOf
from separatrix.inference.exponents import fit_exponents
from separatrix.inference.laws import Law
from separatrix.studies.cells import Row
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.kinds import Comparison, LowerBound, Together, Trend, UpperBound
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.trials import Rows, StabilityCell, at_edge, finished
from separatrix.theory.stability import shared_on_sphere

EDGE = (
    "constant-step gradient descent on MSE without clipping; the network is at the edge of "
    "stability (sharpness about 2/η)"
)
INTERPOLATED = 0.1  # of the noise energy: a training MSE below counts as interpolation
ONSET = 0.5  # of the noise energy: the gap that defines n*
ENOUGH = 3.0  # parameters per sample; a full network with fewer cannot fit all of the noise

CONSTANT = Law("1", "1", lambda design: np.ones_like(design["d"]))
RATE = Law(
    "rate",
    "n^(-(d-m)/(2(3d-m)))",
    lambda design: (
        design["n"] ** -((design["d"] - design["m"]) / (2 * (3 * design["d"] - design["m"])))
    ),
)
FIELD = Law("m", "m", lambda design: design["m"])

FCN_FAILS = Claim(
    "liang.fcn-fails",
    "On the sphere, flatness does not make a fully connected network generalize: its gap (excess "
    "risk plus noise energy minus training MSE) does not fall with the number n of samples, at any "
    "dimension d.",
    "Liang et al., abstract; Neural Shattering (arXiv 2506.20779)",
    f"{EDGE}; inputs uniform on the sphere; at least {ENOUGH:g} parameters per sample, so that the "
    "network can fit the noise",
    LowerBound("the FCN's gap", CONSTANT, ("n",), group="d"),
)
GENERALIZES = Claim(
    "liang.shared-generalizes",
    "On the sphere, the gap of a shared local network with a receptive field m that is small "
    "against d falls at least as n^(-1/6 + O(m/d)), from some n on.",
    "Liang et al., abstract; the exponent (d-m)/(2(3d-m)), whose limit is 1/6, is a "
    "[reconstruction]",
    f"{EDGE}; m at most d/4; n at which the network no longer interpolates",
    UpperBound("the shared network's gap", RATE, ("n",), group="pair"),
)
DECIDES = Claim(
    "liang.receptive-field-decides",
    "On the sphere, the receptive field decides: at fixed n and d the gap of a shared local "
    "network grows with m, and at fixed m and n it does not grow with d.",
    "Liang et al., abstract: the rate is n^(-1/6 + O(m/d)), bypassing the ambient dimension",
    f"{EDGE}; steps in m of which one end generalizes (gap below half of the noise energy)",
    Together(
        (
            ("in m", Trend("the shared network's gap", "m", "rising", 1.0)),
            ("in d", UpperBound("the shared network's gap", CONSTANT, ("d",), group="pair")),
        )
    ),
)
UNIT_NORM = Claim(
    "ours.unit-norm-control",
    "That the gap does not grow with d is not an effect of the patches' norm, whose square is m/d: "
    "with inputs scaled so that patches have mean square norm 1, the gap of a shared local network "
    "at fixed m and n does not grow with d either.",
    "ours; a control of liang.receptive-field-decides",
    EDGE,
    UpperBound("the shared network's gap", CONSTANT, ("d",), group="pair"),
)
REACHES = Claim(
    "liang.sharpness-reaches-edge",
    "Gradient descent with a constant step size η and no clipping ends at the edge of stability: "
    "the sharpness settles about 2/η.",
    "Liang et al., experiments 1-3; Neural Shattering (arXiv 2506.20779)",
    "constant step, full batch, runs in which clipping never acted, enough steps",
    Comparison("share of unclipped runs that end at the edge", "above", 0.9),
)
ONSET_LAW = Claim(
    "ours.onset",
    "The sample size n* at which the shared network's gap falls below half of the noise energy "
    "grows with the receptive field at least as m, and does not grow with the dimension d.",
    "ours; no paper says when generalization begins",
    f"{EDGE}; inputs uniform on the sphere",
    Together(
        (
            ("in m", LowerBound("n*", FIELD, ("m",), group="d")),
            ("in d", UpperBound("n*", CONSTANT, ("d",), group="m")),
        )
    ),
)
CLAIMS = (FCN_FAILS, GENERALIZES, DECIDES, UNIT_NORM, REACHES, ONSET_LAW)


class GapCell(NamedTuple):
    """The gap of one cell on the sphere: the mean of its logarithm over runs at the edge."""

    cell: StabilityCell
    log_gap: float
    error: float
    freedom: float
    log_noise: float
    interpolates: bool
    runs: int

    @property
    def generalizes(self) -> bool:
        """Whether the gap is below half of the noise energy."""
        return self.log_gap < self.log_noise + math.log(ONSET)

    def as_cell(self) -> Cell:
        """As an observation for regression over n, d and m."""
        d, m, n = self.cell.number, self.cell.patch, self.cell.samples
        design = {"n": n, "d": d, "m": m}
        return Cell({name: float(size) for name, size in design.items()}, self.log_gap, self.error)


def edge_words(s: StabilitySettings, rows: list[Row]) -> str:
    """How many runs did not end at the edge; empty if all did.

    >>> edge_words(StabilitySettings(), [{"sharpness": 5.0}])
    '0 of 1 runs ended within 5 % of the edge 2/η = 10'
    """
    arrived = sum(at_edge(row, s.edge, s.edge_distance) for row in rows)
    if arrived == len(rows):
        return ""
    return (
        f"{arrived} of {len(rows)} runs ended within {s.edge_distance:.0%} of the edge "
        f"2/η = {s.edge:g}"
    ).replace("%", " %")


def judged(s: StabilitySettings, rows: list[Row]) -> list[Row]:
    """The runs that are judged: those that ended at the edge, with no clipping acting.

    >>> judged(StabilitySettings(), [{"status": "exhausted", "sharpness": 5.0}])
    []
    """
    return [row for row in finished(rows) if at_edge(row, s.edge, s.edge_distance)]


def gap_cells(
    s: StabilitySettings, rows: Rows, network: str = "CNN", variant: str = ""
) -> list[GapCell]:
    """The gaps of a network's cells with at least two judged runs.

    The error of a cell is the larger of its own and of the spread that all cells of the network
    share.

    >>> gap_cells(StabilitySettings(), {})
    []
    """
    logs: dict[StabilityCell, np.ndarray] = {}
    for cell, members in rows.items():
        if (cell.part, cell.network, cell.variant) == ("sphere", network, variant):
            gaps = [row["regression.gap"] for row in judged(s, members)]
            if len(gaps) >= 2 and min(gaps) > 0:
                logs[cell] = np.log(gaps)
    freedom = sum(len(values) - 1 for values in logs.values())
    squares = sum(float(values.var(ddof=1)) * (len(values) - 1) for values in logs.values())
    shared = squares / freedom if freedom else 0.0
    out = []
    for cell, values in sorted(logs.items(), key=lambda item: item[0]):
        own = float(values.var(ddof=1))
        runs = judged(s, rows[cell])
        noise = float(np.mean([row["regression.noise"] for row in runs]))
        mse = float(np.mean([row["regression.mse"] for row in runs]))
        out.append(
            GapCell(
                cell,
                float(values.mean()),
                math.sqrt(max(own, shared, 1e-8) / len(values)),
                float(freedom),
                math.log(noise),
                mse < INTERPOLATED * noise,
                len(values),
            )
        )
    return out


def _left_out(s: StabilitySettings, rows: Rows, network: str = "CNN", variant: str = "") -> str:
    """In words, which runs of a network were not judged."""
    runs = [
        row
        for cell, members in rows.items()
        if (cell.part, cell.network, cell.variant) == ("sphere", network, variant)
        for row in finished(members)
    ]
    words = edge_words(s, runs)
    return f"{words}; only those are judged" if words else ""


def _names(cells: list[GapCell]) -> str:
    return ", ".join(
        f"m = {c.cell.patch}, n = {c.cell.samples}, d = {c.cell.number}" for c in cells
    )


def judge_fcn_fails(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether the full network's gap keeps up as n grows, with a constant for every d.

    >>> judge_fcn_fails(StabilitySettings(), {}).verdict
    'not measured'
    """
    cells, small = [], []
    for c in gap_cells(s, rows, "FCN"):
        parameters = s.sphere.width * (c.cell.number + 2) + 1
        (cells if parameters >= ENOUGH * c.cell.samples else small).append(c)
    words = ", ".join(f"n = {c.cell.samples} at d = {c.cell.number}" for c in small)
    words = f"left out, fewer than {ENOUGH:g} parameters per sample: {words}" if small else ""
    words = "; ".join(filter(None, (words, _left_out(s, rows, "FCN"))))
    return judge(FCN_FAILS, [c.as_cell() for c in cells], reason=words)


def judge_generalizes(s: StabilitySettings, rows: Rows) -> Finding:
    """Whether the shared network's gap falls at least at the reconstructed rate.

    >>> judge_generalizes(StabilitySettings(), {}).verdict
    'not measured'
    """
    fit = [c for c in gap_cells(s, rows) if 4 * c.cell.patch <= c.cell.number]
    before = [c for c in fit if c.interpolates]
    words = f"before n*, interpolating: {_names(before)}" if before else "no cell interpolates"
    words = "; ".join(filter(None, (words, _left_out(s, rows))))
    return judge(GENERALIZES, _grouped([c for c in fit if not c.interpolates], "n"), reason=words)


def _grouped(cells: list[GapCell], size: str) -> list[Cell]:
    """Cells with a number for the other two sizes together, where these have several values of
    `size`."""
    others = {"n": ("d", "m"), "d": ("m", "n")}[size]
    plain = [c.as_cell() for c in cells]
    keys = [tuple(c.design[name] for name in others) for c in plain]
    several = sorted({key for key in keys if keys.count(key) > 1})
    return [
        Cell({**c.design, "pair": float(several.index(key))}, c.value, c.error)
        for c, key in zip(plain, keys)
        if key in several
    ]


def judge_decides(s: StabilitySettings, rows: Rows) -> Finding:
    """The gap from one receptive field to the next, and with d at a fixed one.

    >>> judge_decides(StabilitySettings(), {}).verdict
    'not measured'
    """
    cells = gap_cells(s, rows)
    steps: dict[str, Estimate | None] = {}
    saturated = 0
    for (d, n), group in itertools.groupby(
        sorted(cells, key=lambda c: (c.cell.number, c.cell.samples, c.cell.patch)),
        key=lambda c: (c.cell.number, c.cell.samples),
    ):
        for less, more in itertools.pairwise(group):
            # Where neither end generalizes both gaps are at their ceiling, the noise and more.
            if not (less.generalizes or more.generalizes):
                saturated += 1
                continue
            name = f"m = {less.cell.patch} to {more.cell.patch}, n = {n}, d = {d}"
            steps[name] = LogRatio(
                more.log_gap - less.log_gap, math.hypot(less.error, more.error), less.freedom
            )
    evidence = {"in m": steps or None, "in d": _grouped(cells, "d") or None}
    count = "1 step" if saturated == 1 else f"{saturated} steps"
    words = f"left out, as neither end generalizes: {count} in m"
    words = "; ".join(filter(None, (words if saturated else "", _left_out(s, rows))))
    return judge(DECIDES, evidence, reason=words)


def judge_unit_norm(s: StabilitySettings, rows: Rows) -> Finding:
    """The gap with d at a fixed receptive field, patches having mean square norm 1.

    >>> judge_unit_norm(StabilitySettings(), {}).verdict
    'not measured'
    """
    cells = _grouped(gap_cells(s, rows, variant="unit"), "d")
    words = _left_out(s, rows, variant="unit")
    if not cells:
        field = max(s.sphere.patches)
        words = words or f"no patches of unit norm; run them with `--set sphere.unit_norm={field}`"
    return judge(UNIT_NORM, cells, reason=words)


class LogRatio(NamedTuple):
    """A ratio, known as a logarithm with a standard error and its degrees of freedom.

    >>> LogRatio(0.0, 0.1, 10.0).interval(0.95).estimate
    1.0
    """

    log: float
    error: float
    freedom: float

    def interval(self, level: float) -> Interval:
        """Student's interval of the logarithm, as a ratio."""
        known = Known(self.log, self.error, self.freedom).interval(level)
        middle, low, high = (
            math.exp(min(end, 700.0)) for end in (known.estimate, known.low, known.high)
        )
        return Interval(middle, low, high, level, "pooled spread over seeds", known.count)


def judge_reaches(s: StabilitySettings, rows: Rows) -> Finding:
    """The share of unclipped runs that end at the edge.

    >>> judge_reaches(StabilitySettings(), {}).verdict
    'not measured'
    """
    runs = [
        row
        for cell, members in rows.items()
        if cell.part in ("sphere", "flat", "mixing")
        for row in finished(members)
        if not row.get("clipped_steps")
    ]
    if not runs:
        return judge(REACHES, {}, reason="no run without clipping")
    share = ShareOf(sum(at_edge(row, s.edge, s.edge_distance) for row in runs), len(runs))
    ends = [row["sharpness"] / s.edge for row in runs]
    words = (
        f"{share.successes} of {len(runs)} runs ended within {100 * s.edge_distance:g} % of 2/η; "
        f"final λη/2 lies in [{min(ends):.3g}, {max(ends):.3g}]"
    )
    return judge(REACHES, {"all unclipped runs": share}, reason=words)


def onsets(s: StabilitySettings, rows: Rows) -> dict[tuple[int, int], Cell]:
    """By (d, m), the log of the sample size n* at which the gap falls below half of the noise.

    Between two sample sizes the log gap is interpolated in log n. Where the gap is below half of
    the noise at the smallest n, or above it at the largest, n* is censored there.

    >>> onsets(StabilitySettings(), {})
    {}
    """
    out = {}
    cells = sorted(gap_cells(s, rows), key=lambda c: (c.cell.number, c.cell.patch, c.cell.samples))
    for (d, m), group in itertools.groupby(cells, key=lambda c: (c.cell.number, c.cell.patch)):
        curve = list(group)
        design = {"d": float(d), "m": float(m)}
        above = [c.log_gap - c.log_noise - math.log(ONSET) for c in curve]
        sizes = [math.log(c.cell.samples) for c in curve]
        places = [i for i, height in enumerate(above) if height > 0]
        if not places:
            out[d, m] = Cell(design, sizes[0], curve[0].error, "left")
        elif places[-1] == len(curve) - 1:
            out[d, m] = Cell(design, sizes[-1], curve[-1].error, "right")
        else:
            i = places[-1]
            slope = (above[i + 1] - above[i]) / (sizes[i + 1] - sizes[i])
            error = max(curve[i].error, curve[i + 1].error) / abs(slope)
            out[d, m] = Cell(design, sizes[i] - above[i] / slope, error)
    return out


def judge_onset(s: StabilitySettings, rows: Rows) -> Finding:
    """The law of n* in m and d.

    >>> judge_onset(StabilitySettings(), {}).verdict
    'not measured'
    """
    cells = list(onsets(s, rows).values())
    words, also = onset_law(cells)
    evidence = {"in m": _by(cells, "d") or None, "in d": _by(cells, "m") or None}
    if not any(evidence.values()):
        words = (
            "too few n* lie inside of the sample sizes; run more of them with `--scale full --set "
            "parts=sphere`"
        )
    return judge(ONSET_LAW, evidence, reason=words, also=also)


def _by(cells: list[Cell], name: str) -> list[Cell]:
    """The cells whose value of a size has several cells, at least one of them not censored."""
    values = [c.design[name] for c in cells]
    known = {c.design[name] for c in cells if c.censoring == "none"}
    return [c for c in cells if values.count(c.design[name]) > 1 and c.design[name] in known]


def onset_law(cells: list[Cell]) -> tuple[str, tuple[Evidence, ...]]:
    """The power law n* = C·m^a·d^b that fits best, in words and with the exponents' intervals.

    >>> onset_law([])
    ('', ())
    """
    try:
        fit = fit_exponents(cells, ("m", "d"))
    except SeparatrixError:
        return "", ()
    also = tuple(
        Evidence.of(f"exponent of {name} in n*", fit.exponents[name]) for name in ("m", "d")
    )
    return f"n* goes as m^{also[0].estimate:.2f}·d^{also[1].estimate:.2f}", also


def rate_of(m: int, d: int) -> float:
    """The reconstructed exponent of the shared network's rate, as `RATE` has it.

    >>> round(rate_of(10, 50), 4)
    0.1429
    """
    return float(np.asarray(shared_on_sphere(m, d).upper))
