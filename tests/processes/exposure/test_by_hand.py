# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small clusters whose report is computed by hand: disks that vanish, one snapshot only, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.dataclass_json import in_camel_case
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.cleaners import diagnose_cleaners
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.exposure import expose
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.options import Period
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.report import ClusterRow, DiskRow, Exposure
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.exposure_section import build_exposure_verdict
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.exposure_page import verdict
from processes.exposure.histories import MIB, STEP, T0, Look, store

_Partition = tuple[str, int, int | None, Sequence[int], Sequence[int]]
"""Topic, leader, min ISR, ISR and replicas."""
_PER_DAY = 144
"""Steps of a day."""


def look(number: int, partitions: Sequence[_Partition], free: Mapping[tuple[int, str], int | None]) -> Look:
    """Return a look at partitions, and at the free bytes of the directories. A broker without one does not answer."""
    replicas = {
        (topic, 0, broker): {
            "topic": topic,
            "partition": 0,
            "broker_id": broker,
            "topic_id": "id",
            "leader_id": leader,
            "leader_epoch": 1,
            "isr": [*isr],
            "min_isr": min_isr,
            "log_start_offset": 0,
            "log_end_offset": 10,
        }
        for topic, leader, min_isr, isr, all_of_it in partitions
        for broker in all_of_it
    }
    row = {"recorded_at": T0 + number * STEP, "rack": None, "error": ""}
    brokers: list[dict[str, Any]] = [
        {
            **row,
            "broker_id": broker,
            "state": "online",
            "log_dir": name,
            "total_bytes": None if size is None else 1000,
            "usable_bytes": size,
        }
        for (broker, name), size in free.items()
    ]
    silent = {broker for each in partitions for broker in each[4]} - {broker for broker, _name in free}
    brokers += [{**row, "broker_id": broker, "state": "unreachable"} for broker in silent]
    return Look(T0 + number * STEP, number == 0, replicas, brokers)


def hand() -> list[Look]:
    """Return four looks: min ISR is raised, a topic of one replica is offline in between, and directories vanish."""
    orders = [("orders", 1, minimum, (1, 2, 3), (1, 2, 3)) for minimum in (2, 2, 3, 3)]
    shrunk = [("shrunk", 1, 2, isr, (1, 2, 3)) for isr in ((1, 2, 3), (1, 2, 3), (1, 2), (1, 2))]
    single = [("single", leader, 1, (3,), (3,)) for leader in (3, -1, -1, 3)]
    return [
        look(
            number,
            [orders[number], shrunk[number], single[number]],
            {
                (1, "/a"): 900 - 100 * number,
                (1, "/failed"): 500 if number < 2 else None,
                **({(1, "/removed"): 500 - number} if number < 2 else {}),
                **({(2, "/a"): 400 - 100 * number} if number < 3 else {}),
                (3, "/a"): 0,
            },
        )
        for number in range(4)
    ]


def once() -> list[Look]:
    """Return one look, in which a partition has no leader."""
    return [look(0, [("lost", -1, 1, (1,), (1, 2)), ("fine", 2, 1, (1, 2), (1, 2))], {(1, "/a"): 5, (2, "/a"): 5})]


def unknown() -> list[Look]:
    """Return two looks without DESCRIBE_CONFIGS on topics."""
    return [look(each, [("orders", 1, None, (1,), (1, 2))], {(1, "/a"): 5, (2, "/a"): 5}) for each in range(2)]


def compacted() -> list[Look]:
    """Return four looks at a compacted topic. Broker 1 does not compact its copy, and broker 3 dies."""
    sizes = {1: (10, 40, 80, 120), 2: (10, 40, 5, 30), 3: (10, 40, 5, None)}
    looks = []
    for number in range(4):
        free = {(broker, "/a"): 500 for broker, own in sizes.items() if own[number] is not None}
        found = look(number, [("state", 1, 1, (1, 2), (1, 2, 3))], free)
        for (_topic, _partition, broker), row in found.replicas.items():
            size = sizes[broker][number]
            row |= {"is_compacted": True, "size_bytes": size and size * MIB, "log_dir": size and "/a"}
        looks.append(found)
    return looks


CLUSTERS = {"hand": hand(), "once": once(), "unknown": unknown(), "compacted": compacted()}


