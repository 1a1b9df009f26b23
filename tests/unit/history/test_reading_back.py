# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was before the newest snapshot is read if a proof depends on it, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.promise import (
    Obstacle,
    Promise,
    explain_promise,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import (
    HistoryLimits,
    HistoryQuestion,
    read_log,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import uuid_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import Assumption
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR
from unit.history.fake_metadata_log import (
    AN_HOUR,
    OLDER_TOPIC_ID,
    ORDERS,
    REPLICAS,
    TOPIC_ID,
    FakeMetadataLog,
    change,
    no_topic,
    of_cluster,
    of_topic,
    partition,
    started,
    topic,
)

_STARTED = [started(each) for each in REPLICAS]
_SNAPSHOT_AT = 3 * AN_HOUR
_LEFT, _LOST, _END = _SNAPSHOT_AT + 2_000, _SNAPSHOT_AT + 2_100, _SNAPSHOT_AT + 2_500


class Judged(NamedTuple):
    """What is said of a survivor, and how far the log was read for it."""

    promise: Promise
    lowest: int
    missing: str


def judge(log: FakeMetadataLog, broker_id: int, limits: HistoryLimits | None = None) -> Judged:
    question = HistoryQuestion({ORDERS: uuid_text(TOPIC_ID)}, {ORDERS: (broker_id,)}, (MIN_ISR,))
    read = read_log(log.as_log(), question, limits or HistoryLimits())
    assert read.history is not None
    return Judged(judge_promise(read.history, ORDERS, broker_id, is_empty=False), log.lowest, read.missing)


_CREATED_AGAIN, _RESTARTED = 1_010, 1_200


def created_again(min_isr: Sequence[bytes] = (), *, start: int = 1) -> FakeMetadataLog:
    """Return the log of a topic that was deleted and created again, before its leader restarted.

    Its min.insync.replicas was 1 before. ``min_isr`` are configs of the new one; the cluster's default is 2.
    """
    records = {
        1: [of_cluster(2), *_STARTED],
        500: [topic(OLDER_TOPIC_ID), of_topic(1)],
        1_000: [no_topic(OLDER_TOPIC_ID)],
        _CREATED_AGAIN: [topic(), *min_isr, partition(2)],
        1_100: [change(isr=(2, 3))],
        _RESTARTED: [started(1, epoch=9)],
        1_300: [change(isr=(1, 2, 3))],
        1_400: [change(leader=1)],
        _SNAPSHOT_AT + 1_000: [change(isr=(1, 3))],
        _LEFT: [change(isr=(1,))],
        _LOST: [change(leader=-1)],
    }
    snapshot = [topic(), *min_isr, of_cluster(2), partition(1), started(1, epoch=9), *_STARTED[1:]]
    return FakeMetadataLog(records, start=start, end=_END, snapshot_at=_SNAPSHOT_AT, snapshot=snapshot)


def test_a_deleted_topic_is_found_before_the_snapshot() -> None:
    judged = judge(created_again(), 3)
    assert (judged.promise.obstacle, judged.promise.min_isr) == (Obstacle.OLDER_TOPIC, 1)


def test_a_topic_with_a_value_of_its_own_needs_only_the_snapshot() -> None:
    judged = judge(created_again([of_topic(2)]), 3)
    assert (judged.promise.is_kept, judged.promise.assumptions, judged.lowest) == (True, (), _SNAPSHOT_AT)


def test_a_deleted_topic_that_the_retention_has_removed_is_an_assumption() -> None:
    judged = judge(created_again(start=_RESTARTED + 1), 3)
    assert judged.promise.is_kept
    assert judged.promise.assumptions == (Assumption.NO_OLDER_TOPIC,)
    assert explain_promise(judged.promise).endswith("before a leader started: the metadata log begins later")
    assert not judged.missing, "the proof says it"


def test_a_deleted_topic_that_a_limit_hides_is_an_obstacle() -> None:
    judged = judge(created_again(), 3, HistoryLimits(max_bytes=1_000_000))
    assert judged.promise.obstacle is Obstacle.OLDER_TOPIC_UNKNOWN
    assert judged.missing.endswith("the limit of bytes or seconds is reached")


def test_a_partition_without_a_promise_is_not_read_further_for_its_deleted_topic() -> None:
    """Broker 2 left while two others were in sync, which was enough."""
    judged = judge(created_again(), 2)
    assert (judged.promise.obstacle, judged.lowest) == (Obstacle.ISR_WAS_LARGE_ENOUGH, _SNAPSHOT_AT)


def test_the_log_is_read_until_an_hour_before_the_leader_started() -> None:
    late = {_SNAPSHOT_AT - 100: [started(1, epoch=9)], _LEFT: [change(isr=(1,))], _LOST: [change(leader=-1)]}
    snapshot = [topic(), of_cluster(2), partition(1), started(1, epoch=9), *_STARTED[1:]]
    log = FakeMetadataLog({1: [*_STARTED], **late}, end=_END, snapshot_at=_SNAPSHOT_AT + 10, snapshot=snapshot)
    judged = judge(log, 3)
    assert (judged.promise.is_kept, judged.promise.assumptions) == (True, ())
    assert 1 < judged.lowest <= _SNAPSHOT_AT - 100 - AN_HOUR


_ELECTED, _BACK = 1_000, 1_200


def elected_before(*, start: int = 1, unclean: bool = True) -> FakeMetadataLog:
    """Return the log of an outage of 2 and 3. Broker 1 has been dead since 2 died with it, or only it died."""
    first = (
        {
            900: [change(isr=(1, 2))],
            940: [change(leader=-1)],
            _ELECTED: [change(leader=3, isr=(3,), unclean=True)],
            _BACK: [change(isr=(3, 2))],
        }
        if unclean
        else {900: [change(leader=3, isr=(2, 3))]}
    )
    records = {
        1: [topic(), of_topic(2), *_STARTED, partition(1)],
        **first,
        _LEFT: [change(isr=(3,))],
        _LOST: [change(leader=-1)],
    }
    snapshot = [topic(), of_topic(2), partition(3, (3, 2)), *_STARTED]
    return FakeMetadataLog(records, start=start, end=_END, snapshot_at=_SNAPSHOT_AT, snapshot=snapshot)


def test_an_unclean_election_is_found_before_the_snapshot() -> None:
    assert judge(elected_before(), 2).promise.obstacle is Obstacle.EARLIER_UNCLEAN_ELECTION


def test_a_replica_that_has_been_dead_for_long_is_looked_for_until_it_was_in_sync() -> None:
    judged = judge(elected_before(unclean=False), 2)
    assert (judged.promise.is_kept, judged.promise.assumptions) == (True, ())


def test_an_unclean_election_that_the_retention_has_removed_is_an_assumption() -> None:
    judged = judge(elected_before(start=_BACK + 1), 2)
    assert judged.promise.is_kept
    assert judged.promise.assumptions == (Assumption.NO_EARLIER_LOSSES,)
    assert explain_promise(judged.promise).endswith("log begins: not every replica has been in sync since then")
    assert not judged.missing, "the proof says it"


def test_an_unclean_election_that_a_limit_hides_is_an_obstacle() -> None:
    judged = judge(elected_before(), 2, HistoryLimits(max_bytes=1_000_000))
    assert judged.promise.obstacle is Obstacle.EARLIER_LOSSES_UNKNOWN
    assert judged.missing.endswith("the limit of bytes or seconds is reached")


def test_an_ordinary_outage_needs_only_the_newest_snapshot() -> None:
    records = {_LEFT - 5: [change(isr=(1, 3))], _LEFT: [change(isr=(1,))], _LOST: [change(leader=-1)]}
    snapshot = [topic(), of_topic(2), partition(1), *_STARTED]
    judged = judge(FakeMetadataLog(records, end=_END, snapshot_at=_SNAPSHOT_AT, snapshot=snapshot), 3)
    assert (judged.promise.is_kept, judged.promise.assumptions, judged.lowest) == (True, (), _SNAPSHOT_AT)
