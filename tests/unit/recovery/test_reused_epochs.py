# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Leader epochs that two leaders had: found by batches, and never taken for the same records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.batch_headers import BatchEpoch
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_reading import BatchAnswers, Questions
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import records_in
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    explain_reused_epochs,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide_again import decide_again
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import forecast_losses
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import find_tails, plan_election
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.preconditions import PartitionObservation
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.reused_epochs import (
    mark_reused_epochs,
    observe_reused_epochs,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from unit.recovery.wreckage import a_candidate, an_offline_partition

ORDERS = TopicPartition("orders", 0)
COMMON = BatchEpoch(0, 0, 100, 7)


class FakeDisks:
    """Batches of replicas, by broker id."""

    def __init__(self, **logs: Sequence[BatchEpoch]) -> None:
        self.logs = {int(name.removeprefix("of_")): log for name, log in logs.items()}
        self.asked: list[Questions] = []

    def ask(self, questions: Questions) -> BatchAnswers:
        self.asked.append(questions)
        found = {
            broker_id: {
                each: {at: batch for at in offsets if (batch := self._at(broker_id, at))}
                for each, offsets in partitions.items()
            }
            for broker_id, partitions in questions.items()
        }
        return BatchAnswers(found)

    def _at(self, broker_id: int, offset: int) -> BatchEpoch | None:
        return next((each for each in self.logs.get(broker_id, ()) if each.next_offset > offset), None)


def marked(disks: FakeDisks, *candidates: Candidate) -> tuple[Candidate, ...]:
    found, failed = mark_reused_epochs({ORDERS: candidates}, disks.ask)
    assert failed == {}
    return found.get(ORDERS, candidates)


def lost_of_second(candidates: Sequence[Candidate]) -> int:
    """Return how many records are lost if the first candidate is elected."""
    return forecast_losses(an_offline_partition(replicas=(2, 3)), candidates, ())[0].at_least


def test_an_epoch_that_begins_twice_at_the_same_offset_is_found_by_its_batches() -> None:
    new, old = a_candidate(3, (0, 100), (5, 220)), a_candidate(2, (0, 100), (5, 150))
    assert lost_of_second([new, old]) == 0, "by epochs alone"
    disks = FakeDisks(
        of_3=[COMMON, BatchEpoch(5, 100, 150, 8), BatchEpoch(5, 150, 220, 1)], of_2=[COMMON, BatchEpoch(5, 100, 150, 9)]
    )
    found = marked(disks, new, old)
    assert [each.reused_epochs for each in found] == [(), (5,)]
    assert lost_of_second(found) == 50
    assert lost_of_second(found[::-1]) == 120
    lost_of_silent = [
        forecast_losses(an_offline_partition(last_known_elr=(1,), leader_epoch=6), each, [1])[0].against[1].lost
        for each in ((new, old), found)
    ]
    assert lost_of_silent == [(), None], "the last leader may have been that of the other log"
    (said,) = explain_reused_epochs(found)
    assert said.startswith("broker 2 holds other records of leader epoch 5 than 3")


def test_all_epochs_that_two_leaders_had_are_found_if_they_begin_elsewhere() -> None:
    new = a_candidate(3, (0, 100), (3, 220), (4, 227), (5, 264))
    old = a_candidate(2, (0, 100), (1, 110), (2, 120), (3, 130), (4, 140), (5, 150))
    assert lost_of_second([new, old]) == 40, "by epochs alone"
    disks = FakeDisks(
        of_3=[COMMON, BatchEpoch(3, 100, 220, 1), BatchEpoch(4, 220, 227, 2), BatchEpoch(5, 227, 264, 3)],
        of_2=[COMMON, *(BatchEpoch(each, 90 + each * 10, 100 + each * 10, 10 + each) for each in range(1, 6))],
    )
    found = marked(disks, new, old)
    assert found[1].reused_epochs == (3, 4, 5)
    assert lost_of_second(found) == 50
    assert len(disks.asked) == 2


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(BatchEpoch(5, 100, 150, 8), id="a copy"),
        pytest.param(BatchEpoch(5, 100, 150, None), id="a log cleaner removed records of it"),
        pytest.param(BatchEpoch(5, 150, 151, 4), id="a log cleaner removed it"),
        pytest.param(None, id="no batch"),
    ],
)
def test_a_batch_that_may_be_the_same_one_shows_nothing(batch: BatchEpoch | None) -> None:
    disks = FakeDisks(
        of_3=[COMMON, BatchEpoch(5, 100, 150, 8), BatchEpoch(5, 150, 220, 1)],
        of_2=[COMMON, *([batch] if batch else ())],
    )
    found = marked(disks, a_candidate(3, (0, 100), (5, 220)), a_candidate(2, (0, 100), (5, 150)))
    assert [each.reused_epochs for each in found] == [(), ()]
    assert len(disks.asked) == 1


