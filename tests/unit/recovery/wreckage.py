# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions and candidates for tests, with simple defaults for irrelevant values."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    EpochEnd,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate

TOPIC_ID = "0kfAK7wCTDmDzRwEXhGdqg"


def an_offline_partition(
    *,
    replicas: Sequence[int] = (1, 2, 3),
    isr: Sequence[int] = (),
    elr: Sequence[int] | None = (),
    last_known_elr: Sequence[int] | None = (),
    offline: Sequence[int] = (),
    leader_epoch: int = 1,
    partition: int = 0,
    topic: str = "orders",
) -> PartitionState:
    return PartitionState(
        topic=topic,
        partition=partition,
        topic_id=TOPIC_ID,
        leader_id=NO_LEADER,
        leader_epoch=leader_epoch,
        replicas=tuple(replicas),
        isr=tuple(isr),
        elr=None if elr is None else tuple(elr),
        last_known_elr=None if last_known_elr is None else tuple(last_known_elr),
        offline_replicas=tuple(offline),
    )


def a_candidate(
    broker_id: int,
    *lineage: tuple[int, int],
    rank: int = 1,
    log_start_offset: int = 0,
    log_end_offset: int | None = None,
) -> Candidate:
    """Return a candidate with this lineage of (epoch, end offset), oldest first."""
    end = lineage[-1][1] if lineage else log_start_offset
    return Candidate(
        broker_id=broker_id,
        rank=rank,
        last_written_epoch=lineage[-1][0] if lineage else None,
        log_start_offset=log_start_offset,
        log_end_offset=end if log_end_offset is None else log_end_offset,
        lineage=tuple(EpochEnd(epoch, end_offset) for epoch, end_offset in lineage),
        size_bytes=None,
        flags=(),
        explanation="",
    )
