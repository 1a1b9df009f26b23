# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take the lock of a cluster and open its journal for writing.

Both are in the cluster only, in the run topic. Without the topic, nothing is changed.

If the topic has no leader, it is recovered first: it has the changes to undo. As in every recovery, the surviving
replica with the highest last written leader epoch is elected, and among those the one with the longest log. But a
survivor that was not in sync may miss the last entries. It is elected only if the operator gives them up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from .._kafka.elections import UNCLEAN
from .._kafka.errors import CallError, RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import NO_LEADER, Broker, BrokerState, PartitionState, ReplicaLog, TopicPartition
from .._model.run import NullProgress, Progress, looks
from .._model.setting import TOPIC_RESOURCE
from .journal import Journal
from .journal_reader import JournalReader
from .own_topic import FirstRecordsDeletedError
from .record import JournalError
from .run_state import new_holder
from .run_topic import CONFIG, RunTopics, TopicLog
from .stop_tickets import ticket_notes
from .topic_by_name import TopicOfflineError, TopicUnavailableError, send_to_any

_PROBE_S = 10.0
_LEADER_S = 15.0
_FLUSH = "flush.messages"
_GIVE_UP = (
    "Or, to give up what that run has not undone, set journal_discard_lost (in a role: kafka_journal_discard_lost)"
)


class JournalLostError(JournalError):
    """The run topic has no replica left that certainly has all entries."""


@dataclass(frozen=True, slots=True)
class ClusterJournal(JournalReader):
    """Read or open the journal of one cluster."""

    kafka: Kafka

    @contextmanager
    def open(self, progress: Progress | None = None) -> Iterator[Journal]:
        """Take the lock of the cluster and open the journal for writing. Not for check mode.

        At the end, the journal is removed if no change is pending, and ``Journal.notes`` is complete. They name the
        brokers that somebody is stopping.

        Raises JournalError or a subclass: another run holds the lock, or the topic cannot be used.
        """
        log = self._acquire(progress or NullProgress())
        journal = Journal(log, log.state.pending.values(), log.state.doubted)
        journal.notes += log.notes
        try:
            journal.notes += ticket_notes(self.kafka, self.cluster.living(self.brokers))
            yield journal
        finally:
            log.close(is_settled=not journal.pending)
            journal.notes += [each for each in log.notes if each not in journal.notes]

    def _acquire(self, progress: Progress) -> TopicLog:
        holder = new_holder()
        try:
            return self.topics.acquire(holder, progress)
        except TopicOfflineError as error:
            progress.step("recovering the journal of an earlier run")
            note = self.recover(error.state)
        except FirstRecordsDeletedError as error:
            note = self._discard(error)
        log = self.topics.acquire(holder, progress)
        log.notes.append(note)
        return log

    def recover(self, state: PartitionState) -> str:
        """Elect the best surviving replica of the run topic, or delete the topic if the operator gives it up.

        ``state`` is that of the topic without a leader. Return a note on it. Raises JournalLostError or JournalError.
        """
        _require_run_topic(self.topics)
        brokers = self.brokers or self.kafka.probe_brokers(self.cluster)
        best = _find_best_replica(self.kafka, state, brokers)
        in_sync = _had_all_entries(state)
        if best is not None and (best.broker_id in in_sync or self.options.discard_lost):
            return _elect_replica(self.kafka, state, best, [*self.cluster.living(brokers).values()])
        if self.options.discard_lost:
            if self.topics.log_of(state.topic_id, state.leader_id).delete():
                return f"the journal of an earlier run (topic id {state.topic_id}) was lost, and was deleted"
        elif _has_leader(self.kafka, state.topic_partition):
            return f"the journal of an earlier run, topic {state.topic}, had no leader for a moment: a broker returned"
        topic = f"topic {state.topic} (id {state.topic_id}) has no leader"
        if best is None:
            raise JournalLostError(
                f"the journal of an earlier run is lost: {topic}, and none of its replicas on brokers "
                f"{[*state.replicas]} answers and has records. Start one of these brokers with its disk. {_GIVE_UP}"
            )
        raise JournalLostError(
            f"the last entries of the journal of an earlier run may be lost: {topic}. Broker {best.broker_id} answers, "
            f"and was not in sync. Brokers {sorted(in_sync)} had all entries: start one of them with its disk. "
            f"{_GIVE_UP}"
        )

    def _discard(self, error: FirstRecordsDeletedError) -> str:
        """Delete a run topic that has lost its first records, if the operator gives it up, and return a note on it.

        Raises JournalLostError or TopicUnavailableError.
        """
        _require_run_topic(self.topics)
        if not self.options.discard_lost:
            raise JournalLostError(
                f"{error}. Nothing was changed. Compare replica orders and throttles with what they should be. "
                f"{_GIVE_UP}"
            )
        if not self.topics.log_of(error.topic_id, NO_LEADER).delete():
            raise JournalLostError(f"{error}. The topic could not be deleted: delete it with kafka-topics.sh")
        return f"{error}. It was deleted"


