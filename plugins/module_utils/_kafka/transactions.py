# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read which transactions are open in logs, and which ones coordinators know. Abort one in one partition.

DescribeProducers has API key 61, DescribeTransactions 65 and ListTransactions 66 (KIP-664), WriteTxnMarkers 27.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._model.partition import TRANSACTIONS_TOPIC, PartitionState, TopicPartition, in_batches
from .._model.reasons import join_first
from .._model.run import Clock
from . import error_codes
from .groups import call_until_loaded
from .messages import by_topic
from .partitions import Description
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import (
        DescribeAclsRequest,
        DescribeProducersRequest,
        DescribeTransactionsRequest,
        ListTransactionsRequest,
    )
    from kafka.protocol.producer import WriteTxnMarkersRequest

TRANSACTION_LIMIT = "transaction.max.timeout.ms"
"""A broker's limit of transaction.timeout.ms: it refuses producers that want more."""
_NONE_OPEN_STATES = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead"})
"""States in which a coordinator has no open transaction (TransactionState)."""
_MOST_NAMED = 5
_NOBODYS_ID = "kafkaops.recovery: no such transactional id"
_TRANSACTIONAL_ID, _ANY, _DENY = 5, 1, 2
"""Codes of ResourceType, PatternType and AclOperation, and AclPermissionType."""
_HIDING = frozenset({2, 8})
"""AclOperation codes of ALL and DESCRIBE: without one of them, an id is hidden."""
_NONE_OPEN = -1
_UNKNOWN_EPOCH = -1
_LOWEST_EPOCH = 0
_MARKERS_VERSION = 1
"""All supported brokers have it. Version 2 adds a field that does not concern an abort by a tool (KIP-1228)."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction with records in a log, but without a COMMIT or ABORT marker."""

    producer_id: int
    start_offset: int
    last_timestamp_ms: int
    """Time of its newest record, by the producer's clock. -1 if the broker does not return it."""
    producer_epoch: int = _UNKNOWN_EPOCH
    coordinator_epoch: int = _UNKNOWN_EPOCH
    """Epoch of the coordinator that wrote the producer's last marker here. -1 if there is no marker."""


class LostMarker(NamedTuple):
    """A producer's first marker in a part of a log that the present leader lacks."""

    first_lost: int
    """The first offset that the leader lacks. The marker ends what was open there."""
    is_commit: bool
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class CoordinatedTransactions:
    """The transactions that one broker coordinates."""

    transactions: dict[int, tuple[str, str]]
    """Transactional id and state (TransactionState) by producer id. Only those that our principal may DESCRIBE."""
    error: str = ""
    """Why there may be others. Empty if there are none."""


def is_ended_by_coordinator(state: str) -> bool:
    """Return whether a coordinator still ends a transaction in this state. It does so in states of later releases."""
    return state not in _NONE_OPEN_STATES


def open_transactions(
    wire: Wire, address: Address, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, tuple[OpenTransaction, ...]]:
    """Return the open transactions of each of this broker's replicas, leader or not.

    Partitions that the broker does not report are left out. Raises BrokerCallError.
    """
    message = DescribeProducersRequest
    found: dict[TopicPartition, tuple[OpenTransaction, ...]] = {}
    for some in in_batches([*partitions]):
        request = message(
            topics=[
                message.TopicRequest(name=topic, partition_indexes=numbers) for topic, numbers in by_topic(some).items()
            ]
        )
        found |= _convert_transactions(wire.call(address, request))
    return found


def _convert_transactions(response: Any) -> dict[TopicPartition, tuple[OpenTransaction, ...]]:
    return {
        TopicPartition(topic.name, partition.partition_index): tuple(
            OpenTransaction(
                each.producer_id,
                each.current_txn_start_offset,
                each.last_timestamp,
                each.producer_epoch,
                each.coordinator_epoch,
            )
            for each in partition.active_producers
            if each.current_txn_start_offset != _NONE_OPEN
        )
        for topic in response.topics
        for partition in topic.partitions
        if not partition.error_code
    }


def coordinated_transactions(wire: Wire, address: Address, *, clock: Clock = time) -> CoordinatedTransactions:
    """Return the transactions that this broker coordinates.

    A coordinator that has just been elected is asked again while it loads, for one request_timeout_ms.

    Raises BrokerCallError.
    """
    request = ListTransactionsRequest(state_filters=[], producer_id_filters=[])
    response = call_until_loaded(wire, address, request, clock)
    code = response.error_code
    return CoordinatedTransactions(
        {each.producer_id: (each.transactional_id, each.transaction_state) for each in response.transaction_states},
        error_codes.explain_error("ListTransactions", code) if code else "",
    )


