# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which partitions are refused before anything is written, and why."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.capabilities import TopicAccess
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import Target, name_target_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved import SavedRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.targets import (
    ReplayTerms,
    Targets,
    find_targets,
)
from unit.salvage.saved import SAVED as SOME_SAVED

NOW_MS = int(time.time() * 1000)
TOPIC_ID = "EjRWeJq83vASNFZ4mrze8A"
STATE = PartitionState("orders", 0, TOPIC_ID, 2, 8, (1, 2, 3), (2, 3), (), (), (1,))
SAVED = replace(
    SOME_SAVED,
    partition=0,
    topic_id=TOPIC_ID,
    ranges=(EpochRange(3, 100, 350),),
    bytes=1,
    first_timestamp_ms=NOW_MS - 10_000,
    last_timestamp_ms=NOW_MS,
    largest_record_bytes=1000,
    largest_batch_bytes=1000,
)
ORIGINAL = ReplayTerms(Target.ORIGINAL, include_unknown=False, include_compacted=False)
SIDE = replace(ORIGINAL, target=Target.SIDE)


class FakeKafka(Kafka):
    """Topics in memory."""

    def __init__(
        self,
        states: Sequence[PartitionState],
        configs: dict[str, str],
        forbidden: Collection[str],
        secret: Collection[str] = (),
    ) -> None:
        self._states, self._configs, self._forbidden, self._secret = states, configs, frozenset(forbidden), secret

    def describe_partitions(self, names: Iterable[str] | None = None, span: Any = None) -> Description:
        wanted = set(names or ())
        there = tuple(each for each in self._states if each.topic in wanted)
        absent = wanted - {each.topic for each in there}
        return Description(there, tuple(TopicError(each, 3) for each in sorted(absent)))

    def read_configs(
        self, address: Address | None, kind: int, resource: str, names: Sequence[str]
    ) -> dict[str, Setting]:
        if resource in self._secret:
            raise RequestRefusedError("DescribeConfigs", 29, "not authorized", is_transient=False)
        return {name: Setting(value, SettingSource.BROKER) for name, value in self._configs.items()}

    def cluster_operations(self) -> frozenset[str]:
        return frozenset({"DESCRIBE"})

    def topic_operations(self, names: Sequence[str] | None = None) -> dict[str, TopicAccess]:
        every = {*("DESCRIBE", "WRITE", "CREATE")}
        lacking = {name: {operation} for operation, name in (each.split(" ") for each in self._forbidden)}
        return {each: TopicAccess(frozenset(every - lacking.get(each, set())), True) for each in names or ()}


def look(
    *states: PartitionState,
    saved: SavedRecords = SAVED,
    terms: ReplayTerms = ORIGINAL,
    forbidden: Collection[str] = (),
    configs: dict[str, str] | None = None,
) -> Targets:
    return find_targets(FakeKafka(states, configs or {}, forbidden), [saved], terms)


@pytest.mark.parametrize(("state", "min_isr"), [(STATE, 2), (STATE._replace(replicas=(2, 3)), 3)])
def test_an_unchanged_topic_accepts_its_records(state: PartitionState, min_isr: int) -> None:
    """Kafka needs no more replicas in sync than there are."""
    found = look(state, configs={"min.insync.replicas": str(min_isr), "max.message.bytes": "1048588"})
    assert (found.refused, found.topics["orders"].topic_id) == ({}, TOPIC_ID)


def test_a_topic_with_its_brokers_timestamps_accepts_records_of_any_time() -> None:
    limits = {"message.timestamp.before.max.ms": "5000", "message.timestamp.after.max.ms": "0"}
    assert look(STATE, configs=limits).refused
    assert look(STATE, configs={**limits, "message.timestamp.type": "LogAppendTime"}).refused == {}


@pytest.mark.parametrize(
    ("configs", "is_noted"),
    [
        ({"retention.ms": "5000", "cleanup.policy": "delete"}, True),
        ({"retention.ms": "86400000", "cleanup.policy": "delete"}, False),
        ({"retention.ms": "-1", "cleanup.policy": "delete"}, False),
        ({"retention.ms": "5000", "cleanup.policy": "compact"}, False),
        ({"retention.ms": "5000", "cleanup.policy": "delete", "message.timestamp.type": "LogAppendTime"}, False),
    ],
)
def test_records_that_are_older_than_the_topic_keeps_any_are_noted(configs: dict[str, str], *, is_noted: bool) -> None:
    notes = look(STATE, configs=configs).notes
    assert [note.split(", and")[0] for note in notes] == ["retention.ms of topic orders is 5000"] * is_noted
    new = replace(SAVED, first_timestamp_ms=-1)
    assert look(STATE, saved=new, configs=configs).notes == (), "a record without a timestamp counts by its file's time"


