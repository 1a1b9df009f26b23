# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what replicas held when they were recorded last. Writes nothing.

Directories are read by this process, and URIs by Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._model.outage import LastSeen
from .._model.partition import TopicPartition
from .._spark.options import is_uri
from .names import CLUSTER, REPLICAS, RecordingError, SnapshotName, cluster_uri, since_full

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ATTEMPTS = 2
"""A recorder may remove a snapshot between the listing and the reading."""


@dataclass(frozen=True, slots=True)
class FoundRecordings:
    """What was recorded of some partitions."""

    seen: Mapping[TopicPartition, Mapping[int, LastSeen]]
    """The newest answer of each replica, by broker id."""
    notes: tuple[str, ...] = ()
    """Why there are none."""


def find_last_seen(
    place: str,
    cluster_id: str,
    partitions: Collection[TopicPartition],
    on_spark: Callable[[Callable[[SparkSession], pa.Table]], pa.Table],
) -> FoundRecordings:
    """Return what the replicas of these partitions held when they were recorded last. ``place`` is a path or a URI.

    ``on_spark`` calls a function with a Spark session. Never raises: without recordings, the notes say why.
    """
    try:
        topics = sorted({each.topic for each in partitions})
        if is_uri(place):
            rows = on_spark(lambda spark: _read_by_spark(spark, place, cluster_id, topics)).to_pylist()
        else:
            rows = _read_here(Path(place).absolute(), cluster_id, topics)
    except RecordingError as error:
        return FoundRecordings({}, (str(error),))
    wanted = {*partitions}
    seen: dict[TopicPartition, dict[int, LastSeen]] = {}
    for row in rows:
        found = _last_seen(row)
        partition = TopicPartition(row["topic"], row["partition"])
        if found is None or partition not in wanted:
            continue
        of_partition = seen.setdefault(partition, {})
        known = of_partition.get(found.broker_id)
        if known is None or known.seen_at_ms < found.seen_at_ms:
            of_partition[found.broker_id] = found
    return FoundRecordings(seen)


def _last_seen(row: Mapping[str, Any]) -> LastSeen | None:
    """Return the last answer of a replica, now or before it became silent. ``recorded_at`` is the newest snapshot."""
    answer = {**row, "seen_at": row["recorded_at"]} if row["cause"] is None else row["last_answer"]
    if answer is None or row["is_removed"] or answer["log_end_offset"] is None or answer["seen_at"] is None:
        return None
    return LastSeen(
        row["broker_id"],
        round(answer["seen_at"].timestamp() * 1000),
        answer["topic_id"],
        answer["leader_id"],
        answer["leader_epoch"],
        answer["known_epoch"],
        answer["log_start_offset"] or 0,
        answer["log_end_offset"],
    )


def _read_here(root: Path, cluster_id: str, topics: Sequence[str]) -> list[dict[str, Any]]:
    for attempt in range(_ATTEMPTS):
        try:
            return [*_read_scopes(root, cluster_id, topics)]
        except FileNotFoundError:
            if attempt + 1 == _ATTEMPTS:
                raise RecordingError(f"the recordings in {root} changed while they were read") from None
        except (OSError, pa.ArrowException) as error:
            raise RecordingError(f"the recordings in {root} cannot be read: {error}") from error
    raise AssertionError("the loop returns or raises")


def _read_scopes(root: Path, cluster_id: str, topics: Sequence[str]) -> Iterator[dict[str, Any]]:
    cluster = Path(cluster_uri(str(root), cluster_id).removeprefix(root.as_uri() + "/"))
    if not (root / cluster).is_dir():
        others = sorted(each.name.removeprefix(CLUSTER) for each in root.glob(f"{CLUSTER}*")) if root.is_dir() else []
        found = f"it has those of {', '.join(others)}" if others else "it has none at all"
        raise RecordingError(f"{root} has no recordings of cluster {cluster_id}: {found}")
    for scope in sorted((root / cluster).glob("scope=*")):
        names = since_full([name for each in scope.iterdir() if (name := SnapshotName.parse(each.name))])
        newest: dict[tuple[str, int, int], dict[str, Any]] = {}
        for name in names:
            for file in sorted((scope / name.text / REPLICAS).glob("*.parquet")):
                table = pq.ParquetFile(file).read()
                chosen = table.filter(pc.is_in(table["topic"], pa.array(topics, pa.string())))
                newest.update({(row["topic"], row["partition"], row["broker_id"]): row for row in chosen.to_pylist()})
        yield from ({**row, "recorded_at": names[-1].at} for row in newest.values())


def _read_by_spark(spark: SparkSession, place: str, cluster_id: str, topics: Sequence[str]) -> pa.Table:
    from pyspark.sql import functions as f  # noqa: PLC0415 - only URIs need it

    from .changes import newest_rows  # noqa: PLC0415
    from .dataset import find_scopes  # noqa: PLC0415

    tables = []
    for recordings in find_scopes(spark, place, cluster_id):
        names = since_full(recordings.names())
        if names:
            rows = newest_rows(recordings.replicas(names).where(f.col("topic").isin(list(topics))))
            tables.append(_at(rows.toArrow(), names[-1].at))
    if not tables:
        raise RecordingError(f"{place} has no recordings of cluster {cluster_id}")
    return pa.concat_tables(tables)


def _at(rows: pa.Table, at: datetime) -> pa.Table:
    return rows.append_column("recorded_at", pa.repeat(pa.scalar(at, pa.timestamp("us", "UTC")), rows.num_rows))
