# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prove that a leader whose log is empty has kept its disk: then no other replica holds what it lacks.

Most partitions of ``__consumer_offsets`` have no records. If such a partition has one replica left, its log looks like
one on a new disk. The metadata log tells the two apart: the leader held all that was committed while another replica
was in sync with it. It still does if it has been in the ISR ever since, and its broker has not restarted. After a
restart nothing is proven: a new disk may have got the old one's ``meta.properties``, and so its directory id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .._kafka.port import Kafka
from .._model.metadata_history import MetadataHistory
from .._model.partition import PartitionState, TopicPartition
from .._model.reasons import plural
from .._model.run import KafkaOpsError
from .events import EventReader
from .reading import HistoryLimits, read_history
from .restarts import restarts_since

_LIMITS = HistoryLimits(max_seconds=5.0)


@dataclass(frozen=True, slots=True)
class KeptDiskQuestion:
    """When leaders were in sync with another replica last, and whether their brokers have restarted since."""

    topic_ids: Mapping[TopicPartition, str]
    leaders: Mapping[TopicPartition, int]

    def reader(self) -> EventReader:
        return EventReader(self.topic_ids)

    def is_answered(self, history: MetadataHistory) -> bool:
        return not self._unanswered(history)

    def explain_unanswered(self, history: MetadataHistory, start: int) -> str:
        unknown = len(self._unanswered(history))
        return f"the metadata log, which begins at offset {start}, does not say it of {plural(unknown, 'partition')}"

    def _unanswered(self, history: MetadataHistory) -> list[TopicPartition]:
        return [each for each, leader in self.leaders.items() if _shared_since(history, each, leader) is None]


def find_kept(kafka: Kafka, states: Iterable[PartitionState]) -> tuple[frozenset[TopicPartition], str]:
    """Return the partitions whose leaders are proven to have kept their disks, and why it is not known of others.

    Needs CLUSTER_ACTION at the controllers. Sends no write request. Never raises.
    """
    led = {each.topic_partition: each for each in states}
    leaders = {each: state.leader_id for each, state in led.items()}
    question = KeptDiskQuestion({each: state.topic_id for each, state in led.items()}, leaders)
    try:
        cluster_id = kafka.describe_cluster().cluster_id
        read = read_history(kafka.controller_side(), cluster_id, question, limits=_LIMITS)
    except KafkaOpsError as error:
        return frozenset(), str(error)
    if read.history is None:
        return frozenset(), read.missing
    history = read.history
    kept = frozenset(each for each, leader in leaders.items() if has_kept_disk(history, each, leader))
    return kept, read.missing


def has_kept_disk(history: MetadataHistory, partition: TopicPartition, leader: int) -> bool:
    """Return whether this leader surely has the disk that it had when another replica was in sync with it last."""
    since = _shared_since(history, partition, leader)
    if since is None or history.not_decoded or history.ends_early or since <= history.disordered_until_ms:
        return False
    later = [each for each in history.partitions[partition].moments if each.at_ms >= since]
    has_stayed = all(leader in (each.isr or ()) and not each.is_unclean for each in later)
    return has_stayed and not any(restarts_since(history, leader, since))


def _shared_since(history: MetadataHistory, partition: TopicPartition, leader: int) -> int | None:
    """Return when the last state began in which the leader and another replica were in the ISR.

    None if the log that was read does not say it.
    """
    found = history.partitions.get(partition)
    shared = [each.at_ms for each in (found.moments if found else ()) if each.isr and {*each.isr} > {leader}]
    return shared[-1] if shared else None
