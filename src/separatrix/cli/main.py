"""The command `separatrix`: its subcommands, and one sentence for every error.

Results go to standard output, everything else to standard error. Commands import heavy packages
when they need them, so that `--help` answers at once.
"""

import errno
import io
import os
import sys
from typing import Annotated, Any

import typer

from separatrix import __version__
from separatrix.cli import data, evidence
from separatrix.cli.bound import bound
from separatrix.cli.checks import audit, calibrate
from separatrix.cli.diagnose import diagnose
from separatrix.cli.geometry import geometry
from separatrix.cli.options import Json
from separatrix.cli.report import compare, report
from separatrix.cli.run import explain, list_studies, run
from separatrix.cli.verify import verify
from separatrix.cli.watch import serve, watch
from separatrix.errors import SeparatrixError, shown

ADDRESS_SPACE = 3 * 2**30  # bytes; with less, JAX's threads and compiler end the process

app = typer.Typer(
    name="separatrix",
    help="Measure when convolution beats local or full connectivity, and by how much: run studies "
    "that test the claims of papers.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"separatrix {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


app.command("list")(list_studies)
app.command()(explain)
app.command()(run)
app.command()(verify)
app.command()(report)
app.command()(compare)
app.command()(watch)
app.command()(serve)
app.command()(diagnose)
app.command()(bound)
app.command()(audit)
app.command()(calibrate)
app.command()(geometry)
app.add_typer(data.app)
app.add_typer(evidence.app)


@app.command()
def doctor(
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Time small trials (about a minute) for the estimates of --dry-run.",
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="With --calibrate: the number of workers. [default: one per core]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check this installation and machine."""
    from separatrix.cli import doctor

    if calibrate:
        doctor.calibrate(json, workers)
    elif workers is not None:
        raise SeparatrixError(
            "--workers is the number of workers to calibrate for: give --calibrate as well"
        )
    else:
        doctor.doctor(json)


def main() -> None:
    """Run the `separatrix` command.

    An error is one sentence in place of a traceback. The exit status is 0, 1 or 2.
    """
    _prepare_output()
    try:
        check_address_space()
        try:
            app(prog_name="separatrix")
        finally:
            sys.stdout.flush()  # a full disk is noticed here, and not after the last word
    except SeparatrixError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        _fail("interrupted")
    except SystemExit as end:
        if end.code == 130:  # typer's status after Ctrl-C
            _fail("interrupted")
        raise
    except BrokenPipeError:
        _forget_output()  # the reader of the output is gone
        sys.exit(1)
    except MemoryError:
        _fail("there is not enough memory for this; ask for less, or raise the limit (ulimit -v)")
    except OSError as error:
        if os.environ.get("SEPARATRIX_DEBUG"):
            raise
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO):
            _forget_output()
            _fail(f"cannot write to standard output: {error.strerror}")
        place = f" ({shown(error.filename, 200)})" if error.filename else ""
        _fail(f"the system refused something: {error.strerror or error}{place}")
    except Exception as error:
        if os.environ.get("SEPARATRIX_DEBUG"):
            raise
        first_line = next(iter(str(error).splitlines()), "")
        _fail(
            f"internal error, please report it: {type(error).__name__}: {first_line} "
            "(SEPARATRIX_DEBUG=1 shows where)"
        )


def _prepare_output() -> None:
    """Have every character printable somehow, and somewhere to print to."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the caller has closed it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            # A terminal that is not UTF-8 shows `\\u2014` in place of a dash.
            stream.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Keep Python from complaining at exit that the rest of the output cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def check_address_space(needed: int = ADDRESS_SPACE) -> None:
    """Check that the limit on address space (`ulimit -v`) leaves room for JAX.

    Below the limit, libraries end the process without a word.

    Args:
      needed: bytes.

    Raises:
      SeparatrixError: if the limit is lower.

    >>> check_address_space(1)
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise SeparatrixError(
            f"the limit on address space (ulimit -v) is {limit // 1024} KiB, and JAX needs "
            f"{needed // 1024}; raise it"
        )


def _fail(sentence: str) -> Any:
    print(f"separatrix: {sentence}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
