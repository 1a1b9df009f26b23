# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what recordings show of clusters: read them, let Spark compute, and build the report. Writes no recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from .._model.outage import utc_text
from .._model.run import Progress
from .._recorder.names import (
    BROKERS,
    CLUSTER,
    REPLICAS,
    SCOPE,
    SNAPSHOT,
    DamagedSnapshotError,
    RecordingError,
    cluster_uri,
    explain_damaged,
    explain_others,
    read_around_damaged,
    root_uri,
    scope_directory,
    usable,
)
from .._spark.interpreted import interpreted
from .._spark.options import is_uri
from .brokers import BROKER, absences, deaths, disks, lags, worst_moments
from .cleaners import copy_trends, diagnose_cleaners, unknown_policies
from .options import Period
from .protection import min_isr_of_partitions, racks_of_partitions
from .report import (
    BrokerRow,
    CleanerRow,
    ClusterRow,
    Coverage,
    DiskRow,
    Exposure,
    GapRow,
    LowPartition,
    RackPartition,
)
from .states import bounds_of, moments_of, partition_states, snapshots_of
from .timeline import Timeline, timeline_of

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

    from .._recorder.dataset import explained, find_clusters, recordings_of
    from .._recorder.rows import BROKER_SCHEMA, RECORDED_SCHEMA

_Row = Mapping[str, Any]
_MS_OF_DAY, _MS_OF_HOUR = 24 * 3_600_000, 3_600_000
_FEW_BYTES = 1_000_000
"""About 100,000 rows: for fewer, compiling the queries costs more than it saves."""
_EMPTY_FILE_BYTES = 8_000
"""A file with hardly a row has so many."""
_DEATH = ("records", "partitions", "only_answer_records")


def has_few_rows(place: str) -> bool:
    """Return whether a directory on this host has so few recorded rows that Spark's compilers do not pay."""
    if is_uri(place):
        return False
    size = 0
    with suppress(OSError):
        for file in Path(place).glob(f"{CLUSTER}*/{SCOPE}*/{SNAPSHOT}=*/{REPLICAS}/*.parquet"):
            size += max(file.stat().st_size - _EMPTY_FILE_BYTES, 0)
            if size > _FEW_BYTES:
                return False
    return True


def expose(
    spark: SparkSession, place: str, scope: str, wanted: Period, progress: Progress, *, has_few: bool = False
) -> Exposure:
    """Return what the recordings below ``place`` show. Raises RecordingError if there are none for these options.

    ``has_few``: whether they have few rows. The result is the same.
    """

    def compute(damaged: frozenset[str]) -> tuple[list[Timeline], list[str], Mapping[str, Mapping[str, list[_Row]]]]:
        progress.step("listing the snapshots")
        timelines, notes = find_timelines(spark, place, scope, wanted, damaged)
        with_snapshots = [each for each in timelines if each.names]
        if not with_snapshots:
            return timelines, notes, {}
        progress.step("comparing the snapshots")
        with interpreted(spark) if has_few else nullcontext(), explained(place):
            return timelines, notes, _compute(spark, place, scope, with_snapshots)

    (timelines, notes, rows), _damaged = read_around_damaged(compute)
    clusters = tuple(
        _cluster(each, {name: found[each.cluster_id] for name, found in rows.items()}) for each in timelines
    )
    return Exposure(place=place, scope=scope, clusters=clusters, notes=tuple(notes))


def find_timelines(
    spark: SparkSession, place: str, scope: str, wanted: Period, damaged: Collection[str] = ()
) -> tuple[list[Timeline], list[str]]:
    """Return the timelines of the wanted clusters, and which clusters have none. Raises RecordingError.

    The ``damaged`` snapshots, and the parts after them, are left out, so that the time until the next one is a gap.
    """
    recorded = find_clusters(spark, place)
    missing = [each for each in wanted.clusters if each not in recorded]
    if missing or not recorded:
        found = explain_others(recorded)
        raise RecordingError(f"{place} has no recordings of {', '.join(missing) or 'any cluster'}: {found}")
    timelines, notes = [], []
    for cluster_id in wanted.clusters or recorded:
        listed = recordings_of(spark, place, cluster_id, scope).names()
        names = usable(listed, damaged)
        if len(names) < len(listed):
            here = [each.text for each in listed if each.text in damaged]
            notes.append(f"cluster {cluster_id}: {explain_damaged(listed, here)}")
        if names:
            timelines.append(timeline_of(cluster_id, names, wanted.start, wanted.end, wanted.limit))
        else:
            notes.append(f"cluster {cluster_id} has no recordings of scope {scope!r}")
    if not timelines:
        raise RecordingError(f"{place}: {'; '.join(notes)}")
    return timelines, notes


