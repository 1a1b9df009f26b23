# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The aftermath, also with missing answers: a missing answer is never reported as "nothing left behind"."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import CommittedOffsets, OpenTransaction
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery import aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.aftermath import limit_findings
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import ExpectedLoss
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import LossAgainst
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import (
    AftermathFinding,
    AftermathKind,
    Outcome,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fakes.cluster import FakeCluster
from unit.fakes.wreck import BEST, DEAD, partitions, wrecked

FIRST, SECOND, THIRD, *_OTHERS = partitions(5)
SILENT_LOSS = ExpectedLoss(BEST, 0, None, 0, "", (LossAgainst(DEAD, False, None),))
END = 10
TOPIC_AUTHORIZATION_FAILED = 29
NO_GROUPS = Description((), (TopicError("__consumer_offsets", error_codes.UNKNOWN_TOPIC_OR_PARTITION),))

OUTCOMES = [
    Outcome(each.topic, each.partition, Status.RECOVERED, "", leader_after=BEST, losses=(SILENT_LOSS,))
    for each in partitions(5)
]


@pytest.fixture
def cluster() -> FakeCluster:
    """Answers every request, and nothing is left behind."""
    cluster = wrecked(5)
    cluster.answer(
        describe_partitions=lambda _topics: NO_GROUPS,
        open_transactions=lambda _address, asked: dict.fromkeys(asked, ()),
        log_end_offsets=lambda _address, asked: {each: [OffsetAnswer(0, END, 8)] for each in asked},
        coordinated_groups=lambda address: ["billing"] if address.host == f"broker-{BEST}.invalid" else [],
        committed_offsets=lambda _address, groups, _partitions: {each: CommittedOffsets({}) for each in groups},
        broker_config=lambda *_arguments: None,
    )
    return cluster


def look(cluster: FakeCluster, outcomes: list[Outcome] | None = None) -> list[AftermathFinding]:
    return [
        each
        for each in aftermath.find_aftermath(cluster, OUTCOMES if outcomes is None else outcomes)
        if each.kind is not AftermathKind.WILL_TRUNCATE
    ]


def unknown(text: str) -> list[AftermathFinding]:
    return [AftermathFinding(kind=AftermathKind.NOT_KNOWN, explanation=text)]


def test_no_findings_if_all_brokers_answer_and_nothing_is_left_behind(cluster: FakeCluster) -> None:
    assert look(cluster) == []


def test_groups_with_an_offline_coordinator_are_reported_as_unknown(cluster: FakeCluster) -> None:
    wreck = wrecked(5)
    led = wreck.states[FIRST]._replace(leader_id=BEST)
    offsets = [each._replace(topic="__consumer_offsets") for each in (led, *list(wreck.states.values())[1:])]
    cluster.answer(describe_partitions=lambda _topics: Description(tuple(offsets), ()))
    assert look(cluster) == unknown(
        "groups in 4 partitions (__consumer_offsets-1, __consumer_offsets-2, __consumer_offsets-3 and 1 more): "
        "not known: these have no leader, and the groups no coordinator"
    )


def test_a_hidden_topic_of_groups_is_reported(cluster: FakeCluster) -> None:
    hidden = Description((), (TopicError("__consumer_offsets", TOPIC_AUTHORIZATION_FAILED),))
    cluster.answer(describe_partitions=lambda _topics: hidden)
    assert look(cluster) == unknown(
        "whether every group has a coordinator: not known: topic __consumer_offsets: "
        "TOPIC_AUTHORIZATION_FAILED (error 29) (our principal needs DESCRIBE on the topic)"
    )


def test_groups_that_do_not_answer_are_reported_once_for_each_cause(cluster: FakeCluster) -> None:
    cluster.answer(
        committed_offsets=lambda _address, groups, _partitions: (
            {
                "a": CommittedOffsets({}, "hidden"),
                "b": CommittedOffsets({}, "hidden"),
                "c": CommittedOffsets({FIRST: END + 1}, "torn"),
            }
            if groups
            else {}
        )
    )
    beyond, *others = look(cluster)
    assert beyond.kind is AftermathKind.COMMITTED_BEYOND_END
    assert "group c committed offset 11, 1 beyond the log end 10" in beyond.explanation
    assert [each.explanation for each in others] == [
        "committed offsets of 2 groups (a, b) that broker 3 coordinates: not known: hidden",
        "committed offsets of 1 group (c) that broker 3 coordinates: not known: torn",
    ]


@pytest.mark.parametrize(
    ("leader", "why"),
    [(None, "no leader was seen"), (9, "broker 9, which leads them, is not registered")],
)
def test_a_leader_that_cannot_be_asked_is_reported(cluster: FakeCluster, leader: int | None, why: str) -> None:
    outcomes = [*OUTCOMES[:2], replace(OUTCOMES[2], leader_after=leader)]
    assert look(cluster, outcomes) == unknown(f"transactions and log ends of 1 partition ({THIRD}): not known: {why}")


def test_partitions_missing_in_a_leaders_answer_are_reported(cluster: FakeCluster) -> None:
    cluster.answer(
        open_transactions=lambda _address, _asked: {FIRST: (), SECOND: ()},
        log_end_offsets=lambda _address, _asked: {
            FIRST: [OffsetAnswer(0, END, 8)],
            SECOND: [OffsetAnswer(TOPIC_AUTHORIZATION_FAILED, -1, -1)],
        },
    )
    assert [each.explanation for each in look(cluster)] == [
        "the transactions of 3 partitions (orders-2, orders-3, orders-4): not known: broker 3, which leads them, does "
        "not report it",
        "the log end of 4 partitions (orders-1, orders-2, orders-3 and 1 more): not known: broker 3, which leads them, "
        "does not report it",
    ]


def test_a_transaction_whose_time_is_unknown_has_no_age(cluster: FakeCluster) -> None:
    cluster.answer(
        open_transactions=lambda _address, asked: dict.fromkeys(asked, ()) | {FIRST: (OpenTransaction(7, 3, -1),)}
    )
    (found,) = look(cluster)
    assert "from offset 3 on, of unknown age; read_committed" in found.explanation
    assert found.explanation.endswith("its producer may still end it, or it hangs: look again later")


def test_findings_that_affect_applications_come_before_truncations(cluster: FakeCluster) -> None:
    cluster.answer(
        open_transactions=lambda _address, _asked: {FIRST: (OpenTransaction(7, 3, -1),)},
        committed_offsets=lambda _address, groups, _partitions: {
            each: CommittedOffsets({FIRST: 99}) for each in groups
        },
    )
    found = aftermath.find_aftermath(cluster, OUTCOMES)
    assert [each.kind for each in found] == [
        AftermathKind.COMMITTED_BEYOND_END,
        AftermathKind.OPEN_TRANSACTION,
        AftermathKind.NOT_KNOWN,
        *[AftermathKind.WILL_TRUNCATE] * 5,
    ]
    assert limit_findings(found, 8) == found
    assert limit_findings(found, 3) == (
        *found[:3],
        AftermathFinding(kind=AftermathKind.WILL_TRUNCATE, explanation="and 5 more: the report file has all of them"),
    )


def test_no_broker_is_asked_if_no_partition_was_recovered(cluster: FakeCluster) -> None:
    left = Outcome("orders", 0, Status.FAILED, "", leader_after=NO_LEADER)
    assert look(cluster, [left]) == []


def test_a_dropped_replica_keeps_its_copy_and_deletes_nothing(cluster: FakeCluster) -> None:
    silent = tuple(each.broker_id for each in SILENT_LOSS.against)
    found = [*aftermath.find_truncations(replace(OUTCOMES[0], dropped=silent))]
    assert [each.kind for each in found] == [AftermathKind.DROPPED] * len(silent)
    assert found[0].explanation.startswith(f"replica {silent[0]} was dropped")
