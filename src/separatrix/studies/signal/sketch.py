"""A sketch of the map between the networks: coarse, untuned and without claims; the study
`signal-map` measures it with care.
"""

from collections.abc import Mapping

from separatrix.notes import Note
from separatrix.studies.outcome import Heatmap
from separatrix.studies.search import Found, Query
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.signal_map.figures import map_figure
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, Spot
from separatrix.studies.signal_map.trials import spot_query
from separatrix.studies.tuning import Choice


def map_settings(s: SignalSettings) -> MapSettings | None:
    """The settings of the sketch; None where the study draws no map.

    >>> map_settings(SignalSettings()).spots()[-1]
    Spot(field=4, groups=4)
    """
    if not s.map_places:
        return None
    size = max(s.map_places)
    return MapSettings(
        patches=size,
        dimension=size,
        fields=s.map_places,
        groups=s.map_places,
        noise=s.noise,
        bias=s.bias,
        margin=s.margin,
        width=1.4,
        trials=20,
        round=s.round,
        largest=2048,
        test=512,
        tune_rates=(1.0,),
        seed=s.seed,
    )


def sketch_queries(s: SignalSettings) -> dict[Spot, Query]:
    """The searches of the sketch; none where the study draws no map.

    >>> len(sketch_queries(SignalSettings()))
    9
    """
    m = map_settings(s)
    return (
        {}
        if m is None
        else {spot: spot_query(m, spot, Choice(MapRecipe(), {})) for spot in m.spots()}
    )


def sketch(s: SignalSettings, found: Mapping[Spot, Found]) -> tuple[tuple[Heatmap, ...], Note]:
    """The map as a figure, and what a reader must know of it.

    >>> sketch(SignalSettings(map_places=()), {})[1].code
    'map'
    """
    m = map_settings(s)
    if m is None:
        return (), Note(
            "map",
            "info",
            "This scale draws no map between the networks: `separatrix run signal-map` measures it.",
        )
    words = (
        f"The map is a sketch at k = d = {m.patches}: every place has its untuned learning rate, {m.steps} steps and at most {m.trials} trials a "
        "search, and no claim rests on it. `separatrix run signal-map` tunes every place and judges."
    )
    return (map_figure(m, dict(found)),), Note("map", "info", words)
