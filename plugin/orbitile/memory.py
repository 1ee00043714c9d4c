"""How much memory there is, so that a request that cannot be met is refused before anything is allocated."""

from pathlib import Path

_CONTROL_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_memory() -> int | None:
    """Bytes that this process can still have, as far as the system tells; None where it does not."""
    found = [n for n in (_system_memory(), *(_control_group(*files) for files in _CONTROL_GROUPS)) if n is not None]
    return min(found) if found else None


def _system_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    import os

    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group(limit: str, usage: str) -> int | None:
    try:
        return max(0, int(Path(limit).read_text(encoding="ascii")) - int(Path(usage).read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such controller, or "max"
        return None
