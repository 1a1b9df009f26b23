# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the list and the original orders are remembered: our topic or a local file, or both until they are one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .._changes.home import refuse_to_lose_a_file
from .._changes.journal import Journal
from .._changes.journal_look import JournalOptions
from .._changes.record import JournalError
from .memory import FileStore, Memory, MemoryStore, difference, merged, read_memory_file
from .memory_topic import MemoryTopic, UnwritableTopicError


class Home(StrEnum):
    """Where to remember."""

    TOPIC = "topic"
    FILE = "file"


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
            return merged(self.topic.read(), file)
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
                yield OpenMemory(store, self._with_file(store), self.home)
                return
        refuse_to_lose_a_file(self.journal, fallback or "the original orders are to be remembered in a file")
        with FileStore(self.file) as file:
            memory = file.memory
            if fallback:
                memory = merged(self.topic.read(), file.memory)
                file.write(difference(memory, file.memory))
            yield OpenMemory(file, memory, str(self.file), fallback)

    def _with_file(self, store: MemoryStore) -> Memory:
        """Bring what a file remembers into the topic."""
        if not read_memory_file(self.file):
            return store.memory
        with FileStore(self.file) as file:
            memory = merged(store.memory, file.memory)
            store.write(difference(memory, store.memory))
            file.clear()
        return memory
