# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where Spark runs is said in one place, and nothing that looks secret gets in there."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import gathering
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import SparkUnavailableError
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions, SparkOptionsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session

PUBLIC: dict[str, Any] = {"replica_log_source": "public", "replica_log_api_key": None, "spark": None}
NOTHING: dict[str, Any] = dict.fromkeys(
    ("master", "remote", "driver_memory", "executor_python", "settings_reference", "conf")
)


@pytest.mark.parametrize(
    "name", ["spark.authenticate.secret", "spark.ssl.keyPassword", "spark.hadoop.fs.s3a.access.key", "my.token"]
)
def test_a_secret_is_refused(name: str) -> None:
    with pytest.raises(SparkOptionsError, match=name) as refusal:
        SparkOptions(conf={name: "hunter2"})
    assert "hunter2" not in str(refusal.value)


def test_a_file_with_a_secret_is_not_one() -> None:
    assert SparkOptions(conf={"spark.authenticate.secret.file": "/etc/spark/secret"}).is_local


@pytest.mark.parametrize("remote", ["http://spark:15002", "sc://spark:15002/;token=hunter2"])
def test_a_remote_that_is_none_or_holds_a_token_is_refused(remote: str) -> None:
    with pytest.raises(SparkOptionsError):
        SparkOptions(remote=remote)


def test_nothing_said_is_no_choice_of_spark_and_the_public_rpcs() -> None:
    how = gathering(PUBLIC)
    assert (how.native, how.spark, how.settings_reference) == (None, None, None)


def test_a_cluster_needs_a_reference_of_its_own() -> None:
    given = {**NOTHING, "master": "spark://spark:7077", "conf": {"spark.speculation": True, "spark.cores.max": 2}}
    with pytest.raises(SparkOptionsError, match="settings_reference"):
        gathering({**PUBLIC, "spark": given})
    how = gathering({**PUBLIC, "spark": {**given, "settings_reference": "/etc/kafkaops/connection.json"}})
    assert how.settings_reference == "/etc/kafkaops/connection.json"
    assert how.spark is not None
    assert how.spark.conf == {"spark.speculation": "true", "spark.cores.max": "2"}
    assert not how.spark.is_local
    ranks_evidence = gathering({**PUBLIC, "spark": given, "evidence": "/e"}).spark
    assert ranks_evidence is not None
    assert not ranks_evidence.is_local


def test_all_that_is_wrong_is_reported_at_once() -> None:
    with pytest.raises(KafkaOpsError) as refusal:
        gathering({"replica_log_source": "native", "replica_log_api_key": 93, "spark": {**NOTHING, "remote": "http"}})
    assert "API key 93" in str(refusal.value)
    assert "sc://host:port" in str(refusal.value)


@pytest.mark.parametrize(("source", "key"), [("native", None), ("public", 1020)])
def test_source_and_key_come_together(source: str, key: int | None) -> None:
    with pytest.raises(KafkaOpsError, match="replica_log_api_key"):
        gathering({**PUBLIC, "replica_log_source": source, "replica_log_api_key": key})


def test_the_key_is_handed_on() -> None:
    how = gathering({**PUBLIC, "replica_log_source": "native", "replica_log_api_key": 1020})
    assert how.native is not None
    assert how.native.api_key == 1020


def test_a_connect_server_that_is_not_there_is_reported_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    began = time.monotonic()
    with (
        pytest.raises(SparkUnavailableError, match="cannot be reached"),
        spark_session(SparkOptions(remote=f"sc://127.0.0.1:{port}")),
    ):
        pytest.fail("there is no server")
    assert time.monotonic() - began < 30
