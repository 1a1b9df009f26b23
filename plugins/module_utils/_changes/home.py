# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Open the journal in the run topic or, if the topic cannot be used, in a local file.

A file in a container is lost with the container. So a run in a container does not write if it cannot use the topic.

If the run topic has no leader, it is recovered first, because it has the changes to undo. As in every recovery, the
surviving replica with the highest last written leader epoch is elected, and among those the one with the longest log.
But a survivor that was not in sync may miss the last entries. It is elected only if the operator gives them up.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .._kafka import error_codes
from .._kafka.elections import UNCLEAN
from .._kafka.errors import CallError, NoBrokerAnswersError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, BrokerState, PartitionState, ReplicaLog, TopicPartition
from .._model.run import NullProgress, Progress, looks
from .file_log import FileLog, file_lock
from .journal import Journal, pending_changes
from .journal_reader import Home, JournalOptions, JournalReader, holder_notes
from .own_topic import TopicOfflineError, TopicUnavailableError, send_to_any
from .record import JournalError
from .run_state import new_holder
from .run_topic import CONFIG, MOST_REPLICAS, TopicLog

_CONTAINER_FILES = ("/run/.containerenv", "/.dockerenv")
_AWX_VARIABLE = "AWX_ISOLATED_DATA_DIR"
_TEMPORARY_FILE_SYSTEMS = frozenset({"overlay", "tmpfs"})
_MOUNT_POINT = 4
"""Of a line of /proc/self/mountinfo (proc(5))."""
_PROBE_S = 10.0
_LEADER_S = 15.0
_GIVE_UP = (
    "Or, to give up what that run has not undone, set journal_discard_lost (in a role: kafka_journal_discard_lost)"
)


class JournalLostError(JournalError):
    """The run topic has no replica left that certainly has all entries."""


