"""GPU kernels for one hidden layer: the one door through which networks reach them.

`lowering` says which implementations a program is traced with, `suits` whether kernels fit a
network's sizes, `row_by_row` stores patches as kernels read long windows, and `outputs` computes a
network's outputs.
"""

from separatrix.networks.kernels.fused import outputs, row_by_row, suits
from separatrix.networks.kernels.lowering import Lowering, current, lowering

__all__ = ["Lowering", "current", "lowering", "outputs", "row_by_row", "suits"]
