"""A worker: `python -m orbitile.workers`, started by `orbitile.workers.worker`."""

from .serving import main

main()
