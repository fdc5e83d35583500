"""Study `signal-first`: the first experiment on the dynamic signal distribution (Lahoti et al.)."""
