# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep tickets in the cluster: which brokers are being stopped, by whom, until when.

The stop gate takes and releases them under the lock of the cluster. All runs that write name them (docs/stop_gate.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from .._kafka.base_port import BaseKafka
from .._kafka.errors import NoBrokerAnswersError
from .._kafka.settings import Address
from .._model.stop_ticket import TICKET_TOPIC, StopTicket
from .keyed_topic import KeyedTopic
from .record import JournalError

_VERSION = 1


def ticket_store(kafka: BaseKafka, living: Mapping[int, Address]) -> KeyedTopic:
    """Return the topic of the tickets. ``living`` are addresses of brokers that answer, by id, in preferred order."""
    # One copy is enough for it: else this topic could be the only one that does not bear the stop of a rack.
    return KeyedTopic(
        kafka=kafka,
        addresses=living,
        topic=TICKET_TOPIC,
        holds="the tickets of brokers that are being stopped",
        copies_that_may_be_lost=2,
    )


def encode_ticket(ticket: StopTicket) -> dict[str, Any]:
    """Return the value of a ticket's record. Its key is the id."""
    return {"version": _VERSION, **asdict(ticket)}


def parse_tickets(values: Mapping[str, Any]) -> tuple[StopTicket, ...]:
    """Return the tickets, the oldest first. Raises JournalError for a record that no run of this version writes."""
    found = []
    for key, value in values.items():
        try:
            rest = {name: each for name, each in value.items() if name != "version"}
            ticket = StopTicket(**rest | {"brokers": tuple(rest["brokers"]), "racks": tuple(rest["racks"])})
            texts = (ticket.owner, ticket.job, ticket.since, *ticket.racks)
            if value["version"] != _VERSION or ticket.ticket_id != key or not all(map(_is_id, ticket.brokers)):
                raise ValueError("version")
            if not all(isinstance(each, str) for each in texts):
                raise TypeError("not a text")
            _can_expire = ticket.is_expired(datetime.now(UTC))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise JournalError(
                f"topic {TICKET_TOPIC} holds a record {key!r} that this version of kafkaops.recovery did not write: "
                "find out what wrote it"
            ) from None
        found.append(ticket)
    return tuple(sorted(found, key=lambda each: (each.since, each.ticket_id)))


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def split_by_time(
    kafka: BaseKafka, tickets: tuple[StopTicket, ...]
) -> tuple[tuple[StopTicket, ...], tuple[StopTicket, ...]]:
    """Return the valid tickets, and those that have expired by the cluster's clock."""
    now = kafka.cluster_time() if tickets else None
    expired = tuple(each for each in tickets if each.is_expired(now))
    return tuple(each for each in tickets if each not in expired), expired


def ticket_notes(kafka: BaseKafka, living: Mapping[int, Address]) -> tuple[str, ...]:
    """Return a note for each broker set that somebody is stopping now. Changes nothing, and raises no error."""
    try:
        tickets = parse_tickets(ticket_store(kafka, living).peek())
    except (JournalError, NoBrokerAnswersError) as error:
        return (f"whether somebody is stopping brokers is unknown: {error}",)
    return tuple(f"{each} (ticket of kafkaops.recovery.check_stop)" for each in split_by_time(kafka, tickets)[0])
