# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark finds in recordings of several clusters and weeks what a plain loop over all looks finds."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import DEFAULT_THRESHOLDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.brokers import absences
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.cleaners import copy_trends
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.exposure import (
    expose,
    find_timelines,
    has_few_rows,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.options import Period, read_wanted
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.report import ClusterRow, Exposure
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.states import moments_of, partition_states
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError, NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.names import BROKERS, REPLICAS, RecordingError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.rows import RECORDED_SCHEMA
from processes.exposure import histories
from processes.exposure.histories import STEP, T0, Look, World

LOOKS = 100
_WANTED = Period((), None, T0 + timedelta(days=90), 3 * STEP)
Recorded = dict[str, list[Look]]
_MOMENTS = "cluster_id string, idx int, at_ms long, clock_ms long"
_TREND = ("looks", "span_ms", "first_bytes", "last_bytes", "has_shrunk", "others_shrank", "smallest_copy_bytes")
_STATES = "cluster_id string, broker_id int, idx int, state string"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recorded]:
    root = tmp_path_factory.mktemp("recordings")
    looks = {f"cluster-{seed}": histories.looks_of(World(seed), LOOKS) for seed in (0, 3)}
    for cluster_id, each in looks.items():
        histories.store(each, root, cluster_id)
    return root, looks


@pytest.fixture(scope="module")
def exposure(request: pytest.FixtureRequest, recorded: tuple[Path, Recorded]) -> Exposure:
    spark: SparkSession = request.getfixturevalue("spark")
    place = str(recorded[0])
    return expose(spark, place, "", _WANTED, NullProgress(), has_few=has_few_rows(place))


@pytest.fixture
def pairs(exposure: Exposure, recorded: tuple[Path, Recorded]) -> list[tuple[ClusterRow, list[Look]]]:
    assert [each.cluster_id for each in exposure.clusters] == sorted(recorded[1])
    return [(each, recorded[1][each.cluster_id]) for each in exposure.clusters]


