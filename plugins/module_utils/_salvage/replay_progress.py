# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep in the cluster which records were given back: in a compacted topic, written in the replay's transactions.

Committed offsets of a group would not do: brokers forget them if the group has no members for
offsets.retention.minutes, a week by default. A later run would then give everything back twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from .._changes.keyed_topic import KEYED_TOPIC_RIGHTS
from .._changes.own_topic import OwnTopic
from .._changes.topic_by_name import TopicByName, send_to_any
from .._kafka import error_codes
from .._kafka.errors import CallError
from .._kafka.log_reading import SETTLE_S, CommittedLog, OpenTransactionError, Tell
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._kafka.topics import OWN_TOPIC_CONFIG, NewTopic
from .._model.log_contents import EpochRange
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError, looks
from .ledger import MOST_STRETCHES, Ledger
from .saved import SavedRecords
from .transactional import Outgoing

PROGRESS_TOPIC = "_kafkaops_salvage"
_VERSION = 1
_COPIES = 3
_CONFIG = {
    **OWN_TOPIC_CONFIG,
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": "0",
    # Every run reads the whole topic, and the active segment is never compacted. So roll it every hour.
    "segment.ms": "3600000",
}
_APPEAR_S = 30.0


class ReplayProgressError(KafkaOpsError):
    """The ledgers cannot be read or written, so nothing is given back."""


class LedgerKey(NamedTuple):
    """Identifies the ledger of one partition. A re-created topic of the same name has another key."""

    target_topic_id: str
    source: str
    """Id of the topic that the records came from, or its name if the salvage does not have the id."""
    partition: int


class Ledgers(NamedTuple):
    """All ledgers."""

    by_key: Mapping[LedgerKey, Ledger]
    may_lack: bool = False
    """Whether the topic had another leader since its last record, which may lack records that the last one had."""
    is_open: bool = False
    """Whether a transaction is open in the topic: what it gives back is not among these."""

    def of(self, saved: SavedRecords, target_topic_id: str) -> tuple[LedgerKey, Ledger]:
        """Return the ledger of saved records, and its key. It is empty if no run has settled any of them."""
        key = LedgerKey(target_topic_id, saved.topic_id or saved.topic, saved.partition)
        return key, self.by_key.get(key) or Ledger()


