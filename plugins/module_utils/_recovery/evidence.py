# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write and read evidence: the answers of a gather, stored as Parquet to be ranked or examined later.

The evidence of one gather is the directory ``ROOT/cluster_id=ID/gather=TIME-NUMBER`` with two Parquet files, so that
Spark reads any number of gathers at once (docs/spark.md). The metadata of both has a stamp with the cluster and the
time (key ``kafkaops.recovery``, JSON). Evidence holds no secret. Only the driver writes it, so that Spark's executors
need no shared file system. To a URI, Spark writes it, without the stamp: each file is then a directory.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from .._documents.files import state_directory, why_no_directory
from .._model.partition import NO_LEADER, Cause, PartitionState
from .._model.run import KafkaOpsError
from .._spark.options import PASSWORD_IN_URI, has_password, is_uri, local_path

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from .rows import REPLICA_KEY, REPLICA_LOG_SCHEMA

    _GATHERED_AT = pa.field("gathered_at", pa.timestamp("us", "UTC"))
    _PARTITION_SCHEMA = pa.schema(
        {
            "topic": pa.string(),
            "partition": pa.int32(),
            "topic_id": pa.string(),
            "leader_id": pa.int32(),
            "leader_epoch": pa.int32(),
            "replicas": pa.list_(pa.int32()),
            "isr": pa.list_(pa.int32()),
            "elr": pa.list_(pa.int32()),
            "last_known_elr": pa.list_(pa.int32()),
            "offline_replicas": pa.list_(pa.int32()),
            "is_internal": pa.bool_(),
        }
    )


REPLICA_LOGS_FILE = "replica_logs.parquet"
PARTITIONS_FILE = "partitions.parquet"

_STAMP = b"kafkaops.recovery"
_FORMAT = 2
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class EvidenceError(KafkaOpsError):
    """Evidence cannot be written or read."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The answers of a gather, with the cluster and the time."""

    cluster_id: str
    gathered_at: str
    """UTC, ISO 8601, seconds. Only for people: never compared."""
    collection_version: str
    replica_logs: pa.Table
    """Rows of ``rows.REPLICA_LOG_SCHEMA``."""
    partitions: tuple[PartitionState, ...]
    """The partitions as they were when the gather began."""


def check_evidence_dir(place: str | None, *, by_spark: bool) -> None:
    """Raise EvidenceError if it is known now that nothing can be written there. ``by_spark``: Spark is the engine."""
    if place is None:
        return
    if is_uri(place):
        if has_password(place):
            raise EvidenceError(f"evidence_dir: {PASSWORD_IN_URI}")
        if not by_spark:
            raise EvidenceError(f"evidence_dir {place} is a URI, and only engine spark writes to one: name a directory")
    local = local_path(place)
    if local is None:
        return
    existing = Path(local) if os.path.lexists(local) else Path(local).absolute().parent
    if not existing.is_dir():
        raise EvidenceError(f"evidence_dir {place}: {existing} is not a directory")
    if not os.access(existing, os.W_OK | os.X_OK, effective_ids=True):
        raise EvidenceError(f"evidence_dir {place}: {existing} cannot be written by uid {os.geteuid()}")
    in_log_dir = why_no_directory(local)
    if in_log_dir:
        raise EvidenceError(f"evidence_dir: {in_log_dir}")


def default_evidence_dir() -> str:
    """Return the directory of evidence in this user's state directory, beside the reports."""
    return os.path.join(state_directory(), "evidence")


def write_evidence(evidence: Evidence, root: str | Path) -> Path:
    """Write evidence to a new directory below ``root``, and return it. Raises EvidenceError."""
    directory = Path(root, *_names(evidence))
    try:
        directory.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise EvidenceError(f"{directory} cannot be created: {error.strerror}") from error
    try:
        for name, table in _tables(evidence).items():
            _write(table, evidence, directory / name)
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise EvidenceError(f"{directory} cannot be written: {error}") from error
    return directory


