# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The loop of every write: when it looks, what it sends, and what it says of a change that is not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import (
    NotSeen,
    Seen,
    Writer,
    undo_when_shown,
    until_seen,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from unit.fakes.journals import FakeDoubtNotes
from unit.fakes.writes import ADDRESSES, FakeWrites

SEEN, OTHER, FOREIGN = Seen(True), Seen(False, "it is still 1"), Seen(False, "another party set 7", is_final=True)
UNREADABLE = BrokerCallError("broker-1.invalid:9092", Cause.UNREACHABLE, "connection refused")


class Subject:
    """One change: what each look finds, and what was sent."""

    def __init__(self, *found: Seen | BrokerCallError) -> None:
        self.found = [*found]
        self.sent: list[Address] = []

    def look(self, _subjects: Sequence[str]) -> dict[str, Seen]:
        found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(found, BrokerCallError):
            raise found
        return {"a": found}

    def send(self, to: Address, _subjects: Sequence[str]) -> dict[str, str | None]:
        self.sent.append(to)
        return {"a": None}

    def write(self, attempts: int = 3, **options: Any) -> NotSeen | None:
        return until_seen(a_writer(attempts), ["a"], self.send, self.look, name=str, **options).get("a")


def a_writer(attempts: int = 3) -> Writer:
    return Writer(FakeWrites([]), [*ADDRESSES.values()], attempts, 0.0)


@pytest.mark.parametrize(
    ("looks_first", "requests", "expected"),
    [
        pytest.param(True, 0, NotSeen("another party set 7", may_be_made=False), id="looks first"),
        pytest.param(False, 1, NotSeen("another party set 7", may_be_made=True), id="sends first"),
    ],
)
def test_what_another_party_has_changed_is_not_requested_if_it_looks_first(
    looks_first: bool, requests: int, expected: NotSeen
) -> None:
    subject = Subject(FOREIGN)
    assert subject.write(looks_first=looks_first) == expected
    assert len(subject.sent) == requests


def test_by_default_it_sends_first() -> None:
    subject = Subject(FOREIGN)
    subject.write()
    assert len(subject.sent) == 1


def test_the_wanted_state_of_a_broker_that_lags_behind_is_requested() -> None:
    subject = Subject(SEEN)
    assert subject.write(looks_first=True) is None
    assert len(subject.sent) == 1


@pytest.mark.parametrize(("attempts", "again"), [(1, ""), (2, " again")])
def test_nothing_is_sent_while_the_state_cannot_be_read(attempts: int, again: str) -> None:
    subject = Subject(UNREADABLE)
    expected = f"not requested{again}, because another party may have changed it: {UNREADABLE}"
    assert subject.write(attempts, looks_first=True) == NotSeen(expected, may_be_made=False)
    assert subject.sent == []


def test_it_looks_again_more_thoroughly_before_another_attempt() -> None:
    subject, thorough = Subject(OTHER), Subject(SEEN)
    assert subject.write(looks_first=True, look_again=thorough.look) is None
    assert subject.sent == [ADDRESSES[1]]


def test_each_attempt_begins_with_another_broker() -> None:
    subject = Subject(OTHER)
    assert subject.write() == NotSeen("the request was accepted, but it is still 1", may_be_made=True)
    assert subject.sent == [*ADDRESSES.values()]


def test_what_was_accepted_and_cannot_be_read_may_be_made() -> None:
    assert Subject(UNREADABLE).write(1) == NotSeen("the request was accepted, but it cannot be read", may_be_made=True)


def test_a_request_that_was_not_sent_goes_to_the_next_broker_at_once() -> None:
    writer = a_writer()
    asked: list[Address] = []

    def request(address: Address) -> str:
        asked.append(address)
        if address != ADDRESSES[3]:
            raise UNREADABLE
        return "done"

    assert writer.send(1, request) == "done"
    assert asked == [ADDRESSES[2], ADDRESSES[3]]
    assert writer.kafka.clock.monotonic() == 0


def test_a_creation_is_undone_as_soon_as_a_broker_shows_it() -> None:
    kafka = FakeWrites([])
    found: list[str | BrokerCallError] = ["", UNREADABLE, "deleted"]

    def undo() -> str:
        each = found.pop(0)
        if isinstance(each, BrokerCallError):
            raise each
        return each

    assert undo_when_shown(kafka, undo) == "deleted"
    assert undo_when_shown(kafka, lambda: "") == ""
    assert 2.0 <= kafka.clock.now < 2.5


def test_a_lost_response_is_in_doubt_for_as_long_as_a_broker_keeps_the_request() -> None:
    noted = FakeDoubtNotes()
    writer = replace(a_writer(1), journal=noted)
    lost = BrokerCallError("broker-1.invalid:9092", Cause.HUNG, "no answer within 1000 ms", request="AlterConfigs")

    def send(_to: Address, _subjects: Sequence[str]) -> dict[str, str | None]:
        raise lost

    unseen = until_seen(writer, ["a"], send, Subject(OTHER).look, name=str)
    assert unseen == {"a": NotSeen(f"the outcome is unknown: {lost}", may_be_made=True)}
    assert noted.until == {"a": 61.0}, "60 s, and the time limit of one request"
