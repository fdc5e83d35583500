"""Hooks of the site's build: fill in what is measured elsewhere, bring in the kept evidence, and
check that the API is covered.
"""

import importlib
import pkgutil
import sys
import zlib
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import make_pages


def on_files(files: Files, config: Any) -> Files:
    """Kept reports and their figures become pages of the site."""
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
    """Fill in the parts that a page asks for; links to evidence/ lead to its copy in the site."""
    up = "../" * page.file.src_uri.count("/")
    markdown = markdown.replace(f"]({up}../evidence/", f"]({up}evidence/")
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
    """Every name in the `__all__` of a package below separatrix (the top level only repeats them),
    with the paths it may be documented under.

    A function that is called like its module, such as `networks.windows`, is documented under its
    module's path.
    """
    import separatrix

    found: dict[str, set[str]] = {}
    for package in (
        each.name
        for each in pkgutil.walk_packages(separatrix.__path__, "separatrix.")
        if each.ispkg
    ):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", []):
            item = getattr(module, name)
            own = f"{getattr(item, '__module__', package)}.{getattr(item, '__qualname__', name)}"
            found[f"{package}.{name}"] = {f"{package}.{name}", own}
    return found
