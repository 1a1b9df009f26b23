# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas that are asked again about their epochs: the newest answer counts, and what was not checked is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_reading import BatchAnswers, Questions
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    PartitionState,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.epoch_check import (
    AskAgain,
    check_epochs,
    find_silent_brokers,
    rank_checked,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from unit.fakes.brokers import a_log
from unit.recovery.test_ranking import to_table
from unit.recovery.wreckage import an_offline_partition

ALIKE, DIFFERING = TopicPartition("t", 0), TopicPartition("t", 1)
STATES = [an_offline_partition(topic="t", partition=each, replicas=(2, 3)) for each in (0, 1)]
FIRST = to_table(
    [a_log("t", 0, 2, (5, 9)), a_log("t", 0, 3, (5, 9)), a_log("t", 1, 2, (5, 9)), a_log("t", 1, 3, (4, 8))]
)


class FakeSecondLook:
    """Replicas that answer as before, except for some."""

    def __init__(self, *changed: ReplicaLog) -> None:
        self.changed = {(each.topic_partition, each.broker_id): each for each in changed}

    def ask(self, states: Sequence[PartitionState]) -> pa.Table:
        logs = [
            self.changed.get((each.topic_partition, broker_id), a_log("t", each.partition, broker_id, (5, 9)))
            for each in states
            for broker_id in each.replicas
        ]
        return to_table(logs)

    @property
    def as_asked(self) -> AskAgain:
        return AskAgain(self.ask, self.ask)


def causes(table: pa.Table) -> dict[tuple[int, int], str]:
    """Return the causes of silent replicas, by partition number and broker id."""
    return {(each["partition"], each["broker_id"]): each["cause"] for each in table.to_pylist() if each["cause"]}


@pytest.mark.parametrize("partition", [ALIKE, DIFFERING])
def test_a_replica_that_does_not_answer_again_is_silent(partition: TopicPartition) -> None:
    gone = ReplicaLog.failed(partition, 3, Cause.DISCONNECTED, "connection reset")
    checked, notes = check_epochs(FIRST, STATES, FakeSecondLook(gone).as_asked)
    assert causes(checked) == {(partition.partition, 3): "disconnected"}
    assert (checked.num_rows, notes) == (4, ())


def test_a_replica_that_was_not_asked_in_time_keeps_its_answer_and_is_counted() -> None:
    late = [ReplicaLog.failed(each, 3, Cause.DEADLINE, "too late") for each in (ALIKE, DIFFERING)]
    checked, notes = check_epochs(FIRST, STATES, FakeSecondLook(*late).as_asked)
    assert causes(checked) == {}
    assert set(notes) == {
        "the leader epochs of 1 replica were not compared with their batches: recovery_duration_ms was over"
    }
    assert len(notes) == 2, "one of the replicas that end alike, and one of the others"


def test_more_replicas_than_can_be_checked_are_counted() -> None:
    checked, notes = check_epochs(FIRST, STATES, FakeSecondLook().as_asked, most_replicas=1)
    assert checked.equals(FIRST)
    assert {*notes} == {
        "the leader epochs of 2 replicas were not compared with their batches: that is done for at most 1 replicas"
    }


def test_an_old_checkpoint_is_found_by_the_last_batch() -> None:
    old = replace(a_log("t", 0, 3, (6, 9)), is_rebuilt=True)
    checked, _notes = check_epochs(FIRST, STATES, FakeSecondLook(old).as_asked)
    epochs = {(each["partition"], each["broker_id"]): each["last_written_epoch"] for each in checked.to_pylist()}
    assert epochs[0, 3] == 6


@pytest.mark.parametrize(
    ("offset", "checksum", "is_asked"),
    [
        pytest.param(5, 7, False, id="a copy"),
        pytest.param(5, 8, True, id="another checksum"),
        pytest.param(8, 7, True, id="another batch"),
        pytest.param(5, None, False, id="a log cleaner may have rewritten it"),
        pytest.param(None, None, False, id="not read"),
    ],
)
def test_replicas_that_end_alike_are_compared_by_their_last_batch(
    offset: int | None, checksum: int | None, is_asked: bool
) -> None:
    logs = [
        replace(a_log("t", 0, 2, (5, 9)), last_batch_offset=5, last_batch_checksum=7),
        replace(a_log("t", 0, 3, (5, 9)), last_batch_offset=offset, last_batch_checksum=checksum),
    ]
    checked, _notes = check_epochs(FIRST, STATES[:1], FakeSecondLook(*logs).as_asked)
    asked = []

    def ask(questions: Questions) -> BatchAnswers:
        asked.append(questions)
        return BatchAnswers()

    rank_checked(OnThisHost(), checked.filter(pc.equal(checked["partition"], 0)), ask)
    assert bool(asked) == is_asked


def test_a_broker_that_does_not_send_its_batches_is_silent_and_the_others_are_ranked_without_it() -> None:
    asked = []

    def ask(questions: Questions) -> BatchAnswers:
        asked.append(questions)
        hung = BrokerCallError("b2:9092", Cause.HUNG, "no answer within 30000 ms", request="Fetch")
        return BatchAnswers({}, {2: hung} if 2 in questions else {})

    logs = [a_log("t", 1, 2, (5, 9)), a_log("t", 1, 3, (5, 8)), a_log("t", 1, 4, (5, 7)), a_log("t", 0, 2, (5, 9))]
    ranked, unread = rank_checked(OnThisHost(), to_table(logs), ask)
    assert not unread
    assert [each.broker_id for each in ranked[DIFFERING].candidates] == [3, 4]
    (silent,) = ranked[DIFFERING].silent
    assert (silent.broker_id, silent.cause) == (2, Cause.HUNG)
    assert "b2:9092" in silent.error
    assert ranked[ALIKE].candidates == (), "it has stopped to answer, whatever it is asked about"
    assert [[*each] for each in asked] == [[2, 3, 4], [3, 4]]


@pytest.mark.parametrize("most", [None, 3], ids=["stored evidence", "very many replicas"])
def test_logs_that_differ_and_are_not_compared_are_named(most: int | None) -> None:
    logs = [a_log("t", 1, 2, (5, 9)), a_log("t", 1, 3, (5, 8)), a_log("t", 2, 2, (5, 9)), a_log("t", 2, 3, (5, 8))]
    logs += [a_log("t", 0, 2, (5, 9)), a_log("t", 0, 3, (5, 9))]

    def ask(_questions: Questions) -> BatchAnswers:
        pytest.fail("there are too many")

    limit = {} if most is None else {"most_replicas": most}
    _ranked, unread = rank_checked(OnThisHost(), to_table(logs), None if most is None else ask, **limit)
    assert unread == {TopicPartition("t", 1), TopicPartition("t", 2)}


def test_a_replica_that_is_not_asked_again_keeps_its_row() -> None:
    """A broker of which nothing answered is left out: one that hangs would take the whole time again."""
    hung = [ReplicaLog.failed(each, 4, Cause.HUNG, "no answer") for each in (ALIKE, DIFFERING)]
    first = pa.concat_tables([FIRST, to_table(hung)])
    assert find_silent_brokers(first) == {4}
    checked, notes = check_epochs(first, STATES, FakeSecondLook().as_asked)
    assert causes(checked) == {(0, 4): "hung", (1, 4): "hung"}
    assert (checked.num_rows, notes) == (6, ())


def test_a_broker_with_one_answer_is_asked_again() -> None:
    late = ReplicaLog.failed(DIFFERING, 4, Cause.DEADLINE, "too late")
    assert find_silent_brokers(to_table([a_log("t", 0, 4, (5, 9)), late])) == frozenset()
