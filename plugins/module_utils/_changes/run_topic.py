# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the lock, the journal and the heartbeat of the run that may write to a cluster in one topic, the run topic.

It needs the controllers and one live broker. It exists while a run writes or while changes are pending. A run that ends
all pending changes deletes it by its id. ``run_state`` describes its records.

No clocks of two machines are compared. A holder writes a heartbeat every few seconds. A run that finds a holder waits
for its next record: if none comes within ``silence_s``, the holder counts as dead. If the last acknowledged record of a
holder is older than ``lease_s``, the holder writes another record and reads the log before it changes anything.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from .._kafka import error_codes
from .._kafka.base_port import BaseKafka
from .._kafka.errors import CallError, NoBrokerAnswersError
from .._kafka.settings import Address
from .._kafka.topics import OWN_TOPIC_CONFIG
from .._model.run import Progress, looks
from .journal import LockLostError
from .own_topic import OwnTopic
from .record import Entry, JournalError
from .run_state import RUN_TOPIC_RIGHTS, Holder, RunState
from .topic_by_name import TIMEOUT_S, TopicByName, TopicUnavailableError, send_to_any

RUN_TOPIC = "_kafkaops_run"
MOST_REPLICAS = 3
CONFIG = {**OWN_TOPIC_CONFIG, "cleanup.policy": "delete", "flush.messages": "1"}
_LOOK_EVERY_S = 0.25


class LockHeldError(JournalError):
    """Another run, which is alive, holds the lock."""

    def __init__(self, topic: str, holder: Holder) -> None:
        self.holder = holder
        super().__init__(
            f"another run writes to this cluster: {holder} (topic {topic}). Wait until it ends, or stop it. If it "
            "dies, another run can take the lock 15 s after its last heartbeat"
        )


@dataclass(frozen=True, slots=True)
class LockPace:
    """Times in seconds. ``lease_s`` must be shorter than ``silence_s``."""

    beat_s: float = 3.0
    lease_s: float = 8.0
    silence_s: float = 15.0
    timeout_s: float = TIMEOUT_S


USUAL_PACE = LockPace()


