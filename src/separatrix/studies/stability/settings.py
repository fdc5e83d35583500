"""The settings of the study `stability`, part by part, at its three scales."""

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.studies.settings import Settings, at_scales, setting

PARTS = ("sphere", "flat", "mixing", "vocabulary", "images", "geometry")


class SphereSettings(Settings, of="stability.sphere"):
    """Part `sphere`: the gaps of shared, unshared and full networks over m, n and d.

    Every receptive field m is paired with the dimensions d ≥ 2m. Training sets of more than
    `most_numbers` numbers, n·d, are left out of the grid. `unshared` and `unit_norm` are the
    receptive fields at which unshared networks, and shared ones on inputs scaled so that patches
    have mean square norm 1, stand beside the shared ones, at the first `control_samples` sample
    sizes. Full networks have the sample sizes `full_samples` and as many seeds as `full_seeds`
    says, where these are given: a slope of their gap in n needs a wide range and small errors.
    With `long_steps` above 0 the smallest dimension is trained for that many steps as well, at
    `long_samples`.
    """

    dimensions: tuple[int, ...] = setting(default=(30, 60), low=2)
    patches: tuple[int, ...] = setting(default=(5, 15), low=1)
    samples: tuple[int, ...] = setting(default=(140, 270, 512), low=1)
    most_numbers: int = setting(default=4_000_000, low=1)
    unshared: tuple[int, ...] = setting(default=(15,), low=1)
    unit_norm: tuple[int, ...] = setting(default=(15,), low=1)
    control_samples: int = setting(default=2, low=1)
    full_samples: tuple[int, ...] = setting(default=(), low=1)
    full_seeds: int = setting(default=0, low=0)
    width: int = setting(default=48, low=1)
    steps: int = setting(default=3000, low=1)
    seeds: int = setting(default=3, low=2)
    times: int = setting(default=10, low=5)
    long_steps: int = setting(default=0, low=0)
    long_samples: tuple[int, ...] = setting(default=(256, 1024), low=1)

    def check(self) -> None:
        for name in ("dimensions", "patches", "samples"):
            sizes = getattr(self, name)
            if not sizes or list(sizes) != sorted(set(sizes)):
                raise ParameterError(
                    self.owner, name, "at least one number, in rising order", sizes
                )
        for name in ("full_samples", "long_samples"):
            sizes = getattr(self, name)
            if list(sizes) != sorted(set(sizes)):
                raise ParameterError(self.owner, name, "in rising order", sizes)
        largest = max(self.dimensions)
        for patch in self.patches:
            if 2 * patch > largest:
                allowed = f"at most {largest // 2}, half of the largest dimension {largest}"
                raise ParameterError(self.owner, "patches", allowed, patch)
        with_patches = [d for d in self.dimensions if self.patches_of(d)]
        if not any(map(self.samples_of, with_patches)):
            allowed = f"at least {min(self.samples) * min(with_patches)}, the smallest n·d"
            raise ParameterError(self.owner, "most_numbers", allowed, self.most_numbers)
        for name in ("unshared", "unit_norm"):
            for patch in getattr(self, name):
                if patch not in self.patches:
                    raise ParameterError(self.owner, name, f"among `patches` {self.patches}", patch)

    def patches_of(self, dimension: int) -> tuple[int, ...]:
        """The receptive fields that are paired with a dimension.

        >>> SphereSettings().patches_of(30)
        (5, 15)
        """
        return tuple(patch for patch in self.patches if 2 * patch <= dimension)

    def samples_of(self, dimension: int, full: bool = False) -> tuple[int, ...]:
        """The sample sizes of shared networks at a dimension, or of full ones.

        >>> SphereSettings().samples_of(60)
        (140, 270, 512)
        >>> SphereSettings(full_samples=(64, 512)).samples_of(60, full=True)
        (64, 512)
        """
        sizes = self.full_samples if full and self.full_samples else self.samples
        return tuple(n for n in sizes if n * dimension <= self.most_numbers)


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
    samples: int = setting(default=128, low=1)
    width: int = setting(default=48, low=1)
    steps: int = setting(default=2000, low=1)
    seeds: int = setting(default=4, low=1)

    def check(self) -> None:
        if len(self.views) < 2 or list(self.views) != sorted(set(self.views)):
            allowed = "at least two numbers, in rising order"
            raise ParameterError(self.owner, "views", allowed, self.views)


