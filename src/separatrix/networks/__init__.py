"""Networks: who learns."""

from separatrix.networks.activations import LSA, Activation, ClippedReLU, ReLU, Tanh
from separatrix.networks.embeddings import Distance, Embedded, distance, embed
from separatrix.networks.initial import Initial
from separatrix.networks.layout import Frame, Layout, Params, Patches
from separatrix.networks.maps import Maps, Sight
from separatrix.networks.network import CNN, FCN, LCN, Network
from separatrix.networks.pooling import Heads
from separatrix.networks.views import Views
from separatrix.networks.windows import Windows, windows

__all__ = [
    "CNN",
    "FCN",
    "LCN",
    "LSA",
    "Activation",
    "ClippedReLU",
    "Distance",
    "Embedded",
    "Frame",
    "Heads",
    "Initial",
    "Layout",
    "Maps",
    "Network",
    "Params",
    "Patches",
    "ReLU",
    "Sight",
    "Tanh",
    "Views",
    "Windows",
    "distance",
    "embed",
    "windows",
]
