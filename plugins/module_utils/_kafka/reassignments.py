# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Change replica orders and replica sets, and read running reassignments (KIP-455).

AlterPartitionReassignments has API key 45, ListPartitionReassignments 46.

A new order must have the same replica set. The caller ensures that, and from version 1 on the controller refuses a
request that changes the replication factor. An order without an unregistered broker is the exception, and is requested
as another replica set: the controller refuses every order that names such a broker
(ReplicationControlManager.validateManualPartitionAssignment, 3.9 to 4.4).

Replica sets change only where followers are added to the run topic, where lost replicas are replaced, and in the repair
of uncleanable replicas, which drops one replica and adds the same one again.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from .._model.partition import Reassignment, TopicPartition
from . import error_codes
from .bulk import (
    BulkAnswer,
    BulkRequest,
    RequestVersion,
    UnusualAnswerError,
    encode_size,
    encode_topics,
    read_results,
)
from .errors import ErrorTexts
from .messages import by_topic
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
        ListPartitionReassignmentsRequest,
    )


_NOT_REGISTERED = re.compile(r"includes broker (\d+), but no such broker is registered")


def reorder(wire: Wire, address: Address, orders: Mapping[TopicPartition, Sequence[int]]) -> ErrorTexts:
    """Request at most PARTITIONS_PER_REQUEST new replica orders.

    The caller ensures that an order has the same replica set.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    return _alter(wire, address, orders, may_change_number=False)


def parse_unregistered_broker(error: str) -> int | None:
    """Return the unregistered broker that the controller names when it refuses an order. None if it names none."""
    found = _NOT_REGISTERED.search(error)
    return int(found[1]) if found else None


def running_reassignments(
    wire: Wire, partitions: Collection[TopicPartition] | None
) -> dict[TopicPartition, Reassignment]:
    """Return the running reassignments of these partitions, or of all: the replicas that are being added or removed.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    message = ListPartitionReassignmentsRequest

    def request() -> ListPartitionReassignmentsRequest:
        return message(
            timeout_ms=wire.settings.request_timeout_ms,
            topics=None
            if partitions is None
            else [
                message.ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(partitions).items()
            ],
        )

    if partitions is not None and not partitions:
        return {}
    response, _source = wire.call_any(request, "ListPartitionReassignments")
    error_codes.raise_if_refused("ListPartitionReassignments", response)
    return {
        TopicPartition(topic.name, each.partition_index): Reassignment(
            tuple(each.adding_replicas), tuple(each.removing_replicas)
        )
        for topic in response.topics
        for each in topic.partitions
        if each.adding_replicas or each.removing_replicas
    }


def assign(wire: Wire, address: Address, partition: TopicPartition, replicas: Sequence[int]) -> str | None:
    """Request a replica set with its order, and return the error text or None. The number of replicas may change.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    return _alter(wire, address, {partition: replicas}, may_change_number=True).get(partition)


def reassign(wire: Wire, address: Address, targets: Mapping[TopicPartition, Sequence[int]]) -> ErrorTexts:
    """Request at most PARTITIONS_PER_REQUEST replica sets with their orders. Running reassignments are replaced.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    return _alter(wire, address, targets, may_change_number=True)


def cancel(wire: Wire, address: Address, partition: TopicPartition) -> str | None:
    """Cancel the running reassignment of a partition, and return the error text or None. If none runs, return None.

    Raises BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    return _alter(wire, address, {partition: None}, may_change_number=True).get(partition)


def _alter(
    wire: Wire, address: Address, replicas: Mapping[TopicPartition, Sequence[int] | None], *, may_change_number: bool
) -> ErrorTexts:
    """Request these replicas, or, for None, cancel the reassignment."""
    topics = encode_topics(
        {
            topic: [_encode_entry(number, replicas[TopicPartition(topic, number)]) for number in numbers]
            for topic, numbers in by_topic(replicas).items()
        }
    )
    timeout, may_change = _INT32.pack(wire.settings.request_timeout_ms), _BOOL.pack(may_change_number)
    # Version 1 adds allow_replication_factor_change (KIP-860), and its answer repeats it.
    versions = {
        0: RequestVersion(b"".join([timeout, topics, b"\0"]), partial(_read_answer, head=_HEAD)),
        1: RequestVersion(b"".join([timeout, may_change, topics, b"\0"]), partial(_read_answer, head=_HEAD_WITH_FIELD)),
    }
    request: BulkRequest[_Altered] = BulkRequest(
        AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, versions, _convert_answer
    )
    altered: _Altered = wire.call(address, request).value
    if altered.code:
        raise error_codes.request_refused_error("AlterPartitionReassignments", altered.code, altered.message)
    answers: ErrorTexts = {}
    for partition, (code, message) in altered.answers.items():
        is_over = replicas.get(partition) is None and code == error_codes.NO_REASSIGNMENT_IN_PROGRESS
        answers[partition] = None if not code or is_over else error_codes.describe_error(code, message)
    return answers


class _Altered(NamedTuple):
    """One answer: the error of the whole request, and the error code and message of each partition."""

    code: int
    message: str | None
    answers: dict[TopicPartition, tuple[int, str | None]]


_INT32 = struct.Struct(">i")
_BOOL = struct.Struct(">?")
_HEAD = struct.Struct(">ihB")
"""Throttle time in ms, error code, no error message."""
_HEAD_WITH_FIELD = struct.Struct(">ixhB")
_NOT_GIVEN = b"\0"


def _encode_entry(number: int, replicas: Sequence[int] | None) -> bytes:
    if replicas is None:
        packed = _NOT_GIVEN
    else:
        packed = encode_size(len(replicas)) + struct.pack(f">{len(replicas)}i", *replicas)
    return b"".join([_INT32.pack(number), packed, b"\0"])


def _read_answer(view: memoryview, head: struct.Struct) -> BulkAnswer[_Altered]:
    throttle_time_ms, code, message_size = head.unpack_from(view)
    if code or message_size:
        raise UnusualAnswerError
    return BulkAnswer(throttle_time_ms, _Altered(code, None, read_results(view, head.size)))


def _convert_answer(response: Any) -> _Altered:
    answers = {
        TopicPartition(topic.name, each.partition_index): (each.error_code, each.error_message)
        for topic in response.responses
        for each in topic.partitions
    }
    return _Altered(response.error_code, response.error_message, answers)
