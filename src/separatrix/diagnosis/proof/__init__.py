"""The proof: data whose truth is known, diagnosed many times."""
