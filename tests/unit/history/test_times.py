# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Since when a replica may lack records: earlier than it left the ISR, and never later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.explanation import (
    LogRate,
    LogTimes,
    NoticeLimits,
    explain_outage,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.outage import measure_rates
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import Estimate, ReplicaPast
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

ORDERS = TopicPartition("orders", 0)
ALL = (1, 2, 3)
LEFT, LOST = 1_000_000, 1_060_000
LIMITS = NoticeLimits(30_000, 9_000)
_NOTICED_S = 45 + 2
_CAUGHT_UP = LEFT - _NOTICED_S * 1000
"""1.5 times replica.lag.time.max.ms, and the controller's time to write it down."""


def moment(at_ms: int, leader: int, *isr: int, begins_epoch: bool = False) -> PartitionMoment:
    return PartitionMoment(at_ms, leader, isr, (), ALL, begins_epoch=begins_epoch)


_UNCLEAN = PartitionMoment(LEFT + 5, 2, (2,), (), ALL, is_unclean=True, begins_epoch=True)
OUTAGE = (moment(500_000, 1, 1, 3, begins_epoch=True), moment(LEFT, 1, 1), moment(LOST, -1, 1, begins_epoch=True))


def past_of_3(*moments: PartitionMoment, **more: Any) -> ReplicaPast:
    history = MetadataHistory(100_000, LOST + 99, {ORDERS: PartitionHistory(moments)}, has_base=True, **more)
    times = {ORDERS: {3: LogTimes(10, LEFT, (LogRate(600, 60_000),))}}
    return explain_outage(history, times, LIMITS)[ORDERS].replicas[3]


def lacks(*moments: PartitionMoment, gaps: tuple[tuple[int, int], ...] = (), begins: int = 100_000) -> int | None:
    history = MetadataHistory(begins, LOST, {ORDERS: PartitionHistory(moments)}, has_base=True)
    times = {ORDERS: {3: LogTimes(10)}}
    return explain_outage(replace(history, gaps=gaps), times, LIMITS)[ORDERS].replicas[3].lacks_seconds


def test_a_member_of_the_isr_may_lag_for_a_while_before_it_leaves() -> None:
    assert lacks(*OUTAGE) == 60 + _NOTICED_S


def test_a_new_leader_gives_each_member_of_the_isr_as_long_again() -> None:
    at = LEFT - 20_000
    assert lacks(OUTAGE[0], moment(at, 2, 2, 3, begins_epoch=True), *OUTAGE[1:]) == 60 + 20 + _NOTICED_S
    again = moment(at - 40_000, 1, 1, 2, 3, begins_epoch=True)
    assert lacks(OUTAGE[0], again, moment(at, 2, 2, 3, begins_epoch=True), *OUTAGE[1:]) == 60 + 60 + _NOTICED_S


def test_a_change_within_a_leader_epoch_counts_for_nothing() -> None:
    assert lacks(OUTAGE[0], moment(LEFT - 20_000, 1, 1, 2, 3), *OUTAGE[1:]) == 60 + _NOTICED_S


@pytest.mark.parametrize(
    ("gap", "more"),
    [
        pytest.param((LEFT - 10_000, LEFT - 4_000), 6 + 30, id="the controllers had no leader before it left"),
        pytest.param((LEFT - 300_000, LEFT - 290_000), 0, id="long before"),
        pytest.param((LEFT + 10_000, LEFT + 20_000), 0, id="after it left"),
    ],
)
def test_the_isr_does_not_shrink_without_an_active_controller(gap: tuple[int, int], more: int) -> None:
    assert lacks(*OUTAGE, gaps=(gap,)) == 60 + _NOTICED_S + more


def test_what_was_before_the_log_begins_is_not_known() -> None:
    assert lacks(*OUTAGE, begins=LEFT - 1_000) is None


