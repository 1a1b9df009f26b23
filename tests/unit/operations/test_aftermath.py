# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is left behind, and what of it nobody tells: an answer that is missing is never "nothing left behind"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.groups import Committed
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.list_offsets import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.transactions import OpenTransaction
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations import aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import Finding, Kind, first_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.expected_loss import ExpectedLoss
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast import LossAgainst
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Status
from unit.operations.wreck import BEST, DEAD, Wreck, partitions, wrecked

FIRST, SECOND, THIRD, *_OTHERS = partitions(5)
SILENT_LOSS = ExpectedLoss(BEST, 0, None, 0, "", (LossAgainst(DEAD, False, None),))
END = 10
TOPIC_AUTHORIZATION_FAILED = 29
NO_GROUPS = Description((), (TopicError("__consumer_offsets", error_codes.UNKNOWN_TOPIC_OR_PARTITION),))

OUTCOMES = [
    Outcome(each.topic, each.partition, Status.RECOVERED, "", leader_after=BEST, losses=(SILENT_LOSS,))
    for each in partitions(5)
]
Change = Callable[..., None]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Change:
    """Replaces what brokers answer; until then they answer all, and nothing is left behind."""

    def change(**functions: Callable[..., Any]) -> None:
        for name, function in functions.items():
            monkeypatch.setattr(aftermath, name, function)

    wreck = Wreck(wrecked(5, ""))
    change(
        describe_cluster=wreck.cluster.describe_cluster,
        describe_partitions=lambda _wire, _topics: NO_GROUPS,
        open_transactions=lambda _wire, _address, asked: dict.fromkeys(asked, ()),
        log_end_offsets=lambda _connection, asked: {each: [OffsetAnswer(0, END, 8)] for each in asked},
        coordinated_groups=lambda _wire, address: ["billing"] if address.host == f"broker-{BEST}.invalid" else [],
        committed_offsets=lambda _wire, _address, groups, _partitions: {each: Committed({}) for each in groups},
        broker_config=lambda *_arguments: None,
    )
    return change


class AnyWire:
    def connection(self, _address: object) -> None:
        return None


def look(outcomes: list[Outcome] | None = None) -> list[Finding]:
    wire: Any = AnyWire()
    return [
        each
        for each in aftermath.look_at_aftermath(wire, OUTCOMES if outcomes is None else outcomes)
        if each.kind is not Kind.WILL_TRUNCATE
    ]


def unknown(text: str) -> list[Finding]:
    return [Finding(Kind.NOT_KNOWN, text)]


@pytest.mark.usefixtures("answers")
def test_where_all_answer_and_nothing_is_left_nothing_is_told() -> None:
    assert look() == []


def test_groups_whose_coordinator_is_offline_cannot_be_seen(answers: Change) -> None:
    wreck = wrecked(5, "")
    led = replace(wreck.states[FIRST], leader_id=BEST)
    offsets = [replace(each, topic="__consumer_offsets") for each in (led, *list(wreck.states.values())[1:])]
    answers(describe_partitions=lambda _wire, _topics: Description(tuple(offsets), ()))
    assert look() == unknown(
        "groups in 4 partitions (__consumer_offsets-1, __consumer_offsets-2, __consumer_offsets-3 and 1 more): "
        "not known: these have no leader, and the groups no coordinator"
    )


def test_a_hidden_topic_of_groups_is_told(answers: Change) -> None:
    hidden = Description((), (TopicError("__consumer_offsets", TOPIC_AUTHORIZATION_FAILED),))
    answers(describe_partitions=lambda _wire, _topics: hidden)
    assert look() == unknown(
        "whether every group has a coordinator: not known: topic __consumer_offsets: "
        "TOPIC_AUTHORIZATION_FAILED (error 29)"
    )


def test_groups_that_do_not_tell_are_told_once_for_each_cause(answers: Change) -> None:
    answers(
        committed_offsets=lambda _wire, _address, groups, _partitions: (
            {"a": Committed({}, "hidden"), "b": Committed({}, "hidden"), "c": Committed({FIRST: END + 1}, "torn")}
            if groups
            else {}
        )
    )
    beyond, *others = look()
    assert beyond.kind is Kind.COMMITTED_BEYOND_END
    assert "group c committed offset 11, 1 beyond the log end 10" in beyond.explanation
    assert [each.explanation for each in others] == [
        "committed offsets of 2 groups (a, b) that broker 3 coordinates: not known: hidden",
        "committed offsets of 1 group (c) that broker 3 coordinates: not known: torn",
    ]


@pytest.mark.parametrize(
    ("leader", "why"),
    [(None, "no leader was seen"), (9, "broker 9, which leads them, is not registered")],
)
@pytest.mark.usefixtures("answers")
def test_a_leader_that_nobody_can_ask_is_told(leader: int | None, why: str) -> None:
    outcomes = [*OUTCOMES[:2], replace(OUTCOMES[2], leader_after=leader)]
    assert look(outcomes) == unknown(f"transactions and log ends of 1 partition ({THIRD}): not known: {why}")


def test_partitions_that_a_leader_leaves_out_are_told(answers: Change) -> None:
    answers(
        open_transactions=lambda _wire, _address, _asked: {FIRST: (), SECOND: ()},
        log_end_offsets=lambda _connection, _asked: {
            FIRST: [OffsetAnswer(0, END, 8)],
            SECOND: [OffsetAnswer(TOPIC_AUTHORIZATION_FAILED, -1, -1)],
        },
    )
    assert [each.explanation for each in look()] == [
        "the transactions of 3 partitions (orders-2, orders-3, orders-4): not known: broker 3, which leads them, does "
        "not tell",
        "the log end of 4 partitions (orders-1, orders-2, orders-3 and 1 more): not known: broker 3, which leads them, "
        "does not tell",
    ]


def test_a_transaction_whose_time_is_not_told_has_no_age(answers: Change) -> None:
    answers(
        open_transactions=lambda _wire, _address, asked: (
            dict.fromkeys(asked, ()) | {FIRST: (OpenTransaction(7, 3, -1),)}
        )
    )
    (found,) = look()
    assert "from offset 3 on, of unknown age; read_committed" in found.explanation
    assert found.explanation.endswith("its producer may still end it, or it hangs: look again later")


def test_what_applications_suffer_from_comes_before_what_replicas_will_truncate(answers: Change) -> None:
    answers(
        open_transactions=lambda _wire, _address, _asked: {FIRST: (OpenTransaction(7, 3, -1),)},
        committed_offsets=lambda _wire, _address, groups, _partitions: {
            each: Committed({FIRST: 99}) for each in groups
        },
    )
    wire: Any = AnyWire()
    found = aftermath.look_at_aftermath(wire, OUTCOMES)
    assert [each.kind for each in found] == [
        Kind.COMMITTED_BEYOND_END,
        Kind.OPEN_TRANSACTION,
        Kind.NOT_KNOWN,
        *[Kind.WILL_TRUNCATE] * 5,
    ]
    assert first_of(found, 8) == found
    assert first_of(found, 3) == (
        *found[:3],
        Finding(Kind.WILL_TRUNCATE, "and 5 more: the report file has all of them"),
    )


@pytest.mark.usefixtures("answers")
def test_where_nothing_was_recovered_nobody_is_asked() -> None:
    left = Outcome("orders", 0, Status.FAILED, "", leader_after=NO_LEADER)
    assert look([left]) == []
