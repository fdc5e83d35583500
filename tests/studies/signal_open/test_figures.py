"""Censored thresholds are drawn as bounds."""

from separatrix.studies import Series
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_open.figures import ratio_figure, start_figure, variant_figures
from separatrix.studies.signal_open.settings import OpenCell, OpenSettings
from separatrix.studies.signal_open.trials import Floor
from sharp_searches import sharp_search

FLOOR = Floor(0.02, 0.0, 0.12, "made up")


def found_at(
    sizes: dict[tuple[str, str, int], float], never: tuple[str, ...] = ()
) -> dict[OpenCell, SearchResult]:
    """Sharp thresholds; networks in `never` always fail."""
    return {
        OpenCell(*place): sharp_search(size, "right" if place[1] in never else "")
        for place, size in sizes.items()
    }


def test_censored_thresholds_are_drawn_as_bounds():
    found = found_at(
        {("plain", "CNN", 8): 5.0, ("plain", "LCN", 8): 50.0, ("plain", "FCN", 8): 900.0},
        never=("FCN",),
    )
    s = OpenSettings(start_patches=(8,))
    (figure,) = variant_figures(s, found)
    roles = {(each.label, each.role): each for each in figure.series}
    assert roles["FCN", "bound"].x == ("plain",)
    assert roles["FCN", "measured"].y == (None,)  # the gap keeps its place among the categories
    assert roles["LCN", "measured"].x == ("plain",)
    assert Series.bounded("CNN", []) == []
    labels = {
        each.label for each in ratio_figure(found, {cell[::2]: FLOOR for cell in found}).series
    }
    assert labels == {"LCN over CNN", "FCN over LCN", "no difference"}
    starts = start_figure(s, found, {cell[::2]: FLOOR for cell in found})
    assert starts.series[0].label == "CNN"
    assert (starts.series[-1].role, starts.series[-1].y) == ("floor", (104.0,))
