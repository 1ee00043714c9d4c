"""Dask's own scheduler in a process, and a farm of fake workers in another: what a cluster costs besides its work.

A fake worker speaks the protocol of `distributed.Worker` over TCP: it registers, takes tasks, says that they are done,
hands out results, takes what is scattered, gives back what is stolen, and beats. It computes nothing: a task is done at
once or after a given time. So the scheduler and the client do all that they do with real workers, a thousand of which
fit into one process.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from distributed import Scheduler
from distributed.batched import BatchedSend
from distributed.comm.core import Comm, CommClosedError, connect, listen
from distributed.core import ConnectionPool, Status
from distributed.protocol.serialize import to_serialize
from distributed.versions import get_versions
from tornado.ioloop import IOLoop

_BANDWIDTH = 100_000_000
_TYPE = pickle.dumps(dict)


class Farm(NamedTuple):
    """A running scheduler and its fake workers.

    Attributes
    ----------
    address : str
        Of the scheduler.
    scheduler, workers : int
        Numbers of the processes.
    registering : float
        Seconds until all workers were there.
    talk : Connection
        Send anything to receive a `Tally`, and begin the next.
    """

    address: str
    scheduler: int
    workers: int
    registering: float
    talk: Any


class Tally(NamedTuple):
    """What fake workers saw since the last one: time of the first task (seconds since the epoch, 0: none), how many
    tasks, and how many arguments they would have fetched from each other."""

    first: float
    tasks: int
    fetched: int


@contextmanager
def farm(n_workers: int, seconds: float = 0.0, result: object = None, nbytes: int = 200) -> Iterator[Farm]:
    """Start a scheduler and fake workers of one thread each.

    Parameters
    ----------
    n_workers : int
    seconds : float
        That each task takes.
    result : object
        That each task has.
    nbytes : int
        That it is said to take.
    """
    spawn = get_context("spawn")
    mine, theirs = spawn.Pipe()
    scheduler = spawn.Process(target=_run_scheduler, args=(theirs,), daemon=True)
    scheduler.start()
    address = mine.recv()
    talk, other = spawn.Pipe()
    begin = time.perf_counter()
    workers = spawn.Process(target=_run_workers, args=(other, address, n_workers, seconds, result, nbytes), daemon=True)
    workers.start()
    try:
        talk.recv()
        yield Farm(address, scheduler.pid or 0, workers.pid or 0, time.perf_counter() - begin, talk)
    finally:
        for process in (workers, scheduler):
            process.terminate()
            process.join()


def _many_files() -> None:
    if sys.platform != "win32":  # which has no such limit
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _run_scheduler(talk: Connection) -> None:
    async def serve() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address=":0") as scheduler:
            talk.send(scheduler.address)
            await scheduler.finished()

    _many_files()
    asyncio.run(serve())


def _run_workers(talk: Connection, address: str, number: int, seconds: float, result: object, nbytes: int) -> None:
    async def serve() -> None:
        workers = [_FakeWorker(address, n, seconds, result, nbytes) for n in range(number)]
        for some in range(0, number, 50):
            await asyncio.gather(*(worker.start() for worker in workers[some : some + 50]))
        talk.send(True)
        pool = await ConnectionPool(limit=2 * number)
        beating = [asyncio.create_task(worker.beat(pool, worker.number / number)) for worker in workers]
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.run_in_executor(None, talk.recv)
            except EOFError:
                break
            tallies = [worker.tally() for worker in workers]
            first = min((tally.first for tally in tallies if tally.first), default=0.0)
            talk.send(Tally(first, sum(tally.tasks for tally in tallies), sum(tally.fetched for tally in tallies)))
        for task in beating:
            task.cancel()

    _many_files()
    asyncio.run(serve())


def _metrics() -> dict[str, Any]:
    """What a worker tells of itself; constant, but of the right size."""
    return {
        "task_counts": {"executing": 1, "ready": 1, "memory": 10},
        "bandwidth": {"total": _BANDWIDTH, "workers": {}, "types": {}},
        "digests_total_since_heartbeat": {("execute", "work", "thread-cpu", "seconds"): 0.01, "latency": 0.001},
        "managed_bytes": 1000,
        "spilled_bytes": {"memory": 0, "disk": 0},
        "transfer": dict.fromkeys(
            f"{way}_{what}" for way in ("incoming", "outgoing") for what in ("bytes", "count", "count_total")
        ),
        "event_loop_interval": 0.02,
        "cpu": 100.0,
        "memory": 300_000_000,
        "time": time.time(),
        "host_net_io": {"read_bps": 1000.0, "write_bps": 1000.0},
        "host_disk_io": {"read_bps": 0.0, "write_bps": 0.0},
        "num_fds": 30,
    }


class _FakeWorker:
    def __init__(self, scheduler: str, number: int, seconds: float, result: object, nbytes: int) -> None:
        self.scheduler, self.number, self.seconds, self.nbytes = scheduler, number, seconds, nbytes
        self.result = result
        self.address = ""
        self.first = 0.0
        self.tasks = self.fetched = 0
        self.held: set[object] = set()
        self.waiting: deque[dict[str, Any]] = deque()
        self.running: dict[str, Any] | None = None
        self.started = 0.0

    def tally(self) -> Tally:
        tally = Tally(self.first, self.tasks, self.fetched)
        self.first, self.tasks, self.fetched = 0.0, 0, 0
        return tally

    def executing(self) -> dict[object, float]:
        return {} if self.running is None else {self.running["key"]: time.time() - self.started}

    async def start(self) -> None:
        listener = await listen("tcp://127.0.0.1:0", self.answer, deserialize=False)
        self.address = listener.contact_address
        comm = await connect(self.scheduler, deserialize=False)
        await comm.write(
            {
                "op": "register-worker",
                "reply": False,
                "address": self.address,
                "status": Status.running.name,
                "nthreads": 1,
                "name": f"fake-{self.number}",
                "now": time.time(),
                "resources": {"CUDA": 1.0},
                "memory_limit": 64 << 30,
                "local_directory": "",
                "services": {},
                "nanny": "",
                "pid": os.getpid(),
                "versions": get_versions() if self.number == 0 else _versions,
                "metrics": _metrics(),
                "extra": {},
                "stimulus_id": f"worker-connect-{time.time()}",
                "server_id": f"fake-worker-{self.number}",
            },
            serializers=["msgpack"],
        )
        response = await comm.read()
        if response["status"] != "OK":
            raise RuntimeError(f"the scheduler did not take a fake worker: {response}")
        self.stream = BatchedSend(interval="2ms", loop=IOLoop.current())
        self.stream.start(comm)
        self.serving = asyncio.create_task(self.serve(comm))

    async def beat(self, pool: ConnectionPool, phase: float) -> None:
        """Heartbeats, as often as the scheduler wishes."""
        interval = 0.5
        await asyncio.sleep(phase * interval)
        while True:
            response = await pool(self.scheduler).heartbeat_worker(
                address=self.address, now=time.time(), metrics=_metrics(), executing=self.executing(), extensions={}
            )
            interval = response.get("heartbeat-interval", interval)
            await asyncio.sleep(interval)

    async def serve(self, comm: Comm) -> None:
        """What the scheduler says."""
        with suppress(CommClosedError):
            while True:
                for message in await comm.read():
                    match message.get("op"):
                        case "compute-task":
                            self.take(message)
                        case "steal-request":
                            self.give(message)
                        case "free-keys":
                            self.held.difference_update(message["keys"])

    def take(self, message: dict[str, Any]) -> None:
        self.tasks += 1
        self.first = self.first or time.time()
        wanted = [key for key in message["who_has"] if key not in self.held]
        if wanted:  # a worker fetches these from another, and says that it has them too
            self.held.update(wanted)
            self.fetched += len(wanted)
            self.stream.send({"op": "add-keys", "keys": wanted, "stimulus_id": message["stimulus_id"]})
        self.waiting.append({name: message[name] for name in ("key", "run_id")})
        if self.running is None:
            self.next()

    def next(self) -> None:
        while self.waiting and self.running is None:
            self.running, self.started = self.waiting.popleft(), time.time()
            if self.seconds:
                asyncio.get_running_loop().call_later(self.seconds, self.done)
            else:
                self.finish()

    def done(self) -> None:
        self.finish()
        self.next()

    def finish(self) -> None:
        task, self.running = self.running, None
        assert task is not None
        now = time.time()
        self.held.add(task["key"])
        self.stream.send(
            {
                "op": "task-finished",
                "status": "OK",
                **task,
                "nbytes": self.nbytes,
                "type": _TYPE,
                "typename": "dict",
                "metadata": {},
                "thread": 1,
                "startstops": [{"action": "compute", "start": self.started, "stop": now}],
                "stimulus_id": f"task-finished-{now}",
            }
        )

    def give(self, message: dict[str, Any]) -> None:
        """Answer a thief: a task that has not begun is given up."""
        mine = [task for task in self.waiting if task["key"] == message["key"]]
        for task in mine:
            self.waiting.remove(task)
        state = "ready" if mine else "executing" if message["key"] in self.executing() else None
        self.stream.send(
            {
                "op": "steal-response",
                "key": message["key"],
                "state": state,
                "stimulus_id": message["stimulus_id"],
            }
        )

    async def answer(self, comm: Comm) -> None:
        """What anybody else asks: results, and places for what is scattered."""
        with suppress(CommClosedError):
            while True:
                message = await comm.read()
                match message["op"]:
                    case "get_data":
                        data = {key: to_serialize(self.result) for key in message["keys"]}
                        await comm.write({"status": "OK", "data": data})
                        await comm.read()
                    case "update_data":
                        self.held.update(message["data"])
                        await comm.write({"status": "OK", "nbytes": dict.fromkeys(message["data"], self.nbytes)})
                    case _:
                        await comm.write({"status": "OK"})


_versions = get_versions()
