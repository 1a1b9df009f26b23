# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real producers and consumers that write down what they did and saw: confluent-kafka, as applications use it."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from campaign.clients.history import History, Outcome, Partition, Read, Reader, Write
from campaign.clients.share import ShareMember
from campaign.clients.verifiable import Verifiable
from lab import Cluster, settings, wait_until

_BETWEEN_WRITES_S = 0.1
_BETWEEN_COMMITS_S = 0.5
_DELIVERY_MS = 20_000
"""Longer than most partitions of a trial have no leader: a producer then sends its records again."""
_IDEMPOTENT_DELIVERY_MS = 120_000
"""Longer than every partition of a trial has no leader. When the first records of a request expire, librdkafka begins
a new epoch of the producer, and sends the others again: the broker cannot know that it has them."""
_TRANSACTION_MS = 10_000
_RECORDS_OF_A_TRANSACTION = 3
_ABORTED = 3
"""Every so many-th transaction is aborted."""
_END_S = 90.0

_PLAIN: Mapping[str, Mapping[str, Any]] = {
    "all": {"acks": "all"},
    "one": {"acks": "1"},
    "idempotent": {"enable.idempotence": True, "message.timeout.ms": _IDEMPOTENT_DELIVERY_MS},
}
_MAY_REPEAT = ("all", "one")
"""Producers without idempotence: a batch whose answer was lost is sent again."""


