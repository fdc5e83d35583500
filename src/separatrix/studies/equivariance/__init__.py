"""Study `equivariance`: what the lower bounds of Lahoti et al. rest on, measured as a number."""
