# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The compacted topic that remembers the list of deprioritized brokers and the original replica orders.

Only the run that holds the lock of the cluster writes to it. Each record stands by itself: it names what it is about,
and a repeated one changes nothing. So records need no transaction, and a run that dies between two of them leaves what
the next run goes on from.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._changes.journal import Journal, LockLostError
from .._changes.own_topic import OwnTopic, OwnTopics, TopicOfflineError
from .._changes.record import JournalError
from .._kafka import error_codes
from .._kafka.addresses import Address
from .._kafka.configs import TOPIC
from .._kafka.errors import RequestRefusedError
from .._kafka.port import Kafka
from .memory import Changes, Memory, list_changes, memory_of

_TIMEOUT_S = 12.0
"""For one operation: leaders move, most of all while leaderships are drained."""
_LOOK_EVERY_S = 0.1
_COPIES = 3
_POLICY = "cleanup.policy"
_CONFIG = {
    _POLICY: "compact",
    "unclean.leader.election.enable": "false",
    # The active segment is never compacted, and every run reads all there is.
    "segment.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.1",
}


class UnwritableTopicError(JournalError):
    """The topic cannot be written, and nothing was changed."""


@dataclass(frozen=True, slots=True)
class MemoryTopic:
    """The topic of one cluster."""

    kafka: Kafka
    addresses: Mapping[int, Address]
    """Of the living brokers, by id."""
    topic: str

    @property
    def name(self) -> str:
        return f"topic {self.topic}"

    def read(self) -> Memory:
        """Return all that is remembered; no topic is an empty memory. Changes nothing, and takes no lock.

        Raises JournalError when it exists and cannot be read, or has several partitions; NoBrokerAnswersError.
        """
        found = self._located()
        return self._memory(found) if found is not None else Memory()

    def open(self, journal: Journal) -> TopicStore:
        """Return the topic to be written under the lock of the run that has this journal. Creates it where it is not.

        Raises UnwritableTopicError; JournalError when it cannot be read, or when the lock is lost.
        """
        found = self._located()
        memory = self._memory(found) if found is not None else Memory()
        journal.require_lock()
        try:
            store = TopicStore(found or self._created(), journal, memory)
            # Whether it can be written is to be known before anything is changed.
            store.write(list_changes(memory))
        except LockLostError:
            raise
        except JournalError as error:
            raise UnwritableTopicError(str(error)) from None
        return store

    def require_compacted(self) -> None:
        """Raise JournalError when the topic exists and does not keep what is remembered, or does not say.

        Where somebody created it before us, it has the settings that they gave it. Raises NoBrokerAnswersError, too.
        """
        try:
            found = self.kafka.read_own(None, TOPIC, self.topic, [_POLICY]).get(_POLICY)
        except RequestRefusedError as refusal:
            if refusal.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
                return
            raise JournalError(
                f"whether topic {self.topic} keeps what is remembered in it is not known: {refusal}; our principal "
                "needs DESCRIBE_CONFIGS on it"
            ) from None
        policy = found.value if found else "unknown"
        if policy != "compact":
            raise JournalError(
                f"{_POLICY} of topic {self.topic} is {policy}: the original orders in it could expire, and nothing is "
                f"changed before it is compact (kafka-configs.sh --alter --entity-type topics --entity-name "
                f"{self.topic} --add-config {_POLICY}=compact), or another topic is named (memory_topic)"
            )

    @property
    def _own(self) -> OwnTopics:
        rights = "CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ and WRITE"
        return OwnTopics(self.kafka, self.addresses, self.addresses, self.topic, rights, _TIMEOUT_S)

    def _located(self) -> OwnTopic | None:
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                found = self._own.locate()
            except TopicOfflineError as error:
                if time.monotonic() >= deadline:
                    raise JournalError(f"{error}; it holds what is remembered: nothing is changed without it") from None
            else:
                return OwnTopic(self._own, found.topic_id, found.leader_id) if found is not None else None
            time.sleep(_LOOK_EVERY_S)

    def _created(self) -> OwnTopic:
        replicas = [*self.addresses][:_COPIES]
        # With one copy less than all, one broker can be down and what is written is still on two.
        config = {**_CONFIG, "min.insync.replicas": str(max(1, len(replicas) - 1))}
        created = self._own.create(replicas, config)
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            # Brokers learn late of a new topic.
            if found := self._located():
                return found
            time.sleep(_LOOK_EVERY_S)
        raise JournalError(f"topic {self.topic} was {'created' if created else 'there'}, and no broker shows it")

    def _memory(self, own: OwnTopic) -> Memory:
        newest: dict[str, Any] = {}
        for _offset, (key, value) in own.read(0).records:
            newest[(key or b"").decode(errors="replace")] = value
        try:
            records = {key: json.loads(value) for key, value in newest.items() if value is not None}
        except ValueError:
            raise JournalError(f"{self.name} holds a record that is not JSON; nothing is changed without it") from None
        return memory_of(records, self.name)


class TopicStore:
    """The topic, open for writing. Made by MemoryTopic.open."""

    def __init__(self, own: OwnTopic, journal: Journal, memory: Memory) -> None:
        self._own = own
        self._journal = journal
        self.memory = memory

    def write(self, changes: Changes) -> None:
        if not changes:
            return
        self._journal.require_lock()
        self._own.append(
            [
                (key.encode(), None if value is None else json.dumps(value, separators=(",", ":")).encode())
                for key, value in changes.items()
            ]
        )
