# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Saved records of one partition, as sample data."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.rows import ROW_SCHEMA
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved import SavedRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved_run import Block, SavedRun

SAVED = SavedRecords(
    topic="orders",
    partition=3,
    topic_id="0kEHEMDdQ5eSgSKUP1y6Sw",
    ranges=(EpochRange(0, 100, 350),),
    records=250,
    bytes=5000,
    first_timestamp_ms=1,
    last_timestamp_ms=2,
    committed=0,
    aborted=0,
    unknown=0,
    committed_transactions=0,
    aborted_transactions=0,
    open_transactions=0,
    undecodable_batches=0,
    batches=3,
    largest_record_bytes=2_000_000,
    largest_batch_bytes=2_000_100,
)

_ROW = {
    "cluster_id": "cluster",
    "topic": "orders",
    "partition": 0,
    "offset": 1,
    "leader_epoch": 3,
    "timestamp_ms": 1,
    "key": b"key",
    "value": b"value",
    "headers": [],
    "transaction": "none",
    "origin_broker": 1,
    "batch_base_offset": 0,
}


def table(*rows: dict[str, Any]) -> pa.RecordBatch:
    """Return rows of a salvage's file. Columns that a row does not name get a default."""
    return pa.RecordBatch.from_pylist([_ROW | each for each in rows], schema=ROW_SCHEMA)


def runs(*rows: dict[str, Any]) -> list[SavedRun]:
    found = table(*rows)
    return list(Block(found).runs(set(found.column("topic").to_pylist())))


def a_run(*rows: dict[str, Any]) -> SavedRun:
    """Return these rows as one run."""
    (found,) = runs(*rows)
    return found
