"""Study `signal-map`: the samples needed by networks between FCN and CNN."""
