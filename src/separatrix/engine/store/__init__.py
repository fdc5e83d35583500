"""The store: finished trials on disk."""
