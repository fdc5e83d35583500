"""Networks: who learns."""

from separatrix.networks.activations import LSA, Activation, ClippedReLU, ReLU, Tanh
from separatrix.networks.embeddings import Distance, Embedded, distance, embed
from separatrix.networks.initial import Initial
from separatrix.networks.shallow import CNN, FCN, LCN, Frame, Layout, Network, Params
from separatrix.networks.windows import Windows, windows

__all__ = [
    "CNN", "FCN", "LCN", "LSA", "Activation", "ClippedReLU", "Distance", "Embedded", "Frame", "Initial", "Layout", "Network",
    "Params", "ReLU", "Tanh", "Windows", "distance", "embed", "windows",
]  # fmt: skip
