# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence from Kafka alone: takes looks at the sizes of compacted copies, keeps them, and has Spark compare them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.run import Progress
from .._spark.java import SparkUnavailableError
from .._spark.session import spark_session
from .diagnosis import CopyTrend
from .inspection import one_look
from .size_trends import check_directory, look_table, read_looks, trends, write_look

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa


_FIELDS = [each.name for each in fields(CopyTrend)]


def trends_by_broker(
    kafka: Kafka, cluster: Cluster, params: Mapping[str, Any], progress: Progress
) -> dict[int, list[CopyTrend]]:
    """How each copy's size went, over the looks that are kept and those that are taken now.

    Raises LookError, SparkUnavailableError, NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    directory = params["evidence_dir"]
    check_directory(directory)
    kept = read_looks(directory, cluster.cluster_id) if directory else look_table([])
    tables = [kept]
    for number in range(params["looks"]):
        if number:
            kafka.clock.sleep(params["look_interval_ms"] / 1000)
        progress.step("looking at the sizes of compacted partitions", number, params["looks"])
        taken_at_ms = time.time_ns() // 1_000_000
        table = look_table({"taken_at_ms": taken_at_ms, **asdict(each)} for each in one_look(kafka, cluster))
        if directory:
            write_look(directory, cluster.cluster_id, taken_at_ms, table)
        tables.append(table)
    looks = pa.concat_tables(tables)
    if not looks.num_rows:
        return {}
    progress.step("starting Spark")
    try:
        with spark_session() as spark:
            progress.step(f"comparing {looks.num_rows} sizes")
            # As much growth as makes a copy suspicious; of none at all, nothing follows.
            regrown_bytes = max(1, params["suspect_bytes"])
            rows = trends(spark.createDataFrame(looks), regrown_bytes).toArrow().to_pylist()
    except SparkUnavailableError as error:
        raise SparkUnavailableError(f"without metrics, sizes are compared on Spark: {error}") from None
    found: dict[int, list[CopyTrend]] = {}
    for row in rows:
        trend = CopyTrend(**{name: row[name] for name in _FIELDS})
        found.setdefault(trend.broker_id, []).append(trend)
    return found