def _reader(
    spark: SparkSession, place: str, scope: str, timelines: Sequence[Timeline]
) -> Callable[[str, pa.Schema], DataFrame]:
    """Return a function that reads a part of all snapshots, with the columns ``cluster_id`` and ``snapshot``.

    It raises DamagedSnapshotError for snapshots without a file of that part: they do not say that nothing was there.
    """
    # A cluster's id of digits only would else become a number.
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    root = root_uri(place)
    snapshots = [
        f"{cluster_uri(place, each.cluster_id)}/{scope_directory(scope)}/{name.text}"
        for each in timelines
        for name in each.names
    ]

    def read(part: str, schema: pa.Schema) -> DataFrame:
        damaged: set[str] = set()
        for each in timelines:
            damaged |= recordings_of(spark, place, each.cluster_id, scope).find_empty(each.names, part)
        if damaged:
            raise DamagedSnapshotError(damaged)
        rows = spark.read.option("basePath", root).schema(from_arrow_schema(schema))
        return rows.parquet(*(f"{each}/{part}" for each in snapshots))

    return read


def _compute(
    spark: SparkSession, place: str, scope: str, timelines: Sequence[Timeline]
) -> dict[str, dict[str, list[_Row]]]:
    """Return the rows of each finding, by cluster."""
    read = _reader(spark, place, scope, timelines)
    replicas, asked = read(REPLICAS, RECORDED_SCHEMA), read(BROKERS, BROKER_SCHEMA)
    moments = moments_of(spark, timelines)
    states = _kept(partition_states(replicas, timelines))
    seen = _kept(_seen(asked, snapshots_of(spark, timelines), moments, timelines))
    looks = seen.groupBy(*BROKER, "idx").agg(f.min("state").alias("state"))
    racks = seen.groupBy(*BROKER).agg(f.max_by("rack", "idx").alias("rack"))
    lagging = _kept(lags(states))
    levels = _kept(min_isr_of_partitions(states, moments))
    counts = levels.groupBy("cluster_id").agg(
        f.count("*").alias("partitions"), f.expr("count_if(unknown_ms > 0 OR level = 'unknown')").alias("unknown")
    )
    found = {
        "counts": counts,
        "low": levels.where("snapshots > 0"),
        "racks": racks,
        "one_rack": racks_of_partitions(states, racks),
        "absences": absences(looks, moments),
        "lags": lagging.groupBy(*BROKER).agg(f.sum("observed_ms").alias("lag_ms")),
        "most_lagging": worst_moments(lagging, moments, ["partitions"]),
        "deaths": worst_moments(deaths(states), moments, _DEATH),
        "disks": disks(seen, moments),
        "copies": copy_trends(states, moments),
        "unknown_policies": unknown_policies(states),
    }
    return {name: _by_cluster(frame) for name, frame in found.items()}


def _kept(frame: DataFrame) -> DataFrame:
    """Compute rows once for several queries.

    A checkpoint has no plan that each of these queries must compare with its own. It is lost with an executor, so a
    cluster keeps the plan.
    """
    if str(frame.sparkSession.sparkContext.master).startswith("local"):
        return frame.localCheckpoint()
    return frame.persist(StorageLevel.MEMORY_AND_DISK)


def _seen(asked: DataFrame, snapshots: DataFrame, moments: DataFrame, timelines: Sequence[Timeline]) -> DataFrame:
    """Return the rows of brokers with the number and time of their snapshot, from the first one that counts on."""
    bounds = bounds_of(asked.sparkSession, timelines).drop("last")
    return (
        asked.join(f.broadcast(snapshots), ["cluster_id", SNAPSHOT])
        .join(f.broadcast(moments), ["cluster_id", "idx"])
        .join(f.broadcast(bounds), "cluster_id")
        .where("idx >= first")
    )


def _by_cluster(frame: DataFrame) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = defaultdict(list)
    for row in frame.toArrow().to_pylist():
        found[row["cluster_id"]].append(row)
    return found


def _cluster(timeline: Timeline, rows: Mapping[str, list[_Row]]) -> ClusterRow:
    counts = next(iter(rows.get("counts", [])), {"partitions": 0, "unknown": 0})
    low = sorted(rows.get("low", []), key=_worst_first)
    one_rack = [each for each in rows.get("one_rack", []) if each["rack"] is not None]
    racks = {each["broker_id"]: each["rack"] for each in rows.get("racks", [])}
    return ClusterRow(
        cluster_id=timeline.cluster_id,
        coverage=_coverage(timeline),
        partitions=counts["partitions"],
        unknown_partitions=counts["unknown"],
        low_partitions=len(low),
        below_partitions=sum(each["was_below"] for each in low),
        offline_partitions=sum(each["was_offline"] for each in low),
        low=tuple(map(_low, low)),
        brokers=tuple(_brokers(rows, racks)),
        racks=tuple(sorted({each for each in racks.values() if each is not None})),
        one_rack_partitions=len(one_rack),
        one_rack=tuple(
            RackPartition(each["topic"], each["partition"], each["rack"], tuple(each["brokers"]))
            for each in sorted(one_rack, key=lambda each: (each["rack"], each["topic"], each["partition"]))
        ),
        unknown_rack_partitions=len(rows.get("one_rack", [])) - len(one_rack),
        disks=tuple(
            _disk(each) for each in sorted(rows.get("disks", []), key=lambda each: (each["broker_id"], each["log_dir"]))
        ),
        cleaners=tuple(_cleaners(rows)),
    )


