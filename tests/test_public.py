"""The public names, and rules that the whole source keeps."""

import ast
import dataclasses
import enum
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import separatrix as sx

SOURCE = Path(sx.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = [
    "separatrix",
    *(info.name for info in pkgutil.walk_packages(sx.__path__, "separatrix.") if info.ispkg),
]


def lazy_and_typed():
    """The names of the lazy table and of the TYPE_CHECKING block, each with the package it comes
    from.
    """
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    typed = {
        (alias.name, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {(name, f"separatrix.{home}") for home, names in sx._HOMES.items() for name in names}
    return lazy, typed


def test_the_three_lists_of_public_names_are_one():
    lazy, typed = lazy_and_typed()
    assert lazy == typed
    assert set(sx.__all__) == {name for name, _ in lazy} | {"__version__"}
    assert len(set(sx.__all__)) == len(sx.__all__)
    assert dir(sx) == sorted(sx.__all__)
    for name, home in lazy:
        assert getattr(sx, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        sx.nothing  # noqa: B018


def public(package):
    module = importlib.import_module(package)
    return [(name, getattr(module, name)) for name in getattr(module, "__all__", [])]


def test_every_layer_says_what_is_public():
    for layer in (
        "engine",
        "inference",
        "learners",
        "networks",
        "probes",
        "report",
        "studies",
        "tasks",
    ):
        assert public(f"separatrix.{layer}"), f"separatrix.{layer} has no __all__"


def new_methods(item):
    """The public methods that a class has and its base classes have not."""
    return [
        member
        for name, member in vars(item).items()
        if inspect.isroutine(member)
        and not name.startswith("_")
        and not any(hasattr(base, name) for base in item.__bases__)
    ]


def needs_example(item):
    """Whether a public name must show an example: functions, and classes that do something.

    Plain records (with at most one method, such as their plain values), exceptions and enumerations
    are explained by their fields, interfaces by their implementations, and methods that override
    others by the class that introduced them.
    """
    if not inspect.isclass(item):
        return inspect.isfunction(item)
    if issubclass(item, Exception | enum.Enum) or inspect.isabstract(item):
        return False
    record = dataclasses.is_dataclass(item) or hasattr(item, "_fields")
    return len(new_methods(item)) > (1 if record and not issubclass(item, sx.Spec) else 0)


def has_example(item):
    texts = [item.__doc__]
    if inspect.isclass(item):
        texts += [member.__doc__ for member in new_methods(item)]
    return any(">>>" in (text or "") for text in texts)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_explained(package):
    assert importlib.import_module(package).__doc__
    bare, without_example = [], []
    for name, item in public(package):
        if inspect.isfunction(item) or inspect.isclass(item):
            # A class needs a docstring of its own: a parent's does not say what the class is.
            text = vars(item).get("__doc__") if inspect.isclass(item) else item.__doc__
            # `dataclass` writes the signature where there is no docstring.
            if not text or text.startswith(f"{name}("):
                bare.append(name)
            elif needs_example(item) and not has_example(item):
                without_example.append(name)
    assert not bare, f"without a docstring: {bare}"
    assert not without_example, f"without an example in the docstring: {without_example}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_every_module_is_short_and_keeps_to_what_is_safe_and_public(file):
    text = file.read_text()
    assert text.count("\n") <= 500
    assert not re.search(r"/(home|root|Users|work)/", text), "an absolute path of some machine"
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module without a sentence about it"
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        elif isinstance(node, ast.Call):
            names = [f"{ast.unparse(node.func)}()"] + [
                ast.unparse(word) for word in node.keywords if word.arg == "allow_pickle"
            ]
        for name in names:
            # The one module that reads what Dask's protocol pickles, and builds plain values only.
            restricted = file.name == "secure.py" and name in ("pickle", "pickle.Unpickler")
            unsafe = re.match(r"(pickle|cPickle|dill|cloudpickle|marshal|shelve)\b", name)
            assert restricted or not unsafe, name
            assert not re.match(r"jax\.(_src|core|interpreters)\b", name), name
            assert name not in ("eval()", "exec()", "compile()", "allow_pickle=True"), name


# Records that the package builds for the user; their docstrings explain the fields in prose.
BUILT_BY_THE_PACKAGE = {"Diagnosis", "Moment", "Params"}


def parameters(item):
    """The names of what a caller passes: fields of a record or spec, or parameters of a call."""
    if inspect.isclass(item) and issubclass(item, Exception) and "__init__" not in vars(item):
        return []
    if dataclasses.is_dataclass(item):
        return [field.name for field in dataclasses.fields(item) if field.init]
    if hasattr(item, "_fields"):
        return list(item._fields)
    return [name for name in inspect.signature(item).parameters if name != "self"]


def documented_parameters(item):
    """The names under `Args:` of a docstring."""
    text = inspect.cleandoc(vars(item).get("__doc__") if inspect.isclass(item) else item.__doc__)
    section = re.search(r"^Args:\n((?:[ ].*\n?|\n)+)", text, re.MULTILINE)
    return set(re.findall(r"^ +\*{0,2}(\w+):", section[1], re.MULTILINE)) if section else set()


@pytest.mark.parametrize("name", [name for name in sx.__all__ if callable(getattr(sx, name))])
def test_every_parameter_of_a_public_name_is_documented(name):
    item = getattr(sx, name)
    if name in BUILT_BY_THE_PACKAGE or (inspect.isclass(item) and issubclass(item, enum.Enum)):
        return
    documented = documented_parameters(item)
    missing = [parameter for parameter in parameters(item) if parameter not in documented]
    assert not missing, f"not under `Args:` of {name}: {missing}"
