# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the topics that records are given back to, and the reasons against writing to them. Reads only."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.errors import RequestRefusedError
from .._kafka.port import Kafka
from .._model import retention
from .._model.fields import INT64_MAX
from .._model.partition import (
    METADATA_TOPIC,
    MIN_ISR,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TIER_TOPIC,
    TRANSACTIONS_TOPIC,
    PartitionState,
    TopicPartition,
    effective_min_isr,
)
from .._model.reasons import plural
from .._model.setting import TOPIC_RESOURCE
from .replayed import Target, name_target_topic
from .saved import SavedRecords
from .saved_run import OVERHEAD_BYTES

_NEVER = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC, METADATA_TOPIC, TIER_TOPIC})
_MOST_BYTES = "max.message.bytes"
_BEFORE, _AFTER, _DIFFERENCE = (f"message.timestamp.{name}.max.ms" for name in ("before", "after", "difference"))
_TIMESTAMPS, _OF_THE_BROKER = "message.timestamp.type", "LogAppendTime"
_NAMES = (retention.POLICY, _MOST_BYTES, retention.MS, MIN_ISR, _BEFORE, _AFTER, _DIFFERENCE, _TIMESTAMPS)
_DEFAULT_MOST_BYTES = 1_048_588


@dataclass(frozen=True, slots=True)
class TargetTopic:
    """A topic that records are given back to."""

    name: str
    topic_id: str | None
    """None for a topic that is to be created."""
    partitions: int
    copies: int
    """Replicas per partition of a topic that is to be created; -1 for the brokers' default."""
    most_bytes: int
    is_compacted: bool
    states: Mapping[int, PartitionState]


@dataclass(frozen=True, slots=True)
class ReplayTerms:
    """What the operator allows."""

    target: Target
    include_unknown: bool
    include_compacted: bool
    never: frozenset[str] = frozenset()
    """This collection's own topics. Their records are never given back."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of all saved records."""

    topics: dict[str, TargetTopic]
    """By the topic that the records came from."""
    compacted: frozenset[str]
    """The compacted ones among the topics that the records came from, if they are still there."""
    refused: dict[TopicPartition, str]
    """Partitions that cannot be written to, and why."""
    internal: frozenset[TopicPartition]
    notes: tuple[str, ...] = ()
    """Messages about topics that will not keep the records."""


def find_targets(kafka: Kafka, saved: Sequence[SavedRecords], terms: ReplayTerms) -> Targets:
    """Describe the topics that the saved records came from, and the topics that they are given back to.

    Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
    """
    origins = {each.topic for each in saved}
    names = {each: name_target_topic(each, terms.target) for each in origins - _NEVER - terms.never}
    description = kafka.describe_partitions(origins | {*names.values()})
    states: dict[str, dict[int, PartitionState]] = {}
    for state in description.partitions:
        states.setdefault(state.topic, {})[state.partition] = state
    hidden = {each.topic: str(each) for each in description.refused if not each.is_unknown}
    to_create = {*names.values()} - states.keys() - hidden.keys() if terms.target is Target.SIDE else set()
    forbidden = dict(_find_forbidden(kafka, states, to_create))
    configs, unread = _read_all_configs(kafka, sorted(states.keys() - _NEVER - terms.never))
    now_ms = int(time.time() * 1000)
    topics, refused, internal, notes = {}, {}, set(), list[str]()
    for topic in sorted(origins):
        wanted = [each for each in saved if each.topic == topic]
        if topic in _NEVER | terms.never or any(each.is_internal for each in states.get(topic, {}).values()):
            internal |= {each.topic_partition for each in wanted}
            continue
        name = name_target_topic(topic, terms.target)
        found = topics[topic] = _build_target(name, topic, states, configs, wanted)
        notes += _describe_retention(wanted, name, configs.get(name, {}), now_ms)
        for each in wanted:
            obstacle = (
                (name in hidden and f"topic {name} cannot be looked at: {hidden[name]}")
                or forbidden.get(name, "")
                or unread.get(name, "")
                or _check_topic(each, found, terms)
                or _check_timestamps(each, name, configs.get(name, {}), now_ms)
                or _check_replicas(found, each.partition, configs.get(name, {}))
            )
            if obstacle:
                refused[each.topic_partition] = obstacle
    compacted = frozenset(
        each.topic
        for each in saved
        if "compact" in configs.get(each.topic, {}).get(retention.POLICY, "")
        and each.topic_id in {None, *(state.topic_id for state in states[each.topic].values())}
    )
    return Targets(topics, compacted, refused, frozenset(internal), tuple(notes))


def _build_target(
    name: str,
    origin: str,
    states: Mapping[str, Mapping[int, PartitionState]],
    configs: Mapping[str, Mapping[str, str]],
    wanted: Collection[SavedRecords],
) -> TargetTopic:
    there = states.get(name, {})
    like = states.get(origin, {})
    own = configs.get(name, {})
    if there:
        most_bytes = int(own.get(_MOST_BYTES, _DEFAULT_MOST_BYTES))
        is_compacted = "compact" in own.get(retention.POLICY, "")
        return TargetTopic(name, there[min(there)].topic_id, len(there), -1, most_bytes, is_compacted, there)
    partitions = max(len(like), *(each.partition + 1 for each in wanted))
    copies = max((len(each.replicas) for each in like.values()), default=-1)
    largest = max(each.largest_record_bytes for each in wanted) + OVERHEAD_BYTES + len(origin)
    most_bytes = max(int(configs.get(origin, {}).get(_MOST_BYTES, _DEFAULT_MOST_BYTES)), 2 * largest)
    return TargetTopic(name, None, partitions, copies, most_bytes, is_compacted=False, states={})


