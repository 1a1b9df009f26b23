# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the unclean elections of partitions in the controllers' metadata log, and what they lost. Only reads.

The log has each change of a leader, and whether it was unclean (KIP-704). It has no leader epochs but that of a
partition at its creation and in a snapshot: each change of the leader begins the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from .._history.events import EventReader
from .._history.reading import HistoryLimits, read_history
from .._kafka.port import Kafka
from .._model.metadata_history import MetadataHistory, PartitionHistory
from .._model.partition import PartitionState, TopicPartition
from .._model.reasons import plural
from .._model.run import KafkaOpsError
from .divergence import LostTail, LostTails
from .logs import LogReader

_LIMITS = HistoryLimits(max_seconds=10.0)
CLOCKS_APART_MS = 60_000
"""How far the clocks of a controller and of a group's coordinator may be apart."""


@dataclass(frozen=True, slots=True)
class _ElectionQuestion:
    """Which elections of some partitions were unclean."""

    topic_ids: Mapping[TopicPartition, str]
    since_ms: int

    def reader(self) -> EventReader:
        return EventReader(self.topic_ids)

    def is_answered(self, history: MetadataHistory) -> bool:
        return history.begins_at_ms <= self.since_ms

    def explain_unanswered(self, _history: MetadataHistory, _start: int) -> str:
        return ""


class UncleanElection(NamedTuple):
    """An election of a leader that was not in sync."""

    leader_epoch: int
    """The one that it began."""
    at_ms: int


def find_lost_tails(
    kafka: Kafka, cluster_id: str, states: Iterable[PartitionState], reader: LogReader, since_ms: int
) -> dict[TopicPartition, LostTails]:
    """Return the unclean elections of these partitions since then (0: all that the metadata log has).

    ``reader`` asks their leaders where the logs of the elected leaders ended. Never raises.
    """
    by_name = {each.topic_partition: each for each in states}
    if not by_name:
        return {}
    question = _ElectionQuestion({name: each.topic_id for name, each in by_name.items()}, since_ms)
    read = read_history(kafka.controller_side(), cluster_id, question, limits=_LIMITS)
    history = read.history
    if history is None:
        return dict.fromkeys(by_name, LostTails(missing=read.missing))
    if history.not_decoded:
        why = f"{plural(history.not_decoded, 'record')} of the metadata log could not be decoded"
        return dict.fromkeys(by_name, LostTails(missing=why))
    changes = {name: history.partitions.get(name, PartitionHistory()) for name in by_name}
    elections = {name: find_unclean_elections(each, by_name[name].leader_epoch) for name, each in changes.items()}
    epochs = {name: {each.leader_epoch - 1 for each in found} for name, found in elections.items() if found}
    try:
        logs = replace(reader, epochs=epochs, time=None).read() if epochs else {}
    except KafkaOpsError as error:
        return dict.fromkeys(by_name, LostTails(missing=str(error)))
    tails: dict[TopicPartition, LostTails] = {}
    for name, found in elections.items():
        if found and name not in logs:
            tails[name] = LostTails(missing=f"the leader of {name} does not say where epochs end in its log")
            continue
        # An epoch begins where all before it end.
        lost = (LostTail(each.leader_epoch, each.at_ms, logs[name].end_of(each.leader_epoch - 1)) for each in found)
        is_whole = history.begins_at_start or changes[name].begins_with_creation
        # Before that, the times do not follow the order of the log.
        begins_at_ms = max(0 if is_whole else history.begins_at_ms, history.disordered_until_ms)
        tails[name] = LostTails(tuple(lost), begins_at_ms)
    return tails


def find_unclean_elections(history: PartitionHistory, leader_epoch: int) -> tuple[UncleanElection, ...]:
    """Return the unclean elections of a partition, oldest first. ``leader_epoch`` is that of now.

    The epochs are counted back from the newest one that is known.
    """
    moments = history.moments
    newest = moments[-1].leader_epoch if moments else None
    epoch = leader_epoch if newest is None else newest
    found: dict[int, int] = {}
    for each in reversed(moments):
        epoch = epoch if each.leader_epoch is None else each.leader_epoch
        if each.is_unclean:
            found[epoch] = each.at_ms
        epoch -= each.begins_epoch
    return tuple(UncleanElection(number, found[number]) for number in sorted(found) if number > 0)