@dataclass(frozen=True, slots=True)
class ProgressTopic:
    """The topic with the ledgers. It has one partition."""

    kafka: Kafka
    addresses: Mapping[int, Address]
    """The brokers to ask."""
    name: str
    tell: Tell = str

    def read(self, *, waits: bool = True) -> Ledgers:
        """Read all ledgers; none if the topic does not exist. With ``waits``, wait for the end of open transactions.

        Raises ReplayProgressError, JournalError or NoBrokerAnswersError.
        """
        found = OwnTopic.find(self._own)
        wait_s = SETTLE_S if waits else None
        return found.ask(lambda leader: self._read_from(leader, wait_s)) if found is not None else Ledgers({})

    @property
    def _own(self) -> TopicByName:
        return TopicByName(
            self.kafka, self.addresses, self.addresses, self.name, KEYED_TOPIC_RIGHTS, SETTLE_S, self.tell
        )

    def _read_from(self, leader: Address, wait_s: float | None) -> Ledgers:
        partition = TopicPartition(self.name, 0)
        log = CommittedLog(partial(self.kafka.wire.call, leader), partition, 0, self.tell)
        found: dict[LedgerKey, Ledger] = {}
        last_epoch = 0
        try:
            for epoch, record in log.read(wait_s):
                last_epoch = epoch
                if record.key is None:
                    # Of a topic of somebody else. As a topic of ledgers, it would be compacted, and lose such records.
                    raise self._unknown_format(record.offset)
                if record.value is not None:
                    found[self._decode_key(record.offset, record.key)] = self._decode_ledger(
                        record.offset, record.value
                    )
        except OpenTransactionError as error:
            raise ReplayProgressError(f"{error}. Perhaps another run is giving records back") from None
        state = self.kafka.read_partition_state(partition)
        may_lack = state is None or state.leader_epoch > last_epoch
        return Ledgers(found, may_lack=may_lack, is_open=log.is_open)

    def create(self) -> None:
        """Create the topic if it does not exist, or give it the configs that an earlier version did not set.

        Raises CallError, ReplayProgressError or JournalError.
        """
        if self.kafka.read_partition_state(TopicPartition(self.name, 0)) is None:
            create_and_wait(self.kafka, self.addresses, NewTopic(self.name, 1, _COPIES, _CONFIG))
            return
        self._own.repair(_CONFIG)

    def records(self, ledgers: Mapping[LedgerKey, Ledger]) -> list[Outgoing]:
        """Return the records to write for these ledgers. Raises ReplayProgressError."""
        return [self._encode(key, ledger) for key, ledger in ledgers.items()]

    def _encode(self, key: LedgerKey, ledger: Ledger) -> Outgoing:
        done = [[each.epoch, each.start_offset, each.end_offset] for each in ledger.settled]
        if len(done) > MOST_STRETCHES:
            raise ReplayProgressError(
                f"partition {key.partition} of topic {key.source} has more than {MOST_STRETCHES} separate ranges "
                "of settled records, and no more can be stored. If there are many records of unknown outcome in "
                "between, include_unknown gives them back too. Otherwise its other records stay in the salvage"
            )
        value = {"version": _VERSION, "given": ledger.given, "superseded": ledger.superseded, "done": done}
        return self.name, 0, _json(key._asdict()), _json(value), [], int(time.time() * 1000)

    def _decode_key(self, offset: int, key: bytes) -> LedgerKey:
        try:
            return LedgerKey(**json.loads(key))
        except (ValueError, TypeError):
            raise self._unknown_format(offset) from None

    def _decode_ledger(self, offset: int, value: bytes) -> Ledger:
        try:
            found = json.loads(value)
            if found["version"] == _VERSION:
                done = tuple(EpochRange(*map(int, each)) for each in found["done"])
                return Ledger(done, int(found["given"]), int(found.get("superseded", 0)))
        except (ValueError, TypeError, KeyError):
            pass
        raise self._unknown_format(offset)

    def _unknown_format(self, offset: int) -> ReplayProgressError:
        return ReplayProgressError(
            f"the record at offset {offset} of topic {self.name} was not written by this version: make sure that "
            "nothing was given back before, then set progress_topic to the name of another topic"
        )


def create_and_wait(kafka: Kafka, addresses: Mapping[int, Address], topic: NewTopic) -> None:
    """Create a topic and wait until the cluster names a leader of every partition.

    The controller places replicas on registered brokers that are down now, too. So a large outage costs no copies: they
    are made when the brokers return. How many are registered is not known before Kafka 4.0. If they are too few, the
    topic gets fewer copies, at least as many as brokers live.

    Raises CallError or ReplayProgressError.
    """
    least = min(topic.copies, len(addresses))
    for copies in range(topic.copies, least - 1, -1):
        try:
            _create(kafka, addresses, replace(topic, copies=copies))
            break
        except CallError as error:
            if error.code != error_codes.INVALID_REPLICATION_FACTOR or copies == least:
                raise
    for _look in looks(time, _APPEAR_S):
        with suppress(CallError):
            if _has_all_leaders(kafka.describe_partitions([topic.name]).partitions, topic.partitions):
                return
    raise ReplayProgressError(f"topic {topic.name} was created, but not all of its partitions have a leader")


def _create(kafka: Kafka, addresses: Mapping[int, Address], topic: NewTopic) -> None:
    try:
        send_to_any(addresses.values(), lambda to: kafka.create_spread_topic(to, topic), kafka.clock, _APPEAR_S)
    except CallError as error:
        if error.code != error_codes.TOPIC_ALREADY_EXISTS:
            raise


def _has_all_leaders(states: Sequence[Any], partitions: int) -> bool:
    return len(states) >= partitions and all(not each.is_offline for each in states)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
