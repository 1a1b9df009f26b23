# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep values by key in a compacted topic of the cluster.

Only the run that holds the lock of the cluster writes to it. Each record is complete without the others, and a repeated
record changes nothing. So no transaction is needed, and if a run dies between two records, the next run continues from
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._kafka import error_codes
from .._kafka.base_port import BaseKafka
from .._kafka.errors import RequestRefusedError
from .._kafka.settings import Address
from .._kafka.topics import OWN_TOPIC_CONFIG
from .._model.partition import MIN_ISR
from .._model.run import looks
from .._model.setting import TOPIC_RESOURCE
from .journal import Journal
from .own_topic import FirstRecordsDeletedError, OwnTopic
from .record import JournalError
from .sender import NEW_TOPIC_S
from .topic_by_name import TopicByName

KEYED_TOPIC_RIGHTS = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
"""The ACL operations that a principal needs on the topic."""
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
_KEPT = (_POLICY, MIN_ISR)


@dataclass(slots=True, kw_only=True)
class KeyedTopic:
    """A compacted topic of one cluster. What was read once is not read again."""

    kafka: BaseKafka
    addresses: Mapping[int, Address]
    """Addresses of the living brokers, by id, in the order of preference."""
    topic: str
    holds: str
    """What the topic keeps, for messages."""
    instead: str = ""
    """How to name another topic, for messages. Empty if that is not possible."""
    copies_that_may_be_lost: int = 1
    """How many of its replicas may be out of sync while it is written. min.insync.replicas comes from this."""
    _topic_id: str = field(default="", init=False)
    """The topic that was read. A re-created topic has another id."""
    _next_offset: int = field(default=0, init=False)
    _values: Mapping[str, Any] = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        return f"topic {self.topic}"

    def read(self) -> Mapping[str, Any]:
        """Return the values by key; empty if there is no topic. Changes nothing, and takes no lock.

        The same object means that nothing has changed since the last call.

        Raises JournalError if the topic cannot be read, is not compacted or has several partitions; or
        NoBrokerAnswersError.
        """
        found = self._find_compacted()
        return self._read_values(found) if found is not None else {}

    def peek(self) -> Mapping[str, Any]:
        """Return the values by key, at once: without a wait for a leader, and without a look at its configs.

        Raises JournalError or NoBrokerAnswersError.
        """
        found = self._own.locate()
        if found is None:
            return {}
        return self._read_values(OwnTopic(self._own, found.topic_id, found.leader_id, found.leader_epoch))

    def open(self, journal: Journal) -> OpenKeyedTopic:
        """Open the topic for writing, under the lock of the run that has this journal. Create it if necessary.

        Raises JournalError: the topic cannot be read or created, or the lock is lost.
        """
        found = self._find_compacted()
        values = self._read_values(found) if found is not None else {}
        journal.require_lock()
        if found is not None:
            # It keeps its min.insync.replicas, which depends on the number of brokers when it was created.
            self._own.repair({name: value for name, value in _CONFIG.items() if name not in _KEPT})
            # Created in a large outage, it has one copy.
            found.add_missing_replicas(_COPIES)
        else:
            found = self._create()
            # A later run can only undo what it can read. The topic is not new if no broker had shown it yet.
            values = self._read_values(found)
        return OpenKeyedTopic(found, journal, values)

    def _find_compacted(self) -> OwnTopic | None:
        """Return the topic; None if it does not exist. Another party may have created it with other settings.

        Raises JournalError if it is not compacted, or if that is unknown; or NoBrokerAnswersError.
        """
        found = OwnTopic.find(self._own)
        policy = self._read_policy(exists=found is not None)
        if policy not in ("compact", None):
            raise JournalError(
                f"{_POLICY} of topic {self.topic} is {policy}, so {self.holds} in it could expire. Nothing was "
                f"changed: set it to compact (kafka-configs.sh --alter --entity-type topics --entity-name {self.topic} "
                f"--add-config {_POLICY}=compact){self.instead and f', or {self.instead}'}"
            )
        return found

    def _read_policy(self, *, exists: bool) -> str | None:
        """Return the policy of the topic; None if there is no topic.

        A broker may not know yet a topic that was just created. Without the right to read the policy, no topic is to be
        created either: no later run could use it.

        Raises JournalError if it cannot be read, or NoBrokerAnswersError.
        """
        problem = ""
        for _look in looks(self.kafka.clock, NEW_TOPIC_S if exists else 0):
            try:
                found = self.kafka.read_configs(None, TOPIC_RESOURCE, self.topic, [_POLICY]).get(_POLICY)
            except RequestRefusedError as error:
                problem = str(error)
                if error.code != error_codes.UNKNOWN_TOPIC_OR_PARTITION:
                    break
                if not exists:
                    return None
            else:
                return (found.value if found else None) or "unknown"
        raise JournalError(
            f"whether topic {self.topic} is compacted is unknown: {problem}; our principal needs DESCRIBE_CONFIGS on it"
        )

    @property
    def _own(self) -> TopicByName:
        return TopicByName(self.kafka, self.addresses, self.addresses, self.topic, KEYED_TOPIC_RIGHTS)

    def _create(self) -> OwnTopic:
        replicas = self._own.choose_brokers(_COPIES)
        min_isr = max(1, len(replicas) - self.copies_that_may_be_lost)
        OwnTopic.create(self._own, replicas, {**_CONFIG, MIN_ISR: str(min_isr)})
        return OwnTopic.find_created(self._own)

    def _read_values(self, own: OwnTopic) -> Mapping[str, Any]:
        if own.topic_id != self._topic_id:
            self._topic_id, self._next_offset, self._values = own.topic_id, 0, {}
        try:
            read = own.read(self._next_offset)
        except FirstRecordsDeletedError as error:
            raise JournalError(
                f"{error}. Nothing was changed: compare the cluster with what you know of {self.holds}, then delete "
                f"the topic (kafka-topics.sh --delete --topic {self.topic}). The next run creates it again"
            ) from None
        newest = {(key or b"").decode(errors="replace"): value for _offset, (key, value) in read.records}
        try:
            decoded = {key: None if value is None else json.loads(value) for key, value in newest.items()}
        except (ValueError, RecursionError):
            raise JournalError(f"{self.name} holds a record that is not JSON, so nothing was changed") from None
        if decoded:
            merged = {**self._values, **decoded}
            self._values = {key: value for key, value in merged.items() if value is not None}
        self._next_offset = max(self._next_offset, read.next_offset)
        return self._values


@dataclass(slots=True)
class OpenKeyedTopic:
    """A keyed topic, open for the run that holds the lock (``KeyedTopic.open``)."""

    own: OwnTopic
    journal: Journal
    values: Mapping[str, Any]
    """The values when it was opened."""

    def write(self, changes: Mapping[str, Any]) -> None:
        """Write values by key, and return when they are durable. None deletes a key.

        Raises JournalError, also if this run has lost the lock.
        """
        if not changes:
            return
        self.journal.require_lock()
        self.own.append(
            [
                (key.encode(), None if value is None else json.dumps(value, separators=(",", ":")).encode())
                for key, value in changes.items()
            ]
        )