def _check_topic(saved: SavedRecords, target: TargetTopic, terms: ReplayTerms) -> str:
    """Return why the topic cannot take the records; empty if it can."""
    name = target.name
    if target.topic_id is None and terms.target is Target.SIDE:
        return ""
    if target.topic_id is None:
        return f"topic {name} does not exist any more: give its records back to a side topic (target: side)"
    if terms.target is Target.ORIGINAL and saved.topic_id is not None and saved.topic_id != target.topic_id:
        return (
            f"topic {name} was re-created: its id is {target.topic_id}, and the records are of {saved.topic_id}: give "
            "them back to a side topic (target: side)"
        )
    if saved.partition not in target.states:
        return f"topic {name} has only {plural(target.partitions, 'partition')}, and no partition {saved.partition}"
    if target.is_compacted and terms.target is Target.SIDE:
        return f"topic {name} is compacted, and would not keep all records: set its cleanup.policy to delete"
    if target.is_compacted and not terms.include_compacted:
        return (
            f"topic {name} is compacted: give its records back to a side topic (target: side), or set "
            "include_compacted to write again the keys that have no newer record"
        )
    needed = saved.largest_record_bytes + OVERHEAD_BYTES + len(saved.topic)
    if needed > target.most_bytes:
        return (
            f"max.message.bytes of topic {name} is {target.most_bytes}, and its largest saved record needs {needed}: "
            "raise it first"
        )
    return ""


def _check_replicas(target: TargetTopic, partition: int, configs: Mapping[str, str]) -> str:
    """Return why the partition takes no records now: no leader, or too few replicas in sync. Empty if it does."""
    state = target.states.get(partition)
    if state is None:
        return ""
    if state.is_offline:
        return f"{state.topic_partition} has no leader: recover it first"
    needed = effective_min_isr(int(configs.get(MIN_ISR, 1)), len(state.replicas))
    if len(state.isr) < needed:
        return (
            f"{state.topic_partition} takes no records now: {len(state.isr)} of its replicas are in sync, and by "
            f"min.insync.replicas it needs {needed}"
        )
    return ""


def _check_timestamps(saved: SavedRecords, name: str, configs: Mapping[str, str], now_ms: int) -> str:
    """Return which limit of the topic the saved timestamps exceed; empty if none.

    A topic with its brokers' timestamps takes any record (LogValidator).
    """
    if saved.first_timestamp_ms is None or saved.last_timestamp_ms is None:
        return ""
    if configs.get(_TIMESTAMPS) == _OF_THE_BROKER:
        return ""
    for (config, limit), distance in (
        (_limit_of(configs, _BEFORE), now_ms - saved.first_timestamp_ms),
        (_limit_of(configs, _AFTER), saved.last_timestamp_ms - now_ms),
    ):
        if distance > limit:
            return (
                f"{config} of topic {name} is {limit}, and a saved record's timestamp is {distance} ms away "
                "from now: raise it first, so that records keep their timestamps"
            )
    return ""


def _describe_retention(
    saved: Iterable[SavedRecords], name: str, configs: Mapping[str, str], now_ms: int
) -> Iterator[str]:
    """Yield that brokers will delete the records again: they keep their timestamps, and retention goes by these."""
    kept_ms, times = int(configs.get(retention.MS, -1)), (each.first_timestamp_ms for each in saved)
    ages = [now_ms - each for each in times if each is not None and each >= 0]
    is_by_time = "delete" in configs.get(retention.POLICY, "") and configs.get(_TIMESTAMPS) != _OF_THE_BROKER
    if is_by_time and 0 <= kept_ms < max(ages, default=0):
        yield (
            f"{retention.MS} of topic {name} is {kept_ms}, and its oldest saved record is {max(ages)} ms old: brokers "
            "may delete what is given back within minutes, before consumers read it. Raise it first"
        )


def _limit_of(configs: Mapping[str, str], name: str) -> tuple[str, int]:
    """Return the config that limits timestamps, and its value: before 4.0, an older one where ``name`` has no limit."""
    limit = int(configs.get(name, INT64_MAX))
    if limit == INT64_MAX and _DIFFERENCE in configs:  # as LogConfig does
        return _DIFFERENCE, int(configs[_DIFFERENCE])
    return name, limit


def _find_forbidden(kafka: Kafka, there: Collection[str], to_create: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the topics that our principal may not write to or create, as far as that is known, and why.

    CREATE on the cluster is for any topic. It is not known without DESCRIBE on the cluster.
    """
    access = kafka.topic_operations(sorted({*there, *to_create}))
    of_cluster = kafka.cluster_operations() if to_create else frozenset()
    for name, each in access.items():
        if "WRITE" not in each.operations:
            yield name, f"our principal needs WRITE on topic {name}"
        elif name in to_create and of_cluster and "CREATE" not in each.operations | of_cluster:
            yield name, f"topic {name} does not exist: our principal needs CREATE on it, or on the cluster"


def _read_all_configs(kafka: Kafka, topics: Sequence[str]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the configs of each topic, and why those of others are not known."""
    configs, unread = {}, {}
    for topic in topics:
        try:
            found = kafka.read_configs(None, TOPIC_RESOURCE, topic, _NAMES)
        except RequestRefusedError as error:
            # The broker's message does not name the topic.
            unread[topic] = f"configs of topic {topic}: {error}"
        else:
            configs[topic] = {name: each.value for name, each in found.items() if each.value is not None}
    return configs, unread