def _coverage(timeline: Timeline) -> Coverage:
    seen = timeline.seen
    return Coverage(
        start=_moment(timeline.start),
        end=_moment(timeline.end),
        snapshots=len(seen),
        first=_moment(seen[0].at) if seen else None,
        last=_moment(seen[-1].at) if seen else None,
        usual_seconds=None if timeline.usual is None else round(timeline.usual.total_seconds()),
        gap_seconds=None if timeline.limit is None else round(timeline.limit.total_seconds()),
        observed_seconds=_seconds(timeline.clock_ms[-1]),
        gaps=tuple(
            GapRow(_moment(each.start), _moment(each.end), round((each.end - each.start).total_seconds()))
            for each in timeline.gaps
        ),
    )


def _low(row: _Row) -> LowPartition:
    return LowPartition(
        topic=row["topic"],
        partition=row["partition"],
        **{f"{kind}_seconds": _seconds(row[f"{kind}_ms"]) for kind in ("offline", "below", "at", "unknown", "longest")},
        longest_at=utc_text(row["longest_at_ms"]) or "",
        snapshots=row["snapshots"],
        state=row["level"],
        min_isr=row["min_isr"],
        replicas=row["replicas"],
    )


def _worst_first(row: _Row) -> tuple[Any, ...]:
    was_bad = row["was_offline"] or row["was_below"]
    # With too few replicas to be above min ISR, being at it is nothing new.
    is_usual = not was_bad and row["min_isr"] is not None and 0 < row["replicas"] <= row["min_isr"]
    bad_ms = row["offline_ms"] + row["below_ms"]
    return is_usual, not was_bad, -bad_ms, -row["longest_ms"], -row["snapshots"], row["topic"], row["partition"]


def _brokers(rows: Mapping[str, list[_Row]], racks: Mapping[int, str | None]) -> list[BrokerRow]:
    def by_broker(name: str) -> dict[int, _Row]:
        return {each["broker_id"]: each for each in rows.get(name, [])}

    lagged, most, dead = by_broker("lags"), by_broker("most_lagging"), by_broker("deaths")
    found = []
    for broker_id, away in sorted(by_broker("absences").items()):
        worst = dead.get(broker_id, {})
        found.append(
            BrokerRow(
                broker_id=broker_id,
                rack=racks.get(broker_id),
                state=away["state"] or "unknown",
                departures=away["departures"],
                returns=away["returns"],
                away_seconds=_seconds(away["away_ms"]),
                longest_away_seconds=_seconds(away["longest_ms"]),
                longest_away_at=utc_text(away["longest_at_ms"]),
                lag_seconds=_seconds(lagged.get(broker_id, {}).get("lag_ms", 0)),
                most_lagging=most.get(broker_id, {}).get("partitions", 0),
                most_lagging_at=utc_text(most.get(broker_id, {}).get("at_ms")),
                death_records=worst.get("records", 0),
                death_partitions=worst.get("partitions", 0),
                death_only_answer_records=worst.get("only_answer_records", 0),
                death_at=utc_text(worst.get("at_ms")),
            )
        )
    return found


def _cleaners(rows: Mapping[str, list[_Row]]) -> Iterator[CleanerRow]:
    brokers = {each["broker_id"]: each["state"] or "unknown" for each in rows.get("absences", [])}
    unknown = sum(each["partitions"] for each in rows.get("unknown_policies", []))
    return diagnose_cleaners(rows.get("copies", []), brokers, unknown)


def _disk(row: _Row) -> DiskRow:
    rates = [row["rate"], row["rate_lately"]]
    per_day = [None if each is None else round(each * _MS_OF_DAY) for each in rates]
    usable = row["usable_bytes"]
    hours = [
        0 if usable == 0 else None if not usable or not rate or rate < 0 else round(usable / rate / _MS_OF_HOUR)
        for rate in rates
    ]
    return DiskRow(
        broker_id=row["broker_id"],
        log_dir=row["log_dir"],
        total_bytes=row["total_bytes"],
        usable_bytes=usable,
        growth_bytes_per_day=per_day[0],
        growth_bytes_per_day_lately=per_day[1],
        full_in_hours=hours[0],
        full_in_hours_lately=hours[1],
    )


def _moment(at: datetime) -> str:
    return utc_text(round(at.timestamp() * 1000)) or ""


def _seconds(milliseconds: int) -> int:
    return round(milliseconds / 1000)
