"""What is to be done in a moment is done once, when it is due, unless it is forgotten."""

import time

from orbitile.session.window.activity import Agenda


def test_what_is_due_is_done_once():
    agenda, done = Agenda(), []

    def now():
        done.append("now")

    def later():
        done.append("later")

    agenda.later(now)
    agenda.later(later, 0.05)
    agenda.look()
    assert done == ["now"]
    assert now not in agenda
    assert later in agenda
    time.sleep(0.06)
    agenda.look()
    agenda.look()
    assert done == ["now", "later"]


def test_later_puts_off_and_soon_does_not():
    agenda, done = Agenda(), []

    def something():
        done.append(1)

    agenda.later(something, 60)
    agenda.soon(something)  # it waits already, and goes on waiting
    agenda.look()
    assert done == []
    agenda.forget(something)
    agenda.soon(something)
    agenda.later(something, 60)  # put off again
    agenda.look()
    assert done == []
    agenda.forget(something, print)
    assert something not in agenda


def test_one_that_is_due_may_put_itself_on_again_and_others_off():
    agenda, done = Agenda(), []

    def again():
        done.append("again")
        agenda.soon(again)
        agenda.forget(other)

    def other():
        done.append("other")

    agenda.soon(again)
    agenda.soon(other)
    agenda.look()
    assert done == ["again"]
    agenda.look()
    assert done == ["again", "again"]
