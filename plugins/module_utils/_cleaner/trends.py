# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the sizes of compacted copies repeatedly, store these looks, and let Spark compare them.

Each look is a Parquet file in the cluster's directory. The JSON in its metadata (key ``kafkaops.recovery``) names the
cluster. The files have no secrets.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from .._documents.files import why_no_directory
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.partition import grouped
from .._model.run import KafkaOpsError, Progress
from .._spark.java import SparkUnavailableError
from .._spark.session import spark_session
from .copy_trends import trends
from .diagnosis import CopyTrend
from .inspection import look_at_copies

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import functions as sf

    LOOK_SCHEMA = pa.schema(
        {
            "taken_at_ms": pa.int64(),
            "broker_id": pa.int32(),
            "log_dir": pa.string(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "size_bytes": pa.int64(),
        }
    )
    """One copy in one look. ``taken_at_ms`` is milliseconds since 1970 by the clock of this host."""


_FIELDS = [each.name for each in fields(CopyTrend)]


def trends_by_broker(
    kafka: Kafka, cluster: Cluster, params: Mapping[str, Any], progress: Progress
) -> tuple[dict[int, list[CopyTrend]], tuple[str, ...]]:
    """Return the trends of all copies by broker, over the stored looks and those that are taken now.

    Also returns the topics of which it is not known whether they are compacted.

    Raises LookError, SparkUnavailableError, NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    directory = params["evidence_dir"]
    check_directory(directory)
    kept = read_looks(directory, cluster.cluster_id) if directory else look_table([])
    tables = [kept]
    unread: tuple[str, ...] = ()
    for number in range(params["looks"]):
        if number:
            kafka.clock.sleep(params["look_interval_ms"] / 1000)
        progress.step("looking at the sizes of compacted partitions", number, params["looks"])
        taken_at_ms = time.time_ns() // 1_000_000
        look = look_at_copies(kafka, cluster)
        unread = look.unread
        table = look_table({"taken_at_ms": taken_at_ms, **asdict(each)} for each in look.copies)
        if directory:
            write_look(directory, cluster.cluster_id, taken_at_ms, table)
        tables.append(table)
    looks = pa.concat_tables(tables)
    if not looks.num_rows:
        return {}, unread
    progress.step("starting Spark")
    try:
        with spark_session() as spark:
            progress.step(f"comparing {looks.num_rows} sizes")
            # The growth that makes a copy suspicious. A copy that has not grown is never regrown.
            regrown_bytes = max(1, params["suspect_bytes"])
            frame = spark.createDataFrame(looks).withColumn("looks", sf.lit(1))
            rows = trends(frame, regrown_bytes).toArrow().to_pylist()
    except SparkUnavailableError as error:
        raise SparkUnavailableError(f"without metrics, Spark is needed to compare sizes: {error}") from None
    found = grouped((row["broker_id"], CopyTrend(**{name: row[name] for name in _FIELDS})) for row in rows)
    return found, unread


_STAMP = b"kafkaops.recovery"
_FORMAT = 1
_PATTERN = "look-*.parquet"
KEPT_LOOKS = 200
"""Enough for 8 days of hourly runs. More looks would take longer to compare, without a benefit."""


class LookError(KafkaOpsError):
    """Looks cannot be written or read, or are invalid."""


def look_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Return a table of ``LOOK_SCHEMA``."""
    return pa.Table.from_pylist([*rows], schema=LOOK_SCHEMA)


def check_directory(path: str | None) -> None:
    """Raise LookError if looks cannot be stored in a directory. Creates only the last directory of the path."""
    if path is None:
        return
    directory = Path(path)
    in_log_dir = why_no_directory(path)
    if in_log_dir:
        raise LookError(f"evidence_dir: {in_log_dir}")
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LookError(f"evidence_dir {path} could not be created: {error.strerror}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise LookError(f"evidence_dir {path} may not be written to by uid {os.geteuid()}")


def write_look(directory: str, cluster_id: str, taken_at_ms: int, table: pa.Table) -> None:
    """Store one look completely or not at all, and delete the oldest looks beyond ``KEPT_LOOKS``. Raises LookError."""
    path = Path(directory) / f"look-{taken_at_ms}.parquet"
    stamped = table.replace_schema_metadata({_STAMP: json.dumps({"format": _FORMAT, "cluster_id": cluster_id})})
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".look-", dir=directory)
        with open(descriptor, "wb") as file:
            pq.write_table(stamped, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, pa.ArrowException) as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise LookError(f"{path} could not be written: {error}") from None
    for old in _oldest_first(directory)[:-KEPT_LOOKS]:
        # If this fails, the next look deletes the file.
        with suppress(OSError):
            old.unlink()


def read_looks(directory: str, cluster_id: str) -> pa.Table:
    """Read the newest looks. Raises LookError for a damaged file, or one of another format or cluster."""
    tables = [_read(path, cluster_id) for path in _oldest_first(directory)[-KEPT_LOOKS:]]
    return pa.concat_tables(tables) if tables else LOOK_SCHEMA.empty_table()


def _oldest_first(directory: str) -> list[Path]:
    """Return the files of looks, oldest first. Their names are numbers, so a longer name is newer."""
    return sorted(Path(directory).glob(_PATTERN), key=lambda path: (len(path.name), path.name))


def _read(path: Path, cluster_id: str) -> pa.Table:
    try:
        table = pq.read_table(path)
        stamp = json.loads((table.schema.metadata or {})[_STAMP])
        found = (stamp["format"], stamp["cluster_id"])
    except (OSError, pa.ArrowException) as error:
        raise LookError(f"{path} could not be read ({error}): move it away") from None
    except (KeyError, TypeError, ValueError):
        raise LookError(f"{path} was not written by this collection: move it away") from None
    if found != (_FORMAT, cluster_id):
        raise LookError(
            f"{path} has format {found[0]} and is of cluster {found[1]}, not format {_FORMAT} of cluster {cluster_id}: "
            "give each cluster an evidence_dir of its own"
        )
    table = table.replace_schema_metadata(None)
    if not table.schema.equals(LOOK_SCHEMA):
        raise LookError(f"{path} has the columns {table.schema.names}, not those of a look: move it away")
    return table