def why_ids_may_be_hidden(wire: Wire, coordinator: Address) -> str:
    """Return why this coordinator may hide transactional ids from our principal. Empty if it hides none.

    It leaves out ids that our principal may not DESCRIBE, and returns no error. An id that nobody has is refused unless
    an ACL, or the lack of an authorizer, allows all ids. Then only rules that deny can hide one.

    Raises BrokerCallError.
    """
    asked = DescribeTransactionsRequest(transactional_ids=[_NOBODYS_ID])
    codes = [each.error_code for each in wire.call(coordinator, asked).transaction_states]
    if codes not in ([error_codes.TRANSACTIONAL_ID_NOT_FOUND], [error_codes.NOT_COORDINATOR]):
        return error_codes.explain_error("DescribeTransactions", codes[0]) if codes else "it does not answer"
    answer = wire.call(
        coordinator,
        DescribeAclsRequest(
            resource_type_filter=_TRANSACTIONAL_ID,
            resource_name_filter=None,
            pattern_type_filter=_ANY,
            principal_filter=None,
            host_filter=None,
            operation=_ANY,
            permission_type=_DENY,
        ),
    )
    if answer.error_code not in (error_codes.NONE, error_codes.SECURITY_DISABLED):
        return error_codes.explain_error("DescribeAcls", answer.error_code)
    denied = sorted(
        {
            resource.resource_name
            for resource in answer.resources
            if any(each.operation in _HIDING for each in resource.acls)
        }
    )
    return f"ACLs deny access to transactional ids: {join_first(denied, _MOST_NAMED)}" if denied else ""


def find_gaps(description: Description, led: Callable[[PartitionState], bool]) -> Iterator[str]:
    """Yield why some transactional ids have no coordinator that can be asked.

    A coordinator answers only for the partitions of ``__transaction_state`` that it leads, and no other one reports
    that some have no leader. ``description`` is that of this topic, and ``led`` says whether a leader is up.
    """
    # The topic does not exist in a cluster that never had a transaction.
    yield from (f"topic {TRANSACTIONS_TOPIC}: {each}" for each in description.refused if not each.is_unknown)
    gone = sorted(each.topic_partition for each in description.partitions if each.is_offline or not led(each))
    if gone:
        yield f"{join_first(gone, _MOST_NAMED)} of {len(description.partitions)} have no leader that is up"


def transaction_partitions(
    wire: Wire, coordinator: Address, transactional_ids: Collection[str]
) -> dict[str, frozenset[TopicPartition]]:
    """Return the partitions of each id's present transaction that have no marker yet.

    Ids that the coordinator does not describe are left out. Raises BrokerCallError.
    """
    request = DescribeTransactionsRequest(transactional_ids=[*transactional_ids])
    return {
        each.transactional_id: frozenset(
            TopicPartition(topic.topic, number) for topic in each.topics for number in topic.partitions
        )
        for each in wire.call(coordinator, request).transaction_states
        if not each.error_code
    }


def end_transaction(
    wire: Wire, leader: Address, partition: TopicPartition, transaction: OpenTransaction, *, commits: bool
) -> str | None:
    """Write a COMMIT or an ABORT marker to one partition. Return the error text or None.

    The other fields are those of ``kafka-transactions.sh abort``: the producer's id and epoch as the leader reports
    them, and the coordinator epoch, or 0 if it reports none (TransactionsCommand.AbortTransactionCommand). Nothing
    checks whether a coordinator still has the transaction: the caller must.

    Raises BrokerCallError.
    """
    message = WriteTxnMarkersRequest
    marker = message.WritableTxnMarker
    request = message(
        markers=[
            marker(
                producer_id=transaction.producer_id,
                producer_epoch=transaction.producer_epoch,
                transaction_result=commits,
                topics=[marker.WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
                coordinator_epoch=max(transaction.coordinator_epoch, _LOWEST_EPOCH),
            )
        ],
        min_version=_MARKERS_VERSION,
        max_version=_MARKERS_VERSION,
    )
    codes = [
        each.error_code
        for answered in wire.call(leader, request).markers
        for topic in answered.topics
        for each in topic.partitions
    ]
    if len(codes) != 1:
        return "it is not in the answer"
    return error_codes.explain_error("WriteTxnMarkers", codes[0]) if codes[0] else None
