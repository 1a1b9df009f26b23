# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Count the leaders that were elected uncleanly while a broker was down. Reads only.

Such a leader may lack records that only the disk of this broker holds. When the broker starts, it deletes what the
leader lacks, so its disk must be saved first. A later run sees a healthy partition: only the metadata log still has the
election, as a change of LeaderRecoveryState (KIP-704).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._kafka.port import Kafka
from .._model.background import in_background
from .._model.metadata_history import BrokerChange, MetadataHistory
from .._model.partition import Broker, PartitionState, TopicPartition
from .._model.reasons import name_brokers, plural
from .._model.run import KafkaOpsError
from .events import EventReader
from .reading import HistoryLimits, ReadHistory, read_history, side_to_read

_LIMITS = HistoryLimits(max_seconds=10.0)
_LEFT = (BrokerChange.FENCED, BrokerChange.UNREGISTERED, BrokerChange.LOG_DIR_FAILED)


@dataclass(frozen=True, slots=True)
class UncleanQuestion:
    """Which elections were unclean since some brokers left."""

    topic_ids: Mapping[TopicPartition, str]
    """The partitions, with the id of each one's topic."""
    away: Collection[int]

    def reader(self) -> EventReader:
        return EventReader(self.topic_ids, only_recovery=True)

    def is_answered(self, history: MetadataHistory) -> bool:
        return all(left_at_ms(history, each) is not None for each in self.away)

    def explain_unanswered(self, history: MetadataHistory, start: int) -> str:
        unknown = [each for each in self.away if left_at_ms(history, each) is None]
        since = f"the metadata log, which begins at offset {start}, does not say since when"
        return f"{since} {name_brokers(unknown)} did not run" if unknown else ""


def count_unclean_elections(
    kafka: Kafka,
    brokers: Sequence[Broker],
    states: Iterable[PartitionState] | None,
    cluster_id: str,
    *,
    log_dir: str | None = None,
) -> tuple[Broker, ...]:
    """Return the brokers, each with its ``unclean_elections``. These are None if anything does not answer.

    ``states`` are those of all partitions; None to read them here. Needs CLUSTER_ACTION at the controllers, or
    ``log_dir``, a directory with a copy of the metadata log. Sends no request if no broker is away. Where the elections
    are None, ``unclean_elections_missing`` says why.
    """
    suspects: dict[int, list[TopicPartition]] = {each.broker_id: [] for each in brokers}
    topic_ids: dict[TopicPartition, str] = {}
    read = ReadHistory(None, "")
    try:
        if states is None:
            states = kafka.describe_partitions().partitions if any(each.is_away for each in brokers) else ()
        for state in states:
            for broker_id in {*state.left_behind} & suspects.keys():
                suspects[broker_id].append(state.topic_partition)
                topic_ids[state.topic_partition] = state.topic_id
        if topic_ids:
            question = UncleanQuestion(topic_ids, [each for each, partitions in suspects.items() if partitions])
            read = read_history(side_to_read(kafka, log_dir), cluster_id, question, limits=_LIMITS, log_dir=log_dir)
    except KafkaOpsError as error:
        return _all_unknown(brokers, str(error))
    return tuple(with_unclean_elections(each, read, suspects[each.broker_id]) for each in brokers)


def begin_to_count(
    kafka: Kafka,
    brokers: Sequence[Broker],
    states: Iterable[PartitionState] | None,
    cluster_id: str,
    *,
    log_dir: str | None = None,
) -> Callable[[], tuple[Broker, ...]]:
    """Begin ``count_unclean_elections`` in the background, and return a function that waits for the brokers.

    The function waits at most for the seconds that the reading may take. It never raises.
    """
    begun = in_background(
        lambda: count_unclean_elections(kafka, brokers, states, cluster_id, log_dir=log_dir), "unclean elections"
    )

    def wait() -> tuple[Broker, ...]:
        try:
            return begun.result(_LIMITS.max_seconds)
        except TimeoutError:
            return _all_unknown(brokers, f"the metadata log was not read in {_LIMITS.max_seconds:g} s")

    return wait


def _all_unknown(brokers: Iterable[Broker], why: str) -> tuple[Broker, ...]:
    return tuple(replace(each, unclean_elections=None, unclean_elections_missing=why) for each in brokers)


def with_unclean_elections(broker: Broker, read: ReadHistory, partitions: Sequence[TopicPartition]) -> Broker:
    """Return the broker with how many of these partitions got a leader uncleanly since it left, or why nobody knows."""
    history = read.history
    if not partitions:
        return replace(broker, unclean_elections=0)
    if history is None:
        return replace(broker, unclean_elections_missing=read.missing)
    left = left_at_ms(history, broker.broker_id)
    since = left if left is not None else history.begins_at_ms
    if found := sum(was_unclean_since(history, each, since) for each in partitions):
        return replace(broker, unclean_elections=found)
    why = _why_not_zero(read, history, broker.broker_id, left)
    return replace(broker, unclean_elections=None if why else 0, unclean_elections_missing=why)


def _why_not_zero(read: ReadHistory, history: MetadataHistory, broker_id: int, left: int | None) -> str:
    """Return why no unclean election in the log does not mean that there was none. Empty if it does."""
    if left is None:
        return read.missing or f"the metadata log does not say since when broker {broker_id} did not run"
    if read.is_copy:
        return f"{read.source} does not say which of its records are committed"
    if history.not_decoded:
        return f"{plural(history.not_decoded, 'record')} of the metadata log could not be decoded"
    if left < history.disordered_until_ms:
        return "the clocks of the controllers that wrote the metadata log differ"
    return ""


def left_at_ms(history: MetadataHistory, broker_id: int) -> int | None:
    """Return since when a broker is fenced, or runs without a log directory. None if the log does not say."""
    left: int | None = None
    for moment in history.brokers.get(broker_id, ()):
        if moment.change is BrokerChange.UNFENCED:
            left = None
        elif moment.change in _LEFT and left is None:
            left = moment.at_ms
    return left


def was_unclean_since(history: MetadataHistory, partition: TopicPartition, since_ms: int) -> bool:
    """Return whether an unclean election began at that time or later, or a leader was still recovering from one then.

    If another unclean election follows before the first leader has recovered, no record says so.
    """
    found = history.partitions.get(partition)
    moments = found.moments if found is not None else ()
    before = [each.is_unclean for each in moments if each.at_ms < since_ms]
    return any(before[-1:]) or any(each.is_unclean for each in moments if each.at_ms >= since_ms)