def write_evidence_to_uri(evidence: Evidence, root: str, write: Callable[[pa.Table, str], None]) -> str:
    """Write evidence below a URI by ``write``, and return the URI of its directory."""
    uri = "/".join([root.rstrip("/"), *_names(evidence)])
    for name, table in _tables(evidence).items():
        write(table, f"{uri}/{name}")
    return uri


def _names(evidence: Evidence) -> tuple[str, str]:
    """Return the names of the two directories of a gather. Two runs may have gathered in the same second."""
    if not _CLUSTER_ID.fullmatch(evidence.cluster_id):
        raise EvidenceError(
            f"the brokers returned {evidence.cluster_id!r}, which is not valid in the name of a directory"
        )
    moment = re.sub(r"[-:]", "", evidence.gathered_at)
    return f"cluster_id={evidence.cluster_id}", f"gather={moment}-{secrets.token_hex(3)}"


def _tables(evidence: Evidence) -> dict[str, pa.Table]:
    """Return the content of each file. Its last column is the time of the gather."""
    moment = pa.scalar(datetime.fromisoformat(evidence.gathered_at), _GATHERED_AT.type)
    tables = {REPLICA_LOGS_FILE: evidence.replica_logs, PARTITIONS_FILE: _to_table(evidence.partitions)}
    return {
        name: table.append_column(_GATHERED_AT, pa.repeat(moment, table.num_rows)) for name, table in tables.items()
    }


def read_evidence(path: str | Path) -> Evidence:
    """Read evidence. Raises EvidenceError if it is missing, damaged, or of another format."""
    directory = Path(path)
    replica_logs = _read(directory / REPLICA_LOGS_FILE, REPLICA_LOG_SCHEMA)
    partitions = _read(directory / PARTITIONS_FILE, _PARTITION_SCHEMA)
    _refuse_contradictions(replica_logs, directory / REPLICA_LOGS_FILE)
    stamp = _read_stamp(replica_logs, directory / REPLICA_LOGS_FILE)
    if stamp != _read_stamp(partitions, directory / PARTITIONS_FILE):
        raise EvidenceError(f"{directory}: its two files come from different gathers")
    _refuse_other_partitions(partitions, replica_logs, directory)
    return Evidence(
        cluster_id=stamp["cluster_id"],
        gathered_at=stamp["gathered_at"],
        collection_version=stamp["collection_version"],
        replica_logs=replica_logs.drop_columns([_GATHERED_AT.name]).replace_schema_metadata(None),
        partitions=tuple(_to_states(partitions)),
    )


def _write(table: pa.Table, evidence: Evidence, file: Path) -> None:
    stamp = {
        "format": _FORMAT,
        "cluster_id": evidence.cluster_id,
        "gathered_at": evidence.gathered_at,
        "collection_version": evidence.collection_version,
    }
    pq.write_table(table.replace_schema_metadata({_STAMP: json.dumps(stamp)}), file, compression="zstd")


def _read(file: Path, schema: pa.Schema) -> pa.Table:
    try:
        table = pq.ParquetFile(file).read()  # read_table would add columns by the names of directories
    except FileNotFoundError:
        raise EvidenceError(f"{file} is missing: this is no evidence, or its gather did not finish") from None
    except (OSError, pa.ArrowException) as error:
        raise EvidenceError(f"{file} cannot be read: {error}") from error
    if not table.schema.equals(schema.append(_GATHERED_AT)):
        raise EvidenceError(f"{file} has the columns {table.schema.names}, not those of a gather")
    return table


