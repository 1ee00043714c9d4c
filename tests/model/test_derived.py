"""What follows from an object is kept with it."""

import copy
import gc
import pickle
import threading
import weakref
from dataclasses import dataclass, replace
from functools import partial

import pytest

from orbitile.model.derived import Derived


@dataclass(frozen=True, eq=False)
class Owner:
    number: int


def test_a_value_is_made_once_for_each_key_and_object():
    derived, made = Derived[list[int]](4), []
    first, second = Owner(1), Owner(1)

    def of(owner, key):
        return derived.of(owner, key, lambda: made.append(key) or [key])

    assert of(first, 1) is of(first, 1)
    assert of(first, 2) == [2]
    assert of(second, 1) is not of(first, 1)
    assert made == [1, 2, 1]


def test_the_latest_are_kept():
    derived, owner = Derived[int](2), Owner(1)
    for key in (1, 2, 1, 3):
        derived.of(owner, key, lambda key=key: key)
    assert derived.keys(owner) == (1, 3)


def test_two_sorts_do_not_get_in_each_others_way():
    owner = Owner(1)
    one, other = Derived[str](1), Derived[str](1)
    assert (one.of(owner, "key", lambda: "a"), other.of(owner, "key", lambda: "b")) == ("a", "b")
    assert one.keys(owner) == other.keys(owner) == ("key",)


def test_what_raises_is_not_kept():
    derived, owner = Derived[float](2), Owner(0)
    with pytest.raises(ZeroDivisionError):
        derived.of(owner, "inverse", lambda: 1 / owner.number)
    assert derived.of(owner, "inverse", lambda: 2.0) == 2.0


def test_values_end_with_their_object_even_if_they_know_it():
    derived, owner = Derived[tuple[Owner]](2), Owner(1)
    derived.of(owner, "itself", partial(tuple, [owner]))
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_other_processes_begin_without():
    derived, owner = Derived[int](2), Owner(1)
    derived.of(owner, "key", lambda: 1)
    for other in (pickle.loads(pickle.dumps(owner)), copy.deepcopy(owner), replace(owner)):
        assert derived.keys(other) == ()
    assert derived.keys(owner) == ("key",)


def test_threads_that_ask_at_once_get_one_object():
    derived, owner, together, found = Derived[object](2), Owner(1), threading.Barrier(4), []

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
