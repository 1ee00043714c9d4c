"""What follows from an object and is worth keeping as long as the object lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class _Kept(dict[Any, Any]):
    """What is kept with an object; the object is sent to other processes without."""

    def __reduce__(self) -> tuple[type[_Kept], tuple[()]]:
        return _Kept, ()


class Derived(Generic[Value]):
    """Values of one sort that follow from objects: the latest few of each object, which lives and ends with them.

    Parameters
    ----------
    most
        Values that are kept with an object.

    Notes
    -----
    Threads may ask at once. A value is made while none of them waits, so two that ask for the same one may both make
    it; they get the same object. What raises is not kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()

    def of(self, owner: object, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value that follows from an object and a key, made if it is not there.

        Parameters
        ----------
        owner
            The object; it must not change, and have a `__dict__`.
        key
            All else that the value depends on.
        make
            Makes the value.
        """
        with self._lock:
            known = self._known(owner)
            if key in known:
                known.move_to_end(key)
                return known[key]
        value = make()
        with self._lock:
            known = self._known(owner)
            value = known.setdefault(key, value)
            known.move_to_end(key)
            while len(known) > self._most:
                known.popitem(last=False)
        return value

    def keys(self, owner: object) -> tuple[Hashable, ...]:
        """Keys of the values that are kept with an object, the latest last."""
        with self._lock:
            return tuple(self._known(owner))

    def _known(self, owner: object) -> OrderedDict[Hashable, Value]:
        kept: _Kept = vars(owner).setdefault("_kept", _Kept())
        return kept.setdefault(self, OrderedDict())
