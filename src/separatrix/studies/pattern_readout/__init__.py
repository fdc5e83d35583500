"""Study `pattern-readout`: Lemma 6 of Malach & Shalev-Shwartz, checked exactly."""