@dataclass(frozen=True, slots=True)
class JournalHome(JournalReader):
    """Read or open the journal of one cluster."""

    kafka: Kafka

    @contextmanager
    def open(self, progress: Progress | None = None) -> Iterator[Journal]:
        """Take the lock of the cluster and open the journal for writing. Not for check mode.

        At the end, the journal is removed if no change is pending, and ``Journal.notes`` is complete.

        Raises JournalError or a subclass: another run holds the lock, or there is no durable place for the journal.
        """
        note = ""
        if self.options.home is not Home.FILE:
            try:
                log = self._acquire(progress or NullProgress())
            except TopicUnavailableError as error:
                note = self._note_on_file(str(error))
            else:
                with self._in_topic(log) as journal:
                    yield journal
                return
        else:
            self._refuse_two_journals()
        require_durable_directory(self.options, note or "the journal would be kept in a file")
        with file_lock(self.options.path, self.cluster.cluster_id):
            file = FileLog(self._path)
            journal = Journal(file, pending_changes(file.entries, file.name))
            journal.notes += [note] if note else []
            yield journal

    def _acquire(self, progress: Progress) -> TopicLog:
        holder, topics = new_holder(), self._topics
        note = ""
        try:
            log = topics.acquire(holder, progress)
        except TopicOfflineError as error:
            progress.step("recovering the journal of an earlier run")
            note = self._recover(error)
            log = topics.acquire(holder, progress)
        log.notes += [note] if note else []
        return log

    def _recover(self, offline: TopicOfflineError) -> str:
        """Elect the best surviving replica of the run topic, or delete the topic if the operator gives it up.

        Return a note on it. Raises JournalLostError or JournalError.
        """
        state, brokers = offline.state, self.brokers or self.kafka.probe_brokers(self.cluster)
        best = _find_best_replica(self.kafka, state, brokers)
        in_sync = _had_all_entries(state)
        if best is not None and (best.broker_id in in_sync or self.options.discard_lost):
            return _elect_replica(self.kafka, state, best, [*self.cluster.living(self.brokers).values()])
        if self.options.discard_lost:
            lost = self._topics.log_of(state.topic_id, state.leader_id)
            if lost.delete():
                return f"the journal of an earlier run (topic id {state.topic_id}) was lost, and was deleted"
        elif _has_leader(self.kafka, state.topic_partition):
            return f"the journal of an earlier run, topic {state.topic}, had no leader for a moment: a broker returned"
        topic = f"topic {state.topic} (id {state.topic_id}) has no leader"
        if best is None:
            raise JournalLostError(
                f"the journal of an earlier run is lost: {topic}, and none of its replicas on brokers "
                f"{[*state.replicas]} answers. Start one of these brokers. {_GIVE_UP}"
            )
        raise JournalLostError(
            f"the last entries of the journal of an earlier run may be lost: {topic}. Broker {best.broker_id} answers, "
            f"and was not in sync. Brokers {sorted(in_sync)} had all entries: start one of them with its disk. "
            f"{_GIVE_UP}"
        )

    @contextmanager
    def _in_topic(self, log: TopicLog) -> Iterator[Journal]:
        journal = Journal(log, log.state.pending.values())
        journal.notes += log.notes
        try:
            self._adopt_file(journal)
            yield journal
        finally:
            log.close(is_settled=not journal.pending)
            journal.notes += [each for each in log.notes if each not in journal.notes]

    def _adopt_file(self, journal: Journal) -> None:
        """Move the pending changes of a journal file into the topic."""
        if not self._file_entries()[0]:
            return
        with file_lock(self.options.path, self.cluster.cluster_id):
            file = FileLog(self._path)
            known = {each.key for each in journal.pending}
            journal.begin([each for each in pending_changes(file.entries, file.name) if each.key not in known])
            file.remove()

    def _note_on_file(self, problem: str) -> str:
        if self.options.home is Home.TOPIC:
            raise JournalError(
                f"{problem}. Nothing is changed without a journal: grant the missing ACLs, name another topic "
                "(journal_topic), or keep the journal in a file of this host (journal: file)"
            )
        return (
            f"{problem}. The journal is kept in {self._path} instead. Only runs of this user on this host see it, so "
            "do not start other runs on this cluster now"
        )

    def _refuse_two_journals(self) -> None:
        """Refuse a file if the topic is in use, because the runs would not see each other's changes."""
        try:
            state = self._topics.read()
        except (TopicUnavailableError, NoBrokerAnswersError):
            return
        if state is not None and (state.pending or not state.has_left):
            raise JournalError(
                f"topic {self.options.topic} is in use as the journal, with {len(state.pending)} pending changes: use "
                f"it (journal: topic). {'; '.join(holder_notes(state))}"
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
    deadline = kafka.clock.monotonic() + _PROBE_S
    logs = [
        log
        for broker in brokers
        if broker.broker_id in state.replicas and broker.state is BrokerState.ONLINE
        for log in kafka.probe_replicas(broker, [state.topic_partition], deadline)
        if log.cause is None
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


def require_durable_directory(options: JournalOptions, why: str) -> None:
    """Refuse a file that would not outlive this run, unless the operator named its directory. Raises JournalError."""
    reason = "" if options.directory else why_not_durable(Path(options.path))
    if reason:
        raise JournalError(
            f"{why}. But {reason}, so the file would be lost: set journal_dir (in a role: kafka_journal_dir) to a "
            "directory that outlives this run, or make the topic usable. Nothing was changed"
        )


def why_not_durable(directory: Path) -> str:
    """Return why a file in this directory would not outlive the run; empty if it would."""
    for each in _CONTAINER_FILES:
        if os.path.exists(each):
            return f"this run is in a container ({each} exists)"
    if _AWX_VARIABLE in os.environ:
        return f"this run is a job of AWX ({_AWX_VARIABLE} is set)"
    return why_temporary(directory)


def why_temporary(directory: Path) -> str:
    """Return why files in this directory do not survive a restart of the container or host; empty if they do."""
    kind = _file_system_of(directory)
    return f"{directory} is on a file system of type {kind}" if kind in _TEMPORARY_FILE_SYSTEMS else ""


def _file_system_of(directory: Path) -> str:
    """Return the type of the file system of a path; empty if it cannot be read."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        path = directory.expanduser().resolve()
    except OSError:
        return ""
    found, kind = Path("/"), ""
    for line in lines:
        mount, _separator, rest = line.partition(" - ")
        point = Path(mount.split()[_MOUNT_POINT])
        if path.is_relative_to(point) and len(point.parts) >= len(found.parts):
            found, kind = point, rest.split()[0]
    return kind


def check_run_topic(kafka: Kafka, living: Mapping[int, Address], topic: str) -> bool:
    """Let the controller validate the creation of the run topic, without creating it.

    ``living`` has the addresses of brokers that answer. Returns False if the topic exists already.

    Raises TopicUnavailableError if the creation would be refused, or if no broker answers.
    """
    replicas = [*living][:MOST_REPLICAS]
    try:
        send_to_any(
            living.values(),
            lambda to: kafka.check_topic_creation(to, topic, replicas, CONFIG),
            kafka.clock,
            seconds=0,
        )
    except CallError as error:
        if error.code == error_codes.TOPIC_ALREADY_EXISTS:
            return False
        raise TopicUnavailableError(f"topic {topic} cannot be created: {error}") from None
    return True