@dataclass(frozen=True, slots=True)
class RunTopics:
    """The run topic of one cluster."""

    kafka: BaseKafka
    living: Mapping[int, Address]
    """Addresses of the brokers that answer, by id, in the order of preference."""
    addresses: Mapping[int, Address]
    """Addresses of all registered brokers, by id."""
    topic: str
    pace: LockPace = USUAL_PACE

    def read(self) -> RunState | None:
        """Return the state of the topic; None if there is no topic. Does not wait and changes nothing.

        Raises TopicUnavailableError, TopicOfflineError, JournalError or NoBrokerAnswersError.
        """
        log = self._existing(None)
        if log is not None:
            with suppress(LockLostError):
                return log.refresh()
        # Brokers may still describe a topic that was just deleted and cannot be read any more.
        return None

    def log_of(self, topic_id: str, leader_id: int, holder: Holder | None = None) -> TopicLog:
        """Return the log in the topic of this id."""
        return TopicLog(self, OwnTopic(self._own, topic_id, leader_id), holder)

    @property
    def _own(self) -> TopicByName:
        return TopicByName(self.kafka, self.living, self.addresses, self.topic, RUN_TOPIC_RIGHTS, self.pace.timeout_s)

    def check_creation(self) -> bool:
        """Let the controller validate the creation of the topic, without creating it. Return False if it exists.

        Raises TopicUnavailableError if the creation would be refused, or if no broker answers.
        """
        replicas = [*self.living][:MOST_REPLICAS]
        try:
            send_to_any(
                self.living.values(),
                lambda to: self.kafka.check_topic_creation(to, self.topic, replicas, CONFIG),
                self.kafka.clock,
                seconds=0,
            )
        except CallError as error:
            if error.code == error_codes.TOPIC_ALREADY_EXISTS:
                return False
            raise self._own.unavailable("cannot be created", str(error), error.code) from None
        return True

    def acquire(self, holder: Holder, progress: Progress, *, retries: int = 1) -> TopicLog:
        """Take the lock, if it is free or its holder is dead. The log has the pending changes of that holder.

        If the leader of a new topic takes no record, another broker gets the topic, at most ``retries`` times.

        Raises LockHeldError, TopicUnavailableError, TopicOfflineError, JournalError or NoBrokerAnswersError.
        """
        limit_s = self.pace.timeout_s + self.pace.silence_s
        log: TopicLog | None = None
        for _look in looks(self.kafka.clock, limit_s):
            created = self.create(holder)
            log = created or self._existing(holder)
            try:
                if log is not None and log.take(progress):
                    return log
            except JournalError as error:
                if created is None or isinstance(error, LockHeldError) or created.is_claimed_by_another():
                    raise
                created.delete()
                others = {each: address for each, address in self.living.items() if each != created.own.leader_id}
                if isinstance(error, TopicUnavailableError) or not others or not retries:
                    raise
                # A broker whose disk hangs still answers other requests, and no new topic gets another leader.
                progress.step(f"trying another leader: {error}")
                return replace(self, living=others).acquire(holder, progress, retries=retries - 1)
        raise JournalError(
            f"the controller says that topic {self.topic} exists, but no broker has shown it within {limit_s:g} s: "
            "brokers lag behind the controller. Run again once they have caught up"
            if log is None
            else f"topic {self.topic} was deleted again and again by other runs: run again"
        )

    def create(self, holder: Holder) -> TopicLog | None:
        """Create the topic and return its log; None if it exists already.

        Its leader is created first, and its followers are added. Followers of a new topic often fetch before the leader
        knows the topic, and then wait for a second (replica.fetch.backoff.ms). Followers that are added later do not.
        They join while this run reads. If they cannot be added (no ALTER on the cluster, or a policy of the cluster
        that requires replicas), all are created at once.

        Raises TopicUnavailableError or JournalError.
        """
        replicas = self._own.choose_brokers(MOST_REPLICAS)
        try:
            own = OwnTopic.create(self._own, replicas[:1], CONFIG)
        except TopicUnavailableError:
            if len(replicas) == 1:
                raise
            own = OwnTopic.create(self._own, replicas, CONFIG)
        else:
            if own is not None and len(replicas) > 1 and not own.add_followers(replicas):
                own = self._create_again(own, replicas)
        return TopicLog(self, own, holder) if own is not None else None

    def _create_again(self, own: OwnTopic, replicas: Sequence[int]) -> OwnTopic | None:
        """Replace a topic of one replica, which cannot get more."""
        if problem := own.delete():
            raise TopicUnavailableError(
                f"{own.name} was created with one replica, more could not be added, and it could not be deleted: "
                f"{problem}. Delete it"
            )
        return OwnTopic.create(self._own, replicas, CONFIG)

    def _existing(self, holder: Holder | None) -> TopicLog | None:
        found = self._own.locate()
        if found is None:
            return None
        own = OwnTopic(self._own, found.topic_id, found.leader_id, found.leader_epoch)
        log = TopicLog(self, own, holder)
        if holder is not None:
            with suppress(LockLostError):
                # Before a write: the topic may be of another party, whose configs and records must stay.
                log.refresh()
                self._own.repair(CONFIG)
                # The run that created it died before it added the followers, or no other broker was live.
                own.add_missing_replicas(MOST_REPLICAS)
        return log


