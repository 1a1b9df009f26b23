# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A record with an impossible time costs neither the recovery nor what is known of other partitions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.explanation import LogTimes
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.outage import (
    HistoryOptionsError,
    begin_to_find_outages,
    history_limits,
    without_impossible_times,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import HistoryLimits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.controllers import ControllerSide
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import Outage, utc_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.fakes.answers import FakeAnswers
from unit.fakes.brokers import a_broker, a_partition

ORDERS, METRICS = TopicPartition("orders", 0), TopicPartition("metrics", 0)
NOW, DAY_MS = 1_764_000_000_000, 86_400_000
IN_MICROSECONDS = NOW * 1000


@dataclass(kw_only=True)
class FakeLogs(FakeAnswers):
    """Logs of 100 records, of which the newest one has the given time."""

    newest_ms: Mapping[TopicPartition, int]

    def controller_side(self) -> ControllerSide:
        return ControllerSide(self.wire, (), "the fake has no controllers")

    def log_end_offsets(
        self, address: Address, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, list[OffsetAnswer]]:
        return {each: [OffsetAnswer(0, 100, 1)] for each in partitions}

    def newest_records(
        self, address: Address, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, list[OffsetAnswer]]:
        return {each: [OffsetAnswer(0, 99, 1, self.newest_ms[each])] for each in partitions}

    def offsets_at(
        self, address: Address, times_ms: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, list[OffsetAnswer]]:
        return {each: [OffsetAnswer(0, 50, 1, at)] for each, at in times_ms.items()}


def find(newest_ms: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Outage]:
    kafka = FakeLogs(newest_ms=newest_ms)
    kafka.wire = cast("Wire", kafka)
    offline = [a_partition(each.topic, each.partition, (1, 2)) for each in newest_ms]
    return begin_to_find_outages(kafka, offline, [a_broker(2)], "c", HistoryLimits())()


def test_a_producer_that_writes_microseconds_hides_only_the_end_of_its_own_log() -> None:
    found = find({ORDERS: NOW, METRICS: IN_MICROSECONDS})
    assert {each: outage.replicas[2].log_ends_at for each, outage in found.items()} == {
        ORDERS: utc_text(NOW),
        METRICS: None,
    }
    missing = " ".join(found[ORDERS].history.missing)
    assert "when the logs of 1 partition, such as metrics-0, end is not known" in missing


def test_a_defect_in_the_history_costs_only_the_history() -> None:
    unknown = cast("Mapping[TopicPartition, int]", {ORDERS: "no number"})
    found = find(unknown)
    assert found[ORDERS].replicas == {}
    assert "the history was not read, by a defect of this collection: TypeError" in found[ORDERS].history.missing[0]


@pytest.mark.parametrize(
    ("at_ms", "ends_at_ms", "is_kept"),
    [
        pytest.param(NOW + DAY_MS, 0, True, id="a day ahead"),
        pytest.param(NOW + DAY_MS + 1, 0, False, id="more than a day ahead"),
        pytest.param(NOW + DAY_MS + 1, NOW + 1, True, id="this host's clock is behind the controllers'"),
        pytest.param(NOW + DAY_MS, NOW - DAY_MS, True, id="an old copy of the metadata log"),
    ],
)
def test_which_times_are_impossible(at_ms: int, ends_at_ms: int, *, is_kept: bool) -> None:
    times = {ORDERS: {1: LogTimes(10, at_ms), 2: LogTimes(9, NOW)}}
    kept, missing = without_impossible_times(times, ends_at_ms, NOW)
    assert kept == {ORDERS: {1: LogTimes(10, at_ms if is_kept else None), 2: LogTimes(9, NOW)}}
    assert bool(missing) is not is_kept


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
        (253_402_300_800_000, None),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        (-62_135_596_800_001, None),
        (2**63 - 1, None),
        (-(2**63), None),
    ],
)
def test_a_time_that_no_calendar_has_is_not_known(at_ms: int, text: str | None) -> None:
    assert utc_text(at_ms) == text


def test_the_times_of_this_moment_are_possible() -> None:
    times = {ORDERS: {1: LogTimes(10, round(time.time() * 1000))}}
    assert without_impossible_times(times, 0) == (times, [])


def test_a_limit_that_reads_nothing_is_refused_with_all_others() -> None:
    assert history_limits({"max_bytes": 1, "max_seconds": 1}) == HistoryLimits(1, 1)
    with pytest.raises(HistoryOptionsError, match="max_bytes is 0 and max_seconds is -1: give a number from 1 on"):
        history_limits({"max_bytes": 0, "max_seconds": -1})
