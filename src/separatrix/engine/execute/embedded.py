"""A Dask cluster of this machine for one run: a scheduler and some workers that only this run can
reach.

    python -m separatrix.engine.execute.embedded WORKERS [PORT]

reads a private key and its certificate from the first line of its standard input (JSON), prints the
scheduler's address and serves until its standard input closes, so also when the driver is killed.
Only who has the certificate can connect: other users of the machine cannot. It is a separate
process, so that the driver handles Ctrl-C and scripts need no `if __name__ == "__main__"`.
"""

import asyncio
import json
import os
import sys
import threading
from typing import Any

from separatrix.engine.execute.secure import security_of

HERE = "127.0.0.1"


async def serve(count: int, port: int, security: Any) -> None:
    """Serve until the process ends."""
    import dask.config
    from distributed import Nanny, Scheduler

    # Without a dashboard there is still a server for it, which must not be seen from elsewhere and
    # has nothing to show.
    dask.config.set({f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")})
    alike: dict[str, Any] = {
        "protocol": "tls://",
        "host": HERE,
        "dashboard": False,
        "dashboard_address": f"{HERE}:0",
        "security": security,
    }
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
    credentials = json.loads(sys.stdin.readline())

    def listen() -> None:
        sys.stdin.read()
        os._exit(0)  # workers notice that their parent is gone

    threading.Thread(target=listen, daemon=True).start()
    count, port = (*map(int, sys.argv[1:]), 0)[:2]
    security = security_of(credentials["key"], credentials["certificate"])
    asyncio.run(serve(count, port, security))


if __name__ == "__main__":
    main()