def test_logs_that_end_alike_may_hold_other_records() -> None:
    one, other = a_candidate(3, (0, 100), (5, 150)), a_candidate(2, (0, 100), (5, 150))
    assert lost_of_second([one, other]) == 0, "by epochs alone"
    disks = FakeDisks(of_3=[COMMON, BatchEpoch(5, 100, 150, 8)], of_2=[COMMON, BatchEpoch(5, 100, 150, 9)])
    found = marked(disks, one, other)
    assert [each.reused_epochs for each in found] == [(), (5,)]
    assert lost_of_second(found) == lost_of_second(found[::-1]) == 50


def an_answer(broker_id: int, *lineage: tuple[int, int]) -> ReplicaLog:
    found = a_candidate(broker_id, *lineage)
    ends = found.log_start_offset, found.log_end_offset
    return ReplicaLog(*ORDERS, broker_id, *ends, None, found.last_written_epoch, found.lineage)


def test_a_bare_designation_counts_and_saves_all_records_of_such_an_epoch() -> None:
    """Nobody has compared its replicas before."""
    state = an_offline_partition(replicas=(2, 3))
    election = plan_election(state, 2, "designated without a plan")
    answers = {2: an_answer(2, (0, 100), (5, 150)), 3: an_answer(3, (0, 100), (5, 220))}
    disks = FakeDisks(of_3=[COMMON, BatchEpoch(5, 100, 220, 8)], of_2=[COMMON, BatchEpoch(5, 100, 150, 9)])

    def lost(observed: PartitionObservation) -> list[int]:
        judged, reason = decide_again(election, observed)
        assert not reason
        assert ("controllers that had lost metadata" in str(judged.reason)) == bool(observed.reused_epochs)
        return [records_in(each.lost) for each in find_tails(judged)]

    observation = PartitionObservation(state, answers)
    assert lost(observation) == [70], "by epochs alone"
    observed = observe_reused_epochs([election], {ORDERS: observation}, disks.ask)
    assert lost(observed[ORDERS]) == [120]


def test_a_replica_that_does_not_say_which_batches_it_has_counts_as_silent() -> None:
    state = an_offline_partition(replicas=(2, 3))
    election = plan_election(state, 2, "designated without a plan")
    observation = PartitionObservation(state, {each: an_answer(each, (0, 100)) for each in (2, 3)})
    hung = BrokerCallError("broker 3", Cause.HUNG, "no response")
    observed = observe_reused_epochs([election], {ORDERS: observation}, lambda _: BatchAnswers(failed={3: hung}))
    judged, _reason = decide_again(election, observed[ORDERS])
    assert [(each.broker_id, each.cause) for each in judged.silent] == [(3, Cause.HUNG)]


@pytest.mark.parametrize(
    ("has_unread_batches", "checksum", "reason"),
    [
        (True, 9, "leader epoch 5 had two leaders, which the plan could not know: make a new plan for this partition"),
        (True, 8, ""),
        (False, 9, ""),
    ],
)
def test_what_a_plan_could_not_compare_is_compared_before_the_election(
    has_unread_batches: bool, checksum: int, reason: str
) -> None:
    state = an_offline_partition(replicas=(2, 3))
    logs = (a_candidate(3, (0, 100), (5, 220)), a_candidate(2, (0, 100), (5, 150)))
    election = replace(
        plan_election(state, 3, "", candidates=logs, policy=Policy(Strategy.AGGRESSIVE, None)),
        has_unread_batches=has_unread_batches,
    )
    answers = {2: an_answer(2, (0, 100), (5, 150)), 3: an_answer(3, (0, 100), (5, 220))}
    disks = FakeDisks(
        of_3=[COMMON, BatchEpoch(5, 100, 150, 8), BatchEpoch(5, 150, 220, 1)],
        of_2=[COMMON, BatchEpoch(5, 100, 150, checksum)],
    )
    observed = observe_reused_epochs([election], {ORDERS: PartitionObservation(state, answers)}, disks.ask)
    _judged, refused = decide_again(election, observed[ORDERS])
    assert refused.startswith(reason)
    assert bool(refused) == bool(reason)
    assert bool(disks.asked) == has_unread_batches
