# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write records, and remember each one with its acknowledged offset."""

from __future__ import annotations

import hashlib
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from lab import Cluster, settings

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LARGE = 3_000_000
_TIMEOUT_S = 60
_LONG = 100


@dataclass(frozen=True)
class Known:
    """An acknowledged record."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    outcome: str = "none"


def in_short(records: Iterable[Known]) -> list[str]:
    """Return a short text for each record, so that a failed comparison can be read."""
    return [
        f"{each.topic}-{each.partition} @{each.offset} {each.timestamp_ms} {_digest(each.key)} {_digest(each.value)} "
        f"{each.headers} {each.outcome}"
        for each in records
    ]


def _digest(content: bytes | None) -> str:
    if content is None or len(content) < _LONG:
        return repr(content)
    return f"{len(content)} bytes {hashlib.sha256(content).hexdigest()[:16]}"


@dataclass
class Oracle:
    """Writes records, and knows all of them by label."""

    cluster: Cluster
    written: dict[str, list[Known]] = field(default_factory=lambda: defaultdict(list), repr=False)
    _serial: int = 0

    def write(self, label: str, topic: str, partition: int, count: int, *, codec: str = "none") -> None:
        """Write ``count`` records of all shapes with acks=all, several to a batch."""
        producer = Producer({**self._config(), "compression.type": codec, "linger.ms": 20, "batch.num.messages": 40})
        for _each in range(count):
            self._produce(producer, label, topic, partition, "none")
        assert producer.flush(_TIMEOUT_S) == 0

    def write_keys(self, label: str, topic: str, partition: int, keys: Sequence[bytes]) -> None:
        """Write one record for each key."""
        producer = Producer(self._config())
        for key in keys:
            self._serial += 1
            value = label.encode() + b" %d" % self._serial
            self._send(producer, label, Known(topic, partition, -1, _timestamp(self._serial), key, value, ()))
        assert producer.flush(_TIMEOUT_S) == 0

    def transaction(
        self, label: str, topic: str, partition: int, count: int, outcome: str, *, name: str | None = None
    ) -> Producer:
        """Write one transaction. ``outcome`` is committed, aborted, or unknown to leave it open.

        Transactions of the same ``name`` have the same producer id.
        """
        self._serial += 1
        name = name or f"oracle-{self._serial}"
        config = {**self._config(), "transactional.id": name, "transaction.timeout.ms": 600_000}
        producer = Producer(config)
        producer.init_transactions(_TIMEOUT_S)
        producer.begin_transaction()
        for _each in range(count):
            self._produce(producer, label, topic, partition, outcome)
        assert producer.flush(_TIMEOUT_S) == 0
        if outcome == "committed":
            producer.commit_transaction(_TIMEOUT_S)
        elif outcome == "aborted":
            producer.abort_transaction(_TIMEOUT_S)
        if outcome != "unknown":
            # The coordinator answers before it writes the markers. Another producer with this id starts after them.
            Producer(config).init_transactions(_TIMEOUT_S)
        return producer

    def commit(self, group: str, topic: str, offset: int) -> None:
        """Commit an offset of partition 0 for a group."""
        consumer = Consumer({**self._client(), "group.id": group, "enable.auto.commit": "false"})
        try:
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        finally:
            consumer.close()

    def of(self, label: str, topic: str | None = None) -> list[Known]:
        """Return the records of a label, in order of topic, partition and offset."""
        found = [each for each in self.written[label] if topic in (None, each.topic)]
        return sorted(found, key=lambda each: (each.topic, each.partition, each.offset))

    def _produce(self, producer: Producer, label: str, topic: str, partition: int, outcome: str) -> None:
        self._serial += 1
        key, value, headers = _shape(self._serial)
        record = Known(topic, partition, -1, _timestamp(self._serial), key, value, tuple(headers), outcome)
        self._send(producer, label, record)

    def _send(self, producer: Producer, label: str, record: Known) -> None:
        def acknowledged(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            offset = message.offset()
            assert offset is not None
            self.written[label].append(replace(record, offset=offset))

        producer.produce(
            record.topic,
            partition=record.partition,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            timestamp=record.timestamp_ms,
            on_delivery=acknowledged,
        )
        producer.poll(0)

    def _config(self) -> dict[str, Any]:
        return {
            **self._client(),
            "acks": "all",
            # A retry after a lost answer must not write a record twice.
            "enable.idempotence": "true",
            "message.max.bytes": 10_000_000,
        }

    def _client(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.cluster.bootstrap(settings.INTERNAL), "log_level": 0}


def read_all(
    cluster: Cluster, topic: str, partitions: Sequence[int], *, isolation: str = "read_committed"
) -> list[Known]:
    """Read all records of a topic with another client, in order of partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap(settings.INTERNAL),
            "group.id": "oracle",
            "enable.auto.commit": "false",
            "isolation.level": isolation,
            "fetch.message.max.bytes": 10_000_000,
            "enable.partition.eof": "true",
            "log_level": 0,
        }
    )
    found: list[Known] = []
    try:
        consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        ended: set[int] = set()
        deadline = time.monotonic() + _TIMEOUT_S
        while len(ended) < len(partitions):
            assert time.monotonic() < deadline, f"{topic} was not read to its end"
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition() or 0)
                continue
            found.append(_known(message))
    finally:
        consumer.close()
    return sorted(found, key=lambda each: (each.partition, each.offset))


def _known(message: Message) -> Known:
    headers: Any = message.headers() or ()
    return Known(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple((name, value) for name, value in headers),
    )


def _timestamp(number: int) -> int:
    """Return a timestamp that no other record has, and that is older than the default retention."""
    return int(time.time() * 1000) - 30 * 24 * 3_600_000 + number


def _shape(number: int) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]:
    """Return key, value and headers of one record. They vary in shape, and no two records are equal."""
    name = b"%d" % number
    match number % 7:
        case 0:
            return None, b"no key " + name, ()
        case 1:
            return b"tombstone " + name, None, (("why", b"deleted"),)
        case 2:
            return b"", b"empty key " + name, ()
        case 3:
            return b"key " + name, b"", (("empty", b""), ("null", None), ("empty", b"twice"), ("größe", name))
        case 4:
            return b"\x00\xff" + name, random.Random(number).randbytes(700), ()
        case 5 if number % 35 == 5:
            return b"large " + name, random.Random(number).randbytes(1000) * (LARGE // 1000), ()
        case _:
            return b"key " + name, b"value " * 20 + name, (("trace", name),)
