# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules do with Spark, one session each. Imported only once something is offline.

What replicas answered, as replica_log_info returns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from .._kafka.settings import ConnectionSettings
from .._model.run import Progress
from .._spark.ahead import SessionAhead
from .._spark.options import SparkOptions
from .._spark.session import spark_session
from .designations_file import Designations
from .evidence import Evidence, write_evidence
from .gather import gather_evidence
from .plan import Plan
from .planning_options import Gathering
from .ranking import plan_recovery
from .rehearsal import rehearse
from .strategy import Policy
from .survey import Survey

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa
    from pyspark.sql import SparkSession

    # PySpark imports it with the first task. Here the JVM starts meanwhile.
    import_module("pandas")


def evidence_of(  # noqa: PLR0917
    ahead: SessionAhead,
    settings: ConnectionSettings,
    found: Survey,
    params: Mapping[str, Any],
    how: Gathering,
    progress: Progress,
) -> Evidence:
    """Asks the replicas of all that was found offline.

    Raises SparkUnavailableError or EvidenceError.
    """
    progress.step("starting Spark")
    return _gathered(ahead.session(), settings, found, params, how, progress)


def plan_of_survey(  # noqa: PLR0917
    ahead: SessionAhead,
    settings: ConnectionSettings,
    found: Survey,
    policies: Mapping[str, Policy],
    params: Mapping[str, Any],
    how: Gathering,
    progress: Progress,
    leaders: Designations,
) -> Plan:
    """Asks the replicas of all that was found offline, ranks them and plans. ``leaders`` are a person's own choice.

    Raises SparkUnavailableError or EvidenceError.
    """
    progress.step("starting Spark")
    spark = ahead.session()
    evidence = _gathered(spark, settings, found, params, how, progress)
    progress.step("ranking replicas")
    return plan_recovery(spark, evidence, policies, found.left_alone, leaders)


def plan_of_evidence(
    evidence: Evidence, policies: Mapping[str, Policy], spark_options: SparkOptions, progress: Progress
) -> Plan:
    """Ranks replicas that were asked earlier.

    Raises SparkUnavailableError.
    """
    progress.step("starting Spark")
    with spark_session(spark_options, rehearse=rehearse) as spark:
        progress.step("ranking replicas")
        return plan_recovery(spark, evidence, policies)


def _gathered(  # noqa: PLR0917
    spark: SparkSession,
    settings: ConnectionSettings,
    found: Survey,
    params: Mapping[str, Any],
    how: Gathering,
    progress: Progress,
) -> Evidence:
    progress.step(f"asking the replicas of {len(found.offline)} partitions")
    evidence = gather_evidence(
        spark,
        settings,
        found,
        params["recovery_duration_ms"],
        native=how.native,
        settings_reference=how.settings_reference,
    )
    if params["evidence_dir"] is not None:
        write_evidence(evidence, params["evidence_dir"])
    return evidence


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
