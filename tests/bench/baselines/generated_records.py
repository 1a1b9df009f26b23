# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write generated records in transactions, by a producer with the settings of a replay."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from confluent_kafka import Producer

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.transactional import producer_config
from bench.kit.row import Run

_MOST_BATCH_BYTES = 1_048_588
_TIMEOUT_S = 60.0
_RECORDS_AT_ONCE, _BYTES_AT_ONCE = 20_000, 16 * 1024 * 1024
"""Records of one transaction, as in a replay."""
_DIFFERENT = 1000


@dataclass(frozen=True, slots=True)
class Generated:
    """The records to write."""

    records: int
    partitions: int
    record_bytes: int
    with_headers: bool
    """Whether to add headers, of the same number and size as in a replay."""


def write_generated(settings: ConnectionSettings, topic: str, what: Generated) -> Run:
    """Write all of them, one transaction after another."""
    half = what.record_bytes // 2
    values = [os.urandom(half) + bytes(what.record_bytes - half) for _each in range(_DIFFERENT)]
    headers = _headers(topic) if what.with_headers else None
    now_ms = int(time.time() * 1000)
    at_once = min(_RECORDS_AT_ONCE, -(-_BYTES_AT_ONCE // what.record_bytes))
    began = time.perf_counter()
    config = producer_config(settings, settings.bootstrap_servers, f"generated-{topic}", _MOST_BATCH_BYTES)
    producer = Producer({**config, "log_level": 0})
    producer.init_transactions(_TIMEOUT_S)
    for start in range(0, what.records, at_once):
        producer.begin_transaction()
        for number in range(start, min(start + at_once, what.records)):
            while True:
                try:
                    producer.produce(
                        topic,
                        values[number % _DIFFERENT],
                        None,
                        number % what.partitions,
                        timestamp=now_ms,
                        headers=headers,
                    )
                except BufferError:
                    producer.poll(0.5)
                else:
                    break
        producer.commit_transaction(_TIMEOUT_S)
    return Run(time.perf_counter() - began)


def _headers(topic: str) -> list[tuple[str, str | bytes | None]]:
    values = {
        "cluster": b"0123456789012345678901",
        "broker": b"1",
        "topic": topic.encode(),
        "partition": b"1",
        "epoch": b"0",
        "offset": b"123456",
        "timestamp": b"1700000000000",
    }
    return [(f"kafkaops.salvage.{name}", value) for name, value in values.items()]
