"""The map as a figure: what is censored or missing is marked, and every format draws it."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies import Axis, Heatmap, Outcome, figure_from
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_map.figures import map_figure
from separatrix.studies.signal_map.settings import MapSettings, Spot
from sharp_searches import sharp_search


def found_at(
    sizes: dict[tuple[int, int], float], censored: dict[tuple[int, int], str] | None = None
) -> dict[Spot, SearchResult]:
    """Sharp thresholds at places of the map."""
    sides = censored or {}
    return {Spot(*place): sharp_search(size, sides.get(place, "")) for place, size in sizes.items()}


def test_the_map_marks_what_is_censored_and_missing():
    s = MapSettings(patches=8, fields=(1, 8), groups=(1, 8))
    figure = map_figure(
        s, found_at({(1, 1): 10.0, (8, 1): 50.0, (8, 8): 640.0}, {(1, 1): "left", (8, 8): "right"})
    )
    assert figure.columns == (1, 8)
    assert figure.hatched == ((True, False), (False, True))
    assert figure.texts[0][0].startswith("≤")
    assert figure.texts[1] == ("not run", figure.texts[1][1])
    assert figure.texts[1][1].startswith("≥")
    assert figure.values[1][0] is None
    assert figure.values[0][1] == pytest.approx(50.0, rel=0.02)
    (plain,) = Outcome((), (figure,)).plain()["figures"]
    assert figure_from(plain) == figure


def test_a_map_is_drawn_in_every_format_and_damage_is_named(tmp_path):
    from separatrix.report.figure import draw as figures
    from separatrix.report.read import _read_figure

    axis = Axis("m*", log=True)
    cells = Heatmap(
        "m",
        "A map",
        axis,
        axis,
        axis,
        (1, 2),
        (1, 2),
        ((1.0, 9.0), (None, 81.0)),
        (("1", "9"), ("?", "81")),
        ((False, True),) * 2,
    )
    svg = figures.draw(cells)
    assert all(f">{text}<" in svg.replace(" ", "") for text in ("1", "9", "?", "81"))
    for suffix in (".png", ".pdf", ".svg"):
        assert figures.save(cells, tmp_path / f"map{suffix}").stat().st_size > 1000
    (plain,) = Outcome((), (cells,)).plain()["figures"]
    assert _read_figure(plain, "outcomes/x.json") == cells
    with pytest.raises(SeparatrixError, match="do not fit its rows and columns"):
        _read_figure(plain | {"texts": [["1"]]}, "outcomes/x.json")
    with pytest.raises(SeparatrixError, match="must hold numbers"):
        _read_figure(plain | {"values": [["1", 2.0], [1.0, 2.0]]}, "outcomes/x.json")
    ends = _read_figure(plain | {"ends": [1, 100.0]}, "outcomes/x.json").ends
    assert ends == (1, 100.0)
    for damaged in ([], [1.0], [2.0, 1.0], [0.0, 9.0], [1.0, None], ["1", "9"], {"low": 1}):
        with pytest.raises(SeparatrixError, match="ends"):
            _read_figure(plain | {"ends": damaged}, "outcomes/x.json")
