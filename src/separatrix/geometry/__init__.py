"""Patch geometry: how low-dimensional and how central the small windows of images are, whatever the
way they are cut.
"""

from separatrix.geometry.depth import depth_area, exact_depth, tukey_depth
from separatrix.geometry.elbow import elbow, explained
from separatrix.geometry.images import read_images
from separatrix.geometry.schemes import SCHEMES, cut_patches, mosaic, places
from separatrix.geometry.survey import Measured, survey

__all__ = [
    "SCHEMES",
    "Measured",
    "cut_patches",
    "depth_area",
    "elbow",
    "exact_depth",
    "explained",
    "mosaic",
    "places",
    "read_images",
    "survey",
    "tukey_depth",
]
