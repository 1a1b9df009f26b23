# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is kept of each record: the columns of a salvage's Parquet files, and how batches become rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._model.log_contents import Stretches
from .batch import BatchError, BatchHeader, BatchRecord, control_type, records_of
from .transactions import Outcome

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    ROW_SCHEMA = pa.schema(
        {
            "cluster_id": pa.string(),
            "topic_id": pa.string(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "offset": pa.int64(),
            "leader_epoch": pa.int32(),
            "timestamp_ms": pa.int64(),
            "timestamp_type": pa.string(),
            "key": pa.binary(),
            "value": pa.binary(),
            "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
            "producer_id": pa.int64(),
            "producer_epoch": pa.int32(),
            "is_transactional": pa.bool_(),
            "transaction": pa.string(),
            "control_type": pa.string(),
            "origin_broker": pa.int32(),
            "origin_directory_id": pa.string(),
            "batch_base_offset": pa.int64(),
            "batch_checksum": pa.int64(),
            "decode_error": pa.string(),
            # Of the first row of each batch only:
            "raw_batch": pa.binary(),
            "batch_rows": pa.int32(),
        }
    )

_BYTES_AT_ONCE = 4 * 1024 * 1024
_ROWS_AT_ONCE = 5000
CREATE_TIME = "create_time"
LOG_APPEND_TIME = "log_append_time"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records were found."""

    cluster_id: str
    topic_id: str | None
    topic: str
    partition: int
    broker_id: int
    directory_id: str | None


class RowBuffer:
    """Collects rows until there are enough of them for one Arrow batch."""

    def __init__(self, origin: Origin, wanted: Stretches) -> None:
        self._origin = origin
        self._wanted = [(each.epoch, each.start_offset, each.end_offset) for each in wanted]
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0

    def add(self, header: BatchHeader, batch: bytes, outcome: Outcome) -> None:
        """Take the wanted records of a batch, and the batch itself. A batch that does not decode is one row."""
        shared = self._of_batch(header, outcome)
        try:
            control = control_type(header, batch).value if header.is_control else None
            rows = [
                _row(header, record) | {"control_type": control}
                for record in records_of(header, batch)
                if self._is_wanted(header.leader_epoch, record.offset)
            ]
        except BatchError as error:
            rows = [{"offset": header.base_offset, "decode_error": str(error)}]
        if not rows:
            # Compaction leaves batches without records behind, for the producer's state.
            return
        rows[0] |= {"raw_batch": batch, "batch_rows": len(rows)}
        self._rows += [{**shared, **row} for row in rows]
        self._bytes += 2 * len(batch)

    def batches(self, *, last: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield what has been collected, once it is enough, or ``last``."""
        while self._rows and (last or self._bytes >= _BYTES_AT_ONCE or len(self._rows) >= _ROWS_AT_ONCE):
            rows, self._rows = self._rows[:_ROWS_AT_ONCE], self._rows[_ROWS_AT_ONCE:]
            yield pa.RecordBatch.from_pylist(rows, schema=ROW_SCHEMA)
            self._bytes = 0

    def _of_batch(self, header: BatchHeader, outcome: Outcome) -> dict[str, Any]:
        origin = self._origin
        return {
            "cluster_id": origin.cluster_id,
            "topic_id": origin.topic_id,
            "topic": origin.topic,
            "partition": origin.partition,
            "leader_epoch": header.leader_epoch,
            "timestamp_ms": header.max_timestamp,
            "timestamp_type": LOG_APPEND_TIME if header.has_log_append_time else CREATE_TIME,
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "is_transactional": header.is_transactional,
            "transaction": outcome.value,
            "origin_broker": origin.broker_id,
            "origin_directory_id": origin.directory_id,
            "batch_base_offset": header.base_offset,
            "batch_checksum": header.crc,
        }

    def _is_wanted(self, epoch: int, offset: int) -> bool:
        return any(epoch == one and start <= offset < end for one, start, end in self._wanted)


def _row(header: BatchHeader, record: BatchRecord) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": record.key,
        "value": record.value,
        "headers": [{"key": key, "value": value} for key, value in record.headers],
    }
