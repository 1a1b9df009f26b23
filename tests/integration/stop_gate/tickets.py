# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tickets in the cluster, read and written by confluent-kafka."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from lab import Cluster

TOPIC = "_kafkaops_stops"
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def tickets_in(cluster: Cluster) -> dict[str, Any]:
    """Return the tickets in the topic, by owner."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap("INTERNAL"), "group.id": "reader", "enable.partition.eof": True}
    )
    found: dict[bytes | None, bytes | None] = {}
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    while (message := consumer.poll(30)) is not None and not message.error():
        found[message.key()] = message.value()
    consumer.close()
    values = [json.loads(each) for each in found.values() if each is not None]
    return {each["owner"]: each for each in values}


def write_ticket(
    cluster: Cluster, owner: str, brokers: list[int], *, minutes_ago: int, minutes: int, by: int | None = None
) -> None:
    """Write the ticket that an earlier run took, for ``minutes`` from then on.

    ``by`` is the broker to ask first: librdkafka gives up a topic that one broker does not know.
    """
    since = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    ticket = {
        "version": 1,
        "ticket_id": f"run of {owner}",
        "brokers": brokers,
        "racks": [],
        "owner": owner,
        "job": "",
        "since": since.strftime(_FORMAT),
        "until": (since + timedelta(minutes=minutes)).strftime(_FORMAT),
    }
    first = None if by is None else cluster.brokers[by]
    servers = cluster.bootstrap("INTERNAL") if first is None else f"{first.host}:{first.ports['INTERNAL']}"
    producer, errors = Producer({"bootstrap.servers": servers}), list[object]()
    producer.produce(
        TOPIC,
        json.dumps(ticket),
        str(ticket["ticket_id"]),
        partition=0,
        on_delivery=lambda error, _message: errors.append(error),
    )
    assert (producer.flush(60), errors) == (0, [None])


def left_of(ticket: dict[str, Any]) -> timedelta:
    """Return for how long a ticket is still valid, by the clock of the cluster's host."""
    return datetime.strptime(ticket["until"], _FORMAT).replace(tzinfo=UTC) - datetime.now(UTC)
