# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tickets in their topic, and records of strangers among them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.stop_tickets import (
    encode_ticket,
    parse_tickets,
    ticket_notes,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_ticket import TICKET_TOPIC, StopTicket
from unit.fakes.topics import FakeTopics

ADDRESS = Address("broker-1.invalid", 9092)
TICKET = StopTicket(
    ticket_id="a",
    brokers=(1,),
    racks=("b",),
    owner="pipeline 7",
    job="",
    since="2026-01-01T00:00:00Z",
    until="2026-01-01T01:00:00Z",
)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"owner": 5},
        {"job": None},
        {"since": 5},
        {"racks": [None]},
        {"brokers": [True]},
        {"until": "soon"},
        {"until": "9999-12-31T23:59:59Z"},
        {"version": 2},
    ],
)
def test_a_record_of_a_stranger_is_an_error_and_no_traceback(spoilt: dict[str, Any]) -> None:
    good = encode_ticket(TICKET)
    assert parse_tickets({"a": good}) == (TICKET,)
    with pytest.raises(JournalError, match="holds a record 'a'"):
        parse_tickets({"a": good | spoilt})


def test_a_record_that_is_too_deep_is_a_note() -> None:
    """Every run that writes reads the tickets, while it holds the lock."""
    kafka = FakeTopics()
    kafka.create_topic(ADDRESS, TICKET_TOPIC, [1], {})
    kafka.topics[TICKET_TOPIC].records.append((b"a", b"[" * 100_000))
    (note,) = ticket_notes(kafka, {1: ADDRESS})
    assert "whether somebody is stopping brokers is unknown" in note
