"""`separatrix serve`: a run going on, seen in a browser on this machine."""

import signal
import sys
from types import FrameType
from typing import Annotated

import typer


def serve(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The --out folder of the run.")],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 0,
) -> None:
    """Show the progress of a run as a page that refreshes itself, on this machine only.

    Reads only; Ctrl-C ends it.
    """
    from separatrix.report.server import LiveServer

    with LiveServer(folder, port) as server:
        print(server.url, flush=True)
        print("Ctrl-C ends it.", file=sys.stderr)

        def stop(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGTERM, stop)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print("ended", file=sys.stderr)
        finally:
            signal.signal(signal.SIGTERM, before)
