"""Hooks of the site's build: fill in generated parts, add the evidence, check the API reference."""

import importlib
import pkgutil
import sys
import zlib
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import make_notebooks
import make_pages


def on_files(files: Files, config: Any) -> Files:
    """Add the reports of the evidence, their figures, and the executed notebooks to the site."""
    if late := make_notebooks.stale():
        raise PluginError(f"run `python docs/make_notebooks.py {' '.join(late)}`: sources changed")
    for name in make_notebooks.names():
        text = make_notebooks.page(name)
        files.append(File.generated(config, f"teaching/{name}.md", content=text))
    for folder in make_pages.evidence_folders():
        text = (
            (folder / "README.md")
            .read_text(encoding="utf-8")
            .replace(
                "# Separatrix", f"# Evidence: {folder.name}\n\n{make_pages.caveats(folder.name)}", 1
            )
        )
        files.append(File.generated(config, f"evidence/{folder.name}/README.md", content=text))
        for figure in sorted((folder / "figures").glob("*.svg")):
            files.append(
                File.generated(
                    config,
                    f"evidence/{folder.name}/figures/{figure.name}",
                    abs_src_path=str(figure),
                )
            )
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the parts that a page asks for, and link evidence/ to its copy in the site."""
    up = "../" * page.file.src_uri.count("/")
    markdown = markdown.replace(f"]({up}../evidence/", f"]({up}evidence/")
    if page.file.src_uri == "teaching.md":  # the site shows notebooks as pages
        markdown = markdown.replace(".ipynb)", ".md)")
    try:
        return make_pages.fill(markdown)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None


def on_post_build(config: Any) -> None:
    """Fail unless the inventory of documented objects has every public name of every package."""
    inventory = Path(config.site_dir, "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    missing = [name for name, homes in public_names().items() if not homes & known]
    if missing:
        raise PluginError(f"not in the API reference: {', '.join(missing)}")


def public_names() -> dict[str, set[str]]:
    """Every name in the `__all__` of a subpackage, with the paths that may document it.

    The top level only repeats names. A function with the name of its module, such as
    `networks.windows`, is documented under the path of its module.
    """
    import separatrix

    names: dict[str, set[str]] = {}
    for package in pkgutil.walk_packages(separatrix.__path__, "separatrix."):
        module = importlib.import_module(package.name) if package.ispkg else None
        for name in getattr(module, "__all__", []):
            path, item = f"{package.name}.{name}", getattr(module, name)
            home = getattr(item, "__module__", package.name)
            names[path] = {path, f"{home}.{getattr(item, '__qualname__', name)}"}
    return names
