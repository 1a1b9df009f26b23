# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A leader that started after a topic was created anew may use the min.insync.replicas of the deleted one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.min_isr import (
    UsedMinIsrs,
    knows_older_topic,
    min_isrs_in,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    ConfigKey,
    ConfigMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import BROKER_RESOURCE, TOPIC_RESOURCE

HOUR_MS = 3_600_000
CREATED = 100 * HOUR_MS
ALONE = CREATED + 10_000
LOST = ALONE + 10_000
OLDER = ConfigMoment(CREATED - 5_000, "1")
ANEW = ConfigMoment(CREATED, None, begins_topic=True)
TWO_BY_DEFAULT = {ConfigKey(BROKER_RESOURCE, "", MIN_ISR): (ConfigMoment(CREATED - 9_000, "2"),)}
FOUND = PartitionHistory((PartitionMoment(CREATED, 1, (1, 2, 3)), PartitionMoment(LOST, -1, (1,))), True)


def history(*of_topic: ConfigMoment, started_ms: int, begins_ms: int = 0) -> MetadataHistory:
    return MetadataHistory(
        begins_ms,
        LOST + 10,
        brokers={1: (BrokerMoment(started_ms, BrokerChange.REGISTERED, 10),)},
        configs=TWO_BY_DEFAULT | {ConfigKey(TOPIC_RESOURCE, "orders", MIN_ISR): of_topic},
        has_base=True,
        begins_at_start=not begins_ms,
    )


@pytest.mark.parametrize(
    ("of_topic", "started_ms", "expected"),
    [
        pytest.param((OLDER, ANEW), CREATED + 1, UsedMinIsrs((2,), (1,)), id="the leader started later"),
        pytest.param((OLDER, ANEW), CREATED - 1, UsedMinIsrs((2,)), id="the leader started earlier"),
        pytest.param(
            (OLDER, ANEW, ConfigMoment(CREATED, "2")), CREATED + 1, UsedMinIsrs((2,)), id="a value of its own"
        ),
        pytest.param(
            (OLDER, ANEW, ConfigMoment(CREATED, "3"), ConfigMoment(ALONE, None)),
            CREATED + 1,
            UsedMinIsrs((2, 3), (1,)),
            id="its own value was deleted",
        ),
        pytest.param(
            (ConfigMoment(CREATED - 9_000, "3"), ConfigMoment(CREATED - 8_000, None, begins_topic=True), OLDER, ANEW),
            CREATED + 1,
            UsedMinIsrs((2,), (1, 3)),
            id="several older topics",
        ),
        pytest.param((OLDER, ConfigMoment(ALONE, None)), CREATED + 1, UsedMinIsrs((1, 2)), id="the same topic"),
    ],
)
def test_what_a_leader_may_use(of_topic: tuple[ConfigMoment, ...], started_ms: int, expected: UsedMinIsrs) -> None:
    assert min_isrs_in(history(*of_topic, started_ms=started_ms), "orders", 1, CREATED, LOST) == expected


@pytest.mark.parametrize(
    ("started_ms", "begins_ms", "expected"),
    [
        pytest.param(CREATED + 1, 0, True, id="the whole log"),
        pytest.param(CREATED + 1, CREATED - HOUR_MS, True, id="an hour before"),
        pytest.param(CREATED + 1, CREATED - HOUR_MS + 1, False, id="less than an hour before"),
        pytest.param(CREATED - 1, CREATED - 10, True, id="no leader started since"),
        pytest.param(LOST + 1, CREATED - 10, True, id="no leader started until it was lost"),
    ],
)
def test_how_far_back_the_log_must_be_known(started_ms: int, begins_ms: int, *, expected: bool) -> None:
    known = history(ANEW, started_ms=started_ms, begins_ms=begins_ms)
    assert knows_older_topic(known, "orders", FOUND, CREATED) is expected


STARTED = CREATED - 10 * HOUR_MS


@pytest.mark.parametrize(
    ("begins_ms", "own", "expected"),
    [
        pytest.param(STARTED - HOUR_MS, None, True, id="an hour before the leader started"),
        pytest.param(STARTED - HOUR_MS + 1, None, False, id="less than an hour before"),
        pytest.param(STARTED + 1, None, False, id="the leader started before"),
        pytest.param(STARTED + 1, "2", True, id="a value of its own"),
        pytest.param(0, None, True, id="the whole log"),
    ],
)
def test_a_topic_that_is_older_than_the_log_may_have_been_created_before_its_leader_started(
    begins_ms: int, own: str | None, *, expected: bool
) -> None:
    values = () if own is None else (ConfigMoment(begins_ms, own, is_change=False),)
    known = history(*values, started_ms=STARTED, begins_ms=begins_ms)
    if begins_ms > STARTED:
        known = replace(known, brokers={1: (BrokerMoment(begins_ms, BrokerChange.REGISTERED, 10, is_change=False),)})
    assert knows_older_topic(known, "orders", PartitionHistory(FOUND.moments), CREATED) is expected


def test_who_led_before_the_time_in_question_does_not_matter() -> None:
    moments = (FOUND.moments[0]._replace(leader_id=2), PartitionMoment(ALONE, 1, (1,)), FOUND.moments[1])
    known = history(started_ms=STARTED, begins_ms=STARTED - HOUR_MS)
    found = PartitionHistory(moments)
    assert not knows_older_topic(known, "orders", found, CREATED), "it is not known when broker 2 started"
    assert knows_older_topic(known, "orders", found, ALONE + 1)


BEGINS, ENDS = CREATED + 1_000, LOST
SNAPSHOT, LATER = ConfigMoment(BEGINS + 10, "2", is_change=False), ConfigMoment(BEGINS + 20, "1")


@pytest.mark.parametrize(
    ("moments", "more", "expected"),
    [
        pytest.param((ConfigMoment(BEGINS, "2"),), {}, (2,), id="set before"),
        pytest.param((ConfigMoment(BEGINS, "2"), ConfigMoment(ENDS, "1")), {}, (1, 2), id="changed at the end"),
        pytest.param((ConfigMoment(BEGINS, "2"), ConfigMoment(ENDS + 1, "1")), {}, (2,), id="changed after the end"),
        pytest.param((SNAPSHOT, LATER), {"begins_at_ms": BEGINS}, (1, 2), id="a snapshot, and a change after it"),
        pytest.param((SNAPSHOT,), {"begins_at_ms": BEGINS + 1}, None, id="the log begins too late"),
        pytest.param((SNAPSHOT,), {"has_base": False}, None, id="a part of the log"),
        pytest.param((LATER,), {"begins_at_ms": BEGINS}, None, id="a change, and the value before it is not known"),
        pytest.param((LATER,), {"begins_at_start": True}, (1, 3), id="a change of what was the default before"),
        pytest.param((), {"begins_at_ms": BEGINS}, (3,), id="never set"),
        pytest.param((ConfigMoment(BEGINS, "two"),), {}, None, id="no number"),
    ],
)
def test_the_values_of_a_time(
    moments: tuple[ConfigMoment, ...], more: dict[str, Any], expected: tuple[int, ...] | None
) -> None:
    default = {ConfigKey(BROKER_RESOURCE, "", MIN_ISR): (ConfigMoment(0, "3"),)}
    known = replace(history(*moments, started_ms=0), begins_at_start=False)
    found = min_isrs_in(replace(known, configs={**known.configs, **default}, **more), "orders", 1, BEGINS, ENDS)
    assert (found.values if found else None) == expected
