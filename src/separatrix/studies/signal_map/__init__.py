"""Study `signal-map`: the samples needed between the fully connected and the convolutional network."""
