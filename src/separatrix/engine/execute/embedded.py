"""A Dask cluster of this machine for one run: a scheduler and some workers that only this machine
can reach.

    python -m separatrix.engine.execute.embedded WORKERS [PORT]

prints the scheduler's address and serves until its standard input closes, so also when the driver
is killed. It is a separate process, so that the driver handles Ctrl-C and scripts need no
`if __name__ == "__main__"`.
"""

import asyncio
import os
import sys
import threading
from typing import Any

HERE = "127.0.0.1"


async def serve(count: int, port: int = 0) -> None:
    """Serve until the process ends."""
    from distributed import Nanny, Scheduler

    # Without a dashboard there is still a server for it, which must not be seen from elsewhere.
    alike: dict[str, Any] = {"host": HERE, "dashboard": False, "dashboard_address": f"{HERE}:0"}
    async with Scheduler(port=port, **alike) as scheduler:
        nannies = [
            Nanny(scheduler.address, nthreads=1, name=number, memory_limit="0", **alike)
            for number in range(count)
        ]
        async with asyncio.TaskGroup() as group:
            for nanny in nannies:
                group.create_task(_started(nanny))
        print(scheduler.address, flush=True)
        await scheduler.finished()


async def _started(nanny: Any) -> None:
    await nanny


def main() -> None:
    """Start, say where, and end with the driver."""

    def listen() -> None:
        sys.stdin.read()
        os._exit(0)  # workers notice that their parent is gone

    threading.Thread(target=listen, daemon=True).start()
    asyncio.run(serve(*map(int, sys.argv[1:])))


if __name__ == "__main__":
    main()
