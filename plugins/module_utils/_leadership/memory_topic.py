# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the list and the original orders in a compacted topic of the cluster.

The doc fragment ``leadership_memory`` describes the options.

Only the run that holds the lock of the cluster writes to the topic. Each record is complete without the others, and a
repeated record changes nothing. So no transaction is needed, and if a run dies between two records, the next run
continues from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._changes.journal import Journal
from .._changes.journal_reader import JournalOptions
from .._changes.own_topic import OwnTopic, OwnTopics
from .._changes.record import JournalError
from .._kafka import error_codes
from .._kafka.configs import TOPIC
from .._kafka.errors import RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._kafka.topics import OWN_TOPIC_CONFIG
from .._module.connection import Arguments
from .._module.options import journal_options
from .memory import Changes, Memory, apply_record, list_changes, parse_memory

LEADERSHIP = Arguments(
    argument_spec={
        "memory_topic": {"type": "str", "default": "_kafkaops_leadership"},
        "attempts": {"type": "int", "default": 3},
        "verify_timeout_ms": {"type": "int", "default": 30000},
    }
)
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
_RIGHTS = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")


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


def leadership_options(params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Return the fields of LeadershipOptions from a module's parameters."""
    return {
        "memory_topic": params["memory_topic"],
        "journal": journal_options(params),
        "attempts": params["attempts"],
        "verify_timeout_ms": params["verify_timeout_ms"],
        "check_mode": check_mode,
    }


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

        Raises JournalError if the topic cannot be read, is not compacted or has several partitions; or
        NoBrokerAnswersError.
        """
        self._require_compacted()
        found = self._own.find()
        return self._read_memory(found) if found is not None else Memory()

    def open(self, journal: Journal) -> OpenMemory:
        """Open the topic for writing, under the lock of the run that has this journal. Create it if necessary.

        Raises JournalError, before anything is changed: the topic cannot be read or written, or the lock is lost.
        """
        self._require_compacted()
        found = self._own.find()
        memory = self._read_memory(found) if found is not None else Memory()
        journal.require_lock()
        if found is not None:
            # It keeps its min.insync.replicas, which depends on the number of brokers when it was created.
            self._own.repair({name: value for name, value in _CONFIG.items() if name not in _KEPT})
            # Created in a large outage, it has one copy of the original orders.
            self._own.add_missing_replicas(_COPIES)
        opened = OpenMemory(found or self._create(), journal, memory)
        # Check that the topic can be written before any order is changed.
        opened.write(list_changes(memory))
        return opened

    def _require_compacted(self) -> None:
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
        return OwnTopics(self.kafka, self.addresses, self.addresses, self.topic, _RIGHTS, _TIMEOUT_S)

    def _create(self) -> OwnTopic:
        replicas = [*self.addresses][:_COPIES]
        # Then records are on two brokers also while one of three is down.
        config = {**_CONFIG, "min.insync.replicas": str(max(1, len(replicas) - 1))}
        self._own.create(replicas, config)
        return self._own.find_created()

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


@dataclass(slots=True)
class OpenMemory:
    """The memory of one cluster, open for the run that holds the lock (``MemoryTopic.open``)."""

    own: OwnTopic
    journal: Journal
    memory: Memory
    """The memory when it was opened."""

    def write(self, changes: Changes) -> None:
        """Write changes, and return when they are durable. Raises JournalError, also if this run has lost the lock."""
        if not changes:
            return
        self.journal.require_lock()
        self.own.append(
            [
                (key.encode(), None if value is None else json.dumps(value, separators=(",", ":")).encode())
                for key, value in changes.items()
            ]
        )
