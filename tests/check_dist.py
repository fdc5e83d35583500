"""Use the wheel as a user would: `make dist`.

    python tests/check_dist.py DIST

Installs the wheel of the folder DIST into a clean environment in an empty folder outside the
checkout, checks what is in both archives, runs `separatrix doctor` and a small study.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("separatrix/py.typed", "separatrix/__init__.py", "separatrix/report/templates/page.css")


def say(*words, **options):
    """Run a command, which must succeed, and return what it prints."""
    print("+", *words, flush=True)
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{words[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    """Check the archives, then the installed package."""
    dist = Path(sys.argv[1]).resolve()
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    with tarfile.open(source) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    missing = [name for name in NEEDED if name not in names]
    missing += [name for name in (*NEEDED,) if f"src/{name}" not in sources]
    tracked = say("git", "ls-files", "src", cwd=ROOT).split()
    missing += [name for name in tracked if name.removeprefix("src/") not in names]
    if missing:
        sys.exit(f"the archives lack {', '.join(missing[:5])}")
    with tempfile.TemporaryDirectory() as empty:
        venv.create(Path(empty) / "env", with_pip=True)
        bin = Path(empty) / "env" / "bin"
        pip = (bin / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q")
        say(*pip, "-c", ROOT / "constraints.txt", wheel, cwd=empty)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SEPARATRIX"))}
        env["SEPARATRIX_CACHE"] = str(Path(empty) / "cache")
        where = say(
            bin / "python",
            "-c",
            "import separatrix; print(separatrix.__file__)",
            cwd=empty,
            env=env,
        )
        if not Path(where.strip()).is_relative_to(Path(empty).resolve()):
            sys.exit(f"another separatrix was imported: {where.strip()}")
        print(say(bin / "separatrix", "--version", cwd=empty, env=env), end="")
        print(say(bin / "separatrix", "doctor", cwd=empty, env=env), end="")
        run = (bin / "separatrix", "run", "signal-first", "--scale", "quick", "--budget", "90s")
        print(say(*run, cwd=empty, env=env), end="")
        if not (Path(empty) / "results/signal-first-quick/report/index.html").is_file():
            sys.exit("the study wrote no report")
    print("the wheel works in an empty folder")


if __name__ == "__main__":
    main()
