"""Cells of designs with a known law, for the tests of exponents and laws."""

import math

import numpy as np

from separatrix.inference import Cell

SQUARE = [(k, d) for k in (8, 16, 32) for d in (8, 16, 32)]


def measured_cells(function, pairs=SQUARE, error=0.08, seed=0, **more):
    rng = np.random.default_rng(seed)
    return [
        Cell({"k": k, "d": d, **more}, math.log(function(k, d)) + error * rng.normal(), error)
        for k, d in pairs
    ]
