# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the list and the original orders in a compacted topic of the cluster (``KeyedTopic``).

The doc fragment ``leadership_memory`` describes the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._changes.journal import Journal
from .._changes.journal_reader import JournalOptions
from .._changes.keyed_topic import KeyedTopic, OpenKeyedTopic
from .._changes.sender import Writer
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._module.connection import Arguments
from .._module.options import journal_options
from .memory import Memory, list_changes, parse_memory

LEADERSHIP = Arguments(
    argument_spec={
        "memory_topic": {"type": "str", "default": "_kafkaops_leadership"},
        "attempts": {"type": "int", "default": 3},
        "verify_timeout_ms": {"type": "int", "default": 30000},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipOptions:
    """The topic of the memory, and the limits of a run."""

    memory_topic: str
    journal: JournalOptions
    attempts: int
    """The number of attempts for each write that fails for a transient reason."""
    verify_timeout_ms: int
    """The time within which a change must be seen. After it, the change counts as failed."""
    check_mode: bool

    def writer(self, kafka: Kafka, addresses: Sequence[Address], journal: Journal) -> Writer:
        """Return a writer that sends to these brokers while this run holds the lock."""
        return Writer(kafka, addresses, self.attempts, self.verify_timeout_ms / 1000).with_journal(journal)


def leadership_options(params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Return the fields of LeadershipOptions from a module's parameters."""
    given = {each: params[each] for each in LEADERSHIP.argument_spec}
    return {"journal": journal_options(params), "check_mode": check_mode, **given}


class MemoryTopic:
    """The memory topic of one cluster. What was read once is not read again."""

    def __init__(self, kafka: Kafka, addresses: Mapping[int, Address], topic: str) -> None:
        """``addresses`` are those of the living brokers, by id."""
        self._store = KeyedTopic(
            kafka=kafka,
            addresses=addresses,
            topic=topic,
            holds="the original orders",
            instead="name another topic (memory_topic)",
        )
        self._values: Mapping[str, Any] = {}
        self._memory = Memory()

    @property
    def name(self) -> str:
        return self._store.name

    def read(self) -> Memory:
        """Return the memory, which is empty if there is no topic. Changes nothing, and takes no lock.

        Raises JournalError if the topic cannot be read, is not compacted or has several partitions; or
        NoBrokerAnswersError.
        """
        return self._parsed(self._store.read())

    def open(self, journal: Journal) -> tuple[OpenKeyedTopic, Memory]:
        """Open the topic for writing, under the lock of the run that has this journal. Create it if necessary.

        Raises JournalError, before anything is changed: the topic cannot be read or written, or the lock is lost.
        """
        store = self._store.open(journal)
        memory = self._parsed(store.values)
        # Check that the topic can be written before any order is changed.
        store.write(list_changes(memory))
        return store, memory

    def _parsed(self, values: Mapping[str, Any]) -> Memory:
        if values is not self._values:
            self._values, self._memory = values, parse_memory(values, self.name) if values else Memory()
        return self._memory
