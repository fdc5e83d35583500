"""Labelled data of the user: arrays, tables, pictures in folders, idx files; read without running
code, bounded, and checked.
"""

from separatrix.data.labelled.build import as_labelled
from separatrix.data.labelled.named import NAMED
from separatrix.data.labelled.read import read_labelled
from separatrix.data.labelled.rows import Labelled, batches, moments

__all__ = ["NAMED", "Labelled", "as_labelled", "batches", "moments", "read_labelled"]
