"""The networks of the study `cifar`."""

from separatrix.studies.cifar.settings import POOLS, SCALES, CifarSettings
from separatrix.studies.cifar.trials import CifarCell, cells, network_of


def test_networks_have_the_papers_depths_and_fit_the_images():
    for source, shape in (("cifar10", (32, 32, 3)), ("embedded-digits", (8, 8, 1))):
        for depth in POOLS:
            for name in ("CNN", "FCN"):
                network = network_of(CifarSettings(source=source), CifarCell(name, depth, 4))
                network.fits(shape)
                assert network.depth == depth - 1
    full = SCALES["full"]
    counts = [
        network_of(CifarSettings(source="cifar10"), cell).parameter_count((32, 32, 3))
        for cell in cells(full)
        if cell.network == "FCN"
    ]
    assert max(counts) / min(counts) >= 1000  # three orders of magnitude
