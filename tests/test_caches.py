"""What is kept for the next time: bounded by bytes, shared by threads, ended with the objects that it follows from."""

import copy
import gc
import pickle
import threading
import weakref
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from orbitile.base import caches, memory
from orbitile.base.caches import Cache, Derived, held_bytes

SHARE = 10_000


@pytest.fixture(autouse=True)
def share(monkeypatch):
    """A small share of its own for each test."""
    monkeypatch.setitem(memory.SHARES, "test", SHARE)
    yield lambda: caches._accounts["test"].held
    caches._accounts.pop("test", None)


@dataclass(frozen=True, eq=False)
class Owner:
    number: int


def test_a_cache_holds_no_more_bytes_than_its_share(share):
    cache, other = Cache("test"), Cache("test")
    for n in range(200):
        (cache if n % 3 else other).put(n, np.zeros(7 * n))
        held = sum(value.nbytes for values in (cache, other) for value in values)
        assert held <= share() <= SHARE or len(cache) + len(other) == 1


def test_those_go_that_nobody_has_asked_for_the_longest():
    cache = Cache("test")
    for key in "abcd":
        cache.put(key, bytes(1900))
    assert cache.get("a")
    cache.put("e", bytes(1900))
    assert [key for key, _ in cache.items()] == ["c", "d", "a", "e"]


def test_a_value_larger_than_the_share_is_kept_alone_or_not_at_all(share):
    cache = Cache("test")
    cache.put("small", bytes(10))
    assert cache.of("large", lambda: bytes(2 * SHARE)) is cache.get("large")
    assert [key for key, _ in cache.items()] == ["large"]
    other = Cache("test", alone=False)
    assert len(other.of("large", lambda: bytes(2 * SHARE))) == 2 * SHARE
    assert "large" not in other
    cache.put("small", bytes(10))
    assert [key for key, _ in cache.items()] == ["small"]
    cache.pop("small")
    assert share() == 0


def test_values_that_hold_open_files_are_few():
    cache = Cache("test", most=2, size=lambda _: 0)
    for key in range(5):
        cache.put(key, object())
    assert [key for key, _ in cache.items()] == [3, 4]


def test_a_value_takes_the_place_of_the_one_before(share):
    cache = Cache("test")
    for size in (3000, 100, 2000):
        cache.put("key", bytes(size))
    assert 2000 <= share() < 3000


def test_several_threads_keep_the_account(share):
    cache, owners = Cache("test"), [Owner(n) for n in range(4)]
    derived = Derived("test")

    def work(seed):
        numbers = np.random.default_rng(seed)
        for _ in range(300):
            n = int(numbers.integers(20))
            assert len(cache.of(n, lambda n=n: bytes(100 * n))) == 100 * n
            assert len(derived.of(owners[n % 4], n, lambda n=n: bytes(90 * n))) == 90 * n

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stores = [cache._values.kept_with(cache), *(derived.kept_with(owner) for owner in owners)]
    assert sum(caches._ENTRY + len(value) for store in stores for value, _ in store.values()) == share() <= SHARE


def test_bytes_are_those_of_arrays_and_texts_wherever_they_are():
    array, owner = np.zeros(10), Owner(3)
    vars(owner)["_kept"] = caches._Store(a=np.zeros(1000))
    assert held_bytes([array, {"a": array, "b": np.zeros(5)}, (owner, "text", 3, None)]) == 8 * 15 + 4
    assert held_bytes((array, "text"), owner=replace(owner)) == 84
    holder = Owner(array)
    assert held_bytes([holder, array, "text"], owner=holder) == 4


def test_a_value_is_made_once_for_each_key_and_object():
    derived, made = Derived[list[int]]("test"), []
    first, second = Owner(1), Owner(1)

    def of(owner, key):
        return derived.of(owner, key, lambda: made.append(key) or [key])

    assert of(first, 1) is of(first, 1)
    assert of(first, 2) == [2]
    assert of(second, 1) is not of(first, 1)
    assert made == [1, 2, 1]


def test_two_sorts_do_not_get_in_each_others_way():
    owner = Owner(1)
    one, other = Derived[str]("test"), Derived[str]("test")
    assert (one.of(owner, "key", lambda: "a"), other.of(owner, "key", lambda: "b")) == ("a", "b")
    assert "key" in one.kept_with(owner)
    assert "key" in other.kept_with(owner)


def test_what_raises_is_not_kept():
    derived, owner = Derived[float]("test"), Owner(0)
    with pytest.raises(ZeroDivisionError):
        derived.of(owner, "inverse", lambda: 1 / owner.number)
    assert derived.of(owner, "inverse", lambda: 2.0) == 2.0


def test_values_end_with_their_object_even_if_they_know_it(share):
    derived, owner = Derived[tuple[Owner]]("test"), Owner(1)
    derived.of(owner, "itself", partial(tuple, [owner, bytes(5000)]))
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
    derived.of(Owner(2), "other", lambda: bytes(100))
    assert share() < 1000


def test_other_processes_begin_without():
    derived, owner = Derived[int]("test"), Owner(1)
    derived.of(owner, "key", lambda: 1)
    for other in (pickle.loads(pickle.dumps(owner)), copy.deepcopy(owner), replace(owner)):
        assert "key" not in derived.kept_with(other)
    assert "key" in derived.kept_with(owner)


def test_threads_that_ask_at_once_get_one_object():
    derived, owner, together, found = Derived[object]("test"), Owner(1), threading.Barrier(4), []

    def ask():
        def make():
            together.wait(10)
            return object()

        found.append(derived.of(owner, "key", make))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1