def _refuse_contradictions(logs: pa.Table, file: Path) -> None:
    """Raise EvidenceError for rows that no gather writes. Both engines rely on this."""
    for name in (*REPLICA_KEY, "place", "is_fenced", "lineage", "error"):
        if logs[name].null_count:
            raise EvidenceError(f"{file} has rows without {name}: it was changed")
    if logs.group_by([*REPLICA_KEY]).aggregate([]).num_rows < logs.num_rows:
        raise EvidenceError(f"{file} has a replica twice: it was changed")
    if unknown := sorted({*logs["cause"].unique().to_pylist()} - {None, *map(str, Cause)}):
        raise EvidenceError(f"{file} has the cause {unknown[0]!r}, which is not known: it was changed")
    answered = logs.filter(pc.is_null(logs["cause"]))
    start, end = answered["log_start_offset"], answered["log_end_offset"]
    if pc.any(pc.or_(pc.less(start, 0), pc.less(end, start))).as_py():
        raise EvidenceError(f"{file} has a log that ends before it starts, or starts below 0: it was changed")
    lineages = logs["lineage"].combine_chunks()
    of_row, entries = pc.list_parent_indices(lineages), pc.list_flatten(lineages)
    epochs, ends = (pc.struct_field(entries, name) for name in ("epoch", "end_offset"))
    if epochs.null_count or ends.null_count:
        raise EvidenceError(f"{file} has a lineage in which an epoch or end offset is missing: it was changed")
    falls = pc.or_(pc.less_equal(epochs[1:], epochs[:-1]), pc.less(ends[1:], ends[:-1]))
    if pc.any(pc.and_(pc.equal(of_row[1:], of_row[:-1]), falls)).as_py():
        raise EvidenceError(f"{file} has a lineage whose epochs do not rise, or whose end offsets fall: it was changed")


def _refuse_other_partitions(partitions: pa.Table, logs: pa.Table, directory: Path) -> None:
    """Raise EvidenceError unless all partitions are complete and offline, and the logs have a row for each replica."""
    file = directory / PARTITIONS_FILE
    for name in partitions.column_names:
        column = partitions[name]
        may_be_unknown = name in ("elr", "last_known_elr")
        has_gap = pa.types.is_list(column.type) and pc.list_flatten(column).null_count
        if has_gap or (column.null_count and not may_be_unknown):
            raise EvidenceError(f"{file} has rows without {name}: it was changed")
    if pc.any(pc.not_equal(partitions["leader_id"], NO_LEADER)).as_py():
        raise EvidenceError(f"{file} has a partition with a leader: it was changed")
    replicas = partitions["replicas"].combine_chunks()
    named = partitions.select(["topic", "partition"]).take(pc.list_parent_indices(replicas))
    expected = named.append_column("broker_id", pc.list_flatten(replicas))
    both = pa.concat_tables([each.replace_schema_metadata(None) for each in (expected, logs.select(REPLICA_KEY))])
    counted = both.group_by([*REPLICA_KEY]).aggregate([([], "count_all")])["count_all"]
    if expected.num_rows != logs.num_rows or pc.any(pc.not_equal(counted, 2)).as_py():
        raise EvidenceError(f"{directory} does not have one row for each replica of its partitions: it was changed")


def _read_stamp(table: pa.Table, file: Path) -> dict[str, Any]:
    try:
        stamp: dict[str, Any] = json.loads((table.schema.metadata or {})[_STAMP])
        found = stamp["format"]
    except (KeyError, TypeError, ValueError):
        raise EvidenceError(
            f"{file} does not say which cluster it is of: it was not written by this collection"
        ) from None
    if found != _FORMAT:
        raise EvidenceError(f"{file} has format {found}; this version of the collection reads format {_FORMAT}")
    return stamp


def _to_table(partitions: Iterable[PartitionState]) -> pa.Table:
    states = list(partitions)
    return pa.table(
        {name: [getattr(state, name) for state in states] for name in _PARTITION_SCHEMA.names}, schema=_PARTITION_SCHEMA
    )


def _to_states(table: pa.Table) -> Iterable[PartitionState]:
    for values in zip(*(table.column(name).to_pylist() for name in _PARTITION_SCHEMA.names), strict=True):
        fields = (tuple(value) if isinstance(value, list) else value for value in values)
        yield PartitionState(**dict(zip(_PARTITION_SCHEMA.names, fields, strict=True)))
