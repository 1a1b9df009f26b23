# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A leader has its disk if it has stayed in the ISR, in one process, since another replica was in sync with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.kept_disk import (
    KeptDiskQuestion,
    has_kept_disk,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

ORDERS = TopicPartition("orders", 0)
STARTED, CREATED, LEFT, ALONE, NOW = 1_000, 2_000, 3_000, 4_000, 5_000


def moment(at_ms: int, leader: int, *isr: int, unclean: bool = False) -> PartitionMoment:
    return PartitionMoment(at_ms, leader, isr, is_unclean=unclean)


SHARED = (moment(CREATED, 2, 1, 2, 3), moment(LEFT, 2, 1, 2))
OUTAGE = (*SHARED, moment(ALONE, 1, 1))
ONE_START = (BrokerMoment(STARTED, BrokerChange.REGISTERED, 10, ("dir",)),)


def history(
    *moments: PartitionMoment, starts: tuple[BrokerMoment, ...] = ONE_START, not_decoded: int = 0
) -> MetadataHistory:
    partitions = {ORDERS: PartitionHistory(moments)}
    return MetadataHistory(STARTED, NOW, partitions, {1: starts}, has_base=True, not_decoded=not_decoded)


def start(at_ms: int) -> tuple[BrokerMoment, ...]:
    asked = BrokerMoment(at_ms - 1, BrokerChange.SHUTTING_DOWN, 10)
    return (*ONE_START, asked, BrokerMoment(at_ms, BrokerChange.REGISTERED, 20, ("dir",)))


@pytest.mark.parametrize(
    ("found", "is_kept"),
    [
        pytest.param(history(*OUTAGE), True, id="it ran on"),
        pytest.param(history(*OUTAGE, starts=start(LEFT - 1)), True, id="it restarted before"),
        pytest.param(history(*OUTAGE, starts=start(LEFT)), False, id="it restarted at that time"),
        pytest.param(history(*OUTAGE, starts=start(NOW)), False, id="it restarted, with the same directory id"),
        pytest.param(history(moment(CREATED, 1, 1)), False, id="no other replica was ever in sync"),
        pytest.param(history(*SHARED, moment(ALONE, 2, 2), moment(NOW, 1, 1)), False, id="another one led alone"),
        pytest.param(history(*SHARED, moment(ALONE, 1, 1, unclean=True)), False, id="an unclean election"),
        pytest.param(history(*OUTAGE, not_decoded=1), False, id="records of an unknown type"),
        pytest.param(replace(history(*OUTAGE), ends_early=True), False, id="a copy of the log"),
        pytest.param(replace(history(*OUTAGE), disordered_until_ms=LEFT), False, id="clocks that differ"),
        pytest.param(replace(history(*OUTAGE), partitions={}), False, id="nothing about the partition"),
    ],
)
def test_what_proves_it(found: MetadataHistory, is_kept: bool) -> None:
    assert has_kept_disk(found, ORDERS, 1) == is_kept


def test_the_log_is_read_back_to_the_last_shared_isr() -> None:
    question = KeptDiskQuestion({ORDERS: "id"}, {ORDERS: 1})
    assert question.is_answered(history(*OUTAGE))
    late = history(moment(ALONE, 1, 1))
    assert not question.is_answered(late)
    assert question.explain_unanswered(late, 70) == (
        "the metadata log, which begins at offset 70, does not say it of 1 partition"
    )
