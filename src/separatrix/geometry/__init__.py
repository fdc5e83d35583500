"""Patch geometry: how low-dimensional and how central patches of images are, for many ways to cut
them.
"""

from separatrix.geometry.images import read_images
from separatrix.geometry.measures import (
    SchemeGeometry,
    depth_area,
    elbow,
    exact_depth,
    explained,
    projected_depth,
    survey,
    whiten,
    whitened_depth,
)
from separatrix.geometry.schemes import SCHEMES, cut_patches, mosaic, places

__all__ = [
    "SCHEMES",
    "SchemeGeometry",
    "cut_patches",
    "depth_area",
    "elbow",
    "exact_depth",
    "explained",
    "mosaic",
    "places",
    "projected_depth",
    "read_images",
    "survey",
    "whiten",
    "whitened_depth",
]
