"""Work in other processes: the one border between processes of Orbitile.

`Worker` is a process that runs functions for this one. `worker.call(function, *arguments)` runs one there as if it ran
here: it is under the watch of the caller (`base.watch`), which is told how far it has come and may withdraw it, an
error of Orbitile that it raises arrives as the same class with the same message, and arrays go through shared memory.
`Workers` puts one or several behind the interface of `concurrent.futures.Executor`: `workers.submit(function,
*arguments)` returns a future at once. What is run is always a function of a module with arguments that can be pickled,
never a closure, so that another executor can take its place: `ProcessPoolExecutor`, or that of a Dask cluster.

A process is started when it is first needed. One that dies at a function is an error of that call, and the next call
starts another; one that is stopped, or does not end what was withdrawn, is killed and replaced. Whatever it writes is
read and thrown away but for the last lines, which explain its end. A process that was forked from this one starts
workers of its own. None outlives this process, however that ends: a worker notices that nobody holds the other end of
its standard input, and a guard, a process without any work, kills it where it cannot notice.

    child_process   another program: with which Python it runs, its start, output, standstill and end
    transport       pickles, arrays in shared memory, and errors
    serving         the worker process itself, and its guard
    worker          its client side: `Worker`, with which it talks by a `multiprocessing.connection`; `Workers`;
                    `local_workers`, which share the cores of this machine; how any futures are waited for
    dask            the workers of a Dask cluster as an executor: `dask_executor`; which cluster, what is sent to its
                    workers, and what they do with it. Not imported here
"""

from .child_process import ChildProcess, ProcessError, environment, interpreter, n_cores
from .serving import afterwards, retire
from .transport import WorkerEnded, WorkerError, WorkerNotStarted, pack, shared_array, unpack
from .worker import Job, Worker, Workers, ahead, awaited, first_done, in_order, local_workers

__all__ = [
    "ChildProcess",
    "Job",
    "ProcessError",
    "Worker",
    "WorkerEnded",
    "WorkerError",
    "WorkerNotStarted",
    "Workers",
    "afterwards",
    "ahead",
    "awaited",
    "environment",
    "first_done",
    "in_order",
    "interpreter",
    "local_workers",
    "n_cores",
    "pack",
    "retire",
    "shared_array",
    "unpack",
]
