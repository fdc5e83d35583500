"""A study on SLURM through dask-jobqueue: `python slurm_jobqueue.py`, on a login node, in the
environment that jobs use.

Needs `pip install 'separatrix[dask]' dask-jobqueue`. The names of the queue and the account are
yours to change. The driver runs here and waits for the first worker; workers come and go with the
queue, and what is finished is kept in the output folder.
"""

import separatrix as sx
from separatrix.engine import Cluster
from separatrix.studies import jobs, run_jobs

FOLDER = "results/signal-slurm"


def main() -> None:
    """Ask for workers, run the study, say what it found."""
    from dask_jobqueue import SLURMCluster  # pyright: ignore[reportMissingImports]
    from distributed.security import Security

    security = Security.temporary()

    # One worker process a core, one thread each: XLA's own threads would fight for cores.
    with SLURMCluster(
        queue="cpu",
        account="project",
        cores=16,
        processes=16,
        memory="32GB",
        walltime="02:00:00",
        nanny=True,
        protocol="tls://",
        security=security,
        shared_temp_directory=".",  # jobs read the certificate from here; only you can
    ) as queue:
        queue.adapt(minimum_jobs=1, maximum_jobs=20)
        cluster = Cluster(queue.scheduler_address, patience=3600.0, security=security)
        with sx.Lab(FOLDER, cluster=cluster) as lab:
            for claim in run_jobs(
                jobs(["signal"], "full"), lab, "full", 0, "examples/cluster/slurm_jobqueue.py"
            ):
                print(claim["id"], claim["verdict"])


if __name__ == "__main__":
    main()
