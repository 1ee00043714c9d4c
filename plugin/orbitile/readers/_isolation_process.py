"""The process that `orbitile.readers._isolation` starts: `python -m` this module, and an address."""

from __future__ import annotations

from ._isolation import serve

if __name__ == "__main__":
    serve()