def _require_run_topic(topics: RunTopics) -> None:
    """Refuse a topic whose configs no run sets. Its records cannot be read, and it may be of another party.

    Without DESCRIBE_CONFIGS, the topic is used as it is. Raises TopicUnavailableError or NoBrokerAnswersError.
    """
    try:
        found = topics.kafka.read_configs(None, TOPIC_RESOURCE, topics.topic, [_FLUSH]).get(_FLUSH)
    except RequestRefusedError:
        return
    if found is not None and found.value != CONFIG[_FLUSH]:
        raise TopicUnavailableError(
            f"topic {topics.topic} is not the journal, because its {_FLUSH} is {found.value}, and a run sets "
            f"{CONFIG[_FLUSH]}. Nothing was changed: name another topic (journal_topic)"
        )


def _had_all_entries(state: PartitionState) -> frozenset[int]:
    """Return the brokers that had every acknowledged entry when the topic lost its leader.

    After an unclean stop of the last one, the controller keeps it as the last known leader (KIP-966). Each entry is on
    its disk, because the topic has flush.messages=1.
    """
    return frozenset({*state.isr, *(state.elr or ()), *(state.last_known_elr or ())})


def _elect_replica(kafka: Kafka, state: PartitionState, best: ReplicaLog, addresses: Sequence[Address]) -> str:
    """Elect a replica of the run topic, and return a note on it. Raises JournalError."""
    partition = state.topic_partition
    order = [best.broker_id, *(each for each in state.replicas if each != best.broker_id)]
    problem = ""

    def request(address: Address) -> None:
        # If a broker of the order is not registered any more, only the reorder is refused.
        kafka.reorder(address, {partition: order})
        kafka.elect(address, UNCLEAN, [partition])

    try:
        send_to_any(addresses, request, kafka.clock, _LEADER_S)
    except CallError as error:
        problem = str(error)
    if not _has_leader(kafka, partition):
        raise JournalError(
            f"the journal, topic {state.topic}, has no leader, and broker {best.broker_id} could not be elected for "
            f"it: {problem or 'no leader was seen'}"
        )
    doubt = (
        ""
        if best.broker_id in _had_all_entries(state)
        else "; it was not in sync, so it may miss the last changes of that run"
    )
    return (
        f"the journal of an earlier run, topic {state.topic}, had no leader: broker {best.broker_id} was elected{doubt}"
    )


def _find_best_replica(kafka: Kafka, state: PartitionState, brokers: Collection[Broker]) -> ReplicaLog | None:
    deadline, partitions = kafka.clock.monotonic() + _PROBE_S, (state.topic_partition,)
    logs = [
        log
        for broker in brokers
        if broker.broker_id in state.replicas and broker.state is BrokerState.ONLINE
        for log in kafka.probe_replicas(broker, partitions, deadline, checked=partitions)
        if log.cause is None and log.log_end_offset  # one on a new disk is empty, and may be in the ISR all the same
    ]
    return max(logs, key=lambda log: (log.last_written_epoch or -1, log.log_end_offset or 0), default=None)


def _has_leader(kafka: Kafka, partition: TopicPartition) -> bool:
    """Wait until the partition has a leader, and return whether it has one."""
    for _look in looks(kafka.clock, _LEADER_S):
        with suppress(CallError):
            seen = kafka.read_partition_states([partition]).states.get(partition)
            if seen is not None and not seen.is_offline:
                return True
    return False
