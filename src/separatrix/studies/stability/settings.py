"""What the stability study varies, at each scale."""

import dataclasses

from separatrix.errors import check_choice, check_integer, check_number

PARTS = ("sphere", "flat", "mixing", "vocabulary", "images", "geometry")


@dataclasses.dataclass(frozen=True)
class StabilitySettings:
    """Sizes of the six parts; `parts` says which are run. Names follow the paper: m is a patch, K a
    width, η a rate.

    `clip` bounds the gradient's norm in all parts but `sphere` and `images` (0: not at all), and
    `image_clip` does on images. A wide shared network starts far above the edge (λ = 70 at K =
    1024, where the edge is 10): unclipped, its first steps throw nearly all units to where they
    never act again. `image_scale` is a pixel's root mean square and `image_gain` the size of the
    image teacher's readout.

    >>> StabilitySettings().edge
    10.0
    """

    parts: tuple[str, ...] = PARTS
    rate: float = 0.2
    noise: float = 1.0
    clip: float = 0.0
    test: int = 512
    times: int = 20
    dimensions: tuple[int, ...] = (20, 50)
    patch: int = 5
    samples: tuple[int, ...] = (48, 80, 128)
    width: int = 48
    steps: int = 3000
    seeds: int = 5
    flat_views: int = 4
    flat_patch: int = 10
    flat_samples: int = 64
    flat_width: int = 96
    flat_steps: int = 4000
    flat_seeds: int = 4
    flat_times: int = 20
    mix_copies: int = 10
    mix_patch: int = 9
    mix_views: tuple[int, ...] = (0, 40)
    mix_samples: int = 48
    mix_width: int = 32
    mix_steps: int = 3000
    mix_seeds: int = 5
    word_views: int = 12
    word_patch: int = 5
    word_samples: int = 60
    word_parameters: int = 700
    word_noise: float = 0.5
    word_rate: float = 0.04
    word_steps: int = 3000
    word_seeds: int = 6
    image_source: str = "auto"
    image_side: int = 8
    image_samples: int = 64
    image_width: int = 32
    image_steps: int = 1000
    image_seeds: int = 4
    image_test: int = 256
    image_clip: float = 10.0
    image_scale: float = 0.25
    image_gain: float = 20**0.5
    patch_images: int = 500
    patch_points: int = 250
    patch_directions: int = 200
    patch_seeds: int = 4
    seed: int = 0

    def __post_init__(self):
        owner = "the stability study"
        for part in self.parts:
            check_choice(owner, "parts", part, PARTS)
        check_number(owner, "rate", self.rate, low=0, open_low=True)
        check_number(owner, "word_rate", self.word_rate, low=0, open_low=True)
        check_number(owner, "clip", self.clip, low=0)
        check_number(owner, "image_clip", self.image_clip, low=0)
        check_number(owner, "image_scale", self.image_scale, low=0, open_low=True)
        check_number(owner, "image_gain", self.image_gain, low=0)
        for name in ("dimensions", "samples"):
            for count in getattr(self, name):
                check_integer(owner, name, count, low=1)
        for count in self.dimensions:
            check_integer(owner, "patch", self.patch, low=1, high=count)
        for count in self.mix_views:
            check_integer(owner, "mix_views", count, low=0)
        for name in ("times", "flat_times"):
            check_integer(owner, name, getattr(self, name), low=5)

    @property
    def edge(self) -> float:
        """The sharpness at which gradient descent stops being stable: 2/η, for MSE without the ½."""
        return 2.0 / self.rate


SCALES = {
    "quick": StabilitySettings(),
    "laptop": StabilitySettings(
        test=2048,
        times=40,
        dimensions=(25, 50, 100),
        samples=(32, 64, 128, 256),
        width=64,
        steps=10_000,
        seeds=6,
        flat_views=8,
        flat_samples=128,
        flat_width=256,
        flat_steps=15_000,
        flat_seeds=6,
        flat_times=100,
        mix_views=(0, 20, 40, 60),
        mix_samples=128,
        mix_width=128,
        mix_steps=4000,
        mix_seeds=6,
        word_views=50,
        word_patch=10,
        word_samples=200,
        word_parameters=10_500,
        word_steps=2000,
        word_seeds=5,
        image_side=16,
        image_samples=128,
        image_width=64,
        image_steps=2000,
        image_seeds=5,
        image_test=512,
        patch_images=2000,
        patch_points=1000,
        patch_directions=500,
        patch_seeds=8,
    ),
    "full": StabilitySettings(
        clip=10.0,
        test=4096,
        times=100,
        dimensions=(50, 100, 200, 400),
        patch=10,
        samples=(64, 128, 256, 512, 1024),
        width=256,
        steps=50_000,
        seeds=5,
        flat_views=8,
        flat_samples=512,
        flat_width=1024,
        flat_steps=50_000,
        flat_seeds=8,
        flat_times=1000,
        mix_views=(0, 20, 40, 60, 80),
        mix_samples=512,
        mix_width=1024,
        mix_steps=4000,
        mix_seeds=8,
        word_views=50,
        word_patch=10,
        word_samples=200,
        word_parameters=10_500,
        word_steps=20_000,
        word_seeds=12,
        image_side=32,
        image_samples=1024,
        image_width=1024,
        image_steps=5000,
        image_seeds=5,
        image_test=1024,
        patch_images=8000,
        patch_points=1000,
        patch_directions=500,
        patch_seeds=10,
    ),
}
