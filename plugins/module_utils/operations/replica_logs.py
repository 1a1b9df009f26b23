# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks every surviving replica of the offline partitions what it holds."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.native_source import NativeSource
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import (
    ConnectionSettings,
    write_settings_reference,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.clock import utc_now
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.version import VERSION
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.survey import Survey
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.ask import AskBroker, AskNatively, ask_broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.evidence import Evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.gather import gather

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from pyspark.sql import SparkSession


def gather_evidence(
    spark: SparkSession,
    settings: ConnectionSettings,
    found: Survey,
    duration_ms: int,
    *,
    native: NativeSource | None = None,
    settings_reference: str | None = None,
) -> Evidence:
    """One row for each replica of the offline partitions, within ``duration_ms``; a silent one is named too.

    ``native`` has log ends asked by the proposal's own RPC. ``settings_reference`` is the path of a file with the
    connection settings that is there on every host with executors; without it one is made, which only this host has.
    """
    ask: AskBroker = ask_broker
    if native is not None:
        ask = AskNatively(native.api_key, {each.topic: each.topic_id for each in found.offline})
    gathered_at = utc_now()
    if settings_reference is not None:
        replica_logs = gather(spark, settings_reference, found.brokers, found.offline, duration_ms, ask=ask)
        return Evidence(found.cluster_id, gathered_at, VERSION, replica_logs, found.offline)
    # Mode 0700: the file in it holds the connection's secrets, which must not reach a Spark conf or closure.
    with tempfile.TemporaryDirectory(prefix="kafkaops-settings-") as directory:
        reference = Path(directory) / "settings.json"
        write_settings_reference(settings, reference)
        replica_logs = gather(spark, str(reference), found.brokers, found.offline, duration_ms, ask=ask)
    return Evidence(found.cluster_id, gathered_at, VERSION, replica_logs, found.offline)
