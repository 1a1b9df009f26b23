# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules do with Spark, one session each. Imported only once something is offline."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.gathering import Gathering
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.candidates import plan_recovery
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_logs import gather_evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.survey import Survey
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.evidence import Evidence, write_evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.options import SparkOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.session import spark_session
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Plan
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.policy import Policy

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from pyspark.sql import SparkSession


def evidence_of(
    settings: ConnectionSettings, found: Survey, params: Mapping[str, Any], how: Gathering, progress: Progress
) -> Evidence:
    """Asks the replicas of all that was found offline.

    Raises SparkUnavailableError or EvidenceError.
    """
    progress.step("starting Spark")
    with spark_session(how.spark) as spark:
        return _gathered(spark, settings, found, params, how, progress)


def plan_of_survey(  # noqa: PLR0917
    settings: ConnectionSettings,
    found: Survey,
    policies: Mapping[str, Policy],
    params: Mapping[str, Any],
    how: Gathering,
    progress: Progress,
) -> Plan:
    """Asks the replicas of all that was found offline, ranks them and plans.

    Raises SparkUnavailableError or EvidenceError.
    """
    progress.step("starting Spark")
    with spark_session(how.spark) as spark:
        evidence = _gathered(spark, settings, found, params, how, progress)
        progress.step("ranking replicas")
        return plan_recovery(spark, evidence, policies, found.left_alone)


def plan_of_evidence(
    evidence: Evidence, policies: Mapping[str, Policy], spark_options: SparkOptions, progress: Progress
) -> Plan:
    """Ranks replicas that were asked earlier.

    Raises SparkUnavailableError.
    """
    progress.step("starting Spark")
    with spark_session(spark_options) as spark:
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
