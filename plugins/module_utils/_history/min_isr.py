# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find which values of ``min.insync.replicas`` a leader may have used. Pure; standard library only.

A broker that starts after a topic was deleted and created anew without the config uses the value of the deleted topic,
if it reads both from the metadata log. It describes the new value nevertheless (seen on Kafka 3.9.2, 4.3.1 and 4.4.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._model.metadata_history import (
    BrokerChange,
    ConfigKey,
    ConfigMoment,
    MetadataHistory,
    PartitionHistory,
)
from .._model.partition import MIN_ISR, NO_LEADER
from .._model.setting import BROKER_RESOURCE, TOPIC_RESOURCE

_SNAPSHOT_MS = 3_600_000
"""The default of metadata.log.max.snapshot.interval.ms: a broker that starts reads the log from its newest snapshot."""


class UsedMinIsrs(NamedTuple):
    """The values that a leader may have used in a time."""

    values: tuple[int, ...]
    of_older_topic: tuple[int, ...] = ()
    """Those of deleted topics of the same name, if the leader started since, and the new topic has no value."""


def min_isrs_in(
    history: MetadataHistory, topic: str, leader_id: int, begins_ms: int, ends_ms: int
) -> UsedMinIsrs | None:
    """Return all values that the leader may have used in this time. None if one of them is not known."""
    older, own = _split(history.configs.get(ConfigKey(TOPIC_RESOURCE, topic, MIN_ISR), ()))
    levels = (
        own,
        history.configs.get(ConfigKey(BROKER_RESOURCE, str(leader_id), MIN_ISR), ()),
        history.configs.get(ConfigKey(BROKER_RESOURCE, "", MIN_ISR), ()),
    )
    found: set[int] = set()
    for level in levels:
        values = _values_in(history, level, begins_ms, ends_ms)
        if values is None or any(value is not None and not value.isdecimal() for value in values):
            return None
        found |= {int(value) for value in values if value is not None}
        if None not in values:
            uses_older = level is not own and older and _started_in(history, leader_id, own[0].at_ms, ends_ms)
            return UsedMinIsrs(tuple(sorted(found)), tuple(sorted(_numbers(older))) if uses_older else ())
    # Without a record, the value comes from the properties of the leader, which is dead.
    return None


def knows_older_topic(history: MetadataHistory, topic: str, found: PartitionHistory, since_ms: int) -> bool:
    """Return whether the log that was read has all that a leader may have used of a deleted topic of the same name.

    Only those matter that led at ``since_ms`` or later, while the topic had no value of its own. A topic that is older
    than the log may have been created just before one of them started.
    """
    lost = found.leader_lost_at_ms
    if history.begins_at_start or lost is None:
        return True
    created = found.moments[0].at_ms if found.begins_with_creation else None
    _older, own = _split(history.configs.get(ConfigKey(TOPIC_RESOURCE, topic, MIN_ISR), ()))
    values = _values_in(history, own, since_ms if created is None else max(since_ms, created), lost)
    if values is not None and None not in values:
        return True
    return all(
        _knows_before_start(history, moment.leader_id, created, moment.at_ms, end)
        for moment, end in found.spans(lost)
        if end >= since_ms and moment.at_ms <= lost and moment.leader_id not in (None, NO_LEADER)
    )


def _knows_before_start(
    history: MetadataHistory, leader_id: int | None, created_ms: int | None, begins_ms: int, ends_ms: int
) -> bool:
    """Return whether the log that was read has what a leader read of it when it started, if that matters."""
    starts = [
        each.at_ms
        for each in history.brokers.get(leader_id or 0, ())
        if each.change is BrokerChange.REGISTERED and each.is_change and each.at_ms <= ends_ms
    ]
    first = [each for each in starts if each <= begins_ms][-1:]
    used = [*first, *(each for each in starts if each > begins_ms)]
    if created_ms is not None:
        return history.begins_at_ms <= created_ms - _SNAPSHOT_MS or not any(each > created_ms for each in used)
    return bool(first) and history.begins_at_ms <= used[0] - _SNAPSHOT_MS


def _started_in(history: MetadataHistory, broker_id: int, after_ms: int, until_ms: int) -> bool:
    return any(
        each.change is BrokerChange.REGISTERED and after_ms < each.at_ms <= until_ms
        for each in history.brokers.get(broker_id, ())
    )


def _split(moments: Sequence[ConfigMoment]) -> tuple[Sequence[ConfigMoment], Sequence[ConfigMoment]]:
    """Return the moments of older topics of the name, and those of the newest one."""
    begins = max((index for index, each in enumerate(moments) if each.begins_topic), default=0)
    return moments[:begins], moments[begins:]


def _numbers(moments: Sequence[ConfigMoment]) -> set[int]:
    return {int(each.value) for each in moments if each.value is not None and each.value.isdecimal()}


def _values_in(
    history: MetadataHistory, moments: Sequence[ConfigMoment], begins_ms: int, ends_ms: int
) -> set[str | None] | None:
    """Return the values of one config in a time, None for "not set". None if the log does not say."""
    before = [each for each in moments if each.at_ms <= begins_ms]
    within = {each.value for each in moments if begins_ms < each.at_ms <= ends_ms}
    if before:
        return within | {before[-1].value}
    # Before the log that was read begins, it may have had another value, which the leader may have used for a while.
    if not history.has_base or (history.begins_at_ms > begins_ms and not history.begins_at_start):
        return None
    if not moments:
        return {None}
    # A change before which nothing is known; or a snapshot's value, which is older than the snapshot.
    first = moments[0]
    if first.is_change:
        return within | {None} if history.begins_at_start else None
    return within | {first.value}
