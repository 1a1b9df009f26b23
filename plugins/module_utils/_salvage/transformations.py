# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The account of a salvage, from DataFrame to DataFrame, by Spark SQL alone: no Python worker.

``read_back.count_rows`` counts the same in this process.
"""

from __future__ import annotations

from contextlib import suppress

from .markers import TransactionOutcome
from .read_back import HEADER_OVERHEAD_BYTES, KEY

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.sql import DataFrame
    from pyspark.sql.functions import expr


def _bytes_of(name: str) -> str:
    return f"CAST(coalesce(octet_length({name}), 0) AS bigint)"


def _count(condition: str) -> str:
    return f"count_if({condition})"


def _count_data(outcome: TransactionOutcome) -> str:
    return _count(f"is_data AND transaction = '{outcome}'")


_COUNTS = {
    "records": _count("is_data"),
    "bytes": "sum(IF(is_data, size, 0L))",
    "committed": _count_data(TransactionOutcome.COMMITTED),
    "aborted": _count_data(TransactionOutcome.ABORTED),
    "unknown": _count_data(TransactionOutcome.UNKNOWN),
    "committed_transactions": _count("control_type = 'commit'"),
    "aborted_transactions": _count("control_type = 'abort'"),
    "undecodable_batches": _count("decode_error IS NOT NULL"),
    "batches": "count(raw_batch)",
    "rows": "count(*)",
    "batch_rows": "coalesce(sum(batch_rows), 0L)",
    "largest_record_bytes": "max(IF(is_data, size + size_of_headers, 0L))",
    "largest_batch_bytes": f"max({_bytes_of('raw_batch')})",
    "first_timestamp_ms": "min(timestamp_ms) FILTER (WHERE is_data)",
    "last_timestamp_ms": "max(timestamp_ms) FILTER (WHERE is_data)",
    "unknown_producers": (
        f"collect_set(producer_id) FILTER (WHERE is_data AND transaction = '{TransactionOutcome.UNKNOWN}')"
    ),
}


def account(rows: DataFrame) -> DataFrame:
    """Count rows of ``rows.ROW_SCHEMA``: one row for each partition, with its counts.

    The raw batches are not compared, because Spark has no function for their checksums.
    """
    return rows.transform(measure_records).transform(count_records)


def measure_records(rows: DataFrame) -> DataFrame:
    """Add ``is_data``: not a transaction marker, and decoded; ``size`` of key and value; and ``size_of_headers``."""
    header = f"total + {_bytes_of('each.key')} + {_bytes_of('each.value')} + {HEADER_OVERHEAD_BYTES}L"
    return rows.select(
        "*",
        expr("control_type IS NULL AND decode_error IS NULL AS is_data"),
        expr(f"{_bytes_of('key')} + {_bytes_of('value')} AS size"),
        expr(f"coalesce(aggregate(headers, 0L, (total, each) -> {header}), 0L) AS size_of_headers"),
    )


def count_records(measured: DataFrame) -> DataFrame:
    """Return the counts of each partition."""
    return measured.groupBy(*KEY).agg(*(expr(f"{count} AS {name}") for name, count in _COUNTS.items()))
