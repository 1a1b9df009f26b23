# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the list and the original orders in a compacted topic or in a local file, or temporarily in both.

The doc fragment ``leadership_memory`` describes the options.

Only the run that holds the lock of the cluster writes to the topic. Each record is complete without the others, and a
repeated record changes nothing. So no transaction is needed, and if a run dies between two records, the next run
continues from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from .._changes.home import require_durable_directory
from .._changes.journal import Journal, LockLostError
from .._changes.journal_reader import JournalOptions
from .._changes.own_topic import OwnTopic, OwnTopics, TopicOfflineError
from .._changes.record import JournalError
from .._kafka import error_codes
from .._kafka.configs import TOPIC
from .._kafka.errors import RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._kafka.topics import OWN_TOPIC_CONFIG
from .._model.run import looks
from .._module.connection import Arguments
from .._module.options import journal_options
from .memory import (
    Changes,
    FileStore,
    Memory,
    MemoryStore,
    apply_record,
    difference,
    list_changes,
    memory_path,
    merge,
    parse_memory,
    read_memory_file,
)


class Home(StrEnum):
    """The place of the memory."""

    TOPIC = "topic"
    FILE = "file"


LEADERSHIP = Arguments(
    argument_spec={
        "memory": {"type": "str", "choices": [each.value for each in Home], "default": Home.TOPIC.value},
        "memory_topic": {"type": "str", "default": "_kafkaops_leadership"},
        "attempts": {"type": "int", "default": 3},
        "verify_timeout_ms": {"type": "int", "default": 30000},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipOptions:
    """The place of the memory, and the limits of a run."""

    memory: Home
    memory_topic: str
    journal: JournalOptions
    attempts: int
    """The number of attempts for each write that fails for a transient reason."""
    verify_timeout_ms: int
    """The time within which a change must be seen. After it, the change counts as failed."""
    check_mode: bool


def leadership_options(params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Return the fields of LeadershipOptions from a module's parameters."""
    return {
        "memory": Home(params["memory"]),
        "memory_topic": params["memory_topic"],
        "journal": journal_options(params),
        "attempts": params["attempts"],
        "verify_timeout_ms": params["verify_timeout_ms"],
        "check_mode": check_mode,
    }


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """The memory of one cluster, open for writing."""

    store: MemoryStore
    memory: Memory
    home: str
    """The topic or file, for messages."""
    fallback: str = ""
    """Why the file is used instead of the topic; empty if the wanted home is used."""


@dataclass(frozen=True, slots=True)
class Homes:
    """The topic and the file of one cluster's memory."""

    topic: MemoryTopic
    file: Path
    wanted: Home
    journal: JournalOptions
    """The options of the run's journal, whose directory has the file."""

    @classmethod
    def of(cls, kafka: Kafka, living: Mapping[int, Address], options: LeadershipOptions, cluster_id: str) -> Homes:
        """Return the homes that a run's options name. Raises JournalError."""
        file = memory_path(options.journal.path, cluster_id)
        return cls(MemoryTopic(kafka, living, options.memory_topic), file, options.memory, options.journal)

    @property
    def home(self) -> str:
        """The wanted topic or file, for messages."""
        return self.topic.name if self.wanted is Home.TOPIC else str(self.file)

    def read(self) -> Memory:
        """Return the memory. Changes nothing, and takes no lock.

        Raises JournalError if a home cannot be read, if the topic is not compacted, or if the file is wanted and the
        topic is not empty.
        """
        file = read_memory_file(self.file)
        if self.wanted is Home.TOPIC:
            self.topic.require_compacted()
            return merge(self.topic.read(), file)
        try:
            topic = self.topic.read()
        except JournalError:
            # A principal that uses the file may have no right to read the topic.
            return file
        if topic:
            raise JournalError(
                f"{self.topic.name} remembers {len(topic.orders)} original orders, and two memories could contradict "
                "each other: go on with it (memory: topic)"
            )
        return file

    @contextmanager
    def open(self, journal: Journal) -> Iterator[OpenMemory]:
        """Open the memory for writing, under the lock of the run that has this journal.

        If the topic is wanted and cannot be written, the file is used, and begins as a copy of the topic. Once the
        topic can be written again, the contents of the file move there. An empty file is removed.

        Raises JournalError, also if the file would be lost with the container of this run.
        """
        fallback = ""
        if self.wanted is Home.TOPIC:
            self.topic.require_compacted()
            try:
                store = self.topic.open(journal)
            except UnwritableTopicError as error:
                fallback = str(error)
            else:
                yield OpenMemory(store, self._adopt_file(store), self.home)
                return
        require_durable_directory(self.journal, fallback or "the original orders would be remembered in a file")
        with FileStore(self.file) as file:
            memory = file.memory
            if fallback:
                memory = merge(self.topic.read(), file.memory)
                file.write(difference(memory, file.memory))
            yield OpenMemory(file, memory, str(self.file), fallback)

    def _adopt_file(self, store: MemoryStore) -> Memory:
        """Move the contents of the file into the topic, and return the memory."""
        if not read_memory_file(self.file):
            return store.memory
        with FileStore(self.file) as file:
            memory = merge(store.memory, file.memory)
            store.write(difference(memory, store.memory))
            file.clear()
        return memory


_TIMEOUT_S = 12.0
"""The time limit for one operation. The topic's leader may move, for example in a drain."""
_COPIES = 3
_POLICY = "cleanup.policy"
_CONFIG = {
    **OWN_TOPIC_CONFIG,
    _POLICY: "compact",
    # The active segment is never compacted, and each run reads the whole topic.
    "segment.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.1",
    "min.compaction.lag.ms": "0",
}


_KEPT = (_POLICY, "min.insync.replicas")


class UnwritableTopicError(JournalError):
    """The topic cannot be written. Nothing was changed."""


@dataclass(slots=True)
class MemoryTopic:
    """The memory topic of one cluster. What was read once is not read again."""

    kafka: Kafka
    addresses: Mapping[int, Address]
    """Addresses of the living brokers, by id."""
    topic: str
    _topic_id: str = field(default="", init=False)
    """The topic that was read. A re-created topic has another id."""
    _next_offset: int = field(default=0, init=False)
    _records: dict[str, Any] = field(default_factory=dict, init=False)
    _memory: Memory = field(default_factory=Memory, init=False)

    @property
    def name(self) -> str:
        return f"topic {self.topic}"

    def read(self) -> Memory:
        """Return the memory, which is empty if there is no topic. Changes nothing, and takes no lock.

        Raises JournalError if the topic cannot be read or has several partitions, or NoBrokerAnswersError.
        """
        found = self._locate()
        return self._read_memory(found) if found is not None else Memory()

    def open(self, journal: Journal) -> TopicStore:
        """Open the topic for writing, under the lock of the run that has this journal. Create it if necessary.

        Raises UnwritableTopicError; or JournalError if the topic cannot be read, or if the lock is lost.
        """
        found = self._locate()
        memory = self._read_memory(found) if found is not None else Memory()
        journal.require_lock()
        if found is not None:
            # It keeps its min.insync.replicas, which depends on the number of brokers when it was created.
            self._own.repair({name: value for name, value in _CONFIG.items() if name not in _KEPT})
            # Created in a large outage, it has one copy of the original orders.
            self._own.add_missing_replicas(_COPIES)
        try:
            store = TopicStore(found or self._create(), journal, memory)
            # Check that the topic can be written before any order is changed.
            store.write(list_changes(memory))
        except LockLostError:
            raise
        except JournalError as error:
            raise UnwritableTopicError(str(error)) from None
        return store

    def require_compacted(self) -> None:
        """Raise JournalError if the topic exists and is not compacted, or if that is unknown.

        Another party may have created the topic with other settings. Raises NoBrokerAnswersError as well.
        """
        try:
            found = self.kafka.read_configs(None, TOPIC, self.topic, [_POLICY]).get(_POLICY)
        except RequestRefusedError as error:
            if error.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
                return
            raise JournalError(
                f"whether topic {self.topic} is compacted is unknown: {error}; our principal needs "
                "DESCRIBE_CONFIGS on it"
            ) from None
        policy = found.value if found else "unknown"
        if policy != "compact":
            raise JournalError(
                f"{_POLICY} of topic {self.topic} is {policy}, so the original orders in it could expire. Nothing was "
                f"changed: set it to compact (kafka-configs.sh --alter --entity-type topics --entity-name {self.topic} "
                f"--add-config {_POLICY}=compact), or name another topic (memory_topic)"
            )

    @property
    def _own(self) -> OwnTopics:
        rights = "CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ and WRITE"
        return OwnTopics(self.kafka, self.addresses, self.addresses, self.topic, rights, _TIMEOUT_S)

    def _locate(self) -> OwnTopic | None:
        problem = ""
        for _look in looks(self.kafka.clock, _TIMEOUT_S):
            try:
                found = self._own.locate()
            except TopicOfflineError as error:
                problem = str(error)
            else:
                return OwnTopic(self._own, found.topic_id, found.leader_id) if found is not None else None
        raise JournalError(f"{problem}. It has the original orders, so nothing was changed")

    def _create(self) -> OwnTopic:
        replicas = [*self.addresses][:_COPIES]
        # Then records are on two brokers also while one of three is down.
        config = {**_CONFIG, "min.insync.replicas": str(max(1, len(replicas) - 1))}
        created = self._own.create(replicas, config)
        for _look in looks(self.kafka.clock, _TIMEOUT_S):
            # Brokers learn of a new topic late.
            if found := self._locate():
                return found
        raise JournalError(f"topic {self.topic} {'was created' if created else 'exists'}, but no broker shows it")

    def _read_memory(self, own: OwnTopic) -> Memory:
        if own.topic_id != self._topic_id:
            self._topic_id, self._next_offset, self._records, self._memory = own.topic_id, 0, {}, Memory()
        read = own.read(self._next_offset)
        if not read.records:
            return self._memory
        newest = {(key or b"").decode(errors="replace"): value for _offset, (key, value) in read.records}
        try:
            for key, value in newest.items():
                apply_record(self._records, key, None if value is None else json.loads(value))
        except ValueError:
            raise JournalError(f"{self.name} holds a record that is not JSON, so nothing was changed") from None
        self._memory, self._next_offset = parse_memory(self._records, self.name), read.next_offset
        return self._memory


class TopicStore:
    """The memory topic, open for writing (``MemoryTopic.open``)."""

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