def at(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def test_every_partition_at_or_below_min_isr_and_for_how_long(pairs: list[tuple[ClusterRow, list[Look]]]) -> None:
    for cluster, looks in pairs:
        found = {
            (each.topic, each.partition): {
                "offline": each.offline_seconds,
                "below": each.below_seconds,
                "at": each.at_seconds,
                "unknown": each.unknown_seconds,
                "longest": each.longest_seconds,
                "began": at(each.longest_at),
                "seen": each.snapshots,
                "state": each.state,
            }
            for each in cluster.low
        }
        assert found == histories.low_partitions(looks)


def test_gaps_are_named_and_count_as_nothing(pairs: list[tuple[ClusterRow, list[Look]]]) -> None:
    for cluster, looks in pairs:
        times = [*(each.at for each in looks), _WANTED.end]
        gaps = [(earlier, later) for earlier, later in pairwise(times) if later - earlier > 3 * STEP]
        assert [(at(each.start), at(each.end)) for each in cluster.coverage.gaps] == gaps
        assert len(gaps) > 1
        assert cluster.coverage.observed_seconds == sum(histories.observed(looks))


def test_what_each_death_would_have_cost_at_the_worst_moment(pairs: list[tuple[ClusterRow, list[Look]]]) -> None:
    for cluster, looks in pairs:
        for each in cluster.brokers:
            costs = [(histories.death_cost(look, each.broker_id), look.at) for look in looks]
            worst, moment = max(costs, key=lambda cost: (cost[0][0], -cost[1].timestamp()))
            assert (each.death_records, each.death_partitions, each.death_only_answer_records) == worst
            assert worst[0] > 0
            assert at(each.death_at) == moment


def test_brokers_that_leave_come_back_and_lag(pairs: list[tuple[ClusterRow, list[Look]]]) -> None:
    for cluster, looks in pairs:
        seconds = histories.observed(looks)
        for each in cluster.brokers:
            up = [
                row["state"] == "online" for look in looks for row in look.brokers if row["broker_id"] == each.broker_id
            ]
            assert each.departures == sum(was and not now for was, now in pairwise(up))
            assert each.returns == sum(now and not was for was, now in pairwise(up))
            assert each.away_seconds == sum(length for length, now in zip(seconds, up, strict=True) if not now)
            lags = [histories.lagging(look, each.broker_id) for look in looks]
            assert each.lag_seconds == sum(length * lag for length, lag in zip(seconds, lags, strict=True))
            assert each.most_lagging == max(lags)
            assert at(each.most_lagging_at) == (looks[lags.index(max(lags))].at if max(lags) else None)


def test_a_broker_that_was_added_later_did_not_leave(spark: SparkSession) -> None:
    moments = spark.createDataFrame([("c", n, 1000 * n, 1000 * n) for n in range(6)], _MOMENTS)
    online = {1: (0, 1, 2, 3, 4), 2: (2, 3, 4), 3: (2, 4)}
    looks = spark.createDataFrame([("c", each, n, "online") for each, seen in online.items() for n in seen], _STATES)
    found = {
        each.broker_id: (each.departures, each.returns, each.away_ms) for each in absences(looks, moments).collect()
    }
    assert found == {1: (0, 0, 0), 2: (0, 0, 0), 3: (1, 1, 1000)}


@pytest.mark.parametrize("part", [BROKERS, REPLICAS])
def test_an_empty_file_is_damage_and_does_not_say_that_nothing_was_there(
    spark: SparkSession, recorded: tuple[Path, Recorded], tmp_path: Path, part: str
) -> None:
    damaged = shutil.copytree(recorded[0] / "cluster_id=cluster-3", tmp_path / "cluster_id=cluster-3")
    names = sorted(each.name for each in damaged.glob("scope=all/snapshot=*"))
    next(damaged.glob(f"scope=all/{names[10]}/{part}/*.parquet")).write_bytes(b"")
    found = expose(spark, str(tmp_path), "", _WANTED, NullProgress(), has_few=True)
    assert f"cluster cluster-3: damaged snapshots are not used: {names[10]}" in found.notes[0]


def test_the_trend_of_each_compacted_copy_is_that_of_all_looks_at_it(
    spark: SparkSession, recorded: tuple[Path, Recorded]
) -> None:
    place, looks = recorded
    timelines, _notes = find_timelines(spark, str(place), "", _WANTED)
    root = f"{place}/cluster_id=*/scope=*/snapshot=*/replicas"
    rows = spark.read.option("basePath", str(place)).schema(from_arrow_schema(RECORDED_SCHEMA)).parquet(root)
    states = partition_states(rows, timelines)
    newest = {
        (row.cluster_id, row.topic, row.partition) for row in states.where("is_newest AND size(replicas) > 0").collect()
    }
    assert newest == {(cluster_id, *key[:2]) for cluster_id, each in looks.items() for key in each[-1].replicas}
    found = copy_trends(states, moments_of(spark, timelines)).toArrow().to_pylist()
    assert found
    for cluster_id, each in looks.items():
        own = {
            (row["broker_id"], row["log_dir"], row["topic"], row["partition"]): {name: row[name] for name in _TREND}
            for row in found
            if row["cluster_id"] == cluster_id
        }
        assert own == histories.copy_trends(each, DEFAULT_THRESHOLDS.suspect_bytes)


def test_racks_that_do_not_protect(pairs: list[tuple[ClusterRow, list[Look]]]) -> None:
    for cluster, looks in pairs:
        placed: dict[tuple[str, int], list[int]] = {}
        for topic, partition, broker in looks[-1].replicas:
            placed.setdefault((topic, partition), []).append(broker)
        several = {name: sorted(each) for name, each in placed.items() if len(each) > 1}
        unknown = {name for name, each in several.items() if 4 in each}
        one = {name: each for name, each in several.items() if name not in unknown and len({b % 2 for b in each}) == 1}
        assert {(each.topic, each.partition): [*each.brokers] for each in cluster.one_rack} == one
        assert cluster.unknown_rack_partitions == len(unknown)


def test_growth_and_the_time_until_a_disk_is_full(pairs: list[tuple[ClusterRow, list[Look]]]) -> None:
    for cluster, looks in pairs:
        assert cluster.disks
        for each in cluster.disks:
            assert each.growth_bytes_per_day == pytest.approx(7 * 86_400, rel=1e-6)
            (last,) = (row.get("usable_bytes") for row in looks[-1].brokers if row["broker_id"] == each.broker_id)
            assert each.usable_bytes == last
            hours = None if last is None else pytest.approx(last / 7 / 3600, abs=1)
            assert each.full_in_hours == hours


def test_a_period_begins_with_what_was_so_before(spark: SparkSession, recorded: tuple[Path, Recorded]) -> None:
    root, looks = recorded
    cluster_id = "cluster-3"
    # 42 is no full snapshot.
    chosen = looks[cluster_id][42:82]
    wanted = Period([cluster_id], chosen[0].at, chosen[-1].at, 3 * STEP)
    (cluster,) = expose(spark, str(root), "", wanted, NullProgress()).clusters
    expected = histories.low_partitions(chosen)
    for each in cluster.low:
        sums = expected[each.topic, each.partition]
        assert (each.offline_seconds, each.below_seconds) == (sums["offline"], sums["below"])
        assert each.at_seconds == sums["at"]
    assert {(each.topic, each.partition) for each in cluster.low} >= expected.keys()
    assert cluster.coverage.observed_seconds == sum(histories.observed(chosen))


def test_clusters_without_recordings_are_named(spark: SparkSession, recorded: tuple[Path, Recorded]) -> None:
    with pytest.raises(RecordingError, match="no recordings of other: it has those of cluster-0, cluster-3"):
        expose(spark, str(recorded[0]), "", Period(["other"], None, _WANTED.end, None), NullProgress())
    with pytest.raises(RecordingError, match="scope 'orders'"):
        expose(spark, str(recorded[0]), "orders", _WANTED, NullProgress())


def test_all_options_that_cannot_be_used_are_refused_before_spark_starts(tmp_path: Path) -> None:
    given: dict[str, Any] = {"recordings": str(tmp_path), "clusters": [], "from": None, "to": None, "gap_minutes": None}
    assert read_wanted(given).limit is None
    missing, wrong = f"{tmp_path}/missing", {"from": "yesterday", "to": "now", "gap_minutes": 0}
    with pytest.raises(KafkaOpsError) as refused:
        read_wanted({**given, **wrong, "recordings": missing})
    for said in (
        f"{missing} has no recordings: there is no such directory",
        "from is 'y",
        "to is 'now'",
        "gap_minutes is 0",
    ):
        assert said in str(refused.value)
    assert read_wanted({**given, "recordings": tmp_path.as_uri(), "gap_minutes": 5}).limit == timedelta(minutes=5)


def test_a_directory_that_is_no_clusters_does_not_hide_the_clusters(
    spark: SparkSession, recorded: tuple[Path, Recorded], tmp_path: Path
) -> None:
    odd = "prod.eu/1%"
    histories.store(recorded[1]["cluster-3"][:3], tmp_path, odd)
    (tmp_path / "cluster_id=cluster-3 (copy)" / "scope=all").mkdir(parents=True)
    (cluster,) = expose(spark, str(tmp_path), "", _WANTED, NullProgress()).clusters
    assert (cluster.cluster_id, cluster.coverage.snapshots) == (odd, 3)
    assert cluster.partitions > 0
    assert cluster.brokers


@pytest.mark.wide
def test_many_rows_are_compiled_with_the_same_result(
    spark: SparkSession, recorded: tuple[Path, Recorded], exposure: Exposure
) -> None:
    place = str(recorded[0])
    assert has_few_rows(place)
    assert not has_few_rows(Path(place).as_uri())
    assert expose(spark, place, "", _WANTED, NullProgress()) == exposure


@pytest.mark.wide
def test_a_damaged_snapshot_is_named_and_leaves_a_gap_until_the_next_full_one(
    spark: SparkSession, recorded: tuple[Path, Recorded], tmp_path: Path
) -> None:
    damaged = shutil.copytree(recorded[0] / "cluster_id=cluster-3", tmp_path / "cluster_id=cluster-3")
    names = sorted(each.name for each in damaged.glob("scope=all/snapshot=*"))
    file = next(damaged.glob(f"scope=all/{names[10]}/replicas/*.parquet"))
    file.write_bytes(file.read_bytes()[:-100])
    following = next(place for place in range(11, len(names)) if "-full-" in names[place])
    found = expose(spark, str(tmp_path), "", _WANTED, NullProgress(), has_few=True)
    assert f"cluster cluster-3: damaged snapshots are not used: {names[10]}" in found.notes[0]
    (cluster,) = found.clusters
    assert cluster.coverage.snapshots == len(names) - (following - 10)
