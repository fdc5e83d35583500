"""The page of a diagnosis: the window that it frames is where a row varies most."""

import dataclasses

import numpy as np

from separatrix.diagnosis.page import fragment, windows

FRAME = (214, 90, 20)


def framed(strip) -> tuple[int, int, int, int]:
    """The rows and columns from which and up to which pixels have the frame's colour."""
    down, across = np.nonzero((np.array(strip) == FRAME).all(-1))
    return int(down.min()), int(down.max()) + 1, int(across.min()), int(across.max()) + 1


def test_the_busiest_window_of_a_signal_is_framed(found):
    row = np.zeros((24, 1), np.float32)
    row[10] = 1.0
    picture = windows(dataclasses.replace(found, examples=(("bump", row),)))
    assert picture is not None
    assert picture.labels == ("bump",)
    top, bottom, left, right = framed(picture.strips[0])
    scale = 480 // 24
    assert (top, bottom, right - left) == (0, 24, found.window * scale)
    assert left <= 10 * scale < right


def test_the_busiest_window_of_an_image_is_framed(found):
    image = np.zeros((8, 12, 3), np.uint8)
    image[5, 9] = 255
    about = {**found.about, "kind": "image"}
    picture = windows(dataclasses.replace(found, examples=(("dot", image),), about=about))
    top, bottom, left, right = framed(picture.strips[0])
    scale = 96 // 12
    assert bottom - top == right - left == found.window * scale
    assert top <= 5 * scale < bottom
    assert left <= 9 * scale < right
    assert "3 x 3 pixels" in picture.caption


def test_tables_have_no_windows(found):
    assert windows(dataclasses.replace(found, examples=())) is None
    assert [name for name, _ in found.examples] == ["0", "1"]
    page = fragment(found)
    assert page.index("What scrambling costs") < page.index("What a window sees")
