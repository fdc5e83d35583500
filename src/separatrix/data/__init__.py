"""Data: real images, downloaded once and checked by SHA-256, and labelled data of the user."""

from separatrix.data.catalogue import CATALOGUE, Entry
from separatrix.data.download import get
from separatrix.data.embedded import EMBEDDED, photographs
from separatrix.data.labelled import NAMED, Labelled, as_labelled, batches, moments, read_labelled
from separatrix.data.store import (
    DataSet,
    assume_available,
    available,
    data_folder,
    load,
    pinned,
    training_images,
)

__all__ = [
    "CATALOGUE",
    "EMBEDDED",
    "NAMED",
    "DataSet",
    "Entry",
    "Labelled",
    "as_labelled",
    "assume_available",
    "available",
    "batches",
    "data_folder",
    "get",
    "load",
    "moments",
    "photographs",
    "pinned",
    "read_labelled",
    "training_images",
]
