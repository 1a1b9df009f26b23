# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An open transaction is aborted only if it is known that nothing else ends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from kafka.protocol.admin import (
    DescribeAclsRequest,
    DescribeAclsResponse,
    DescribeProducersResponse,
    DescribeTransactionsResponse,
)
from kafka.protocol.producer import WriteTxnMarkersResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.end import foresee_end
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.hanging import TransactionLook
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import (
    Ending,
    EndOutcome,
    TransactionStatus,
    TransactionStep,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import transactions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.offset_records import (
    LostLog,
    LostLogs,
    SavedCommits,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import ControlType
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.transactions import LostMarker, OpenTransaction
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.group_offsets import find_lost_markers
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved_rows import SavedMarker


class FakeWire:
    """Answers with a function, and remembers the requests."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.requests: list[Any] = []
        self._answer = answer

    def call(self, _address: Address, request: Any) -> Any:
        self.requests.append(request)
        return self._answer(request)


NAME = TopicPartition("orders", 3)
STEP = TransactionStep(
    topic="orders", partition=3, producer_id=7, start_offset=320, last_timestamp_ms=5, ending=Ending.NOT_KNOWN
)
LIMIT_MS = 900_000
OLD = 5
_NOT_COORDINATOR, _CLUSTER_AUTHORIZATION_FAILED, _SECURITY_DISABLED = 16, 31, 54
_ID_AUTHORIZATION_FAILED, _NOT_FOUND = 53, 105
_WRITE, _DESCRIBE = 4, 8


def judged(
    open_now: OpenTransaction | None,
    *,
    missing: str = "",
    limit_ms: int | None = LIMIT_MS,
    unanswered: bool = False,
    is_allowed: bool = True,
    step: TransactionStep = STEP,
) -> EndOutcome:
    found = TransactionLook(
        open={} if open_now is None else {(NAME, 7): open_now},
        leaders={NAME: 1},
        unanswered={NAME} if unanswered else set(),
        missing=missing,
        limit_ms=limit_ms,
    )
    return foresee_end(step, found, is_allowed=is_allowed)


def test_one_that_no_coordinator_has_is_aborted_if_the_operator_allows_it() -> None:
    assert judged(OpenTransaction(7, 320, OLD)).status is TransactionStatus.WOULD_ABORT
    assert judged(OpenTransaction(7, 320, OLD), is_allowed=False).status is TransactionStatus.HANGING


@pytest.mark.parametrize("now", [None, OpenTransaction(7, 400, OLD)])
def test_one_that_ended_is_done(now: OpenTransaction | None) -> None:
    assert judged(now).status is TransactionStatus.DONE_BEFORE


def test_one_that_a_silent_coordinator_may_have_is_not_aborted() -> None:
    found = judged(OpenTransaction(7, 320, OLD), missing="broker 4 does not answer")
    assert found.status is TransactionStatus.UNKNOWN
    assert "broker 4 does not answer" in found.reason


def test_one_whose_producer_wrote_within_the_limit_is_not_aborted() -> None:
    now_ms = int(time.time() * 1000)
    assert judged(OpenTransaction(7, 320, now_ms - LIMIT_MS + 60_000)).status is TransactionStatus.RECENT
    assert judged(OpenTransaction(7, 320, now_ms - LIMIT_MS - 60_000)).status is TransactionStatus.WOULD_ABORT


def test_one_whose_commit_marker_is_saved_is_committed_at_any_age_without_the_operator_s_word() -> None:
    step = replace(STEP, ending=Ending.COMMIT)
    now = OpenTransaction(7, 320, int(time.time() * 1000))
    assert judged(now, step=step, is_allowed=False).status is TransactionStatus.WOULD_COMMIT
    assert judged(now, step=step, missing="broker 4 does not answer").status is TransactionStatus.UNKNOWN


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        (None, Ending.NOT_KNOWN),
        (LostMarker(321, True, 4), Ending.COMMIT),
        (LostMarker(321, False, 5), Ending.ABORT),
        # It began after the logs diverged, or the marker is of an older epoch: the marker is of another transaction.
        (LostMarker(320, True, 4), Ending.NOT_KNOWN),
        (LostMarker(321, True, 3), Ending.NOT_KNOWN),
    ],
)
def test_a_saved_marker_says_how_a_transaction_ended(marker: LostMarker | None, expected: Ending) -> None:
    found = TransactionLook(open={(NAME, 7): OpenTransaction(7, 320, OLD, 4)})
    found.markers = {} if marker is None else {(NAME, 7): marker}
    assert [each.ending for each in found.steps] == [expected]


def test_the_first_lost_marker_of_a_producer_counts_if_all_before_it_is_saved() -> None:
    def saved(offset: int, producer: int, control: ControlType = ControlType.COMMIT) -> SavedMarker:
        return SavedMarker(NAME, offset, producer, 4, control)

    markers = [saved(29, 9), saved(27, 9, ControlType.ABORT), saved(24, 7), saved(40, 8)]
    markers += [saved(25, 6, ControlType.OTHER), saved(28, 6)]
    found = find_lost_markers(markers, {NAME: 20}, {NAME: 30})
    assert found == {(NAME, 9): LostMarker(20, False, 4), (NAME, 7): LostMarker(20, True, 4)}


def test_a_marker_that_another_salvage_contradicts_does_not_count() -> None:
    commit, abort = LostMarker(20, True, 4), LostMarker(25, False, 4)
    of_salvages = {7: commit, 8: commit}, {7: commit._replace(first_lost=25), 8: abort}, {9: abort}
    saved = SavedCommits(lost_logs=[LostLog(NAME, None, 20, 1, each) for each in of_salvages])
    assert saved.lost_of({}).markers == {(NAME, 7): commit, (NAME, 9): abort}


def test_what_a_salvage_has_of_a_former_topic_says_nothing_about_the_present_one() -> None:
    """The topic was created again, and its producer still has the same id."""
    commit = LostMarker(20, True, 4)
    former, of_now = LostLog(NAME, "former", 0, 0, {7: commit}), LostLog(NAME, "now", 30, 3, {8: commit})
    lost = SavedCommits(lost_logs=[former, of_now]).lost_of({NAME.topic: "now"})
    assert lost == LostLogs({NAME: 30}, {NAME: 3}, {(NAME, 8): commit})


@pytest.mark.parametrize(
    ("timestamp", "limit_ms", "unanswered"), [(-1, LIMIT_MS, False), (OLD, None, False), (OLD, LIMIT_MS, True)]
)
def test_what_is_not_known_is_not_taken_for_old(timestamp: int, limit_ms: int | None, unanswered: bool) -> None:
    found = judged(OpenTransaction(7, 320, timestamp), limit_ms=limit_ms, unanswered=unanswered)
    assert found.status is TransactionStatus.UNKNOWN


@pytest.mark.parametrize(
    ("found", "acls", "expected"),
    [
        (_NOT_FOUND, (0, ()), ""),
        (_NOT_COORDINATOR, (0, ()), ""),
        (_NOT_FOUND, (_SECURITY_DISABLED, ()), ""),
        (_NOT_FOUND, (0, ("till",)), "ACLs deny access to transactional ids: till"),
        (_NOT_FOUND, (_CLUSTER_AUTHORIZATION_FAILED, ()), "our principal needs DESCRIBE on the cluster"),
        (_ID_AUTHORIZATION_FAILED, (0, ()), "our principal needs DESCRIBE on every transactional id"),
        (None, (0, ()), "it does not answer"),
    ],
)
def test_an_id_that_nobody_has_shows_whether_ids_may_be_hidden(
    found: int | None, acls: tuple[int, tuple[str, ...]], expected: str
) -> None:
    code, denied = acls

    def answer(request: Any) -> Any:
        if isinstance(request, DescribeAclsRequest):
            resource = DescribeAclsResponse.DescribeAclsResource
            resources = [
                resource(resource_name=each, acls=[resource.AclDescription(operation=operation)])
                for each, operation in [*((each, _DESCRIBE) for each in denied), ("written", _WRITE)]
            ]
            return DescribeAclsResponse(error_code=code, resources=resources)
        states = [] if found is None else [DescribeTransactionsResponse.TransactionState(error_code=found)]
        return DescribeTransactionsResponse(transaction_states=states)

    wire: Any = FakeWire(answer)
    assert expected in transactions.why_ids_may_be_hidden(wire, Address("b", 9092))
    assert bool(expected) == bool(transactions.why_ids_may_be_hidden(wire, Address("b", 9092)))


@pytest.mark.parametrize(
    "state", ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence", "Of a later release"]
)
def test_a_coordinator_ends_a_transaction_in_any_state_that_is_not_known_as_ended(state: str) -> None:
    assert transactions.is_ended_by_coordinator(state)
    assert not transactions.is_ended_by_coordinator("CompleteAbort")


@pytest.mark.parametrize(("coordinator_epoch", "sent", "commits"), [(-1, 0, False), (0, 0, False), (12, 12, True)])
def test_a_marker_has_the_fields_of_kafka_transactions_sh(coordinator_epoch: int, sent: int, *, commits: bool) -> None:
    """See AbortTransactionCommand: without a coordinator epoch, 0 is sent."""
    message = WriteTxnMarkersResponse.WritableTxnMarkerResult
    of_topic = message.WritableTxnMarkerTopicResult
    wire: Any = FakeWire(
        lambda _request: WriteTxnMarkersResponse(
            markers=[
                message(
                    producer_id=7,
                    topics=[
                        of_topic(
                            name="orders",
                            partitions=[of_topic.WritableTxnMarkerPartitionResult(partition_index=3, error_code=0)],
                        )
                    ],
                )
            ]
        )
    )
    transaction = OpenTransaction(7, 320, OLD, 4, coordinator_epoch)
    assert transactions.end_transaction(wire, Address("b", 9092), NAME, transaction, commits=commits) is None
    (request,) = wire.requests
    (marker,) = request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 4, sent)
    assert marker.transaction_result is commits
    assert [(each.name, each.partition_indexes) for each in marker.topics] == [("orders", [3])]


def test_only_open_transactions_are_returned() -> None:
    message = DescribeProducersResponse.TopicResponse
    producer = message.PartitionResponse.ProducerState
    states = [
        producer(
            producer_id=number,
            producer_epoch=4,
            last_sequence=0,
            last_timestamp=OLD,
            coordinator_epoch=2,
            current_txn_start_offset=start,
        )
        for number, start in [(7, 320), (8, -1)]
    ]
    partition = message.PartitionResponse(partition_index=3, error_code=0, active_producers=states)
    wire: Any = FakeWire(
        lambda _request: DescribeProducersResponse(topics=[message(name="orders", partitions=[partition])])
    )
    found = transactions.open_transactions(wire, Address("b", 9092), [NAME])
    assert found == {NAME: (OpenTransaction(7, 320, OLD, 4, 2),)}
