"""Study `signal-open`: the questions that Lahoti et al. leave open."""
