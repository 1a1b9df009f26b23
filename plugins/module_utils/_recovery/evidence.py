# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write and read evidence: the answers of a gather, stored as Parquet to be ranked or examined later.

Evidence is a directory with two Parquet files. The metadata of both has a stamp with the cluster and the time (key
``kafkaops.recovery``, JSON). Evidence holds no secret. Only the driver writes it, so that Spark's executors need no
shared file system.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._model.partition import PartitionState
from .._model.run import KafkaOpsError

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.parquet as pq

    from .rows import REPLICA_LOG_SCHEMA

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
_FORMAT = 1


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


def write_evidence(evidence: Evidence, path: str | Path) -> None:
    """Write evidence to a new directory. Raises EvidenceError if the directory exists or cannot be written."""
    directory = Path(path)
    try:
        directory.mkdir()
    except FileExistsError:
        raise EvidenceError(f"{directory} exists: evidence is never overwritten, name a new directory") from None
    except OSError as error:
        raise EvidenceError(f"{directory} cannot be created: {error.strerror}") from error
    try:
        _write(evidence.replica_logs, evidence, directory / REPLICA_LOGS_FILE)
        _write(_to_table(evidence.partitions), evidence, directory / PARTITIONS_FILE)
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise EvidenceError(f"{directory} cannot be written: {error}") from error


def read_evidence(path: str | Path) -> Evidence:
    """Read evidence. Raises EvidenceError if it is missing, damaged, or of another format."""
    directory = Path(path)
    replica_logs = _read(directory / REPLICA_LOGS_FILE, REPLICA_LOG_SCHEMA)
    partitions = _read(directory / PARTITIONS_FILE, _PARTITION_SCHEMA)
    stamp = _read_stamp(replica_logs, directory / REPLICA_LOGS_FILE)
    if stamp != _read_stamp(partitions, directory / PARTITIONS_FILE):
        raise EvidenceError(f"{directory}: its two files come from different gathers")
    return Evidence(
        cluster_id=stamp["cluster_id"],
        gathered_at=stamp["gathered_at"],
        collection_version=stamp["collection_version"],
        replica_logs=replica_logs.replace_schema_metadata(None),
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
        table = pq.read_table(file)
    except FileNotFoundError:
        raise EvidenceError(f"{file} is missing: this is no evidence, or its gather did not finish") from None
    except (OSError, pa.ArrowException) as error:
        raise EvidenceError(f"{file} cannot be read: {error}") from error
    if not table.schema.equals(schema):
        raise EvidenceError(f"{file} has the columns {table.schema.names}, not those of a gather")
    return table


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
