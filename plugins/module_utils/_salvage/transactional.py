# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write records and the ledgers of a replay in one transaction: all are committed, or none (KIP-98).

Uses librdkafka's producer, because kafka-python's is many times slower.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from .._kafka.client_configs import LIBRDKAFKA_MOST_MS, librdkafka_config
from .._kafka.log_reading import Tell
from .._kafka.settings import Address, ConnectionSettings
from .._model.background import in_background
from .._model.run import Clock, KafkaOpsError

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from confluent_kafka import KafkaError, KafkaException, Producer

_TRANSACTION_TIMEOUT_MS = 60_000
_INIT_TIMEOUT_S = 60.0
"""Longer than Kafka takes to elect a coordinator and to abort the transaction of a killed run."""
_ATTEMPTS = 3
_LIBRDKAFKA_MOST_BYTES = 1_000_000_000
_BATCH_OVERHEAD = 1024
_SMALLEST_BATCH = 1024
_QUEUE_KIB = 1_000_000
_POLL_S = 0.5
_TOLD_EVERY_S = 5.0
_CLOCKS_DIFFER = (
    ". Its leader compares timestamps with its own clock, by message.timestamp.before.max.ms and "
    "message.timestamp.after.max.ms of the topic: set that clock right, or raise these first"
)
_SILENT = logging.getLogger("kafkaops.recovery.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class ProducerError(KafkaOpsError):
    """Records could not be written. The last transaction was not committed, unless ``is_final``."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        self.is_final = is_final
        """The producer cannot write any more, and it is unknown whether the last transaction was committed."""
        super().__init__(message)


Outgoing: TypeAlias = "tuple[str, int, bytes | None, bytes | None, list[tuple[str, bytes | None]], int]"
"""A record to write: topic, partition, key, value, headers and timestamp (ms).

A timestamp of 0 cannot be written: librdkafka replaces it by the current time.
"""


class TransactionalProducer:
    """Writes one transaction after another. Call ``close`` at the end."""

    def __init__(  # noqa: PLR0917
        self,
        settings: ConnectionSettings,
        brokers: Collection[Address],
        transactional_id: str,
        most_batch_bytes: int,
        explain: Callable[[], str],
        tell: Tell,
        limit_ms: int | None = None,
    ) -> None:
        """Start the producer. Aborts an open transaction of an earlier run, which then cannot write any more.

        If that takes longer than usual, ``explain`` says why, and ``tell`` is told. ``most_batch_bytes`` is the
        smallest max.message.bytes of all topics that are written, and ``limit_ms`` the smallest
        transaction.max.timeout.ms of all brokers, if it is known.

        Raises ProducerError, or SettingsError: librdkafka does not have the SASL mechanism.
        """
        config = producer_config(settings, brokers, transactional_id, most_batch_bytes, limit_ms)
        self._timeout_s = config["transaction.timeout.ms"] / 1000
        try:
            self._producer = Producer(config, logger=_SILENT)
        except KafkaException as error:
            raise ProducerError(f"confluent-kafka refuses the connection settings: {_describe(error)}") from None
        limit_s = max(_INIT_TIMEOUT_S, self._timeout_s)
        start_transactions(self._producer.init_transactions, transactional_id, limit_s, explain, tell)

    def write(self, batches: Sequence[Iterable[Outgoing]], meanwhile: Callable[[], None]) -> None:
        """Write all records in one transaction. If it is tried again, each batch is iterated again.

        ``meanwhile`` is called while brokers commit, because Python is idle then.

        Raises ProducerError. If ``is_final`` is set, the outcome is unknown; the next run finds out.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._producer.begin_transaction()
                for each in batches:
                    self._produce(each)
                committed = in_background(self._commit, "commit")
                try:
                    meanwhile()
                finally:
                    committed.result()
            except KafkaException as error:
                if not self._is_aborted(error):
                    raise ProducerError(
                        f"a transaction failed, and it is unknown whether it was committed: {_describe(error)}. Run "
                        "again: the next run finds out, and continues",
                        is_final=True,
                    ) from None
                if attempt == _ATTEMPTS:
                    hint = _CLOCKS_DIFFER if error.args[0].code() == KafkaError.INVALID_TIMESTAMP else ""
                    raise ProducerError(f"a transaction failed {_ATTEMPTS} times: {_describe(error)}{hint}") from None
                time.sleep(attempt)
            else:
                return

    def close(self) -> None:
        """Drop the records that are not committed. Does not wait."""
        self._producer.purge()
        self._producer.poll(0)

    def _produce(self, records: Iterable[Outgoing]) -> None:
        produce = self._producer.produce
        for topic, partition, key, value, headers, timestamp_ms in records:
            while True:
                try:
                    produce(topic, value, key, partition, timestamp=timestamp_ms, headers=headers)  # type: ignore[arg-type]  # a list is invariant
                except BufferError:
                    self._producer.poll(_POLL_S)
                else:
                    break

    def _commit(self) -> None:
        """Commit the transaction. Commits again if the answer is lost, which is safe. Raises KafkaException."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                self._producer.commit_transaction(max(0.1, deadline - time.monotonic()))
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() >= deadline:
                    raise
            else:
                return

    def _is_aborted(self, error: KafkaException) -> bool:
        """Abort the transaction after an error. Returns False if it cannot be aborted.

        Raises ProducerError: another run uses the same transactional id, so this run must not write any more.
        """
        kafka_error = error.args[0]
        if kafka_error.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
            raise ProducerError("another run has taken over, and this one writes nothing more", is_final=True) from None
        if not kafka_error.txn_requires_abort():
            return False
        with suppress(KafkaException):
            self._producer.abort_transaction(self._timeout_s)
            return True
        return False


def start_transactions(  # noqa: PLR0917
    init: Callable[[float], None],
    transactional_id: str,
    limit_s: float,
    explain: Callable[[], str],
    tell: Tell,
    clock: Clock = time,
) -> None:
    """Call ``init`` with a time limit in seconds until it succeeds, or until ``limit_s`` are over.

    While an error may end by itself, ``tell`` is told what ``explain`` says about it. Raises ProducerError.
    """
    deadline = clock.monotonic() + limit_s
    while True:
        try:
            init(max(_POLL_S, min(_TOLD_EVERY_S, deadline - clock.monotonic())))
        except KafkaException as error:
            reason = f"{_describe(error)}; {explain()}".rstrip("; ")
            if not error.args[0].retriable() or clock.monotonic() >= deadline:
                raise ProducerError(
                    f"transactional id {transactional_id} cannot be used: {reason}. Transactions need WRITE and "
                    "DESCRIBE on it, and transaction.state.log.min.isr in-sync replicas of __transaction_state"
                ) from None
            tell(f"waiting up to {limit_s:.0f} s for transactional id {transactional_id}: {reason}")
            # An error that is answered at once must not be asked for in a tight loop.
            clock.sleep(_POLL_S)
        else:
            return


def producer_config(
    settings: ConnectionSettings,
    brokers: Collection[Address],
    transactional_id: str,
    most_batch_bytes: int,
    limit_ms: int | None = None,
) -> dict[str, Any]:
    """Return librdkafka's configuration. Raises SettingsError: librdkafka does not have the SASL mechanism.

    ``brokers`` take the place of the bootstrap servers, which may also name brokers of another cluster: librdkafka
    would write there. A broker refuses a transaction.timeout.ms above ``limit_ms``.
    """
    settings = replace(settings, bootstrap_servers=tuple(brokers))
    timeout_ms = min(max(_TRANSACTION_TIMEOUT_MS, settings.request_timeout_ms), LIBRDKAFKA_MOST_MS)
    if limit_ms is not None:
        timeout_ms = min(timeout_ms, limit_ms)
    return {
        **librdkafka_config(settings),
        "transactional.id": transactional_id,
        "transaction.timeout.ms": timeout_ms,
        "message.timeout.ms": timeout_ms,
        # Under a producer quota, the broker answers a request, and reads no other one for a while (KIP-219). librdkafka
        # would take the next one for lost after 30 s, and send it again out of order, which ends the producer.
        "request.timeout.ms": timeout_ms,
        "socket.timeout.ms": timeout_ms,
        "message.max.bytes": _LIBRDKAFKA_MOST_BYTES,
        "batch.size": max(_SMALLEST_BATCH, min(1_000_000, most_batch_bytes - _BATCH_OVERHEAD)),
        "queue.buffering.max.kbytes": _QUEUE_KIB,
        "linger.ms": 5,
        "compression.type": "lz4",
    }


def _describe(error: KafkaException) -> str:
    kafka_error = error.args[0]
    return f"{kafka_error.name()}: {kafka_error.str()}"
