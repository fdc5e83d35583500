"""The signal studies: how many samples each network needs (Lahoti et al.)."""
