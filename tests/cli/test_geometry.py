"""The command `separatrix geometry`."""

import json

import numpy as np
from typer.testing import CliRunner

from separatrix.cli.main import app
from separatrix.geometry import (
    read_images,
)


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
    assert first[0]["projected"][1] <= first[0]["projected"][0] <= first[0]["projected"][2]
    assert read_images(str(tmp_path / "folder"), 16)[0].shape == (12, 16, 16, 3)
    assert np.allclose(read_images(str(tmp_path / "folder"), 16)[0] * 255, images, atol=1e-3)
    done = CliRunner().invoke(
        app, ["geometry", str(tmp_path / "images.npy"), *quick[:-1], "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "elbow.png",
        "patches.png",
        "projected.png",
        "whitened.png",
    ]
    assert "upper bound" in done.stdout
