# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what replicas held when they were recorded last. Writes nothing.

Directories are read by this process, and URIs by Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .._model.outage import LastSeen
from .._model.partition import TopicPartition
from .._model.reasons import plural
from .._spark.options import is_uri
from .names import (
    REPLICAS,
    SCOPE,
    DamagedSnapshotError,
    RecordingError,
    SnapshotName,
    cluster_uri,
    clusters_in,
    explain_damaged,
    explain_later,
    explain_others,
    read_around_damaged,
    root_uri,
    since_full,
    usable,
)

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from .rows import RECORDED_SCHEMA

    _TIME = pa.timestamp("us", "UTC")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")
Found = TypeVar("Found")

_NEEDED = ("topic_id", "leader_id", "leader_epoch", "log_start_offset", "log_end_offset", "seen_at")
"""An answer without one of these says nothing. A file that this collection did not write may lack them."""
_ATTEMPTS = 2
"""A recorder may remove a snapshot between the listing and the reading."""


@dataclass(frozen=True, slots=True)
class FoundRecordings:
    """What was recorded of some partitions."""

    seen: Mapping[TopicPartition, Mapping[int, LastSeen]]
    """The newest answer of each replica, by broker id."""
    notes: tuple[str, ...] = ()
    """Why there are none, or which snapshots are not used."""


