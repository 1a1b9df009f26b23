# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What replicas told, as replica_log_info returns it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    import pyarrow as pa


def results_of(replica_logs: pa.Table, max_rows: int) -> dict[str, Any]:
    """Rows of ``REPLICA_LOG_SCHEMA`` as ``rows``, ``truncated`` and ``summary``."""
    order = [(name, "ascending") for name in ("topic", "partition", "place")]
    return {
        "rows": replica_logs.sort_by(order).slice(0, max_rows).to_pylist(),
        "truncated": replica_logs.num_rows > max_rows,
        "summary": _summary(replica_logs),
    }


def _summary(replica_logs: pa.Table) -> dict[str, Any]:
    causes = {each["values"]: each["counts"] for each in replica_logs["cause"].value_counts().to_pylist()}
    return {
        "partitions": replica_logs.group_by(["topic", "partition"]).aggregate([]).num_rows,
        "replicas": replica_logs.num_rows,
        "answered": causes.pop(None, 0),
        "silent": causes,
    }
