"""Patch schemes, elbows and half-space depths against exact references."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from separatrix.cli.main import app
from separatrix.errors import SeparatrixError
from separatrix.geometry import (
    SCHEMES,
    cut_patches,
    depth_area,
    elbow,
    exact_depth,
    explained,
    places,
    read_images,
    survey,
    tukey_depth,
)

LOCAL = [name for name in SCHEMES if name not in ("global shuffle", "whole image", "multi-scale")]


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
    few, many = tukey_depth(plane, 5), tukey_depth(plane, 2000)
    refined = tukey_depth(plane, 20, refine=40)
    for found in (few, many, refined):
        assert np.all(found >= exact - 1e-12)
    assert np.allclose(
        many, exact, atol=1 / 80 + 1e-12
    )  # 2000 directions in the plane: off by one point at most
    assert np.mean(few - exact) > np.mean(many - exact)
    assert np.mean(refined - exact) < np.mean(tukey_depth(plane, 20) - exact)
    line = rng.standard_normal((50, 1))
    assert np.array_equal(
        tukey_depth(line, 3), exact_depth(line)
    )  # one dimension has two directions only
    twins = np.repeat(line, 2, axis=0)
    assert np.allclose(
        tukey_depth(twins, 3), np.repeat(exact_depth(line), 2)
    )  # ties count in both half-spaces


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
    assert depth_area(tukey_depth(points, 300)) == pytest.approx(
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


@pytest.mark.parametrize("scheme", LOCAL)
def test_patches_are_distinct_pixels_of_the_image(scheme):
    rng = np.random.default_rng(0)
    where = places(scheme, 32, 32, 4, rng)
    assert where.shape[1] == 16
    assert where.min() >= 0
    assert where.max() < 32 * 32
    assert all(len(set(patch)) == 16 for patch in where.tolist())
    extent = [np.ptp(np.stack(np.divmod(patch, 32)), axis=1).max() for patch in where]
    assert max(extent) <= (
        15 if scheme == "cross" else 6 if scheme == "dilated" else 3
    )  # a window's reach: no wrapping around an edge
    images = rng.random((3, 32, 32, 3)).astype(np.float32)
    patches = cut_patches(images, scheme)
    assert patches.shape[1] == 48
    assert set(patches[0].tolist()) <= set(images[0].ravel().tolist())


def test_the_grid_schemes_cut_what_a_loop_cuts():
    images = np.random.default_rng(0).random((2, 10, 8, 3)).astype(np.float32)
    expected = [
        image[r : r + 4, c : c + 4].ravel()
        for image in images
        for r in range(0, 7, 2)
        for c in range(0, 5, 2)
    ]
    assert np.array_equal(cut_patches(images, "conv"), expected)
    assert np.array_equal(cut_patches(images, "whole image"), images.reshape(2, -1))
    shuffled = cut_patches(images, "global shuffle")
    assert shuffled.shape == (24, 48)
    assert np.all(np.isin(shuffled[:12], images[0]))
    assert not np.array_equal(shuffled, cut_patches(images, "global shuffle", seed=1))
    assert np.array_equal(shuffled, cut_patches(images, "global shuffle"))
    even = images.reshape(2, 5, 2, 4, 2, 3).mean((2, 4))
    assert np.allclose(cut_patches(images, "multi-scale")[24], even[0, :4, :4].ravel())


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


def test_the_command_reads_arrays_folders_and_embedded_photographs(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (12, 16, 16, 3)).astype(np.uint8)
    np.save(tmp_path / "images.npy", images)
    np.savez(tmp_path / "images.npz", x=images, y=np.arange(12))
    (tmp_path / "folder").mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / "folder" / f"{number:02}.png")
    quick = [
        "--points",
        "6",
        "--directions",
        "5",
        "--seeds",
        "2",
        "--schemes",
        "conv, whole image",
        "--json",
    ]
    answers = [
        CliRunner().invoke(app, ["geometry", str(tmp_path / name), *quick])
        for name in ("images.npy", "images.npz")
    ]
    first, second = (json.loads(answer.stdout)["schemes"] for answer in answers)
    assert first == second
    assert first[0]["dimensions"] == 48
    assert first[0]["area"][1] <= first[0]["area"][0] <= first[0]["area"][2]
    assert read_images(str(tmp_path / "folder"), 16)[0].shape == (12, 16, 16, 3)
    assert np.allclose(read_images(str(tmp_path / "folder"), 16)[0] * 255, images, atol=1e-3)
    done = CliRunner().invoke(
        app, ["geometry", str(tmp_path / "images.npy"), *quick[:-1], "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "area.png",
        "elbow.png",
        "patches.png",
    ]
    assert "upper bound" in done.stdout


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda p: read_images(str(p / "none")),
            "is no folder, no .npy or .npz file and no data set",
        ),
        (lambda p: read_images(str(p / "text.npy")), "cannot read images from text.npy"),
        (
            lambda p: read_images(str(p / "flat.npy")),
            r"images must be numbers of shape .* got \(5,\)",
        ),
        (lambda p: read_images(str(p / "two.npz")), "two.npz must hold one array of images"),
        (
            lambda p: read_images(str(p / "objects.npy")),
            "cannot read images from objects.npy: it holds Python objects",
        ),
        (lambda p: read_images(str(p)), "holds no pictures"),
        (
            lambda p: places("cnov", 8, 8, 4, np.random.default_rng(0)),
            "there is no patch scheme `cnov`; did you mean `conv`",
        ),
        (
            lambda p: cut_patches(np.zeros((2, 6, 6, 1)), "conv"),
            r"the `side` of a patch scheme must be at most half .* \(6\), got 4",
        ),
        (lambda p: survey(np.zeros((3, 8, 8, 1))), "needs at least 4 images, got 3"),
        (
            lambda p: tukey_depth(np.zeros((1, 3))),
            r"the `points` of tukey_depth must be at least two points, as rows, got \(1, 3\)",
        ),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, make, words):
    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.savez(tmp_path / "two.npz", a=np.zeros((2, 3, 3)), b=np.zeros((2, 3, 3)))
    np.save(tmp_path / "objects.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(SeparatrixError, match=words):
        make(tmp_path)


def test_a_picture_of_patches_survives_json_and_is_drawn(tmp_path):
    from separatrix.report import draw, save
    from separatrix.studies import Picture, figure_from
    from separatrix.studies.outcome import Outcome
    from separatrix.studies.stability.patches import patch_picture

    (picture,) = patch_picture({"conv": {}, "whole image": {}}, "embedded-photographs")
    plain = json.loads(json.dumps(Outcome((), (picture,)).plain()))["figures"][0]
    assert figure_from(plain) == picture
    assert isinstance(picture, Picture)
    assert "data:image/png" in draw(picture)
    assert save(picture, tmp_path / "p.png").stat().st_size > 1000
    plain["strips"][0][0][0] = [1, 2, 300]
    with pytest.raises(TypeError, match="three numbers from 0 to 255"):
        figure_from(plain)
