# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who holds the memory, for whoever finds it held. Standard library only.

Our compacted topic, opened for writing by one run at a time.

The lock is a transactional producer: whoever begins with our transactional id ends the transactions of whoever had it
before, and no write of that one gets through any more (KIP-98). So that a run does not end another one that is well,
a holder says every few seconds that it lives, and only a silent one is replaced. No clocks are compared.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._changes.record import JournalError
from .._kafka.addresses import Address
from .._kafka.client_configs import librdkafka_config
from .._kafka.settings import ConnectionSettings
from .._kafka.wire import Wire
from .._model.run import KafkaOpsError, utc_now
from .memory import HOLDER_KEY, Changes, Records, memory_of
from .topic_reading import read_topic, require_compacted

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from confluent_kafka import KafkaError, KafkaException, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds the memory."""

    run: str
    """A random id."""
    user: str
    host: str
    pid: int
    place: str
    """Host, boot and pid namespace: where the pid means this process. Empty where that cannot be told."""
    since: str

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid}), since {self.since}"

    @property
    def is_surely_dead(self) -> bool:
        """True when it ran here, and its process is gone. From elsewhere that cannot be told."""
        if not self.place or self.place != _place():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ourselves() -> Holder:
    """Return the holder of this run."""
    return Holder(uuid.uuid4().hex, _user(), socket.gethostname(), os.getpid(), _place(), utc_now())


def holder_of(value: dict[str, Any] | None) -> Holder | None:
    """Return the holder that a record names. Raises TypeError or KeyError for no such record."""
    return Holder(**value["holder"]) if value else None


def _user() -> str:
    # A container's user may have no name.
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _place() -> str:
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"
    return ""


_BEAT_S = 3.0
_SILENCE_S = 15.0
"""A holder that says nothing for so long is taken for dead; where it is not, its writes are refused from then on."""
_LOOK_EVERY_S = 1.0
_TRANSACTION_TIMEOUT_S = 20.0
_COPIES = 3
_SEGMENT_MS = 3_600_000

_SILENT = logging.getLogger("kafkaops.recovery.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class HeldError(JournalError):
    """Another run holds the memory."""


class UnwritableTopicError(JournalError):
    """Our topic cannot be written, and nothing was changed."""


@contextmanager
def open_topic(wire: Wire, addresses: Mapping[int, Address], topic: str) -> Iterator[TopicStore]:
    """Create the topic where there is none, take the lock, and read it. ``addresses`` are the living brokers', by id.

    Raises HeldError; UnwritableTopicError; JournalError when it cannot be read or would not keep what is written;
    NoBrokerAnswersError.
    """

    def read() -> Records | None:
        return read_topic(wire, addresses, topic)

    require_compacted(wire, topic)
    found = read()
    if found is None:
        _create(wire.settings, topic, len(addresses))
    else:
        _wait_for_silence(topic, read, found)
    store = TopicStore(wire.settings, topic, read)
    try:
        yield store
    finally:
        store.close()


class TopicStore:
    """The open, locked topic. Made by open_topic. Safe to be used by several threads."""

    def __init__(self, settings: ConnectionSettings, topic: str, read: Callable[[], Records | None]) -> None:
        self._topic = topic
        self._read = read
        self._holder = ourselves()
        self._timeout_s = max(_TRANSACTION_TIMEOUT_S, settings.request_timeout_ms / 1000)
        self._lock = threading.Lock()
        self._is_lost = False
        self._ended = threading.Event()
        self._producer = Producer(_producer_config(settings, topic), logger=_SILENT)
        try:
            self._producer.init_transactions(self._timeout_s)
        except KafkaException as fault:
            raise UnwritableTopicError(_unwritable(topic, fault)) from None
        # Only now nobody else writes, and all that was committed can be read.
        self.memory = memory_of(read() or {}, f"topic {topic}")
        self._beat(0)
        self._heart = threading.Thread(target=self._beat_on, name="kafkaops-holder", daemon=True)
        self._heart.start()

    def write(self, changes: Changes) -> None:
        with self._lock:
            if self._is_lost:
                raise self._taken_over()
            if changes:
                self._transact(changes)

    def close(self) -> None:
        """Give the lock free. Where that fails, the next run finds us silent."""
        self._ended.set()
        self._heart.join()
        with suppress(JournalError):
            self.write({HOLDER_KEY: None})

    def _beat_on(self) -> None:
        number = 0
        while not self._ended.wait(_BEAT_S):
            number += 1
            # A lost lock is told by the next write of the run itself.
            with suppress(JournalError):
                self._beat(number)

    def _beat(self, number: int) -> None:
        self.write({HOLDER_KEY: {"version": 1, "holder": self._holder.to_json(), "beat": number}})

    def _transact(self, changes: Changes) -> None:
        try:
            self._producer.begin_transaction()
            for key, value in changes.items():
                text = None if value is None else json.dumps(value, separators=(",", ":")).encode()
                self._producer.produce(self._topic, key=key.encode(), value=text, partition=0)
            self._commit()
        except (KafkaException, BufferError) as fault:
            if _is_fenced(fault):
                self._is_lost = True
                raise self._taken_over() from None
            with suppress(KafkaException):
                self._producer.abort_transaction(self._timeout_s)
            raise UnwritableTopicError(_unwritable(self._topic, fault)) from None

    def _commit(self) -> None:
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                self._producer.commit_transaction(max(0.1, deadline - time.monotonic()))
                return
            except KafkaException as fault:
                if not _error(fault).retriable() or time.monotonic() >= deadline:
                    raise

    def _taken_over(self) -> HeldError:
        holder = None
        with suppress(KafkaOpsError):
            holder = _holder(self._read() or {})
        return HeldError(
            f"another run took over what is remembered in topic {self._topic}: {holder or 'it has ended since'}; "
            "this one changes nothing any more"
        )


def _wait_for_silence(topic: str, read: Callable[[], Records | None], found: Records) -> None:
    """Return when nobody holds the topic, or its holder is dead or silent. Raises HeldError when it lives."""
    first = found.get(HOLDER_KEY)
    deadline = time.monotonic() + _SILENCE_S
    while first and time.monotonic() < deadline:
        holder = _holder(found)
        if holder is None or holder.is_surely_dead:
            return
        if found.get(HOLDER_KEY) != first:
            raise HeldError(
                f"another run holds what is remembered in topic {topic}: {holder}: wait for it to end, and run again"
            )
        time.sleep(_LOOK_EVERY_S)
        found = read() or {}


def _holder(records: Records) -> Holder | None:
    try:
        return holder_of(records.get(HOLDER_KEY))
    except (KeyError, TypeError):
        raise JournalError("the record of who holds the topic was not written by this version") from None


def _create(settings: ConnectionSettings, topic: str, brokers: int) -> None:
    copies = min(_COPIES, brokers)
    new_topic = NewTopic(
        topic,
        num_partitions=1,
        replication_factor=copies,
        config={
            "cleanup.policy": "compact",
            # With one copy less than all, one broker can be down and what is written is still on two.
            "min.insync.replicas": str(max(1, copies - 1)),
            "unclean.leader.election.enable": "false",
            # The active segment is never compacted, and every run reads all there is.
            "segment.ms": str(_SEGMENT_MS),
            "min.cleanable.dirty.ratio": "0.1",
        },
    )
    limit_s = settings.request_timeout_ms / 1000
    admin = AdminClient(_client_config(settings), logger=_SILENT)
    created = admin.create_topics([new_topic], request_timeout=limit_s, operation_timeout=limit_s)
    try:
        created[topic].result()
    except KafkaException as fault:
        if _error(fault).code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise UnwritableTopicError(_unwritable(topic, fault)) from None


def _producer_config(settings: ConnectionSettings, topic: str) -> dict[str, Any]:
    return {
        **_client_config(settings),
        "transactional.id": f"kafkaops.recovery.{topic}",
        "transaction.timeout.ms": int(_TRANSACTION_TIMEOUT_S * 1000),
        "message.timeout.ms": int(_TRANSACTION_TIMEOUT_S * 1000),
        # What kafka-python can decompress without a further library.
        "compression.type": "gzip",
        "linger.ms": 5,
    }


def _client_config(settings: ConnectionSettings) -> dict[str, Any]:
    config = librdkafka_config(settings)
    token = settings.sasl_oauthbearer_token
    if token:
        config["oauth_cb"] = lambda _config: (token, time.time() + 3600)
    return config


def _error(fault: KafkaException | BufferError) -> KafkaError:
    """Return the KafkaError within; a full queue is one too."""
    return fault.args[0] if isinstance(fault, KafkaException) else KafkaError(KafkaError._QUEUE_FULL)


def _is_fenced(fault: KafkaException | BufferError) -> bool:
    return _error(fault).code() in (
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    )


def _unwritable(topic: str, fault: KafkaException | BufferError) -> str:
    error = _error(fault)
    return f"topic {topic} cannot be written: {error.name()}: {error.str()}"
