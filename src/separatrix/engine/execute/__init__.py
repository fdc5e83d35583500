"""Executors: chunks of trials run in this process, in worker processes, or on a cluster."""
