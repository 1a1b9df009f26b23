# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads our compacted topic. Changes nothing, and takes no lock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from .._changes.record import JournalError
from .._kafka import error_codes
from .._kafka.addresses import Address
from .._kafka.committed_records import CommittedRecords, committed_records
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.own_configs import TOPIC, read_own
from .._kafka.partitions import describe_partitions
from .._kafka.wire import Wire
from .._model.partition import TopicPartition
from .memory import Records

_SETTLE_S = 1.0
"""A commit is acknowledged some milliseconds before its records can be read."""
_READ_S = 10.0
"""Leaders move, most of all while leaderships are drained."""
_LOOK_EVERY_S = 0.1
_POLICY = "cleanup.policy"


def read_topic(wire: Wire, addresses: Mapping[int, Address], topic: str) -> Records | None:
    """Return the newest value of each key; None when there is no such topic. ``addresses`` are the brokers', by id.

    Raises JournalError when it exists and cannot be read, or has several partitions; NoBrokerAnswersError.
    """
    deadline = time.monotonic() + _READ_S
    while True:
        leader = _leader(wire, topic)
        if leader is None:
            return None
        try:
            if leader not in addresses:
                raise JournalError(
                    f"its leader, broker {leader}, has no address" if leader >= 0 else "it has no leader"
                )
            return _newest(_settled(lambda: committed_records(wire, addresses[leader], TopicPartition(topic, 0))))  # noqa: B023
        except (BrokerCallError, RequestRefusedError, JournalError) as fault:
            if time.monotonic() >= deadline:
                raise JournalError(
                    f"topic {topic} holds what is remembered and cannot be read: {fault}; nothing is changed without it"
                ) from None
        time.sleep(_LOOK_EVERY_S)


def require_compacted(wire: Wire, topic: str) -> None:
    """Raise JournalError when the topic exists and does not keep what is remembered, or does not tell whether it does.

    Where somebody made it before us, it has the settings that they gave it. Raises NoBrokerAnswersError, too.
    """
    try:
        found = read_own(wire, None, TOPIC, topic, [_POLICY]).get(_POLICY)
    except RequestRefusedError as refusal:
        if refusal.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
            return
        raise JournalError(
            f"whether topic {topic} keeps what is remembered in it is not known: {refusal}; our principal needs "
            "DESCRIBE_CONFIGS on it"
        ) from None
    policy = found.value if found else "not told"
    if policy != "compact":
        raise JournalError(
            f"{_POLICY} of topic {topic} is {policy}: the original orders in it could expire, and nothing is changed "
            f"before it is compact (kafka-configs.sh --alter --entity-type topics --entity-name {topic} "
            f"--add-config {_POLICY}=compact), or another topic is named (memory_topic)"
        )


def _leader(wire: Wire, topic: str) -> int | None:
    """Return the broker id of the topic's leader, -1 when it has none; None when there is no such topic."""
    description = describe_partitions(wire, [topic])
    for refusal in description.refused:
        if refusal.is_unknown:
            return None
        raise JournalError(
            f"topic {topic} cannot be looked at: {refusal}; our principal needs DESCRIBE, DESCRIBE_CONFIGS, READ and "
            "WRITE on it; where it never had them, memory: file does without"
        )
    if len(description.partitions) != 1:
        raise JournalError(
            f"topic {topic} has {len(description.partitions)} partitions, and is to have one for what is remembered: "
            "name another topic (memory_topic), or delete this one if nobody needs it, and the next run makes it again"
        )
    return description.partitions[0].leader_id


def _settled(read: Callable[[], CommittedRecords]) -> CommittedRecords:
    """Read until no transaction is open, or for a moment: a run that goes on, or that died, keeps one open longer."""
    deadline = time.monotonic() + _SETTLE_S
    while True:
        found = read()
        if found.is_settled or time.monotonic() >= deadline:
            return found
        time.sleep(_LOOK_EVERY_S)


def _newest(found: CommittedRecords) -> dict[str, Any]:
    records: dict[str, bytes | None] = {(key or b"").decode(errors="replace"): value for key, value in found.records}
    try:
        return {key: json.loads(value) for key, value in records.items() if value is not None}
    except ValueError:
        raise JournalError("it holds a record that is no JSON") from None
