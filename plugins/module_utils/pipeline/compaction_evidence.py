# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks at the sizes of compacted copies, kept as Parquet: one file for each look, in one directory for each cluster.

Each file is stamped with the cluster (key ``kafkaops.recovery`` of its metadata, JSON), and holds no secret.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.compaction import LOOK_SCHEMA

_STAMP = b"kafkaops.recovery"
_FORMAT = 1
_PATTERN = "look-*.parquet"
KEPT_LOOKS = 200
"""Days of hourly runs. Comparing more would take longer each time, and tell nothing of today."""


class LookError(KafkaOpsError):
    """Looks that cannot be written, or cannot be trusted."""


def look_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Rows of ``LOOK_SCHEMA``."""
    return pa.Table.from_pylist([*rows], schema=LOOK_SCHEMA)


def check_directory(path: str | None) -> None:
    """Raises LookError when looks cannot be kept there. Makes no directory but the last one."""
    if path is None:
        return
    directory = Path(path)
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as fault:
        raise LookError(f"evidence_dir {path} cannot be made: {fault.strerror}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise LookError(f"evidence_dir {path} may not be written to by uid {os.geteuid()}")


def write_look(directory: str, cluster_id: str, taken_at_ms: int, table: pa.Table) -> None:
    """Adds one look, whole or not at all, and forgets the oldest ones beyond ``KEPT_LOOKS``. Raises LookError."""
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
    except (OSError, pa.ArrowException) as fault:
        with suppress(OSError):
            os.unlink(temporary)
        raise LookError(f"{path} cannot be written: {fault}") from None
    for old in _oldest_first(directory)[:-KEPT_LOOKS]:
        # The next look forgets what this one cannot.
        with suppress(OSError):
            old.unlink()


def read_looks(directory: str, cluster_id: str) -> pa.Table:
    """The newest looks. Raises LookError for a file that is damaged, or of another format or cluster."""
    tables = [_read(path, cluster_id) for path in _oldest_first(directory)[-KEPT_LOOKS:]]
    return pa.concat_tables(tables) if tables else LOOK_SCHEMA.empty_table()


def _oldest_first(directory: str) -> list[Path]:
    """The files of looks. Their names are numbers of milliseconds, of which the longer ones are the later ones."""
    return sorted(Path(directory).glob(_PATTERN), key=lambda path: (len(path.name), path.name))


def _read(path: Path, cluster_id: str) -> pa.Table:
    try:
        table = pq.read_table(path)
        stamp = json.loads((table.schema.metadata or {})[_STAMP])
        found = (stamp["format"], stamp["cluster_id"])
    except (OSError, pa.ArrowException) as fault:
        raise LookError(f"{path} cannot be read ({fault}): move it away") from None
    except (KeyError, TypeError, ValueError):
        raise LookError(f"{path} was not written by this collection: move it away") from None
    if found != (_FORMAT, cluster_id):
        raise LookError(
            f"{path} has format {found[0]} and is of cluster {found[1]}, where format {_FORMAT} of cluster "
            f"{cluster_id} is wanted: give each cluster an evidence_dir of its own"
        )
    table = table.replace_schema_metadata(None)
    if not table.schema.equals(LOOK_SCHEMA):
        raise LookError(f"{path} has the columns {table.schema.names}, not those of a look: move it away")
    return table
