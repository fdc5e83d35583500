"""The settings of the study `stability`, part by part, at its three scales."""

from separatrix.errors import check_integer
from separatrix.studies.settings import Settings, at_scales, setting

PARTS = ("sphere", "flat", "mixing", "vocabulary", "images", "geometry")


class SphereSettings(Settings, of="stability.sphere", written=""):
    """Part `sphere`: the gaps of the shared and the full network over dimensions and samples."""

    dimensions: tuple[int, ...] = setting(default=(20, 50), low=1)
    patch: int = setting(default=5, low=1)
    samples: tuple[int, ...] = setting(default=(48, 80, 128), low=1)
    width: int = setting(default=48, low=1)
    steps: int = setting(default=3000, low=1)
    seeds: int = setting(default=5, low=1)

    def check(self) -> None:
        for dimension in self.dimensions:
            check_integer(self.owner, "patch", self.patch, low=1, high=dimension)


class FlatSettings(Settings, of="stability.flat"):
    """Part `flat`: noise on independent spherical patches."""

    views: int = setting(default=4, low=1)
    patch: int = setting(default=10, low=1)
    samples: int = setting(default=64, low=1)
    width: int = setting(default=96, low=1)
    steps: int = setting(default=4000, low=1)
    seeds: int = setting(default=4, low=1)
    times: int = setting(default=20, low=5)


class MixingSettings(Settings, of="stability.mixing", written="mix"):
    """Part `mixing`: `views` are the numbers of random views of a point's coordinates."""

    copies: int = setting(default=10, low=1)
    patch: int = setting(default=9, low=1)
    views: tuple[int, ...] = setting(default=(0, 40), low=0)
    samples: int = setting(default=48, low=1)
    width: int = setting(default=32, low=1)
    steps: int = setting(default=3000, low=1)
    seeds: int = setting(default=5, low=1)


class VocabularySettings(Settings, of="stability.vocabulary", written="word"):
    """Part `vocabulary`: three networks of about `parameters` parameters each."""

    views: int = setting(default=12, low=1)
    patch: int = setting(default=5, low=1)
    samples: int = setting(default=60, low=1)
    parameters: int = setting(default=700, low=1)
    noise: float = setting(default=0.5, low=0)
    rate: float = setting(default=0.04, low=0, open_low=True)
    steps: int = setting(default=3000, low=1)
    seeds: int = setting(default=6, low=1)


class ImagesSettings(Settings, of="stability.images", written="image"):
    """Part `images`: regression on images with a local teacher.

    `scale` is a pixel's root mean square, `gain` the size of the teacher's readout, and `clip`
    bounds the gradient's norm (0: not at all).
    """

    source: str = "auto"
    side: int = setting(default=8, low=1)
    samples: int = setting(default=64, low=1)
    width: int = setting(default=32, low=1)
    steps: int = setting(default=1000, low=1)
    seeds: int = setting(default=4, low=1)
    test: int = setting(default=256, low=1)
    clip: float = setting(default=10.0, low=0)
    scale: float = setting(default=0.25, low=0, open_low=True)
    gain: float = setting(default=20**0.5, low=0)


class GeometrySettings(Settings, of="stability.geometry", written="patch"):
    """Part `geometry`: elbow and depth of the patches of images."""

    images: int = setting(default=500, low=1)
    points: int = setting(default=250, low=1)
    directions: int = setting(default=200, low=1)
    seeds: int = setting(default=4, low=1)


class StabilitySettings(Settings, of="stability"):
    """What all parts share, and the sizes of each; `parts` says which are run.

    Names follow the paper: m is a patch, K a width, η a rate. `clip` bounds the gradient's norm in
    all parts but `sphere` and `images` (0: not at all). A wide shared network starts far above the
    edge (λ = 70 at K = 1024, where the edge is 10): unclipped, its first steps throw nearly all
    units to where they never act again.

    >>> StabilitySettings().edge
    10.0
    """

    parts: tuple[str, ...] = setting(default=PARTS, among=PARTS)
    rate: float = setting(default=0.2, low=0, open_low=True)
    noise: float = setting(default=1.0, low=0)
    clip: float = setting(default=0.0, low=0)
    test: int = setting(default=512, low=1)
    times: int = setting(default=20, low=5)
    sphere: SphereSettings = SphereSettings()
    flat: FlatSettings = FlatSettings()
    mixing: MixingSettings = MixingSettings()
    vocabulary: VocabularySettings = VocabularySettings()
    images: ImagesSettings = ImagesSettings()
    geometry: GeometrySettings = GeometrySettings()
    seed: int = 0

    @property
    def edge(self) -> float:
        """The sharpness above which gradient descent is unstable: 2/η, for MSE without the ½."""
        return 2.0 / self.rate


SCALES = at_scales(
    StabilitySettings(),
    laptop={
        "test": 2048,
        "times": 40,
        "sphere": {
            "dimensions": (25, 50, 100),
            "samples": (32, 64, 128, 256),
            "width": 64,
            "steps": 10_000,
            "seeds": 6,
        },
        "flat": {
            "views": 8,
            "samples": 128,
            "width": 256,
            "steps": 15_000,
            "seeds": 6,
            "times": 100,
        },
        "mixing": {
            "views": (0, 20, 40, 60),
            "samples": 128,
            "width": 128,
            "steps": 4000,
            "seeds": 6,
        },
        "vocabulary": {
            "views": 50,
            "patch": 10,
            "samples": 200,
            "parameters": 10_500,
            "steps": 2000,
            "seeds": 5,
        },
        "images": {
            "side": 16,
            "samples": 128,
            "width": 64,
            "steps": 2000,
            "seeds": 5,
            "test": 512,
        },
        "geometry": {"images": 2000, "points": 1000, "directions": 500, "seeds": 8},
    },
    full={
        "clip": 10.0,
        "test": 4096,
        "times": 100,
        "sphere": {
            "dimensions": (50, 100, 200, 400),
            "patch": 10,
            "samples": (64, 128, 256, 512, 1024),
            "width": 256,
            "steps": 50_000,
            "seeds": 5,
        },
        "flat": {
            "views": 8,
            "samples": 512,
            "width": 1024,
            "steps": 50_000,
            "seeds": 8,
            "times": 1000,
        },
        "mixing": {
            "views": (0, 20, 40, 60, 80),
            "samples": 512,
            "width": 1024,
            "steps": 4000,
            "seeds": 8,
        },
        "vocabulary": {
            "views": 50,
            "patch": 10,
            "samples": 200,
            "parameters": 10_500,
            "steps": 20_000,
            "seeds": 12,
        },
        "images": {
            "side": 32,
            "samples": 1024,
            "width": 1024,
            "steps": 5000,
            "seeds": 5,
            "test": 1024,
        },
        "geometry": {"images": 8000, "points": 1000, "directions": 500, "seeds": 10},
    },
)
