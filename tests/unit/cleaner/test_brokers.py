# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A copy that cannot be read, or a broker that does not answer, does not stop the work on others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case, Diagnosis
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import (
    CleanerFacts,
    CleanerMetrics,
    LogDirMetrics,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.inspection import Cleaner
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.marks import (
    MarkedReplica,
    ReadLimits,
    describe_unread_marks,
    find_marked_replicas,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.restart import change_settings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.copy_reading import CopyCheck
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_dirs import LogDirs, ReplicaOnDisk
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import (
    RestartStatus,
    Setting,
    SettingSource,
)
from unit.fakes.settings import ADDRESSES, FakeSettings

Key = TypeVar("Key")
Value = TypeVar("Value")
BACKOFF = "log.cleaner.backoff.ms"
CLUSTER = Cluster("c", tuple(Registration(each, address, None, True) for each, address in ADDRESSES.items()))
LOST = BrokerCallError("fake.invalid:9092", Cause.HUNG, "no answer within 1000 ms")


class FakeCopies(FakeSettings):
    """Copies on brokers 1 and 2 of topics with one partition.

    Copies of "slow..." cannot be read, those of "bad..." are damaged, and a read of "last" stops the run.
    """

    def __init__(self, topics: Sequence[str]) -> None:
        super().__init__()
        self.topics = topics
        self.read: list[tuple[int, str]] = []
        """The copies that were read, in order."""

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]:
        return {each: work(each) for each in keys}

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        return Description(
            tuple(PartitionState(each, 0, "A" * 22, 1, 5, (1, 2), (1, 2), None, None, ()) for each in self.topics), ()
        )

    def topic_configs(self, names: Sequence[str], name: str) -> dict[str, Setting]:
        return dict.fromkeys(names, Setting("compact", SettingSource.BROKER))

    def describe_log_dirs(self, address: Address, partitions: Sequence[TopicPartition]) -> LogDirs:
        return LogDirs(dict.fromkeys(partitions, (ReplicaOnDisk("/d", 10, is_future=False),)), {}, "")

    def check_copy(
        self, address: Address, partition: TopicPartition, max_bytes: int, stop: threading.Event
    ) -> CopyCheck:
        broker_id = next(each for each, known in ADDRESSES.items() if known == address)
        self.read.append((broker_id, partition.topic))
        if partition.topic == "last":
            stop.set()
        if partition.topic.startswith("slow"):
            raise LOST
        return CopyCheck("it is damaged" if partition.topic.startswith("bad") else "", 10, is_complete=True)


def cleaner(broker_id: int, marks: int = 0, settings_error: str = "") -> Cleaner:
    settings: Mapping[str, Setting] = {} if settings_error else {BACKOFF: Setting("15000", SettingSource.DEFAULT)}
    metrics = CleanerMetrics(0, 1000, 40, (LogDirMetrics("/d", marks, None),))
    facts = CleanerFacts(broker_id, "kafka", metrics, "", settings, settings_error)
    return Cleaner(facts, Diagnosis(Case.UNKNOWN, ""))


def _marked(
    kafka: FakeCopies, *cleaners: Cleaner, total_bytes: int = 1000
) -> tuple[tuple[MarkedReplica, ...], tuple[str, ...]]:
    return find_marked_replicas(
        kafka, CLUSTER, cleaners, ReadLimits(100, total_bytes), NullProgress(), threading.Event()
    )


def test_a_copy_that_cannot_be_read_does_not_hide_others() -> None:
    kafka = FakeCopies(["a", "slow", "bad"])
    targets, unidentified_marks = _marked(kafka, cleaner(1, marks=2))
    assert sorted(topic for _broker, topic in kafka.read) == ["a", "bad", "slow"]
    assert targets == (MarkedReplica("bad", 0, 1),)
    assert len(unidentified_marks) == 1
    assert "slow-0 could not be read: fake.invalid:9092: hung" in unidentified_marks[0]


def test_a_broker_that_does_not_answer_is_skipped() -> None:
    kafka = FakeCopies([f"slow-{number}" for number in range(9)])
    targets, unidentified_marks = _marked(kafka, cleaner(1, marks=1), cleaner(2, marks=1))
    assert [broker for broker, _topic in kafka.read] == [1, 1, 1, 2, 2, 2]
    assert targets == ()
    assert len(unidentified_marks) == 2


def test_the_search_for_marks_ends_at_the_total_limit() -> None:
    kafka = FakeCopies(["a", "b", "c", "d"])
    targets, unidentified_marks = _marked(kafka, cleaner(1, marks=1), cleaner(2, marks=1), total_bytes=25)
    assert len(kafka.read) == 3, "10 bytes each"
    assert targets == ()
    assert [("max_total_read_bytes" in each) for each in unidentified_marks] == [True, True]


def test_marks_whose_copies_are_not_read_are_named() -> None:
    (named,) = describe_unread_marks([cleaner(1), cleaner(2, marks=3)])
    assert named.startswith("broker 2 marks 3 partitions in /d")
    assert "search_in_check_mode" in named


def test_a_stopped_run_reads_no_more_copies() -> None:
    kafka = FakeCopies(["bad", "last", "x"])
    targets, unidentified_marks = _marked(kafka, cleaner(1, marks=3), cleaner(2, marks=1))
    assert kafka.read == [(1, "bad"), (1, "last")]
    assert targets == (MarkedReplica("bad", 0, 1),)
    assert all("the run was asked to stop" in each for each in unidentified_marks)
    assert len(unidentified_marks) == 2


def test_settings_are_changed_on_all_brokers_that_return_them() -> None:
    settings = FakeSettings()
    outcomes = change_settings(
        [cleaner(1, settings_error="broker 1 is offline"), cleaner(2)],
        {BACKOFF: "20000"},
        settings.writer(),
        check_mode=False,
    )
    assert [each.status for each in outcomes] == [RestartStatus.FAILED, RestartStatus.CHANGED]
    assert "broker 1 is offline" in outcomes[0].reason
    assert settings.values == {("2", BACKOFF): "20000"}