class VocabularySettings(Settings, of="stability.vocabulary", written="word"):
    """Part `vocabulary`: three networks of about `parameters` parameters each."""

    views: int = setting(default=12, low=1)
    patch: int = setting(default=5, low=1)
    samples: int = setting(default=60, low=1)
    parameters: int = setting(default=700, low=1)
    noise: float = setting(default=0.5, low=0)
    rate: float = setting(default=0.04, low=0, open_low=True)
    steps: int = setting(default=2000, low=1)
    seeds: int = setting(default=6, low=1)


class ImagesSettings(Settings, of="stability.images", written="image"):
    """Part `images`: regression on images with a local teacher.

    `scale` is a pixel's root mean square, `gain` the size of the teacher's readout, and `clip`
    bounds the gradient's norm (0: not at all).
    """

    source: str = "auto"
    side: int = setting(default=8, low=3)
    samples: int = setting(default=64, low=1)
    width: int = setting(default=32, low=1)
    steps: int = setting(default=1000, low=1)
    seeds: int = setting(default=4, low=1)
    times: int = setting(default=20, low=5)
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

    Names follow the paper: m is a patch, K a width, η a rate. A run counts as at the edge when its
    sharpness ends within `edge_distance`, relative to 2/η. `clip` bounds the gradient's norm in
    all parts but `sphere` and `images` (0: not at all). A wide shared network starts far above the
    edge (λ = 70 at K = 1024, where the edge is 10): unclipped, its first steps throw nearly all
    units to where they never act again.

    >>> StabilitySettings().edge
    10.0
    """

    parts: tuple[str, ...] = setting(default=PARTS, among=PARTS)
    rate: float = setting(default=0.2, low=0, open_low=True)
    edge_distance: float = setting(default=0.05, low=0, open_low=True, high=0.5)
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

    def check(self) -> None:
        for rate in (self.rate, self.vocabulary.rate):
            if rate >= 1:
                raise SeparatrixError(
                    f"training diverges at the rate {rate:g}: the output's offset alone gives the "
                    "MSE a curvature of 2, so take a rate below 1"
                )

    @property
    def edge(self) -> float:
        """The sharpness above which gradient descent is unstable: 2/η, for MSE without the ½."""
        return 2.0 / self.rate


SCALES = at_scales(
    StabilitySettings(),
    # Compiling a program takes as long as thirty to a hundred of these runs, so few programs and
    # many seeds: the larger patch is too wide for the smaller dimension, all n fit one frame of 128
    # rows, and every run is light enough for XLA's faster compilation.
    quick={
        "parts": ("sphere", "flat", "geometry"),
        "sphere": {
            "dimensions": (12, 32),
            "patches": (3, 12),
            "samples": (38, 46, 56, 69, 85, 104, 128),
            "unshared": (),
            "unit_norm": (),
            "full_seeds": 12,
            "width": 32,
            "seeds": 5,
        },
    },
    laptop={
        "clip": 10.0,
        "test": 2048,
        "times": 40,
        "sphere": {
            "dimensions": (40, 80, 160),
            "patches": (5, 10, 20, 40),
            "samples": (128, 512, 2048),
            "unshared": (10,),
            "unit_norm": (5, 10),
            "full_samples": (128, 181, 256, 362, 512, 724, 1024),
            "full_seeds": 6,
            "width": 64,
            "steps": 5000,
            "seeds": 4,
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
            "seeds": 12,
        },
        "vocabulary": {
            "views": 50,
            "patch": 10,
            "samples": 200,
            "parameters": 2400,
            "steps": 4000,
            "seeds": 8,
        },
        "images": {
            "side": 16,
            "samples": 128,
            "width": 64,
            "steps": 2000,
            "seeds": 12,
            "times": 40,
            "test": 512,
        },
        "geometry": {"images": 2000, "points": 1000, "directions": 500, "seeds": 8},
    },
    full={
        "clip": 10.0,
        "test": 4096,
        "times": 40,  # a measured sharpness costs as much as 20 to 60 steps
        "sphere": {
            "dimensions": (50, 100, 200, 400),
            "patches": (5, 10, 20, 40, 100),
            "samples": (256, 1024, 4096, 16_384),
            "unshared": (10,),
            "unit_norm": (10,),
            "width": 256,
            "steps": 20_000,
            "times": 12,
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
            "steps": 3000,
            "seeds": 12,
            "times": 20,
            "test": 1024,
        },
        "geometry": {"images": 8000, "points": 1000, "directions": 500, "seeds": 10},
    },
)
