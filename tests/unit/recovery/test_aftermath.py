# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The aftermath, also with missing answers: a missing answer is never reported as "nothing left behind"."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.group_commits import partition_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit, GroupCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.share_groups import ShareOffsets
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.transactions import (
    CoordinatedTransactions,
    OpenTransaction,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery import aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.aftermath_findings import limit_findings
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import ExpectedLoss
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import LossAgainst
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import (
    AftermathFinding,
    AftermathKind,
    Outcome,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from unit.fakes.clock import FakeClock
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
        group_states=lambda address: {"billing": "Empty"} if address.host == f"broker-{BEST}.invalid" else {},
        read_commits=lambda _address, groups, _partitions: {each: GroupCommits({}) for each in groups},
        share_group_states=lambda _address: {},
        coordinated_transactions=lambda _address: CoordinatedTransactions({}, "it does not say"),
        why_ids_may_be_hidden=lambda _address: "",
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
        read_commits=lambda _address, groups, _partitions: (
            {
                "a": GroupCommits({}, "hidden"),
                "b": GroupCommits({}, "hidden"),
                "c": GroupCommits({FIRST: Commit(END + 1)}, "torn"),
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
    found, unheard = look(cluster)
    assert unheard.explanation.startswith("which transactions coordinators still know: not known: it does not say")
    assert "from offset 3 on, of unknown age; read_committed" in found.explanation
    assert found.explanation.endswith("its producer may still end it, or it hangs: look again later")


def test_findings_that_affect_applications_come_before_truncations(cluster: FakeCluster) -> None:
    cluster.answer(
        open_transactions=lambda _address, _asked: {FIRST: (OpenTransaction(7, 3, -1),)},
        read_commits=lambda _address, groups, _partitions: {each: GroupCommits({FIRST: Commit(99)}) for each in groups},
    )
    found = aftermath.find_aftermath(cluster, OUTCOMES)
    assert [each.kind for each in found] == [
        AftermathKind.COMMITTED_BEYOND_END,
        AftermathKind.OPEN_TRANSACTION,
        *[AftermathKind.NOT_KNOWN] * 2,
        *[AftermathKind.WILL_TRUNCATE] * 5,
    ]
    assert limit_findings(found, 9) == found
    assert limit_findings(found, 4) == (
        *found[:4],
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


HOW_TO_END = (
    "its COMMIT marker may be lost, so first let kafkaops.recovery.restore_groups look with a salvage of the former "
    "leader's disks. "
    "If they have none, abort it: kafka-transactions.sh --bootstrap-server fake.invalid:9092 abort --topic orders "
    "--partition 0 --start-offset 3"
)


@pytest.mark.parametrize(
    ("coordinated", "verdict"),
    [
        ({7: ("till", "Ongoing")}, "its coordinator lists it as Ongoing (transactional id till): its producer or its"),
        ({7: ("till", "PrepareCommit")}, "its coordinator lists it as PrepareCommit (transactional id till)"),
        (
            {7: ("till", "Empty")},
            f"its coordinator lists transactional id till as Empty, so nothing ends it: {HOW_TO_END}",
        ),
        (
            {8: ("till", "Ongoing")},
            f"so nothing ends it: {HOW_TO_END}",
        ),
    ],
)
def test_a_transaction_that_no_coordinator_ends_is_to_be_aborted(
    cluster: FakeCluster, coordinated: dict[int, tuple[str, str]], verdict: str
) -> None:
    cluster.answer(
        open_transactions=lambda _address, asked: dict.fromkeys(asked, ()) | {FIRST: (OpenTransaction(7, 3, -1),)},
        coordinated_transactions=lambda _address: CoordinatedTransactions(coordinated),
    )
    (found,) = look(cluster)
    assert verdict in found.explanation


def test_a_transaction_is_left_alone_whose_coordinator_may_be_offline(cluster: FakeCluster) -> None:
    state = PartitionState("__transaction_state", 3, "A" * 22, -1, 3, (BEST,), (), (), (), (BEST,))
    cluster.answer(
        open_transactions=lambda _address, asked: dict.fromkeys(asked, ()) | {FIRST: (OpenTransaction(7, 3, -1),)},
        coordinated_transactions=lambda _address: CoordinatedTransactions({}),
        describe_partitions=lambda topics: Description((state,) if topics == [state.topic] else (), ()),
    )
    found = [each.explanation for each in look(cluster)]
    assert any("its producer may still end it, or it hangs" in each for each in found)
    assert any("__transaction_state-3 of 1 have no leader that is up" in each for each in found)
    assert not any("abort it" in each for each in found)


@pytest.mark.parametrize(("coordinated", "is_unknown"), [({}, True), ({7: ("till", "Ongoing")}, False)])
def test_an_old_transaction_is_left_alone_whose_id_may_be_hidden(
    cluster: FakeCluster, coordinated: dict[int, tuple[str, str]], is_unknown: bool
) -> None:
    """Its producer dates its records, and one with two-phase commit may wait for ever."""
    cluster.answer(
        open_transactions=lambda _address, asked: dict.fromkeys(asked, ()) | {FIRST: (OpenTransaction(7, 3, 5),)},
        coordinated_transactions=lambda _address: CoordinatedTransactions(coordinated),
        why_ids_may_be_hidden=lambda _address: "our principal needs DESCRIBE on every transactional id",
    )
    found = look(cluster)
    assert not any("abort it" in each.explanation for each in found)
    assert any("DESCRIBE on every transactional id" in each.explanation for each in found) is is_unknown


OTHER = TopicPartition("elsewhere", 4)


def rolled_back(topic: str, *, at_most: int | None = None) -> list[Outcome]:
    loss = replace(SILENT_LOSS, at_most=at_most)
    return [Outcome(topic, 0, Status.RECOVERED, "", leader_after=BEST, losses=(loss,))]


def with_an_online_partition(cluster: FakeCluster, offsets_partitions: int = 0) -> FakeCluster:
    state = PartitionState(*OTHER, "A" * 22, BEST, 3, (BEST,), (BEST,), (), (), ())
    offsets = [state._replace(topic="__consumer_offsets", partition=each) for each in range(offsets_partitions)]
    everything = Description((state,), ())

    def describe(topics: list[str] | None = None) -> Description:
        return everything if topics is None else Description(tuple(offsets), ())

    cluster.answer(
        describe_partitions=describe,
        log_start_offsets=lambda _address, asked: {each: [OffsetAnswer(0, 2, 8)] for each in asked},
        coordinated_transactions=lambda _address: CoordinatedTransactions({}),
    )
    return cluster


@pytest.mark.parametrize(
    ("outcomes", "is_asked"),
    [
        (rolled_back("__transaction_state"), True),
        (rolled_back("__transaction_state", at_most=5), True),
        (rolled_back("__transaction_state", at_most=0), False),
        (rolled_back("orders"), False),
    ],
)
def test_all_partitions_are_asked_for_transactions_after_their_state_lost_a_tail(
    cluster: FakeCluster, outcomes: list[Outcome], is_asked: bool
) -> None:
    asked: list[TopicPartition] = []

    def describe(
        _address: Address, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, tuple[OpenTransaction, ...]]:
        asked.extend(partitions)
        return {each: (OpenTransaction(7, 3, -1),) if each == OTHER else () for each in partitions}

    with_an_online_partition(cluster).answer(open_transactions=describe)
    found = [each for each in look(cluster, outcomes) if each.kind is AftermathKind.OPEN_TRANSACTION]
    assert (OTHER in asked) == is_asked
    assert [(each.topic, each.partition) for each in found] == ([OTHER] if is_asked else [])


def test_partitions_beyond_the_time_limit_are_unknown(cluster: FakeCluster) -> None:
    clock = FakeClock()
    cluster.clock = clock

    def describe(
        _address: Address, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, tuple[OpenTransaction, ...]]:
        clock.sleep(31)
        return dict.fromkeys(partitions, ())

    cluster.answer(open_transactions=describe)
    many = [replace(OUTCOMES[0], partition=each) for each in range(1500)]
    named = [each.explanation for each in look(cluster, many)]
    assert named[0].startswith("the transactions of 500 partitions")
    assert "500 were not asked for within 30 s, and broker 3 leads them" in named[0]


def test_groups_whose_commits_may_be_lost_are_named_and_all_their_offsets_compared(cluster: FakeCluster) -> None:
    """The groups "billing" and "sales" are in different partitions."""
    with_an_online_partition(cluster, 50).answer(
        group_states=lambda address: (
            {"billing": "Empty", "sales": "Empty"} if address.host == f"broker-{BEST}.invalid" else {}
        ),
        read_commits=lambda _address, groups, partitions: {
            each: GroupCommits({OTHER: Commit({"billing": 1, "sales": END + 2}[each])} if OTHER in partitions else {})
            for each in groups
        },
    )
    partition = partition_of("billing", 50)
    outcomes = [replace(each, partition=partition) for each in rolled_back("__consumer_offsets")]
    beyond, before, lost = look(cluster, outcomes)
    assert (beyond.kind, beyond.topic) == (AftermathKind.COMMITTED_BEYOND_END, OTHER.topic)
    assert "group sales committed offset 12, 2 beyond the log end 10" in beyond.explanation
    assert before.kind is AftermathKind.COMMITTED_BEFORE_START
    assert "group billing committed offset 1, before the log start 2" in before.explanation
    assert lost.kind is AftermathKind.STATE_LOST
    assert "the newest commits of 1 group (billing) may be lost" in lost.explanation


@pytest.mark.parametrize(
    ("group", "hash_code"), [("a", 97), ("billing", -109829509), ("", 0), ("gr\u00fcn\U0001f600", -1231497408)]
)
def test_the_partition_of_a_group_is_that_of_its_hash_code(group: str, hash_code: int) -> None:
    assert partition_of(group, 50) == abs(hash_code) % 50


def test_share_groups_are_listed_with_what_they_may_have_lost(cluster: FakeCluster) -> None:
    with_an_online_partition(cluster).answer(
        group_states=lambda _address: {},
        share_group_states=lambda address: {"queue": "Empty"} if address.host == f"broker-{BEST}.invalid" else {},
        share_start_offsets=lambda _address, groups: {
            each: ShareOffsets({OTHER: END + 5}, (FIRST,), "one is hidden") for each in groups
        },
    )
    beyond, lost, forgotten, hidden = look(cluster, rolled_back("__share_group_state"))
    assert (forgotten.kind, forgotten.topic) == (AftermathKind.STATE_LOST, FIRST.topic)
    assert "share group queue has no state here, and gets no records" in forgotten.explanation
    reset = "--reset-offsets --group queue --topic orders --to-earliest --execute"
    assert f"kafka-share-groups.sh --bootstrap-server fake.invalid:9092 {reset}" in forgotten.explanation
    others = [each.kind for each in look(cluster)]
    assert others == [AftermathKind.NOT_KNOWN], "without a lost tail, it has just begun"
    assert "share group queue starts at offset 15, 5 beyond the log end 10" in beyond.explanation
    assert "acknowledgements of 1 share group (queue) may be lost" in lost.explanation
    assert hidden.explanation == "start offsets of share group queue: not known: one is hidden"