def test_who_may_have_lost_its_log_since_is_not_said_to_lack_only_what_came_after() -> None:
    def registered(at_ms: int, directory: str) -> BrokerMoment:
        return BrokerMoment(at_ms, BrokerChange.REGISTERED, at_ms, (directory,))

    history = MetadataHistory(100_000, LOST + 9, {ORDERS: PartitionHistory(OUTAGE)}, has_base=True)
    times = {ORDERS: {3: LogTimes(10, LEFT, (LogRate(600, 60_000),))}}

    def past(brokers: dict[int, tuple[BrokerMoment, ...]], **more: Any) -> ReplicaPast:
        return explain_outage(replace(history, brokers=brokers, **more), times, LIMITS)[ORDERS].replicas[3]

    assert past({3: (registered(200_000, "a"),)}).lacks_seconds == 60 + _NOTICED_S
    crashed = (registered(200_000, "a"), registered(LEFT + 1, "a"))
    # Its host may have lost power, and with it what was not synced.
    killed = past({3: crashed})
    assert killed.lacks_seconds is None
    assert killed.estimate is not None
    assert killed.estimate.method.endswith("; if the host of broker 3 did not lose power")
    elected = replace(history, partitions={ORDERS: PartitionHistory((*OUTAGE[:2], _UNCLEAN, OUTAGE[2]))})
    times_of_3 = {ORDERS: {3: LogTimes(10, LEFT, (LogRate(600, 60_000),))}}
    hidden = explain_outage(replace(elected, brokers={3: crashed}), times_of_3, LIMITS)[ORDERS].replicas[3]
    assert hidden.lacks_seconds is None, "an unclean election must not hide the restart"
    replaced = past({3: (*crashed, registered(LEFT + 2, "b"))})
    assert "came back with another log directory" in replaced.proof
    assert (replaced.lacks_seconds, replaced.estimate) == (None, None)
    assert past({3: crashed}, ends_early=True).lacks_seconds is None
    assert explain_outage(history, {ORDERS: {3: LogTimes(0)}}, LIMITS)[ORDERS].replicas[3].lacks_seconds is None


def test_who_may_have_followed_a_leader_that_was_not_in_sync_lacks_more() -> None:
    """1 led without 3, which was elected uncleanly then: what 3 wrote before is on no replica that 2 followed."""
    moments = (*OUTAGE[:2], moment(LOST, -1, 1), _UNCLEAN._replace(at_ms=LOST + 10), moment(LOST + 20, -1, 2))
    past = past_of_3(*moments)
    assert past.lacks_seconds is None
    assert past.estimate is not None
    assert past.estimate.method.endswith(
        "; besides what the leader lacked that was elected since then and was not in sync"
    )


def test_who_may_have_followed_a_leader_that_lost_its_end_lacks_more() -> None:
    moments = (*OUTAGE[:2], moment(LOST - 20_000, -1, 1), moment(LOST - 10_000, 1, 1), OUTAGE[2])
    starts = tuple(BrokerMoment(at, BrokerChange.REGISTERED, at, ("a",)) for at in (5, LOST - 15_000))
    past = past_of_3(*moments, brokers={1: starts})
    assert past.lacks_seconds is None
    assert past.estimate is not None
    assert past.estimate.method.endswith("; if the leader lost nothing by its restart since then")


@pytest.mark.parametrize(("at_ms", "is_new"), [(LOST + 5, True), (LEFT, False)])
def test_a_last_leader_that_came_back_with_another_disk_is_known(at_ms: int, *, is_new: bool) -> None:
    starts = tuple(BrokerMoment(at, BrokerChange.REGISTERED, at, (name,)) for at, name in ((5, "a"), (at_ms, "b")))
    history = MetadataHistory(1, LOST + 9, {ORDERS: PartitionHistory(OUTAGE)}, {1: starts}, has_base=True)
    assert explain_outage(history, {ORDERS: {}}, LIMITS)[ORDERS].leader_has_new_disk is is_new


