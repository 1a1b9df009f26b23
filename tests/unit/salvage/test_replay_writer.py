# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Transactions of a replay: the next one is read while brokers commit, and none has records of a failed partition."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.gaps import CompactedGaps
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.ledger import Ledger
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import ManifestError
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.pace import MOST_BYTES, Pace
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.partition_replay import PartitionReplay
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay_progress import LedgerKey, ProgressTopic
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay_writer import ReplayWriter
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved_run import SavedRun
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.targets import TargetTopic
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.transactional import (
    ProducerError,
    TransactionalProducer,
)
from unit.salvage.saved import SAVED, a_run

_TARGET = TargetTopic("orders.salvaged", "id", 2, 1, 1_000_000, is_compacted=False, states={})
_LARGE = bytes(8 * 1024 * 1024)
"""Two of them fill a transaction."""


class FakeProducer:
    """Keeps the records, and notes when the next transaction is read. Writing to a ``refused`` partition fails."""

    def __init__(self, read: list[int], refused: Mapping[int, ProducerError] | None = None) -> None:
        self.read = read
        self.refused = refused or {}
        self.written: list[list[int]] = []
        self.read_before: list[int] = []
        """How many runs were read when a transaction's records were all produced."""

    def write(self, batches: Any, meanwhile: Callable[[], None]) -> None:
        records = [record for each in batches for record in each if record[0] != "progress"]
        self.read_before.append(len(self.read))
        meanwhile()
        for each in records:
            if each[1] in self.refused:
                raise self.refused[each[1]]
        self.written.append([int(dict(each[4])["kafkaops.salvage.offset"] or b"") for each in records])


class FakeProgressTopic:
    """Returns a record for each ledger."""

    def records(self, ledgers: Mapping[LedgerKey, Ledger]) -> list[tuple[Any, ...]]:
        return [("progress", 0, None, None, [], 0) for _each in ledgers]


def a_part(partition: int, records: int) -> PartitionReplay:
    saved, place = replace(SAVED, partition=partition), LedgerKey("id", "orders", partition)
    part = PartitionReplay(saved, _TARGET, place, Ledger(), include_unknown=False, gaps=CompactedGaps(()))
    part.counts.to_give = records
    return part


def a_writer(producer: FakeProducer, parts: Mapping[int, PartitionReplay]) -> ReplayWriter:
    named = {TopicPartition("orders", number): part for number, part in parts.items()}
    typed = cast(TransactionalProducer, producer), cast(ProgressTopic, FakeProgressTopic())
    pace = Pace(next_bytes=MOST_BYTES)
    return ReplayWriter(*typed, named, "cluster", 0, lambda: None, NullProgress(), threading.Event(), pace=pace)


def reading(read: list[int], *partitions: int) -> Iterator[SavedRun]:
    """Yield two records of each partition, in turns; ``read`` has their first offsets."""
    for number, partition in enumerate(partitions):
        read.append(2 * number)
        yield a_run(*({"partition": partition, "offset": 2 * number + each, "value": _LARGE} for each in range(2)))


def test_the_next_transaction_is_read_while_one_is_committed() -> None:
    read: list[int] = []
    producer, part = FakeProducer(read), a_part(0, 6)
    a_writer(producer, {0: part}).write(reading(read, 0, 0, 0))
    assert producer.written == [[0, 1], [2, 3], [4, 5]]
    assert producer.read_before == [1, 2, 3]
    assert (part.counts.given, part.failure) == (6, "")


def test_a_failed_partition_is_left_out_of_a_transaction_that_was_read_ahead() -> None:
    """Otherwise its ledger would say that the records of the failed transaction were given back."""
    read: list[int] = []
    producer = FakeProducer(read, {1: ProducerError("message too large")})
    parts = {0: a_part(0, 2), 1: a_part(1, 4)}
    a_writer(producer, parts).write(reading(read, 1, 1, 0))
    assert producer.written == [[4, 5]]
    assert [each.failure for each in parts.values()] == ["", "message too large"]
    assert [each.counts.given for each in parts.values()] == [2, 0]


def test_nothing_is_written_after_a_final_producer_error() -> None:
    read: list[int] = []
    producer = FakeProducer(read, {0: ProducerError("fenced", is_final=True)})
    part = a_part(0, 6)
    a_writer(producer, {0: part}).write(reading(read, 0, 0, 0))
    assert (producer.written, part.failure, part.counts.given) == ([], "fenced", 0)


def test_an_unreadable_file_is_an_error() -> None:
    def broken() -> Iterator[SavedRun]:
        yield from reading([], 0)
        raise ManifestError("damaged")

    with pytest.raises(ManifestError, match="damaged"):
        a_writer(FakeProducer([]), {0: a_part(0, 4)}).write(broken())
