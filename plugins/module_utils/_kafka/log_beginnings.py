# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a broker how its logs begin (ListOffsets, API key 2; Fetch, 1; DescribeLogDirs, 35)."""

from __future__ import annotations

from collections.abc import Sequence

from .._model.partition import EpochEnd, TopicPartition, in_batches
from .._model.replaced_disk import LogBeginning
from .connection import Connection
from .epochs import epochs_request, questions_about
from .held_replicas import HeldOffset, held_offsets, only_offset
from .log_dirs import LogDirs, describe_log_dirs


def read_log_beginnings(
    connection: Connection, broker_id: int, partitions: Sequence[TopicPartition]
) -> list[LogBeginning]:
    """Return how the logs of these replicas of one broker begin. Replicas that answer with an error are left out.

    Raises BrokerCallError.
    """
    return [log for some in in_batches(partitions) for log in _read_batch(connection, broker_id, some)]


def _read_batch(connection: Connection, broker_id: int, partitions: Sequence[TopicPartition]) -> list[LogBeginning]:
    ends = held_offsets(connection, partitions, HeldOffset.LOG_END)
    starts = held_offsets(connection, partitions, HeldOffset.LOG_START)
    known = {
        each: (start.offset, end)
        for each in partitions
        if (start := only_offset(starts.get(each, ()))) and (end := only_offset(ends.get(each, ())))
    }
    epochs = _read_first_epochs(connection, [each for each, (start, end) in known.items() if start == 0 < end.offset])
    dirs = describe_log_dirs(connection, [*known])
    return [
        LogBeginning(
            each.topic,
            each.partition,
            broker_id,
            _directory(dirs, each),
            start,
            end.offset,
            end.current_leader_epoch,
            epochs.get(each),
        )
        for each, (start, end) in known.items()
    ]


def _read_first_epochs(connection: Connection, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return where leader epoch 0 ends in each log that starts at offset 0; 0 if its first epoch is a later one."""
    if not partitions:
        return {}
    answers = connection.call(epochs_request(questions_about(dict.fromkeys(partitions, 0)))).value
    return {
        each: answer.end_offset
        for each in partitions
        if isinstance(answer := answers.get(each.topic, {}).get(each.partition), EpochEnd) and answer.epoch == 0
    }


def _directory(dirs: LogDirs, partition: TopicPartition) -> str | None:
    current = dirs.current_replica(partition)
    return current.log_dir if current is not None else None
