"""A sketch of the map between the networks: coarse, untuned and without claims; the study `signal-map` measures it with care."""

from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.outcome import Heatmap
from separatrix.studies.search import Found
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.signal_map.figures import map_figure
from separatrix.studies.signal_map.measure import measure_map, spot_query
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, Spot
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice

UNTUNED: Choice[MapRecipe] = Choice(MapRecipe(), {})


def map_settings(s: SignalSettings) -> MapSettings | None:
    """The settings of the sketch; None where the study draws no map.

    >>> map_settings(SignalSettings()).spots()[-1]
    Spot(field=6, groups=6)
    """
    if not s.map_places:
        return None
    size = max(s.map_places)
    return MapSettings(
        patches=size, dimension=size, fields=s.map_places, groups=s.map_places, noise=s.noise, bias=s.bias, margin=s.margin,
        width=1.4, trials=20, round=s.round, largest=2048, test=512, tune_rates=(1.0,), seed=s.seed,
    )  # fmt: skip


def sketch_sweeps(s: SignalSettings) -> dict[str, Sweep]:
    """The most trials that the sketch may buy, at the sizes where its searches begin.

    >>> len(sketch_sweeps(SignalSettings()))
    9
    """
    m = map_settings(s)
    if m is None:
        return {}
    out = {}
    for spot in m.spots():
        query = spot_query(m, spot, UNTUNED)
        size = int(query.plan.start or query.plan.minimum)
        out[f"map r = {spot.field}, g = {spot.groups}"] = Sweep(tuple(query.trial(size, seed) for seed in seeds_from(s.seed, m.trials)))
    return out


def sketch_map(lab: Lab, s: SignalSettings) -> tuple[tuple[Heatmap, ...], tuple[Note, ...]]:
    """The map as a figure, and what a reader must know of it."""
    m = map_settings(s)
    if m is None:
        words = "This scale draws no map between the networks: `separatrix run signal-map` measures it."
        return (), (Note("map", "info", words),)
    found: dict[Spot, Found] = measure_map(lab, m, dict.fromkeys(m.spots(), UNTUNED))
    words = (
        f"The map is a sketch at k = d = {m.patches}: every place has its untuned learning rate, {m.steps} steps and at most {m.trials} trials a "
        "search, and no claim rests on it. `separatrix run signal-map` tunes every place and judges."
    )
    return (map_figure(m, found),), (Note("map", "info", words),)
