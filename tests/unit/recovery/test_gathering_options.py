# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of a gather are in one place, and all faults in them are reported at once."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import read_gathering_options
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import (
    EngineName,
    EngineOptions,
    SparkOptionsError,
)

PUBLIC: dict[str, Any] = {
    "recovery_duration_ms": 30_000,
    "evidence_dir": None,
    "replica_log_source": "public",
    "replica_log_api_key": None,
    "spark": None,
    "engine": "spark",
    "spark_wait_ms": 10_000,
}
NOTHING: dict[str, Any] = dict.fromkeys(
    ("master", "remote", "driver_memory", "executor_python", "settings_reference", "conf")
)


def test_the_defaults_are_spark_on_this_host_and_public_rpcs() -> None:
    how = read_gathering_options(PUBLIC)
    assert (how.native, how.settings_reference) == (None, None)
    assert how.engine == EngineOptions()
    assert how.engine.name is EngineName.SPARK
    assert how.engine.where.is_local


def test_the_engine_without_spark_is_not_told_where_spark_runs() -> None:
    assert read_gathering_options({**PUBLIC, "engine": "process"}).engine.name is EngineName.PROCESS
    with pytest.raises(SparkOptionsError, match="give one of the two"):
        read_gathering_options({**PUBLIC, "engine": "process", "spark": {**NOTHING, "driver_memory": "4g"}})


def test_a_negative_wait_is_refused() -> None:
    with pytest.raises(SparkOptionsError, match="spark_wait_ms is -1"):
        read_gathering_options({**PUBLIC, "spark_wait_ms": -1})


def test_a_spark_cluster_needs_a_settings_reference() -> None:
    given = {**NOTHING, "master": "spark://spark:7077", "conf": {"spark.speculation": True, "spark.cores.max": 2}}
    with pytest.raises(SparkOptionsError, match="settings_reference"):
        read_gathering_options({**PUBLIC, "spark": given})
    how = read_gathering_options({**PUBLIC, "spark": {**given, "settings_reference": "/etc/kafkaops/connection.json"}})
    assert how.settings_reference == "/etc/kafkaops/connection.json"
    assert how.engine.where.conf == {"spark.speculation": "true", "spark.cores.max": "2"}
    assert not how.engine.where.is_local
    assert not read_gathering_options({**PUBLIC, "spark": given, "evidence": "/e"}).engine.where.is_local


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(KafkaOpsError) as refusal:
        read_gathering_options(
            {
                **PUBLIC,
                "replica_log_source": "native",
                "replica_log_api_key": 93,
                "spark": {**NOTHING, "remote": "http"},
            }
        )
    assert "API key 93" in str(refusal.value)
    assert "sc://host:port" in str(refusal.value)


@pytest.mark.parametrize(("source", "key"), [("native", None), ("public", 1020)])
def test_source_and_key_come_together(source: str, key: int | None) -> None:
    with pytest.raises(KafkaOpsError, match="replica_log_api_key"):
        read_gathering_options({**PUBLIC, "replica_log_source": source, "replica_log_api_key": key})


def test_the_api_key_is_passed_on() -> None:
    how = read_gathering_options({**PUBLIC, "replica_log_source": "native", "replica_log_api_key": 1020})
    assert how.native is not None
    assert how.native.api_key == 1020
