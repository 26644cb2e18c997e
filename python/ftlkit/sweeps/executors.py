"""Where the points of a sweep are run, by name: what `--on` takes."""

from ftlkit._native import UserError
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.ray_executor import RayExecutor
from ftlkit.sweeps.work import Executor

LOCAL, RAY = "local", "ray"


def executor(on: str = LOCAL, workers: int | None = None) -> Executor:
    """Where points run.

    `local`: processes of this machine, `workers` at once, by default and at most one per core.
    `ray://HOST:PORT`: a cluster there. `ray`: the cluster of the environment variable
    `RAY_ADDRESS`, else a new one on this machine.
    """
    if on == LOCAL:
        return Local(workers)
    if on != RAY and not on.startswith(f"{RAY}://"):
        raise UserError(f"--on {on}: points run on {LOCAL}, on {RAY}, or on {RAY}://HOST:PORT. Give one of them.")
    if workers is not None:
        raise UserError(f"--threads {workers}: on {on} there are as many points at once as the cluster has cores.")
    return RayExecutor(None if on == RAY else on)
