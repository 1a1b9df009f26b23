# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the list and the original orders are remembered: our compacted topic or a local file, or both for a while.

The doc fragment ``leadership_memory`` describes the options, which changes of orders and moves of leaders share.

Only the run that holds the lock of the cluster writes to the topic. Each record stands by itself: it names what it is
about, and a repeated one changes nothing. So records need no transaction, and a run that dies between two of them
leaves what the next run goes on from.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from .._changes.home import require_durable_directory
from .._changes.journal import Journal, LockLostError
from .._changes.journal_look import JournalOptions
from .._changes.own_topic import OwnTopic, OwnTopics, TopicOfflineError
from .._changes.record import JournalError
from .._kafka import error_codes
from .._kafka.configs import TOPIC
from .._kafka.errors import RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._module.connection import Arguments
from .._module.options import journal_options
from .memory import (
    Changes,
    FileStore,
    Memory,
    MemoryStore,
    difference,
    list_changes,
    memory_path,
    merge,
    parse_memory,
    read_memory_file,
)


class Home(StrEnum):
    """Where to remember."""

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
    """Where a run remembers what it changes, and how often it tries."""

    memory: Home
    memory_topic: str
    journal: JournalOptions
    attempts: int
    """For each write that fails in a way that may pass."""
    verify_timeout_ms: int
    """How long a change may take to be seen before it counts as not done."""
    check_mode: bool


def leadership_options(params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Return the fields of LeadershipOptions, as a module's parameters say."""
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
    """The memory of one cluster, to be written."""

    store: MemoryStore
    memory: Memory
    home: str
    """What it is kept in, for a person."""
    fallback: str = ""
    """Why it is kept in the file although the topic was wanted; empty where that is not so."""


@dataclass(frozen=True, slots=True)
class Homes:
    """Both homes of one cluster's memory."""

    topic: MemoryTopic
    file: Path
    wanted: Home
    journal: JournalOptions
    """Of the run: the file is in the same directory as a journal would be."""

    @classmethod
    def of(cls, kafka: Kafka, living: Mapping[int, Address], options: LeadershipOptions, cluster_id: str) -> Homes:
        """Return the homes that a run's options name. Raises JournalError."""
        file = memory_path(options.journal.path, cluster_id)
        return cls(MemoryTopic(kafka, living, options.memory_topic), file, options.memory, options.journal)

    @property
    def home(self) -> str:
        """What is wanted, for a person."""
        return self.topic.name if self.wanted is Home.TOPIC else str(self.file)

    def read(self) -> Memory:
        """All that is remembered. Changes nothing, and takes no lock.

        Raises JournalError when a home cannot be read or does not keep what it is given, or when the file is wanted and
        the topic remembers something.
        """
        file = read_memory_file(self.file)
        if self.wanted is Home.TOPIC:
            self.topic.require_compacted()
            return merge(self.topic.read(), file)
        try:
            topic = self.topic.read()
        except JournalError:
            # Whoever wants the file may have no right to the topic.
            return file
        if topic:
            raise JournalError(
                f"{self.topic.name} remembers {len(topic.orders)} original orders: go on with it (memory: topic), "
                "since two memories would contradict each other"
            )
        return file

    @contextmanager
    def open(self, journal: Journal) -> Iterator[OpenMemory]:
        """Return the memory, to be written under the lock of the run that has this journal.

        Where the topic is wanted and cannot be written, the file takes over, beginning with all that the topic holds.
        Once the topic can be written again, it takes what the file holds. A file that holds nothing is removed.

        Raises JournalError, also where the file would be lost with the container that this run is in.
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
        require_durable_directory(self.journal, fallback or "the original orders are to be remembered in a file")
        with FileStore(self.file) as file:
            memory = file.memory
            if fallback:
                memory = merge(self.topic.read(), file.memory)
                file.write(difference(memory, file.memory))
            yield OpenMemory(file, memory, str(self.file), fallback)

    def _adopt_file(self, store: MemoryStore) -> Memory:
        """Bring what a file remembers into the topic."""
        if not read_memory_file(self.file):
            return store.memory
        with FileStore(self.file) as file:
            memory = merge(store.memory, file.memory)
            store.write(difference(memory, store.memory))
            file.clear()
        return memory


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
    "max.message.bytes": "1048588",
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
        found = self._locate()
        return self._read_memory(found) if found is not None else Memory()

    def open(self, journal: Journal) -> TopicStore:
        """Return the topic to be written under the lock of the run that has this journal. Creates it where it is not.

        Raises UnwritableTopicError; JournalError when it cannot be read, or when the lock is lost.
        """
        found = self._locate()
        memory = self._read_memory(found) if found is not None else Memory()
        journal.require_lock()
        try:
            store = TopicStore(found or self._create(), journal, memory)
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

    def _locate(self) -> OwnTopic | None:
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

    def _create(self) -> OwnTopic:
        replicas = [*self.addresses][:_COPIES]
        # With one copy less than all, one broker can be down and what is written is still on two.
        config = {**_CONFIG, "min.insync.replicas": str(max(1, len(replicas) - 1))}
        created = self._own.create(replicas, config)
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            # Brokers learn late of a new topic.
            if found := self._locate():
                return found
            time.sleep(_LOOK_EVERY_S)
        raise JournalError(f"topic {self.topic} was {'created' if created else 'there'}, and no broker shows it")

    def _read_memory(self, own: OwnTopic) -> Memory:
        newest: dict[str, Any] = {}
        for _offset, (key, value) in own.read(0).records:
            newest[(key or b"").decode(errors="replace")] = value
        try:
            records = {key: json.loads(value) for key, value in newest.items() if value is not None}
        except ValueError:
            raise JournalError(f"{self.name} holds a record that is not JSON; nothing is changed without it") from None
        return parse_memory(records, self.name)


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
