# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The run topic: lock, journal and heartbeat of the one run that may write to a cluster.

It needs the controllers and one live broker. It exists while a run writes, or while changes of one are pending. A run
that settled everything deletes it by its id. Its records: ``run_state``.

No clocks are compared. A holder writes a heartbeat every few seconds. A run that finds a holder waits for one more
record: the holder is alive if it comes within ``silence_s``, else it counts as dead. A holder whose last acknowledged
record is older than ``lease_s`` writes another one and reads the log before it changes anything.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from .._kafka.base_port import BaseKafka
from .._kafka.errors import NoBrokerAnswersError
from .._kafka.settings import Address
from .._model.run import Progress
from .journal import LockLostError
from .own_topic import OwnTopic, OwnTopics, TopicUnavailableError
from .record import Entry, JournalError
from .run_state import Holder, RunState

MOST_REPLICAS = 3
CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "min.insync.replicas": "1",
    "flush.messages": "1",
    "max.message.bytes": "1048588",
    "unclean.leader.election.enable": "false",
}
_RIGHTS = "CREATE, DESCRIBE, READ, WRITE and DELETE"
_LOOK_EVERY_S = 0.25
_PAUSE_S = 0.1


class LockHeldError(JournalError):
    """Another run holds the lock, and lives."""

    def __init__(self, topic: str, holder: Holder) -> None:
        self.holder = holder
        super().__init__(
            f"another run writes to this cluster: {holder} (topic {topic}). Wait for it to end, or stop it; a run that "
            "died is replaced 15 s after its last heartbeat"
        )


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds. A lease must be shorter than the silence after which others take a holder for dead."""

    beat_s: float = 3.0
    lease_s: float = 8.0
    silence_s: float = 15.0
    timeout_s: float = 12.0
    """How long one operation on the topic is tried."""


USUAL_PACE = Pace()


@dataclass(frozen=True, slots=True)
class RunTopics:
    """The run topic of one cluster, and how to reach it."""

    kafka: BaseKafka
    living: Mapping[int, Address]
    """Brokers that answer, by id, in the order in which they are preferred."""
    addresses: Mapping[int, Address]
    """All brokers that the cluster names."""
    topic: str
    pace: Pace = USUAL_PACE

    def read(self) -> RunState | None:
        """Return the state of the topic; None when there is none. Waits for nobody and changes nothing.

        Raises TopicUnavailableError, TopicOfflineError, JournalError or NoBrokerAnswersError.
        """
        log = self._existing(None)
        if log is not None:
            with suppress(LockLostError):
                return log.refresh()
        # A topic that was deleted meanwhile cannot be read, and brokers may still describe it.
        return None

    def log_of(self, topic_id: str, leader_id: int, holder: Holder | None = None) -> TopicLog:
        """Return the log in the topic of this id."""
        return TopicLog(self, OwnTopic(self._own, topic_id, leader_id), holder)

    @property
    def _own(self) -> OwnTopics:
        return OwnTopics(self.kafka, self.living, self.addresses, self.topic, _RIGHTS, self.pace.timeout_s)

    def acquire(self, holder: Holder, progress: Progress) -> TopicLog:
        """Take the lock, from nobody or from a dead run, whose pending changes the log has then.

        Raises LockHeldError, TopicUnavailableError, TopicOfflineError, JournalError or NoBrokerAnswersError.
        """
        limit_s = self.pace.timeout_s + self.pace.silence_s
        deadline = time.monotonic() + limit_s
        while True:
            created = self.create(holder)
            log = created or self._existing(holder)
            try:
                if log is not None and log.take(progress):
                    return log
            except TopicUnavailableError:
                if created is not None:
                    created.delete()
                raise
            if time.monotonic() >= deadline:
                raise JournalError(
                    f"topic {self.topic} exists, as the controller says, and no broker has shown it within "
                    f"{limit_s:g} s: brokers lag behind the controller; run again once they have caught up"
                    if log is None
                    else f"topic {self.topic} comes and goes: other runs use it; run again"
                )
            time.sleep(_PAUSE_S)

    def create(self, holder: Holder) -> TopicLog | None:
        """Return the log of a topic that this run created; None when there is one already.

        Raises TopicUnavailableError or JournalError.
        """
        created = self._own.create([*self.living][:MOST_REPLICAS], CONFIG)
        return TopicLog(self, created, holder) if created is not None else None

    def _existing(self, holder: Holder | None) -> TopicLog | None:
        found = self._own.locate()
        return self.log_of(found.topic_id, found.leader_id, holder) if found else None


class TopicLog:
    """The log in one run topic. Threads may share it."""

    def __init__(self, topics: RunTopics, own: OwnTopic, holder: Holder | None) -> None:
        self._topics = topics
        self._own = own
        self._holder = holder
        self._state = RunState(topics.topic, own.topic_id)
        self._lock = threading.RLock()
        self._count = 0
        self._acknowledged_at = time.monotonic()
        self._lost = ""
        self._is_inherited = False
        self._ended = threading.Event()
        self._beating: threading.Thread | None = None
        self.notes: list[str] = []
        """What the person on call should know; complete once the log is closed."""

    @property
    def name(self) -> str:
        return self._own.name

    @property
    def state(self) -> RunState:
        """What the topic's records say, as far as they were read."""
        return self._state

    def refresh(self) -> RunState:
        """Read what was appended since the last time.

        Raises LockLostError when there is no such topic any more, or JournalError.
        """
        with self._lock:
            records = self._own.read(self._state.next_offset)
            for offset, (key, value) in records.records:
                self._state.apply(offset, key, value)
            self._state.next_offset = max(self._state.next_offset, records.next_offset)
            return self._state

    def take(self, progress: Progress) -> bool:
        """Claim the lock. Returns False when the topic was deleted meanwhile, or has to be created again.

        Raises LockHeldError or JournalError.
        """
        try:
            self._wait_until_claimable(progress)
            self._claim()
        except LockLostError:
            return False
        if self._is_inherited and not self._state.pending and self.delete():
            # A topic of our own: the run before us cannot delete it any more, should it wake up.
            return False
        self._beating = threading.Thread(target=self._beat, name="kafkaops-heartbeat", daemon=True)
        self._beating.start()
        return True

    def append(self, entries: Sequence[Entry]) -> None:
        """Return once the entries are on every in-sync replica. Raises LockLostError or JournalError."""
        with self._lock:
            self._refuse_if_lost()
            self._produce(entries)

    def require_lock(self) -> None:
        """Raise LockLostError, or JournalError when the topic cannot be read, unless this run holds the lock."""
        with self._lock:
            self._refuse_if_lost()
            self._check_held()
            if time.monotonic() - self._acknowledged_at > self._topics.pace.lease_s:
                self._produce([{"beat": True}])
                self._check_held()

    def clear(self) -> None:
        """Leave a dead run's topic for one of our own, now that nothing of it is pending.

        Raises LockLostError when another run took the lock in between.
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
                    self._lost = "another run took the lock, after everything was settled"
                else:
                    self._follow(successor)
            self._refuse_if_lost()

    def close(self, *, settled: bool) -> None:
        """Release the lock: delete the topic when everything is settled, or else leave it to the next run."""
        self._ended.set()
        if self._beating is not None:
            self._beating.join()
        try:
            self.require_lock()
            if not (settled and self.delete()):
                self._produce([{"leave": True}])
        except (JournalError, NoBrokerAnswersError) as error:
            self.notes.append(f"{self.name} could not be released: {error}")

    @property
    def _own_holder(self) -> Holder:
        if self._holder is None:
            raise JournalError(f"{self.name} is open for reading only")
        return self._holder

    def _follow(self, successor: TopicLog) -> None:
        self._state, self._own, self._is_inherited = successor.state, successor._own, False
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
        seen, deadline = state.holder_offset, time.monotonic() + self._topics.pace.silence_s
        progress.step(f"waiting to see whether another run lives: {found}")
        while time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
            state = self.refresh()
            if state.has_left:
                return
            if state.holder_offset != seen and state.holder is not None:
                raise LockHeldError(self._topics.topic, state.holder)

    def _claim(self) -> None:
        holder = self._own_holder
        self._produce([self._state.claim(holder)])
        state = self.refresh()
        if not state.is_held_by(holder) and state.holder is not None:
            raise LockHeldError(self._topics.topic, state.holder)
        if not state.is_held_by(holder):
            raise JournalError(f"a claim on {self.name} has no effect: an unknown version wrote to it")

    def _check_held(self) -> None:
        try:
            state = self.refresh()
        except LockLostError as error:
            self._lost = str(error)
            raise
        if not state.is_held_by(self._own_holder):
            self._lost = f"this run was taken for dead and replaced by another: {state.holder}"
            self._refuse_if_lost()

    def _refuse_if_lost(self) -> None:
        if self._lost:
            raise LockLostError(f"{self._lost}. This run writes nothing more")

    def _produce(self, entries: Sequence[Entry]) -> None:
        key = self._own_holder.run.encode()
        records = []
        for entry in entries:
            self._count += 1
            records.append((key, json.dumps({**entry, "n": self._count}, separators=(",", ":")).encode()))
        self._own.append(records)
        self._acknowledged_at = time.monotonic()

    def delete(self) -> bool:
        """Delete the topic. Returns False, with a note, where that is not allowed."""
        problem = self._own.delete()
        if not problem:
            return True
        self.notes.append(f"{self.name} is settled and could not be deleted: {problem}; it does not block any run")
        return False

    def _beat(self) -> None:
        while not self._ended.wait(self._topics.pace.beat_s / 3):
            with suppress(JournalError, NoBrokerAnswersError), self._lock:
                if not self._lost and time.monotonic() - self._acknowledged_at >= self._topics.pace.beat_s:
                    self._check_held()
                    self._produce([{"beat": True}])
