# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find replicas on a disk whose records of a leader epoch are not those of the leader, by a batch of each.

Controllers that lost the newest part of their metadata give leader epochs again. Where such an epoch begins at the same
offset in both logs, their epochs look alike. But a follower copies batches as they are.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from .._disk.segment import Damage, read_headers
from .._kafka.batch_headers import BatchEpoch, describe_batch
from .._kafka.header_reading import AskBatches, BatchAnswers
from .._kafka.record_batch import has_valid_checksum
from .._model.log_contents import EpochRange
from .._model.partition import ReplicaLog, TopicPartition
from .finding import Comparable, DiskReplica, stretches_on_disk
from .scan import SegmentContents


def find_reused(
    comparable: Sequence[Comparable],
    leaders: Mapping[TopicPartition, ReplicaLog],
    contents: Mapping[str, SegmentContents],
    ask: AskBatches,
) -> tuple[dict[str, EpochRange], dict[TopicPartition, ReplicaLog]]:
    """Return the epoch of such a replica, from its beginning on the disk, by the path of the replica's directory.

    Also return the logs of leaders that did not send the batch: what they hold is unknown.
    """
    chosen = [
        (one, replica, epoch, offset)
        for one in comparable
        for replica in one.replicas
        for epoch, offset in _newest_shared(replica, leaders.get(one.topic_partition), contents)
    ]
    offsets: dict[int, dict[TopicPartition, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one, _replica, _epoch, offset in chosen:
        offsets[one.state.leader_id][one.topic_partition].add(offset)
    found = ask(offsets) if offsets else BatchAnswers()
    reused, silent = {}, {}
    for one, replica, epoch, offset in chosen:
        partition, leader_id = one.topic_partition, one.state.leader_id
        if error := found.failed.get(leader_id):
            silent[partition] = ReplicaLog.failed(partition, leader_id, error.cause, str(error))
        of_leader = found.at(leader_id, partition, offset)
        if of_leader is not None and (batch := _batch_on_disk(replica, offset)) and batch.differs(of_leader, offset):
            reused[replica.directory.path] = epoch
    return reused, silent


def _newest_shared(
    replica: DiskReplica, leader: ReplicaLog | None, contents: Mapping[str, SegmentContents]
) -> list[tuple[EpochRange, int]]:
    """Return the newest epoch that both logs have, as on the disk, and the last offset that both have of it."""
    if leader is None or not leader.answered:
        return []
    ends = dict(leader.lineage)
    shared = [each for each in stretches_on_disk(replica, contents) if each.epoch in ends]
    if not shared:
        return []
    newest = max(each.epoch for each in shared)
    start = min(each.start_offset for each in shared if each.epoch == newest)
    end = max(each.end_offset for each in shared if each.epoch == newest)
    offset = min(end, ends[newest]) - 1
    return [(EpochRange(newest, start, end), offset)] if offset >= max(start, leader.log_start_offset or 0) else []


def _batch_on_disk(replica: DiskReplica, offset: int) -> BatchEpoch | None:
    """Return the batch with an offset, or the next one. None if it, or one before it in its segment, is damaged."""
    segments = [each for each in replica.directory.segments if each.base_offset <= offset]
    if not segments:
        return None
    try:
        with open(segments[-1].path, "rb", buffering=0) as file:
            for each in read_headers(file, segments[-1]):
                if isinstance(each, Damage):
                    return None
                header = each.header
                if header.next_offset > offset:
                    written = header.crc, header.attributes, header.record_count
                    found = describe_batch(header.leader_epoch, header.base_offset, header.last_offset_delta, *written)
                    content = os.pread(file.fileno(), header.size, each.position)
                    return found if has_valid_checksum(header, content) else None
    except OSError:
        return None
    return None
