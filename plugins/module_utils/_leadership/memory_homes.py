# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the list and the original orders are remembered: our topic or a local file, or both until they are one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .._changes.record import JournalError
from .._kafka.addresses import Address
from .._kafka.wire import Wire
from .memory import Memory, MemoryStore, difference, memory_of, merged, open_memory_file, read_memory_file
from .topic_reading import read_topic, require_compacted


class Home(StrEnum):
    """Where to remember."""

    TOPIC = "topic"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """The memory of one cluster, which no other run can write to meanwhile."""

    store: MemoryStore
    memory: Memory
    home: str
    """What it is kept in, for a person."""
    fallback: str
    """Why it is kept in the file although the topic was wanted; empty where that is not so."""


@dataclass(frozen=True, slots=True)
class Homes:
    """Both homes of one cluster's memory."""

    wire: Wire
    addresses: Mapping[int, Address]
    """Of the living brokers, by id."""
    wanted: Home
    topic: str
    file: Path

    @property
    def home(self) -> str:
        """What is wanted, for a person."""
        return f"topic {self.topic}" if self.wanted is Home.TOPIC else str(self.file)

    def read(self) -> Memory:
        """All that is remembered. Changes nothing, and takes no lock.

        Raises JournalError when a home cannot be read or does not keep what it is given, or when the file is wanted and
        the topic remembers something.
        """
        file = read_memory_file(self.file)
        if self.wanted is Home.TOPIC:
            require_compacted(self.wire, self.topic)
            return merged(self._read_topic(), file)
        try:
            topic = self._read_topic()
        except JournalError:
            # Whoever wants the file may have no right to the topic.
            return file
        if topic:
            raise JournalError(
                f"topic {self.topic} remembers {len(topic.orders)} original orders: go on with it (memory: topic), "
                "since two memories would contradict each other"
            )
        return file

    @contextmanager
    def open(self) -> Iterator[OpenMemory]:
        """Return the memory, to be written.

        Where the topic is wanted and cannot be written, the file takes over, beginning with all that the topic holds.
        Once the topic can be written again, it takes what the file holds.

        Raises JournalError.
        """
        with ExitStack() as stack:
            yield self._open_file(stack) if self.wanted is Home.FILE else self._open_topic(stack)

    def _open_file(self, stack: ExitStack) -> OpenMemory:
        store = stack.enter_context(open_memory_file(self.file))
        return OpenMemory(store, store.memory, self.home, "")

    def _open_topic(self, stack: ExitStack) -> OpenMemory:
        # Imported where needed: a run that changes nothing needs no second Kafka client.
        from .topic_store import UnwritableTopicError, open_topic  # noqa: PLC0415

        try:
            store = stack.enter_context(open_topic(self.wire, self.addresses, self.topic))
        except UnwritableTopicError as fault:
            return self._fall_back(stack, str(fault))
        if not read_memory_file(self.file):
            return OpenMemory(store, store.memory, self.home, "")
        with open_memory_file(self.file) as file:
            memory = merged(store.memory, file.memory)
            store.write(difference(memory, store.memory))
            file.clear()
        return OpenMemory(store, memory, self.home, "")

    def _fall_back(self, stack: ExitStack, why: str) -> OpenMemory:
        topic = self._read_topic()
        store = stack.enter_context(open_memory_file(self.file))
        memory = merged(topic, store.memory)
        store.write(difference(memory, store.memory))
        return OpenMemory(store, memory, str(self.file), why)

    def _read_topic(self) -> Memory:
        return memory_of(read_topic(self.wire, self.addresses, self.topic) or {}, f"topic {self.topic}")
