# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""This process and Spark's tasks ask real brokers and return what these hold, in time, with no secret on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.private_files import temporary_settings_reference
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import Engine, gather
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import OnSpark
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import read_ranked_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import Survey, survey
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session
from lab import Cluster, scenarios, wait_until
from lab.module_process import run_module

pytestmark = pytest.mark.on_any_version

_PASSWORD = "a-password-that-occurs-nowhere-else"
_DURATION_MS = 60_000
_DEADLINE_MS = 20_000


@pytest.fixture(scope="module")
def event_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("event-logs")


@pytest.fixture(scope="module")
def spark(event_logs: Path) -> Iterator[SparkSession]:
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": event_logs.as_uri(),
    }
    with spark_session(SparkOptions(conf=conf)) as session:
        yield session


_WIDE = [pytest.param(each, marks=pytest.mark.wide) for each in ("on Spark", "in two processes")]


@pytest.fixture(params=["in process", *_WIDE])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "on Spark":
        return OnSpark(request.getfixturevalue("spark"))
    return OnThisHost() if request.param == "in process" else OnThisHost(processes=2)


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, listeners=("SASL_PLAINTEXT",), users={"alice": _PASSWORD}) as started:
        yield started


@pytest.fixture(scope="module")
def offline(cluster: Cluster) -> scenarios.Offline:
    return scenarios.longer_log_of_older_epoch(cluster, "orders", 20)


@pytest.fixture
def options(cluster: Cluster) -> dict[str, str]:
    return {
        "bootstrap_servers": cluster.bootstrap(),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_username": "alice",
        "sasl_password": _PASSWORD,
    }


@pytest.fixture
def settings(options: dict[str, str]) -> ConnectionSettings:
    return settings_from(options)


@pytest.fixture
def reference(settings: ConnectionSettings) -> Iterator[str]:
    with temporary_settings_reference(settings) as path:
        yield path


@pytest.fixture
def found(settings: ConnectionSettings, offline: scenarios.Offline) -> Survey:
    with Wire(settings) as wire:
        return survey(Kafka(wire))


def test_the_newer_epoch_is_ranked_first_from_what_the_brokers_answered(
    engine: Engine, reference: str, found: Survey, offline: scenarios.Offline
) -> None:
    logs = gather(engine, reference, found.brokers, found.offline, _DURATION_MS)
    partitions = [*read_ranked_partitions(engine.rank(logs))]
    assert [each.topic_partition.partition for each in partitions] == [*offline.partitions]
    for partition in partitions:
        best, other = partition.candidates
        ends = {each.broker_id: each.log_end_offset for each in partition.candidates}
        assert best.broker_id == offline.best
        assert ends == offline.log_end_offsets
        assert other.log_end_offset > best.log_end_offset
        assert other.explanation.startswith(
            f"rank 2: last written epoch {other.last_written_epoch} < {best.last_written_epoch} "
            f"of broker {best.broker_id}"
            f", although its log is longer ({other.log_end_offset} > {best.log_end_offset})"
        )
        [dead] = partition.silent
        assert dead.broker_id == offline.replicas[0]


def test_a_frozen_broker_is_named_hung_at_the_deadline(
    engine: Engine, cluster: Cluster, reference: str, found: Survey, offline: scenarios.Offline
) -> None:
    frozen, dead = offline.best, offline.replicas[0]
    [other] = {1, 2, 3} - {frozen, dead}
    cluster.brokers[frozen].freeze()
    try:
        rows = gather(engine, reference, found.brokers, found.offline, _DEADLINE_MS).to_pylist()
    finally:
        cluster.brokers[frozen].thaw()
        wait_until(
            lambda: cluster.client.describe("orders", broker=other)[0].offline_replicas == (dead,),
            what=f"broker {frozen} is not fenced, so that the next survey lists it",
        )
    causes = {broker_id: {row["cause"] for row in rows if row["broker_id"] == broker_id} for broker_id in (1, 2, 3)}
    assert causes[frozen] == {"hung"}
    assert causes[other] == {None}


@pytest.mark.wide
def test_no_secret_is_in_spark_s_conf_or_event_log(
    spark: SparkSession, reference: str, found: Survey, event_logs: Path
) -> None:
    gather(OnSpark(spark), reference, found.brokers, found.offline, _DURATION_MS)
    conf = str(spark.sparkContext.getConf().getAll())
    events = b"".join(file.read_bytes() for file in event_logs.rglob("*") if file.is_file())
    assert b"MapInArrow" in events
    assert _PASSWORD.encode() not in events
    assert _PASSWORD not in conf


def test_a_module_makes_the_same_plan_in_process_and_on_spark(
    options: dict[str, str], offline: scenarios.Offline
) -> None:
    aggressive = {"recovery_strategy": "aggressive"}
    choices: list[dict[str, object]] = [{"engine": "process"}, {"engine": "spark", "spark_wait_ms": 60_000}]
    done = [run_module("leader_candidate_info", {**options, **aggressive, **choice}) for choice in choices]
    assert [each["engine"] for each in done] == [{"name": each["engine"], "reason": ""} for each in choices]
    plans = [each["plan"] for each in done]
    for plan in plans:
        del plan["createdAt"], plan["digest"]
    assert plans[0] == plans[1]
    assert len(plans[0]["partitions"]) == len(offline.partitions)
