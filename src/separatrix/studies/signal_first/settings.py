"""What the first experiment varies, at each scale."""

from separatrix.studies.settings import Settings, at_scales


class SignalFirstSettings(Settings, of="signal-first"):
    """The task, the training and the number of seeds."""

    patches: int = 10
    dimension: int = 20
    noise: float = 0.1
    samples: int = 1000
    bias: float = 0.5
    steps: int = 200
    seeds: int = 12
    seed: int = 0


SCALES = at_scales(SignalFirstSettings(), laptop={"seeds": 48}, full={"seeds": 256})
