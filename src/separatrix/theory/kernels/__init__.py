"""Kernels: what networks of one hidden layer compute when they are infinitely wide and lazy.

`shallow_kernel` gives the conjugate kernel (only the readout is trained) and the tangent kernel
(both layers are) of a fully connected, locally connected or convolutional network; `KernelRidge`
learns with one.
"""

from separatrix.theory.kernels.dual import DUALS, Dual, dual_of
from separatrix.theory.kernels.ridge import KernelRidge, ridge_path
from separatrix.theory.kernels.shallow import KernelSpec, shallow_kernel

__all__ = [
    "DUALS",
    "Dual",
    "KernelRidge",
    "KernelSpec",
    "dual_of",
    "ridge_path",
    "shallow_kernel",
]
