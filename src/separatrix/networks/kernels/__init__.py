"""GPU kernels for one hidden layer, behind one seam."""
