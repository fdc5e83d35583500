"""Hooks of the site's build: fill in what is measured elsewhere, bring in the kept evidence, and check that the API is covered."""

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
        text = (folder / "README.md").read_text(encoding="utf-8").replace("# Separatrix", f"# Evidence: {folder.name}", 1)
        files.append(File.generated(config, f"evidence/{folder.name}/README.md", content=text))
        for figure in sorted((folder / "figures").glob("*.svg")):
            files.append(File.generated(config, f"evidence/{folder.name}/figures/{figure.name}", abs_src_path=str(figure)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the parts that a page asks for."""
    try:
        return make_pages.fill(markdown)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None


def on_post_build(config: Any) -> None:
    """Fail unless the inventory of documented objects has every public name of every package."""
    inventory = Path(config.site_dir, "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    missing = [name for name in public_names() if name not in known]
    if missing:
        raise PluginError(f"not in the API reference: {', '.join(missing)}")


def public_names() -> list[str]:
    """Every name in the `__all__` of a package below separatrix (the top level only repeats them)."""
    import separatrix

    packages = [found.name for found in pkgutil.walk_packages(separatrix.__path__, "separatrix.") if found.ispkg]
    modules = {name: importlib.import_module(name) for name in packages}
    return [f"{name}.{each}" for name, module in modules.items() for each in getattr(module, "__all__", [])]