@dataclass
class Clients:
    """Producers and consumers of some partitions of one topic; a context manager that starts and stops them."""

    cluster: Cluster
    partitions: Sequence[Partition]
    history: History = field(default_factory=History)
    share: ShareMember | None = None
    """A member of a share group beside them."""
    verifiable: Verifiable | None = None
    """Kafka's own clients beside them."""
    _of_value: dict[str, int] = field(default_factory=dict)
    """The place of each write in the history."""
    _ends: dict[tuple[str, Partition], int] = field(default_factory=dict)
    """The last end that each consumer reached."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _no_more_writes: threading.Event = field(default_factory=threading.Event)
    _no_more_reads: threading.Event = field(default_factory=threading.Event)
    _writers: list[threading.Thread] = field(default_factory=list)
    _others: list[threading.Thread] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def __enter__(self) -> Clients:
        self._writers = [self._thread(self._write_plain, name) for name in _PLAIN]
        self._writers.append(self._thread(self._write_transactions, "transactional"))
        for isolation in ("read_uncommitted", "read_committed"):
            reader = Reader(isolation, isolation == "read_committed")
            self.history.readers.append(reader)
            self._others.append(self._thread(self._read, reader))
        self.history.readers += [each.reader for each in (self.share, self.verifiable) if each is not None]
        for each in (*self._writers, *self._others):
            each.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._no_more_writes.set()
        self._no_more_reads.set()
        for each in (*self._writers, *self._others):
            each.join()

    @property
    def errors(self) -> list[str]:
        """Return the errors of the share group, each once."""
        return [] if self.share is None else [*dict.fromkeys(self.share.errors)]

    def stop_writing(self) -> None:
        """Stop the producers, and wait until each knows the outcome of its records, or gives them up."""
        self._no_more_writes.set()
        for each in self._writers:
            each.join()
        if self.verifiable is not None:
            self.history.writes += self.verifiable.stop_writing()

    def look_at_end(self) -> None:
        """Read every partition from beginning to end, and wait until the other consumers are there too."""
        self.history.left = self._read_all("read_uncommitted")
        self.history.left_committed = self._read_all("read_committed")
        deadline = time.monotonic() + _END_S
        others = [each.reader for each in (self.share, self.verifiable) if each is not None]
        for reader in self.history.readers:
            if reader in others:
                continue
            reader.caught_up = False
            while not reader.caught_up and time.monotonic() < deadline:
                reader.caught_up = all(
                    self._ends.get((reader.name, each), -1) >= self._ends[f"at the end, {reader.name}", each]
                    for each in self.partitions
                )
                time.sleep(0.1)
        for reader in others:
            self._wait_until_seen(reader, deadline)
        self._read_commits()

    def _wait_until_seen(self, reader: Reader, deadline: float) -> None:
        """Wait until a member of a group has got every record that is there, or has had the time to."""
        left = {(each, read.value) for each, reads in self.history.left.items() for read in reads}
        while time.monotonic() < deadline:
            if self.verifiable is not None:
                self.verifiable.read()
            if left <= {(each.partition, each.value) for each in [*reader.reads]}:
                break
            time.sleep(0.5)
        is_dead = self.verifiable is not None and reader is self.verifiable.reader and not self.verifiable.is_reading
        reader.caught_up = not is_dead

    def _thread(self, work: Callable[[Any], None], argument: object) -> threading.Thread:
        return threading.Thread(target=work, args=(argument,), daemon=True)

    def config(self) -> dict[str, Any]:
        """Return the settings of every client."""
        return {
            "bootstrap.servers": self.cluster.bootstrap(settings.INTERNAL),
            "log_level": 0,
            "topic.metadata.refresh.interval.ms": 1_000,
            "reconnect.backoff.max.ms": 1_000,
        }

    # Producers

    def _write_plain(self, name: str) -> None:
        generation = itertools.count()
        while not self._no_more_writes.is_set():
            producer = Producer({**self.config(), "message.timeout.ms": _DELIVERY_MS, "linger.ms": 5, **_PLAIN[name]})
            self._write_until_fatal(producer, f"{name}, instance {next(generation)}", may_repeat=name in _MAY_REPEAT)

    def _write_until_fatal(self, producer: Producer, name: str, *, may_repeat: bool) -> None:
        """Write until the end. A producer with a fatal error is replaced, as an application does."""
        fatal = threading.Event()
        for partition in itertools.cycle(self.partitions):
            if fatal.wait(0) or self._no_more_writes.wait(_BETWEEN_WRITES_S):
                break
            self._produce(producer, Write(name, partition, "", Outcome.UNKNOWN, may_repeat=may_repeat), fatal)
            try:
                producer.poll(0)
            except (KafkaException, SystemError):
                # An idempotent producer is out of sequence after an election that lost its newest records.
                break
        # With a fatal error, confluent-kafka 2.16.1 may raise a SystemError ("returned NULL").
        with suppress(KafkaException, SystemError):
            producer.flush(_IDEMPOTENT_DELIVERY_MS / 1000 + 5)

    def _produce(self, producer: Producer, write: Write, fatal: threading.Event) -> None:
        value = f"{write.producer.partition(',')[0]}-{next(self._numbers)}"
        with self._lock:
            self._of_value[value] = len(self.history.writes)
            self.history.writes.append(replace(write, value=value))

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self._note(value, message.offset())
            elif error.fatal() or error.code() in (KafkaError._FATAL, KafkaError._FENCED):
                fatal.set()

        topic, number = write.partition
        try:
            producer.produce(topic, value, partition=number, on_delivery=delivered)
        except (BufferError, KafkaException):
            fatal.set()
            self._note(value, None, Outcome.FAILED)

    def _note(self, value: str, offset: int | None, outcome: Outcome = Outcome.OK) -> None:
        with self._lock:
            at = self._of_value[value]
            self.history.writes[at] = replace(self.history.writes[at], outcome=outcome, offset=offset)

    def _write_transactions(self, name: str) -> None:
        producer: Producer | None = None
        generation = itertools.count()
        for number in itertools.count():
            if self._no_more_writes.wait(_BETWEEN_WRITES_S):
                break
            if producer is None:
                producer = self._start_transactional(name)
                who = f"{name}, instance {next(generation)}"
            if producer is None:
                continue
            transaction = f"transaction {number}"
            self.history.transactions[transaction] = Outcome.UNKNOWN
            try:
                self._carry_out(producer, who, transaction, aborts=number % _ABORTED == _ABORTED - 1)
            except KafkaException:
                # Its outcome is not known, or the producer is fenced: the next one, with the same id, ends it.
                producer = None

    def _start_transactional(self, name: str) -> Producer | None:
        config = {"transactional.id": name, "transaction.timeout.ms": _TRANSACTION_MS, "linger.ms": 5}
        producer = Producer({**self.config(), **config})
        with suppress(KafkaException):
            producer.init_transactions(_DELIVERY_MS / 1000)
            return producer
        return None

    def _carry_out(self, producer: Producer, who: str, transaction: str, *, aborts: bool) -> None:
        producer.begin_transaction()
        for number in range(_RECORDS_OF_A_TRANSACTION):
            partition = self.partitions[number % len(self.partitions)]
            write = Write(who, partition, "", Outcome.UNKNOWN, transaction=transaction)
            self._produce(producer, write, threading.Event())
        if aborts:
            _repeat(producer.abort_transaction)
            self.history.transactions[transaction] = Outcome.FAILED
            return
        try:
            _repeat(producer.commit_transaction)
            self.history.transactions[transaction] = Outcome.OK
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            _repeat(producer.abort_transaction)
            self.history.transactions[transaction] = Outcome.FAILED

    # Consumers

    def _consumer(self, isolation: str, group: str, **more: object) -> Consumer:
        return Consumer(
            {
                **self.config(),
                "group.id": group,
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                **more,
            }
        )

    def _read(self, reader: Reader) -> None:
        def committed(error: KafkaError | None, offsets: list[TopicPartition]) -> None:
            for each in offsets:
                if error is None and each.error is None:
                    self.history.commits.setdefault((reader.name, (each.topic, each.partition)), []).append(each.offset)

        consumer = self._consumer(reader.name, reader.name, on_commit=committed)
        consumer.assign([TopicPartition(topic, number, 0) for topic, number in self.partitions])
        commit_at = time.monotonic()
        next_offsets: dict[Partition, int] = {}
        while not self._no_more_reads.is_set():
            for message in consumer.consume(500, timeout=0.2):
                read = self._take(reader.name, message)
                if read is not None:
                    reader.reads.append(read)
                    next_offsets[read.partition] = read.offset + 1
            if next_offsets and time.monotonic() >= commit_at:
                commit_at = time.monotonic() + _BETWEEN_COMMITS_S
                positions = [TopicPartition(*each, offset) for each, offset in next_offsets.items()]
                with suppress(KafkaException):
                    consumer.commit(offsets=positions, asynchronous=True)
        consumer.close()

    def _take(self, who: str, message: Message) -> Read | None:
        partition = (message.topic() or "", message.partition() or 0)
        error, offset = message.error(), message.offset() or 0
        if error is None:
            self._ends[who, partition] = offset + 1
            return Read(partition, offset, (message.value() or b"").decode(), message.leader_epoch())
        if error.code() == KafkaError._PARTITION_EOF:
            self._ends[who, partition] = offset
        return None

    def _read_all(self, isolation: str) -> dict[Partition, Sequence[Read]]:
        """Read the partitions to their ends. One without a leader is missing in the result."""
        who, found = f"at the end, {isolation}", {each: list[Read]() for each in self.partitions}
        for each in self.partitions:
            self._ends.pop((who, each), None)
        consumer, at_end = self._consumer(isolation, "the last consumer"), set[Partition]()

        def is_read() -> bool:
            for message in consumer.consume(10_000, timeout=0.5):
                read = self._take(who, message)
                error = message.error()
                if read is not None:
                    found[read.partition].append(read)
                elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                    at_end.add((message.topic() or "", message.partition() or 0))
            return len(at_end) == len(self.partitions)

        try:
            consumer.assign([TopicPartition(topic, number, 0) for topic, number in self.partitions])
            wait_until(is_read, _END_S, what="a consumer reads every partition to its end")
        finally:
            consumer.close()
        return {each: tuple(found[each]) for each in self.partitions}

    def _read_commits(self) -> None:
        asked = [TopicPartition(*each) for each in self.partitions]
        for reader in (each for each in self.history.readers if not each.may_repeat):
            consumer = self._consumer(reader.name, reader.name)
            with suppress(KafkaException):
                for each in consumer.committed(asked, timeout=30):
                    self.history.committed_at_end[reader.name, (each.topic, each.partition)] = max(each.offset, -1)
            consumer.close()


def _repeat(call: Callable[[float], None]) -> None:
    """Commit or abort a transaction, and repeat that while the client says that this is safe. Raises KafkaException."""
    deadline = time.monotonic() + _DELIVERY_MS / 1000
    while True:
        try:
            call(5.0)
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() >= deadline:
                raise
        else:
            return
