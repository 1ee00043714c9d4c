"""What is kept for the next time it is asked for: bounded by bytes, shared by threads, the latest used last to go.

Each cache belongs to a share of the memory of a process, by its name in `base/memory.py`. Caches of one share together
hold no more bytes than it has: where a value is added, those go that nobody has asked for the longest. A value that is
larger than the share is kept alone, until the next one is added. Bytes are counted once, when a value is added.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from types import ModuleType
from typing import Any, Generic, TypeVar

from .memory import share

Value = TypeVar("Value")

_ENTRY = 512
"""Bytes of an entry beside its value: key, places in tables."""


class _Store(dict[Any, Any]):
    """Values of a cache by their keys, each with its number in the account. Other processes begin without."""

    def __reduce__(self) -> tuple[type[_Store], tuple[()]]:
        return _Store, ()


class _Account:
    """The values of all caches of one share, by number, in the order of their last use.

    Stores end with the objects that they belong to. The garbage collector may find that at any time, so it only notes
    the numbers of what has gone; they are struck off when the next value is added.
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes, self.held = n_bytes, 0
        self.lock = threading.RLock()
        self._entries: OrderedDict[int, tuple[weakref.ref[_Store], Hashable, int]] = OrderedDict()
        self._numbers = count()
        self._gone: deque[int] = deque()

    def used(self, number: int) -> None:
        """Make a value the last to go."""
        self._entries.move_to_end(number)

    def add(self, store: _Store, key: Hashable, value: object, n_bytes: int) -> None:
        number = next(self._numbers)
        store[key] = value, number
        gone = self._gone  # the callback must not keep the account of a cache that has ended
        self._entries[number] = weakref.ref(store, lambda _: gone.append(number)), key, n_bytes
        self.held += n_bytes
        while self._gone:
            self._strike(self._gone.popleft())
        while self.held > self.n_bytes and len(self._entries) > 1:
            self.drop(next(iter(self._entries)))

    def drop(self, number: int) -> None:
        """Forget a value."""
        kept_in, key, _ = self._entries[number]
        self._strike(number)
        if (store := kept_in()) is not None:
            store.pop(key, None)

    def _strike(self, number: int) -> None:
        *_, n_bytes = self._entries.pop(number, (0,))  # a value may have been dropped before its store ended
        self.held -= n_bytes


_accounts: dict[str, _Account] = {}


class Derived(Generic[Value]):
    """Values of one sort that follow from objects, which live and end with them.

    Parameters
    ----------
    name
        Share of the memory of the process, see `base/memory.py`.
    most
        Number of values of an object at most, where they hold more than memory, such as open files.
    size
        Gives the bytes of a value, by default `held_bytes`.
    alone
        Whether a value that is larger than the share is kept alone; otherwise it is not kept.

    Notes
    -----
    Several threads may ask at once. Nobody waits while a value is made, so two that ask for the same one may both make
    it; they get one object. What raises is not kept, and `None` cannot be.
    """

    def __init__(
        self, name: str, most: int | None = None, size: Callable[[Value], int] | None = None, alone: bool = True
    ) -> None:
        self._account = _accounts.setdefault(name, _Account(share(name)))
        self._most, self._size, self._alone = most, size, alone

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
        found = self.get(owner, key)
        if found is None:
            value = make()
            with self._account.lock:
                found = self.get(owner, key)
                if found is None:
                    found = value
                    self.put(owner, key, value)
        return found

    def get(self, owner: object, key: Hashable) -> Value | None:
        """The value of a key if it is there, which makes it the last to go."""
        with self._account.lock:
            store = self.kept_with(owner)
            found = store.get(key)
            if found is None:
                return None
            value, number = found
            store[key] = store.pop(key)
            self._account.used(number)
            return value

    def put(self, owner: object, key: Hashable, value: Value) -> None:
        """Keep a value in place of any other of this key."""
        n_bytes = _ENTRY + (held_bytes(value, owner) if self._size is None else self._size(value))
        with self._account.lock:
            self.pop(owner, key)
            if n_bytes > self._account.n_bytes and not self._alone:
                return
            store = self.kept_with(owner)
            self._account.add(store, key, value, n_bytes)
            while self._most is not None and len(store) > self._most:
                self.pop(owner, next(iter(store)))

    def pop(self, owner: object, key: Hashable) -> None:
        """Forget the value of a key, if it is there."""
        with self._account.lock:
            if (found := self.kept_with(owner).get(key)) is not None:
                self._account.drop(found[1])

    def kept_with(self, owner: object) -> _Store:
        """The values that are kept with an object, by key, each with its number; the latest used at the end."""
        stores: _Store = vars(owner).setdefault("_kept", _Store())
        return stores.setdefault(self, _Store())


class Cache(Generic[Value]):
    """Values by keys, which are all that a value depends on; parameters and notes are those of `Derived`."""

    def __init__(self, name: str, **options: Any) -> None:
        self._values = Derived[Value](name, **options)

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made if it is not there."""
        return self._values.of(self, key, make)

    def get(self, key: Hashable) -> Value | None:
        """The value of a key if it is there, which makes it the last to go."""
        return self._values.get(self, key)

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a value in place of any other of this key."""
        self._values.put(self, key, value)

    def pop(self, key: Hashable) -> None:
        """Forget the value of a key, if it is there."""
        self._values.pop(self, key)

    def items(self) -> list[tuple[Any, Value]]:
        """Keys and values, the latest used at the end."""
        return [(key, value) for key, (value, _) in list(self._values.kept_with(self).items())]

    def __contains__(self, key: object) -> bool:
        return key in self._values.kept_with(self)

    def __iter__(self) -> Iterator[Value]:
        return iter([value for _, value in self.items()])

    def __len__(self) -> int:
        return len(self._values.kept_with(self))


def held_bytes(value: object, owner: object = None) -> int:
    """Bytes of the arrays and texts that an object holds, itself or in others, but for those of its owner.

    What is kept with objects by `Derived` has its own share, and is not counted.
    """
    counted = {id(owner), *map(id, getattr(owner, "__dict__", {}).values())}
    n_bytes = 0
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if type(item) in _UNCOUNTED or id(item) in counted:
            continue
        counted.add(id(item))
        if (size := getattr(item, "nbytes", None)) is not None:
            n_bytes += int(size)
        elif isinstance(item, bytes | bytearray | str):
            n_bytes += len(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, tuple | list | set | frozenset | deque):
            waiting.extend(item)
        elif hasattr(item, "element_size"):  # an array on a device
            n_bytes += int(item.nelement() * item.element_size())
        elif not callable(item):
            waiting.extend(getattr(item, "__dict__", {}).values())
            waiting.extend(getattr(item, name, None) for name in getattr(type(item), "__slots__", ()))
    return n_bytes


_UNCOUNTED = frozenset((_Store, ModuleType, type, int, float, bool, complex, type(None)))
