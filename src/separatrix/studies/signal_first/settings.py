"""What the first experiment varies, at each scale."""

from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.studies.signal.settings import Tuning


def equal_seeds(count: int) -> dict[str, int]:
    """The settings of a tuning with the same number of seeds for every network.

    >>> equal_seeds(4)
    {'seeds': 4, 'local_seeds': 4, 'full_seeds': 4}
    """
    return dict.fromkeys(("seeds", "local_seeds", "full_seeds"), count)


class SignalFirstSettings(Settings, of="signal-first"):
    """The task, the training, the tuning and the number of seeds.

    `bias` is the LSA bias of the untuned recipe, from which the tuning begins. Every network is
    tuned on the same number of seeds. The steps of the lattice are coarse: with rates a factor 2
    apart, the search for the FCN's recipe ends at a local optimum of less alignment.
    """

    patches: int = 10
    dimension: int = 20
    noise: float = 0.1
    samples: int = 1000
    bias: float = 0.5
    steps: int = 200
    seeds: int = setting(default=8, low=2)
    tune: Tuning = Tuning(step=4.0, bias=0.15, moves=2, **equal_seeds(2))
    seed: int = 0


SCALES = at_scales(
    SignalFirstSettings(),
    laptop={"seeds": 48, "tune": {"moves": 6, **equal_seeds(8)}},
    full={"seeds": 256, "tune": {"moves": 6, **equal_seeds(12)}},
)