def test_an_older_limit_of_timestamps_counts_only_without_a_newer_one() -> None:
    """As in brokers before 4.0, where every topic has the older one."""
    older = {"message.timestamp.difference.max.ms": "5000"}
    newer = {f"message.timestamp.{each}.max.ms": str(2**62) for each in ("before", "after")}
    unlimited = dict.fromkeys(newer, str(2**63 - 1))
    (reason,) = look(STATE, configs={**older, **unlimited}).refused.values()
    assert "message.timestamp.difference.max.ms of topic orders is 5000" in reason
    assert look(STATE, configs={**older, **newer}).refused == {}


@pytest.mark.parametrize(
    ("state", "configs", "reason"),
    [
        (None, {}, "topic orders does not exist any more"),
        (STATE._replace(topic_id="x" * 22), {}, "was re-created"),
        (STATE._replace(partition=1), {}, "has only 1 partition, and no partition 0"),
        (STATE._replace(leader_id=-1), {}, "has no leader"),
        (
            STATE,
            {"min.insync.replicas": "3"},
            "2 of its replicas are in sync, and by min.insync.replicas it needs 3",
        ),
        (STATE, {"max.message.bytes": "1200"}, "max.message.bytes of topic orders is 1200"),
        (STATE, {"cleanup.policy": "compact,delete"}, "is compacted"),
        (STATE, {"message.timestamp.before.max.ms": "5000"}, "message.timestamp.before.max.ms of topic orders is 5000"),
    ],
)
def test_a_topic_that_cannot_accept_its_records_is_refused(
    state: PartitionState | None, configs: dict[str, str], reason: str
) -> None:
    found = look(*([state] if state else []), configs=configs)
    assert reason in found.refused[TopicPartition("orders", 0)]


def test_a_topic_that_our_principal_may_not_write_to_is_refused() -> None:
    found = look(STATE, forbidden={"WRITE orders"})
    assert "our principal needs WRITE on topic orders" in found.refused[STATE.topic_partition]


@pytest.mark.parametrize("operation", ["WRITE", "CREATE"])
def test_a_side_topic_that_our_principal_may_not_create_is_refused(operation: str) -> None:
    found = look(STATE, terms=SIDE, forbidden={f"{operation} orders.salvaged"})
    assert f"our principal needs {operation} on" in found.refused[STATE.topic_partition]
    assert look(STATE, STATE._replace(topic="orders.salvaged"), terms=SIDE, forbidden={"CREATE orders"}).refused == {}


def test_a_topic_whose_configs_may_not_be_read_blocks_no_other() -> None:
    other, internal = replace(SAVED, topic="payments"), replace(SAVED, topic="__consumer_offsets")
    states = [STATE, *(STATE._replace(topic=each.topic) for each in (other, internal))]
    kafka = FakeKafka(states, {}, (), secret={"orders", "__consumer_offsets"})
    found = find_targets(kafka, [SAVED, other, internal], ORIGINAL)
    assert [*found.refused] == [STATE.topic_partition]
    assert "configs of topic orders: " in found.refused[STATE.topic_partition]


def test_a_side_topic_is_created_like_the_original_topic() -> None:
    made = look(STATE, terms=SIDE, configs={"max.message.bytes": "1048588"}).topics["orders"]
    assert (made.name, made.topic_id, made.partitions, made.copies) == ("orders.salvaged", None, 1, 3)
    gone = look(terms=SIDE, saved=replace(SAVED, partition=6, largest_record_bytes=3_000_000))
    assert gone.refused == {}
    assert gone.topics["orders"].partitions == 7
    assert gone.topics["orders"].most_bytes > 3_000_000


def test_side_topics_of_long_names_have_names_of_their_own() -> None:
    """They differ only at the end, which makes room for the suffix."""
    longest, long, fits = (name_target_topic(each, Target.SIDE) for each in ("t" * 249, "t" * 241, "t" * 240))
    assert [len(each) for each in (longest, long, fits)] == [249] * 3
    assert len({longest, long, fits}) == 3
    assert fits == "t" * 240 + ".salvaged"
    assert name_target_topic("t" * 249, Target.ORIGINAL) == "t" * 249
    gone = look(terms=SIDE, saved=replace(SAVED, topic="t" * 249))
    assert (gone.refused, gone.topics["t" * 249].name) == ({}, longest)


def test_what_brokers_keep_in_remote_storage_is_never_given_back() -> None:
    """Kafka's own topic for it is not marked as internal. Old records in it would name segments that were deleted."""
    name = "__remote_log_metadata"
    found = look(STATE._replace(topic=name), saved=replace(SAVED, topic=name))
    assert found.internal == {TopicPartition(name, 0)}


def test_a_compacted_side_topic_is_refused() -> None:
    there = STATE._replace(topic="orders.salvaged")
    assert (
        "is compacted" in look(there, terms=SIDE, configs={"cleanup.policy": "compact"}).refused[STATE.topic_partition]
    )


@pytest.mark.parametrize("state", [None, STATE])
def test_internal_topics_are_never_given_back(state: PartitionState | None) -> None:
    name = "__consumer_offsets" if state is None else "orders"
    states = [] if state is None else [state._replace(is_internal=True)]
    found = look(*states, saved=replace(SAVED, topic=name))
    assert found.internal == {TopicPartition(name, 0)}
    assert found.refused == {}
