"""Elbow and depth: definitions, biases, and smooth images."""

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.geometry import (
    depth_area,
    elbow,
    exact_depth,
    explained,
    projected_depth,
    survey,
    whiten,
    whitened_depth,
)


def slow_depth(points):
    """The exact depth in the plane, from the definition: directions just beside every line through
    two points.
    """
    out = []
    for point in points:
        counts = [len(points)]
        for other in points:
            edge = other - point
            if np.any(edge):
                angle = np.arctan2(edge[1], edge[0]) + np.pi / 2
                turns = angle + np.array([-1e-7, 1e-7, np.pi - 1e-7, np.pi + 1e-7])
                counts += (
                    ((points - point) @ [np.cos(turns), np.sin(turns)] >= -1e-12).sum(0).tolist()
                )
        out.append(min(counts) / len(points))
    return np.array(out)


def test_exact_depth_is_the_definition():
    rng = np.random.default_rng(0)
    line = rng.standard_normal((21, 1))
    ranks = np.argsort(np.argsort(line[:, 0])) + 1
    assert np.allclose(exact_depth(line), np.minimum(ranks, 22 - ranks) / 21)
    plane = rng.standard_normal((30, 2))
    assert np.allclose(exact_depth(plane), slow_depth(plane))
    with pytest.raises(
        SeparatrixError, match="the `points` of exact_depth must be of one or two dimensions"
    ):
        exact_depth(np.zeros((4, 3)))


def test_random_directions_are_biased_upwards_and_refinement_and_more_directions_lower_it():
    rng = np.random.default_rng(1)
    plane = rng.standard_normal((80, 2))
    exact = exact_depth(plane)
    few, many = projected_depth(plane, 5), projected_depth(plane, 2000)
    refined = projected_depth(plane, 20, refine=40)
    for found in (few, many, refined):
        assert np.all(found >= exact - 1e-12)
    assert np.allclose(
        many, exact, atol=1 / 80 + 1e-12
    )  # 2000 directions in the plane: off by one point at most
    assert np.mean(few - exact) > np.mean(many - exact)
    assert np.mean(refined - exact) < np.mean(projected_depth(plane, 20) - exact)
    line = rng.standard_normal((50, 1))
    assert np.array_equal(
        projected_depth(line, 3), exact_depth(line)
    )  # one dimension has two directions only
    twins = np.repeat(line, 2, axis=0)
    assert np.allclose(
        projected_depth(twins, 3), np.repeat(exact_depth(line), 2)
    )  # ties count in both half-spaces


def test_the_projected_depth_measures_anisotropy_and_the_whitened_one_does_not():
    # Depth is affine-invariant: both clouds have the same. Over 200 random directions of 48
    # dimensions four strong axes look deep, and whitening removes that.
    rng = np.random.default_rng(4)
    even = rng.standard_normal((600, 48))
    strong = even * np.where(np.arange(48) < 4, 10.0, 0.1)
    flat, steep = (depth_area(projected_depth(points, 200)) for points in (even, strong))
    assert steep > 5 * flat
    white, other = (depth_area(whitened_depth(points, 200)) for points in (even, strong))
    # The same points in turned axes, so other directions; their draw moves the area by a tenth.
    assert white == pytest.approx(other, rel=0.3)
    assert np.allclose(np.cov(whiten(strong).T, bias=True), np.eye(48), atol=1e-8)
    assert whitened_depth(np.ones((5, 3)), 10).tolist() == [1.0] * 5


def test_the_depth_area_is_the_integral():
    depths = np.random.default_rng(0).random(200) * 0.7
    grid = np.linspace(0, 0.5, 20001)
    integral = np.trapezoid([(depths >= t).mean() for t in grid], grid)
    assert depth_area(depths) == pytest.approx(integral, abs=1e-4)


def test_the_depth_of_a_symmetric_law_is_known():
    # For a spherical Gaussian the depth at distance r is Φ(-r), and in two dimensions r has density
    # r·exp(-r²/2). Tolerance: 5 standard errors of the mean of 2000 points (the standard deviation
    # of Φ(-r) is below .13), and the bias of 300 directions.
    from scipy.integrate import quad
    from scipy.stats import norm

    mean = quad(lambda r: norm.cdf(-r) * r * np.exp(-(r**2) / 2), 0, 20)[0]
    points = np.random.default_rng(2).standard_normal((2000, 2))
    assert depth_area(projected_depth(points, 300)) == pytest.approx(
        mean, abs=5 * 0.13 / np.sqrt(2000) + 0.005
    )


def test_the_elbow_counts_directions():
    rng = np.random.default_rng(3)
    scale = np.array([10.0, 5.0, 1.0, 0.1, 0.1])
    points = rng.standard_normal((5000, 5)) * scale
    shares = np.sort(points.var(0))[::-1] / points.var(0).sum()
    assert np.allclose(
        explained(points), shares, atol=2e-3
    )  # axes are almost the principal directions
    assert elbow(points) == 2  # 100/126 = .79, 125/126 = .99
    assert elbow(points, 0.75) == 1
    assert elbow(points[:3] * [1, 0, 0, 0, 0]) == 1
    assert elbow(np.ones((10, 4))) == 0
    wide = rng.standard_normal((6, 200))
    assert np.allclose(
        explained(wide)[:5],
        (np.linalg.svd(wide - wide.mean(0), compute_uv=False) ** 2)[:5]
        / ((wide - wide.mean(0)) ** 2).sum(),
    )


def test_smooth_images_have_low_dimensional_patches_only_where_patches_are_local():
    rng = np.random.default_rng(4)
    t = np.linspace(0, 1, 16)
    waves = [
        np.cos(2 * np.pi * (a * t[:, None] + b * t[None, :]) + c)
        for a, b, c in rng.random((60, 3)) * [1.5, 1.5, 6.3]
    ]
    images = np.stack(waves)[..., None].astype(np.float32)
    found = {
        each.scheme: each
        for each in survey(
            images,
            ["conv", "random placement", "global shuffle"],
            points=30,
            directions=30,
            seeds=range(2),
        )
    }
    assert max(found["conv"].elbows) <= 3  # waves of long period are nearly planes inside a window
    assert max(found["random placement"].elbows) <= 3
    assert min(found["global shuffle"].elbows) >= 10