@pytest.fixture(scope="module")
def exposure(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exposure:
    spark: SparkSession = request.getfixturevalue("spark")
    root = tmp_path_factory.mktemp("by-hand")
    for cluster_id, looks in CLUSTERS.items():
        store(looks, root, cluster_id)
    return expose(spark, str(root), "", Period((), None, T0 + 3 * STEP, 3 * STEP), NullProgress(), has_few=True)


@pytest.fixture
def clusters(exposure: Exposure) -> dict[str, ClusterRow]:
    return {each.cluster_id: each for each in exposure.clusters}


def test_a_partition_of_one_replica_that_had_no_leader_is_worse_than_one_at_min_isr(
    clusters: dict[str, ClusterRow],
) -> None:
    found = [
        (each.topic, each.offline_seconds, each.at_seconds, each.longest_seconds, each.snapshots, each.state)
        for each in clusters["hand"].low
    ]
    assert found == [
        ("single", 1200, 600, 1800, 4, "at"),
        ("shrunk", 0, 600, 600, 2, "at"),
        ("orders", 0, 600, 600, 2, "at"),  # as many replicas as min ISR: it is never above it
    ]


def test_the_space_of_a_directory_that_the_newest_snapshot_lacks_is_unknown(clusters: dict[str, ClusterRow]) -> None:
    assert {(each.broker_id, each.log_dir): each for each in clusters["hand"].disks} == {
        (1, "/a"): disk(1, "/a", 600, 100, 1),
        (1, "/failed"): disk(1, "/failed", None, 0),
        (1, "/removed"): disk(1, "/removed", None, 1),
        (2, "/a"): disk(2, "/a", None, 100),
        (3, "/a"): disk(3, "/a", 0, 0, 0),
    }


def disk(broker: int, name: str, usable: int | None, a_step: int, hours: int | None = None) -> DiskRow:
    return DiskRow(
        broker_id=broker,
        log_dir=name,
        total_bytes=None if usable is None else 1000,
        usable_bytes=usable,
        growth_bytes_per_day=a_step * _PER_DAY,
        growth_bytes_per_day_lately=a_step * _PER_DAY,
        full_in_hours=hours,
        full_in_hours_lately=hours,
    )


def test_what_one_snapshot_saw_is_counted_although_it_lasted_for_no_known_time(
    clusters: dict[str, ClusterRow],
) -> None:
    (lost,) = clusters["once"].low
    assert (lost.topic, lost.state, lost.offline_seconds, lost.snapshots) == ("lost", "offline", 0, 1)
    assert (clusters["once"].offline_partitions, clusters["once"].below_partitions) == (1, 0)
    sentence, tone = page_verdict(clusters["once"])
    assert (
        sentence
        == "1 cluster: 1 partition at or below min ISR, 0 below it and 1 without a leader; 0 gaps between snapshots."
    )
    assert tone == "bad"


def test_an_unknown_min_isr_is_not_good(clusters: dict[str, ClusterRow]) -> None:
    sentence, tone = page_verdict(clusters["compacted"])
    assert sentence.endswith("; 1 broker is not online at the end; 1 log cleaner seems to fall behind.")
    assert tone == "warning"
    sentence, tone = page_verdict(clusters["unknown"])
    assert sentence.endswith("; 0 gaps between snapshots; 1 partition was in an unknown state for some time.")
    assert tone == "warning"


def test_the_sentence_counts_all_partitions_and_not_only_those_that_a_result_lists() -> None:
    text = verdict(
        {
            "cluster_id": "c", "partitions": 5000, "low_partitions": 4000, "below_partitions": 3000,
            "offline_partitions": 2000, "low": [], "brokers": [], "disks": [], "cleaners": [], "coverage": {"gaps": []},
        }
    )  # fmt: skip
    assert "4000 were at or below min ISR (3000 below, 2000 without a leader)" in text


def test_a_copy_that_grows_while_another_one_is_compacted_is_named(clusters: dict[str, ClusterRow]) -> None:
    first, second, third = clusters["compacted"].cleaners
    assert (first.broker_id, first.diagnosis) == (1, Case.UNCLEANABLE_PARTITIONS)
    (copy,) = first.suspects
    assert (copy.topic, copy.partition, copy.size_bytes) == ("state", 0, 120 * MIB)
    assert copy.reason == f"it has {120 * MIB} bytes, and the smallest other copy has {30 * MIB}"
    assert (second.diagnosis, second.suspects) == (Case.HEALTHY, ())
    assert (
        second.reason
        == "inferred: by the sizes of 1 compacted copy in 4 looks: 1 were compacted, and none is suspicious"
    )
    assert (third.diagnosis, third.reason) == (Case.UNKNOWN, "broker 3 is unreachable in the newest snapshot")


def test_no_log_cleaner_is_healthy_while_topics_of_an_unknown_policy_may_be_compacted() -> None:
    trend = {
        "broker_id": 1, "log_dir": "/a", "topic": "state", "partition": 0, "looks": 2, "span_ms": 1, "first_bytes": 9,
        "last_bytes": 5, "has_shrunk": True, "others_shrank": False, "smallest_copy_bytes": None,
    }  # fmt: skip
    (known,) = diagnose_cleaners([trend], {1: "online"}, 0)
    (doubtful,) = diagnose_cleaners([trend], {1: "online"}, 3)
    assert (known.diagnosis, doubtful.diagnosis) == (Case.HEALTHY, Case.UNKNOWN)
    assert doubtful.reason == (
        "whether 3 partitions are compacted was not recorded: grant DESCRIBE_CONFIGS on the topics"
    )


def page_verdict(cluster: ClusterRow) -> tuple[str, str]:
    return build_exposure_verdict({"clusters": [in_camel_case(to_json_types(cluster))], "notes": []})