def test_an_unknown_session_timeout_gives_no_estimate() -> None:
    history = MetadataHistory(100_000, LOST, {ORDERS: PartitionHistory(OUTAGE)}, has_base=True)
    times = {ORDERS: {3: LogTimes(10, LEFT - 60_000, (LogRate(600, 60_000),))}}
    known = explain_outage(history, times, LIMITS)[ORDERS].replicas[3].estimate
    assert known is not None
    assert explain_outage(history, times, replace(LIMITS, session_ms=None))[ORDERS].replicas[3].estimate is None


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [
        # The leader was alone for 60 s, and died 7 to 9 s before the controllers noticed.
        pytest.param(LogRate(6_000, 60_000), 5_100, 6_000, id="measured for as long as the leader was alone"),
        pytest.param(LogRate(300, 3_000), 300 + 2_400, 300 + 2 * 5_700, id="a log of three seconds"),
        pytest.param(LogRate(5_500, 55_000), 5_100, 5_500 + 2 * 500, id="the high end alone is longer"),
    ],
)
def test_a_rate_is_in_doubt_beyond_the_time_in_which_it_was_measured(rate: LogRate, low: int, high: int) -> None:
    history = MetadataHistory(100_000, LOST, {ORDERS: PartitionHistory(OUTAGE)}, has_base=True)
    times = {ORDERS: {3: LogTimes(10, LEFT, (rate,))}}
    estimate = explain_outage(history, times, LIMITS)[ORDERS].replicas[3].estimate
    assert estimate is not None
    assert (estimate.records, estimate.low, estimate.high) == (5_200, low, high)
    assert ("half and twice the rate" in estimate.method) == (high > 6_000)


def first(offset: int, at_ms: int) -> OffsetAnswer:
    return OffsetAnswer(0, offset, 1, at_ms)


def test_a_burst_at_the_end_of_a_log_is_no_rate() -> None:
    """A record of 10 s before every window, then 100 records in the last 50 ms."""
    longer = {600_000: first(1, 400_000), 60_000: first(901, 999_950), 10_000: first(901, 999_950)}
    assert measure_rates(1001, 1_000_000, longer) == (
        LogRate(1000, 600_000),
        LogRate(100, 60_000),
        LogRate(100, 10_000),
    )
    alone = measure_rates(1001, 1_000_000, dict.fromkeys(longer, first(901, 999_950)))
    assert alone == (LogRate(100, 50),)
    assert estimate_of(LogTimes(1001, _CAUGHT_UP, alone)) is None


@pytest.mark.parametrize(
    ("records", "silent_ms", "expected", "high"),
    [
        pytest.param(1, 100, None, None, id="caught up too soon after the only record"),
        pytest.param(1, 30_000, 0, 4, id="one record, and half a minute without one"),
        pytest.param(1, 3_600_000, 0, 1, id="one record, and an hour without one"),
        pytest.param(100, 3_600_000 - 50, 3, 3, id="a burst, and an hour without a record"),
    ],
)
def test_a_log_without_a_recent_record_is_idle(
    records: int, silent_ms: int, expected: int | None, high: int | None
) -> None:
    """The leader was alone for 107 s, of which it lived 98 to 100 s."""
    rates = (LogRate(records - 1, 50),) if records > 1 else ()
    estimate = estimate_of(LogTimes(records, _CAUGHT_UP - silent_ms, rates))
    if expected is None:
        assert estimate is None
    else:
        assert estimate is not None
        assert (estimate.records, estimate.high) == (expected, high)
        assert ("by the timestamps of its records" in estimate.method) == (expected == 0)


def estimate_of(times: LogTimes) -> Estimate | None:
    known = MetadataHistory(100_000, LOST, {ORDERS: PartitionHistory(OUTAGE)}, has_base=True)
    return explain_outage(known, {ORDERS: {3: times}}, LIMITS)[ORDERS].replicas[3].estimate


def test_a_young_log_is_measured_from_its_first_record_on() -> None:
    young = {600_000: first(0, 970_000), 60_000: first(0, 970_000), 10_000: first(200, 990_000)}
    assert measure_rates(300, 1_000_000, young) == (LogRate(300, 30_000), LogRate(100, 10_000))
    assert measure_rates(300, 1_000_000, {600_000: first(-1, -1), 60_000: first(300, 1_000_000)}) == ()