class TopicLog:
    """The log in one run topic. Threads may share it."""

    def __init__(self, topics: RunTopics, own: OwnTopic, holder: Holder | None) -> None:
        self._topics = topics
        self._clock = topics.kafka.clock
        self.own = own
        self._holder = holder
        self.state = RunState(topics.topic, own.topic_id)
        """The state after all records that were read."""
        self._lock = threading.RLock()
        self._count = 0
        self._acknowledged_at = self._clock.monotonic()
        self._lost = ""
        self._is_inherited = False
        self._ended = threading.Event()
        self._beating: threading.Thread | None = None
        self.notes: list[str] = []
        """Messages for the operator; complete once the log is closed."""

    def refresh(self) -> RunState:
        """Read the new records.

        Raises TopicUnavailableError if the topic is of another party, LockLostError if it was deleted, or JournalError.
        """
        with self._lock:
            records = self.own.read(self.state.next_offset)
            for offset, (key, value) in records.records:
                self.state.apply(offset, key, value)
            self.state.next_offset = max(self.state.next_offset, records.next_offset)
            if self.state.is_foreign:
                raise TopicUnavailableError(
                    f"{self.own.name} (id {self.own.topic_id}) holds records that no run wrote, so it is not the "
                    "journal. Nothing was changed: name another topic (journal_topic)"
                )
            return self.state

    def take(self, progress: Progress) -> bool:
        """Claim the lock. Return False if the topic was deleted, so that it must be created again.

        Raises LockHeldError or JournalError.
        """
        try:
            self._wait_until_claimable(progress)
            self._claim()
        except LockLostError:
            return False
        if self._is_inherited and not self.state.pending and self.delete():
            # This run needs another topic: the earlier holder could delete this one if it wakes up.
            return False
        self._beating = threading.Thread(target=self._write_heartbeats, name="kafkaops-heartbeat", daemon=True)
        self._beating.start()
        return True

    def is_claimed_by_another(self) -> bool:
        """Return whether another run has claimed the topic meanwhile, as far as it can be read."""
        with suppress(JournalError, NoBrokerAnswersError):
            return self.refresh().holder not in (None, self._holder)
        return False

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries, and wait until all in-sync replicas have them. Raises LockLostError or JournalError."""
        with self._lock:
            self._refuse_if_lost()
            self.own.wait_for_follower()
            for offset, number in self._produce(entries):
                self.state.pass_over(self._own_holder, offset, number)

    def require_lock(self) -> None:
        """Raise LockLostError unless this run holds the lock, or JournalError if this cannot be checked."""
        with self._lock:
            self._refuse_if_lost()
            self._check_held()
            if self._clock.monotonic() - self._acknowledged_at > self._topics.pace.lease_s:
                self._produce([{"beat": True}])
                self._check_held()

    def clear(self) -> None:
        """Move from a dead run's topic to a new one. Call this only when no change is pending.

        Raises LockLostError if another run takes the lock in between.
        """
        if not self._is_inherited:
            return
        with self._lock:
            self.require_lock()
            if not self.delete():
                return
            try:
                successor = self._topics.create(self._own_holder)
            except JournalError as error:
                self._lost = str(error)
            else:
                if successor is None:
                    self._lost = "another run took the lock after all pending changes had ended"
                else:
                    self._move_to(successor)
            self._refuse_if_lost()

    def close(self, *, is_settled: bool) -> None:
        """Release the lock. Delete the topic if ``is_settled``, or else leave it to the next run."""
        self._ended.set()
        if self._beating is not None:
            self._beating.join()
        try:
            self.require_lock()
            if not (is_settled and self.delete()):
                self._produce([{"leave": True}])
        except (JournalError, NoBrokerAnswersError) as error:
            self.notes.append(f"{self.own.name} could not be released: {error}")

    @property
    def _own_holder(self) -> Holder:
        if self._holder is None:
            raise JournalError(f"{self.own.name} is open for reading only")
        return self._holder

    def _move_to(self, successor: TopicLog) -> None:
        self.state, self.own, self._is_inherited = successor.state, successor.own, False
        self._count = 0
        self._claim()

    def _wait_until_claimable(self, progress: Progress) -> None:
        state = self.refresh()
        found = state.holder
        self._is_inherited = found is not None
        if found is None or state.has_left:
            return
        if found.has_ended_here:
            return
        seen, deadline = state.holder_offset, self._clock.monotonic() + self._topics.pace.silence_s
        progress.step(f"waiting to see whether another run lives: {found}")
        while self._clock.monotonic() < deadline:
            self._clock.sleep(_LOOK_EVERY_S)
            state = self.refresh()
            if state.has_left:
                return
            if state.holder_offset != seen and state.holder is not None:
                raise LockHeldError(self._topics.topic, state.holder)

    def _claim(self) -> None:
        holder = self._own_holder
        self._produce([self.state.claim(holder)])
        state = self.refresh()
        if not state.is_held_by(holder) and state.holder is not None:
            raise LockHeldError(self._topics.topic, state.holder)
        if not state.is_held_by(holder):
            raise JournalError(f"a claim on {self.own.name} has no effect: an unknown version has written to it")

    def _check_held(self) -> None:
        try:
            state = self.refresh()
        except LockLostError as error:
            self._lost = str(error)
            raise
        if not state.is_held_by(self._own_holder):
            self._lost = f"this run was taken for dead and replaced by another run: {state.holder}"
            self._refuse_if_lost()

    def _refuse_if_lost(self) -> None:
        if self._lost:
            raise LockLostError(f"{self._lost}. This run writes nothing more")

    def _produce(self, entries: Sequence[Entry]) -> list[tuple[int, int]]:
        key = self._own_holder.run.encode()
        records = []
        for entry in entries:
            self._count += 1
            records.append((key, json.dumps({**entry, "n": self._count}, separators=(",", ":")).encode()))
        appended = self.own.append(records)
        self._acknowledged_at = self._clock.monotonic()
        return appended

    def delete(self) -> bool:
        """Delete the topic. If that fails, add a note and return False."""
        problem = self.own.delete()
        if not problem:
            return True
        self.notes.append(
            f"{self.own.name} is not needed any more and could not be deleted: {problem}. It blocks no run while it "
            "has a leader. In an outage that takes its leader, a run needs kafka_journal_discard_lost: delete it before"
        )
        return False

    def _write_heartbeats(self) -> None:
        while not self._ended.wait(self._topics.pace.beat_s / 3):
            with suppress(JournalError, NoBrokerAnswersError), self._lock:
                if not self._lost and self._clock.monotonic() - self._acknowledged_at >= self._topics.pace.beat_s:
                    self._check_held()
                    self._produce([{"beat": True}])