def find_last_seen(
    place: str,
    cluster_id: str,
    partitions: Collection[TopicPartition],
    on_spark: Callable[[Callable[[SparkSession], pa.Table]], pa.Table],
    now: datetime | None = None,
) -> FoundRecordings:
    """Return what the replicas of these partitions held when they were recorded last. ``place`` is a path or a URI.

    ``on_spark`` calls a function with a Spark session. Never raises: without recordings, the notes say why. Snapshots
    from after ``now`` are not used: their time, or this host's, is wrong.
    """
    notes: list[str] = []
    question = _Question(sorted({each.topic for each in partitions}), now or datetime.now(UTC), notes)
    try:
        if is_uri(place):
            rows = on_spark(lambda spark: _read_by_spark(spark, place, cluster_id, question)).to_pylist()
        else:
            rows = _read_here(Path(place).absolute(), cluster_id, question)
    except RecordingError as error:
        return FoundRecordings({}, (*notes, str(error)))
    except (OverflowError, ValueError) as error:
        return FoundRecordings({}, (*notes, f"the recordings in {place} have a value that cannot be one: {error}"))
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
    if unseen := sorted(wanted - seen.keys()):
        notes.append(
            f"the recordings in {place} have no answer of {plural(len(unseen), 'partition')}, such as {unseen[0]}: its "
            "topic is newer, hidden from the recorder, or in no recorded scope"
        )
    return FoundRecordings(seen, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Question:
    """What to read, and the notes of what could not be used."""

    topics: Sequence[str]
    now: datetime
    notes: list[str]

    def newest(self, names: Sequence[SnapshotName], read: Callable[[Sequence[SnapshotName]], Result]) -> Result | None:
        """Return what ``read`` makes of the newest full snapshot and those after it. None if there is none.

        ``read`` raises DamagedSnapshotError for snapshots that cannot be used: then it is called with earlier ones.
        """
        earlier = [each for each in sorted(names) if each.at <= self.now]
        if len(earlier) < len(names):
            self.notes.append(explain_later(sorted(names)[len(earlier) :]))

        def read_newest(damaged: frozenset[str]) -> Result | None:
            chain = since_full(usable(earlier, damaged))
            return read(chain) if chain else None

        found, damaged = read_around_damaged(read_newest)
        if damaged:
            self.notes.append(explain_damaged(earlier, damaged))
        return found


def _last_seen(row: Mapping[str, Any]) -> LastSeen | None:
    """Return the last answer of a replica, now or before it became silent. ``recorded_at`` is the newest snapshot."""
    answer = {**row, "seen_at": row["recorded_at"]} if row["cause"] is None else row["last_answer"]
    if answer is None or row["is_removed"]:
        return None
    if row["broker_id"] is None or any(answer[each] is None for each in _NEEDED):
        return None
    return LastSeen(
        row["broker_id"],
        round(answer["seen_at"].timestamp() * 1000),
        answer["topic_id"],
        answer["leader_id"],
        answer["leader_epoch"],
        answer["known_epoch"],
        answer["log_start_offset"],
        answer["log_end_offset"],
    )


def _read_here(root: Path, cluster_id: str, question: _Question) -> list[dict[str, Any]]:
    for attempt in range(_ATTEMPTS):
        try:
            return _read_scopes(root, cluster_id, question)
        except FileNotFoundError:
            question.notes.clear()
            if attempt + 1 == _ATTEMPTS:
                raise RecordingError(f"the recordings in {root} changed while they were read") from None
        except OSError as error:
            raise RecordingError(f"the recordings in {root} cannot be read: {error.strerror}") from error
    raise AssertionError("the loop returns or raises")


def _read_scopes(root: Path, cluster_id: str, question: _Question) -> list[dict[str, Any]]:
    cluster = Path(cluster_uri(str(root), cluster_id).removeprefix(f"{root_uri(str(root))}/"))
    if not (root / cluster).is_dir():
        others = clusters_in(each.name for each in root.iterdir()) if root.is_dir() else []
        found = explain_others(others) if root.is_dir() else "there is no such directory on this host"
        raise RecordingError(f"{root} has no recordings of cluster {cluster_id}: {found}")
    rows: list[dict[str, Any]] | None = None
    # Not by Path.glob, which takes a directory that may not be read for an empty one.
    for scope in sorted(each for each in (root / cluster).iterdir() if each.name.startswith(SCOPE) and each.is_dir()):
        names = [name for each in scope.iterdir() if (name := SnapshotName.parse(each.name))]
        found_rows = question.newest(names, partial(_newest_rows, scope, question.topics))
        if found_rows is not None:
            rows = [*(rows or ()), *found_rows]
    return _or_none_at_all(rows, str(root), cluster_id)


def _newest_rows(scope: Path, topics: Sequence[str], names: Sequence[SnapshotName]) -> list[dict[str, Any]]:
    """Return the newest row of each replica. Raises DamagedSnapshotError; FileNotFoundError if one was removed."""
    newest: dict[tuple[str, int, int], dict[str, Any]] = {}
    for name in names:
        directory = scope / name.text
        files = sorted((directory / REPLICAS).glob("*.parquet"))
        if not files:
            directory.stat()
            raise DamagedSnapshotError([name.text])
        try:
            for file in files:
                # Another release may have recorded fewer columns. Spark takes them for null, too.
                table = pq.read_table(file, schema=RECORDED_SCHEMA, partitioning=None)
                chosen = table.filter(pc.is_in(table["topic"], pa.array(topics, pa.string())))
                newest.update({(row["topic"], row["partition"], row["broker_id"]): row for row in chosen.to_pylist()})
        except (FileNotFoundError, PermissionError):
            raise
        except (OSError, pa.ArrowException, OverflowError, ValueError) as error:  # a time that no calendar has
            raise DamagedSnapshotError([name.text]) from error
    return [{**row, "recorded_at": names[-1].at} for row in newest.values()]


def _read_by_spark(spark: SparkSession, place: str, cluster_id: str, question: _Question) -> pa.Table:
    from pyspark.sql import functions as f  # noqa: PLC0415 - only URIs need it

    from .changes import newest_rows  # noqa: PLC0415
    from .dataset import Recordings, find_clusters, find_scopes  # noqa: PLC0415

    def read(recordings: Recordings, names: Sequence[SnapshotName]) -> pa.Table:
        chosen = recordings.replicas(names).where(f.col("topic").isin(list(question.topics)))
        rows = recordings.read(newest_rows(chosen))
        return rows.append_column("recorded_at", pa.repeat(pa.scalar(names[-1].at, _TIME), rows.num_rows))

    clusters = find_clusters(spark, place)
    if cluster_id not in clusters:
        raise RecordingError(f"{place} has no recordings of cluster {cluster_id}: {explain_others(clusters)}")
    tables = [
        question.newest(recordings.names(), partial(read, recordings))
        for recordings in find_scopes(spark, place, cluster_id)
    ]
    return pa.concat_tables(_or_none_at_all([each for each in tables if each is not None] or None, place, cluster_id))


def _or_none_at_all(found: list[Found] | None, place: str, cluster_id: str) -> list[Found]:
    if found is None:
        raise RecordingError(f"{place} has no recordings of cluster {cluster_id}")
    return found
