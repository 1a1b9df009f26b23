# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records of a live loser are saved. Records that it does not send never count as removed by compaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange, Tail
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_replicas import (
    _fetch_tail,
    _TailFetcher,
    _TailRequest,
)
from unit.salvage.batches import batch

ORDERS = TopicPartition("orders", 0)
_FUTURE_REPLICA = -3


class FakeReplica:
    """Answers Fetch from memory, as Kafka does: only its own id for future replicas reads above the high watermark."""

    def __init__(self, *batches: tuple[int, int, bytes], high_watermark: int) -> None:
        self.batches, self.high_watermark = batches, high_watermark

    def __call__(self, request: Any) -> Any:
        offset, replica = request.topics[0].partitions[0].fetch_offset, request.replica_id
        end = 10**9 if replica == _FUTURE_REPLICA else self.high_watermark
        content = b"".join(raw for _first, last, raw in self.batches if offset <= last < end)
        answer = SimpleNamespace(
            error_code=0,
            records=content[: 2 * len(self.batches[0][2])],
            high_watermark=self.high_watermark,
            last_stable_offset=self.high_watermark,
            aborted_transactions=[],
        )
        return SimpleNamespace(error_code=0, responses=[SimpleNamespace(partitions=[answer])])


def some(*offsets: int) -> Iterator[tuple[int, int, bytes]]:
    for each in offsets:
        yield each, each + 1, batch(each, [b"x", b"y"])


def test_records_above_the_high_watermark_are_read() -> None:
    replica = FakeReplica(*some(0, 2, 4, 6), high_watermark=2)
    found = [header.base_offset for header, _raw in _fetch_tail(replica, ORDERS, (EpochRange(0, 2, 8),))]
    assert found == [2, 4, 6]


def test_an_empty_answer_before_the_log_end_is_an_error() -> None:
    """The batches before the error are kept."""
    batches = _fetch_tail(FakeReplica(*some(0, 2), high_watermark=8), ORDERS, (EpochRange(0, 0, 8),))
    assert [next(batches).header.base_offset for _each in range(2)] == [0, 2]
    with pytest.raises(BrokerCallError, match="it sends no batch from offset 4 on, and its log ended at 8"):
        next(batches)


def work(address: Address) -> _TailRequest:
    return _TailRequest(Tail(ORDERS, "id", 1, (EpochRange(0, 0, 8),)), "cluster", address)


class FakeWire:
    """Answers with a function, for any address."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._answer = answer

    def call(self, _address: Address, request: Any) -> Any:
        return self._answer(request)


def asking(answer: Callable[[Any], Any]) -> _TailFetcher:
    return _TailFetcher(cast(Wire, FakeWire(answer)), pause_s=0)


def test_a_retry_continues_after_the_last_received_batch() -> None:
    replica, asked = FakeReplica(*some(0, 2, 4, 6), high_watermark=8), []

    def ask(request: Any) -> Any:
        asked.append(request.topics[0].partitions[0].fetch_offset)
        if len(asked) in (1, 3):
            raise BrokerCallError("broker", Cause.HUNG, "no answer", request="Fetch")
        return replica(request)

    found = [header.base_offset for header, _raw in asking(ask).fetch(work(Address("first", 1)))]
    assert (found, asked) == ([0, 2, 4, 6], [0, 0, 4, 4])


def test_a_silent_broker_is_not_asked_for_every_tail() -> None:
    asked = []

    def ask(request: Any) -> Any:
        asked.append(request)
        raise BrokerCallError("broker", Cause.HUNG, "no answer", request="Fetch")

    broker = asking(ask)
    for _tail in range(10):
        assert broker.fetch(work(Address("second", 1))) == []
    assert len(asked) == 3


def test_offsets_removed_by_compaction_are_skipped() -> None:
    replica = FakeReplica(*some(0, 6), high_watermark=8)
    found = [header.base_offset for header, _raw in _fetch_tail(replica, ORDERS, (EpochRange(0, 2, 5),))]
    assert found == [6]
