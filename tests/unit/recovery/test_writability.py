# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether elected partitions take records with acks=all, by their ISR and min.insync.replicas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import NoBrokerAnswersError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.groups import count_writable
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.verdict import Writability
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.writability import (
    add_writability,
    find_unwritable,
)
from unit.fakes.wreck import BEHIND, BEST, Wreck, partitions

[PARTITION] = partitions(1)
LED = Outcome(PARTITION.topic, PARTITION.partition, Status.RECOVERED, "the newest epoch")


def lead(wreck: Wreck, *, isr: tuple[int, ...], min_isr: int) -> None:
    wreck.cluster.change(PARTITION, leader_id=BEST, isr=isr)
    wreck.cluster.min_isr[PARTITION.topic] = min_isr


@pytest.mark.parametrize(
    ("isr", "min_isr", "required", "is_writable"),
    [((BEST,), 1, 1, True), ((BEST,), 3, 3, False), ((BEST, BEHIND), 2, 2, True), ((BEST, BEHIND), 99, 3, False)],
)
def test_the_isr_is_compared_with_what_acks_all_needs(
    wreck: Wreck, isr: tuple[int, ...], min_isr: int, required: int, *, is_writable: bool
) -> None:
    """It needs min.insync.replicas members, but at most as many as there are replicas (KAFKA-15583)."""
    lead(wreck, isr=isr, min_isr=min_isr)
    [found] = add_writability(wreck.cluster, [LED])
    assert (found.isr_after, found.required_isr, found.is_writable) == (isr, required, is_writable)
    assert count_writable([found]) == Writability(int(is_writable), 1, 0)
    assert len([*find_unwritable([found])]) == (not is_writable)


def test_a_live_replica_that_joins_the_isr_is_waited_for(wreck: Wreck) -> None:
    lead(wreck, isr=(BEST,), min_isr=2)
    pause = wreck.cluster.clock.sleep

    def join(seconds: float) -> None:
        wreck.cluster.change(PARTITION, isr=(BEST, BEHIND))
        pause(seconds)

    wreck.cluster.clock.sleep = join  # type: ignore[method-assign]
    [found] = add_writability(wreck.cluster, [LED])
    assert found.is_writable


def test_dead_replicas_are_not_waited_for(wreck: Wreck) -> None:
    lead(wreck, isr=(BEST,), min_isr=3)
    began = wreck.cluster.clock.monotonic()
    add_writability(wreck.cluster, [LED])
    assert wreck.cluster.clock.monotonic() == began


def test_what_cannot_be_read_is_unknown(wreck: Wreck) -> None:
    """Neither writable nor not: and no other partition is asked about."""
    lead(wreck, isr=(BEST,), min_isr=2)
    wreck.cluster.reads_until_silent = 0
    with pytest.raises(NoBrokerAnswersError):
        wreck.cluster.read_partition_states([PARTITION])
    outcomes = add_writability(wreck.cluster, [LED, replace(LED, partition=9, status=Status.REFUSED)])
    assert [each.is_writable for each in outcomes] == [None, None]
    assert count_writable(outcomes) == Writability(0, 1, 1)
    assert [*find_unwritable(outcomes)] == []


def test_whether_a_leader_takes_records_that_applies_metadata_late_is_unknown(wreck: Wreck) -> None:
    lead(wreck, isr=(BEST,), min_isr=1)
    wreck.cluster.late_brokers = {BEST}
    [found] = add_writability(wreck.cluster, [replace(LED, leader_after=BEST)])
    assert count_writable([found]) == Writability(0, 1, 1)
