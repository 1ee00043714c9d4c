"""The process for foreign readers: `python -m orbitile.reading_process ADDRESS`, started by `orbitile.isolation`."""

from __future__ import annotations

from ._isolation import serve

if __name__ == "__main__":
    serve()
