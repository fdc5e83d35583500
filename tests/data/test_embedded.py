"""The embedded images."""

import numpy as np

from separatrix import data
from separatrix.data.catalogue import PARTS


def test_embedded_splits_do_not_overlap():
    digits = data.load("embedded-digits")
    assert len(digits.train_x) + len(digits.test_x) == 1797
    assert digits.classes == 10
    assert {part: getattr(digits, part).dtype for part in PARTS} == dict.fromkeys(
        PARTS, np.dtype(np.uint8)
    )
    photos = data.load("embedded-photographs")
    image = data.photographs()["china"]
    np.testing.assert_array_equal(photos.train_x[0], image[:32, :32])
    np.testing.assert_array_equal(photos.test_x[0], image[:32, 448:480])
    np.testing.assert_array_equal(
        photos.train_x[52], image[:32, 416:448]
    )  # the last of the first row ends where test pieces begin
    assert set(np.unique(photos.test_y)) == {0, 1}
