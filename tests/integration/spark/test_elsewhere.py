# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark on a real standalone cluster and on a real Spark Connect server: the plan of the embedded one, to the byte."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.native import NativeSource
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.private_files import settings_json
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.engines import Engines
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.evidence import Evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import Engine
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import OnSpark
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.pipeline import gather_evidence, plan_recovery
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import plan_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import Survey, survey
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import SparkUnavailableError
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import (
    EngineName,
    EngineOptions,
    SparkOptions,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import kill_jvms, spark_session
from lab.faults import After, Delay
from lab.spark import EXECUTORS_OF_ONE_CORE, ConnectServer, StandaloneCluster, wait_for_executors
from lab.waiting import wait_until
from publish.installation import interpreter
from simulator import SimulatedCluster, offline_world

_PASSWORD = "a-password-that-occurs-nowhere-else"
_DURATION_MS = 150_000
_SLOW = 6
_KEY = 1020


@pytest.fixture(scope="module")
def kafka() -> Iterator[SimulatedCluster]:
    """Six brokers, one of a replica list's three dead in every sixth partition."""
    with SimulatedCluster(
        offline_world({"orders": 90, "trades": 31}, range(1, 7), dead=(7,)), native_key=_KEY
    ) as started:
        yield started


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """PySpark leaves SPARK_CONNECT_MODE_ENABLED behind: a process that used Connect could use no other Spark."""
    with patch.dict(os.environ):
        yield


@pytest.fixture(autouse=True)
def no_faults(kafka: SimulatedCluster) -> Iterator[None]:
    yield
    kafka.proxy.clear()


@pytest.fixture(scope="module")
def settings(kafka: SimulatedCluster) -> ConnectionSettings:
    """Return settings with a password that these brokers ignore. The test searches for it."""
    return settings_from(
        {"bootstrap_servers": kafka.bootstrap(), "request_timeout_ms": 120_000, "sasl_password": _PASSWORD}
    )


@pytest.fixture(scope="module")
def reference(settings: ConnectionSettings, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("reference") / "connection.json"
    path.touch(mode=0o600)
    path.write_text(settings_json(settings), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def found(settings: ConnectionSettings) -> Survey:
    with Wire(settings) as wire:
        return survey(Kafka(wire))


Gather = Callable[[Engine], Evidence]


@pytest.fixture(scope="module")
def gather(settings: ConnectionSettings, reference: str, found: Survey) -> Gather:
    return lambda engine: gather_evidence(engine, settings, found, _DURATION_MS, settings_reference=reference)[0]


@dataclass(frozen=True)
class Plans:
    """Made in this process, without Spark."""

    public: bytes
    native: bytes


@pytest.fixture(scope="module")
def plans(gather: Gather, settings: ConnectionSettings, reference: str, found: Survey) -> Plans:
    here = OnThisHost()
    native, _notes = gather_evidence(
        here, settings, found, _DURATION_MS, native=NativeSource(_KEY), settings_reference=reference
    )
    return Plans(plan_bytes(here, gather(here)), plan_bytes(here, native))


@pytest.fixture(scope="module")
def embedded(plans: Plans) -> bytes:
    return plans.public


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def cluster(directory: Path) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(directory) as started:
        yield started


def plan_bytes(engine: Engine, evidence: Evidence) -> bytes:
    """Return the plan file, but for the moment it was made at."""
    policies = {each.topic: Policy(Strategy.AGGRESSIVE) for each in evidence.partitions}
    plan = replace(plan_recovery(engine, evidence, policies), created_at="2026-01-31T00:00:00Z")
    assert len(plan.elections) == len(evidence.partitions)
    return json.dumps(plan_document(plan)).encode()


def on(cluster: StandaloneCluster, conf: Mapping[str, str] | None = None) -> SparkOptions:
    """One core and one executor a worker, so that two tasks run on two of them."""
    settings = {**EXECUTORS_OF_ONE_CORE, **(conf or {})}
    return SparkOptions(
        master=cluster.master, conf={"spark.default.parallelism": "2", "spark.sql.shuffle.partitions": "2", **settings}
    )


def rows_by_replica(table: pa.Table) -> Counter[tuple[str, int, int]]:
    rows = table.select(["topic", "partition", "broker_id"]).to_pylist()
    return Counter((row["topic"], row["partition"], row["broker_id"]) for row in rows)


def contents(directory: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in directory.rglob("*") if each.is_file()}


@pytest.mark.wide
def test_the_native_rpc_makes_the_same_plan(plans: Plans) -> None:
    assert plans.native == plans.public


@pytest.mark.wide
def test_a_standalone_cluster_makes_the_same_plan_and_sees_no_secret(
    cluster: StandaloneCluster, embedded: bytes, gather: Gather, directory: Path
) -> None:
    events = directory / "events"
    events.mkdir()
    conf = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": events.as_uri()}
    with spark_session(on(cluster, conf)) as spark:
        wait_for_executors(spark, 2)
        assert plan_bytes(OnSpark(spark), gather(OnSpark(spark))) == embedded
        assert _PASSWORD not in str(spark.sparkContext.getConf().getAll())
        # The executors are idle now; once the session ends, each removes what it wrote, in its own time.
        written = contents(directory)
    written |= contents(events)
    assert any(b"MapInArrow" in content for content in written.values())
    assert [each for each, content in written.items() if _PASSWORD.encode() in content] == []


@pytest.mark.wide
def test_a_master_that_gives_no_executor_is_named_before_any_broker_is_asked(
    tmp_path: Path, gather: Gather, kafka: SimulatedCluster
) -> None:
    kafka.proxy.clear()
    with (
        StandaloneCluster(tmp_path, workers=0) as empty,
        pytest.raises(SparkUnavailableError, match=f"{empty.master} gave this session no executor within 60 s"),
        spark_session(on(empty)) as spark,
    ):
        gather(OnSpark(spark))
    assert kafka.proxy.requests() == []


def other_python() -> str:
    """Return a Python of another minor version than this one."""
    ours = sys.version_info[:2]
    return interpreter("3.12" if ours != (3, 12) else "3.13")


def bare_python(directory: Path) -> str:
    """Return a Python of this minor version without any library."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory / "bare")], check=True)
    return str(directory / "bare" / "bin" / "python")


def refusal(options: SparkOptions, gather: Gather) -> str:
    with pytest.raises(SparkUnavailableError) as refused, spark_session(options) as spark:
        gather(OnSpark(spark))
    return str(refused.value).splitlines()[0]


@pytest.mark.wide
def test_executors_with_another_minor_version_of_python(cluster: StandaloneCluster, gather: Gather) -> None:
    said = refusal(replace(on(cluster), executor_python=other_python()), gather)
    assert f"and this module runs Python {sys.version_info[0]}.{sys.version_info[1]}: Spark needs the same" in said
    assert "spark.executor_python" in said


@pytest.mark.wide
def test_executors_without_pyarrow(cluster: StandaloneCluster, gather: Gather, tmp_path: Path) -> None:
    said = refusal(replace(on(cluster), executor_python=bare_python(tmp_path)), gather)
    assert re.search("the Python of Spark's executors lacks .*pyarrow", said), said


@pytest.mark.wide
def test_executors_without_a_python(cluster: StandaloneCluster, gather: Gather) -> None:
    said = refusal(replace(on(cluster), executor_python="/opt/none/bin/python3"), gather)
    assert "there is no Python at /opt/none/bin/python3 on an executor's host" in said


@pytest.mark.wide
def test_a_python_worker_that_runs_out_of_memory(cluster: StandaloneCluster, gather: Gather) -> None:
    said = refusal(on(cluster, {"spark.executor.pyspark.memory": "150m"}), gather)
    assert "spark.executor.pyspark.memory" in said


@pytest.mark.wide
def test_a_spark_connect_server_that_refuses_the_token(
    gather: Gather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConnectServer(tmp_path, {"spark.connect.authenticate.token": _PASSWORD}) as server:
        # Spark's client sends a token without TLS to a host of this name only.
        options = SparkOptions(remote=server.remote.replace("127.0.0.1", "localhost"))
        for token in None, "wr0ng-t0ken":
            if token:
                monkeypatch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", token)
            said = refusal(options, gather)
            assert "it refuses the token, or requires one: set the environment variable SPARK_CONNECT_AUTHENT" in said
            assert not re.search(f"{_PASSWORD}|wr0ng-t0ken", said)


@pytest.mark.wide
def test_speculative_copies_of_a_task_report_nothing_twice(
    cluster: StandaloneCluster, embedded: bytes, gather: Gather, kafka: SimulatedCluster
) -> None:
    conf = {
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "50ms",
    }
    with spark_session(on(cluster, conf)) as spark:
        wait_for_executors(spark, 2)
        kafka.proxy.clear()

        def looks() -> int:
            asked = (each.broker for each in kafka.proxy.requests() if each.api_key == ApiKey.DescribeConfigs)
            return Counter(asked)[_SLOW]

        # The first look at one broker gets no further before there is a second one: only a copy of the task takes it.
        has_copy = threading.Event()

        def wait_for_another() -> None:
            wait_until(lambda: looks() > 1, 100, what="a copy of the slow task")
            has_copy.set()

        with kafka.proxy.inject(After(wait_for_another), broker=_SLOW, api_key=ApiKey.ListOffsets, times=1):
            evidence = gather(OnSpark(spark))
        assert has_copy.wait(10), "no copy of the slow task was run"
        assert set(rows_by_replica(evidence.replica_logs).values()) == {1}
        assert plan_bytes(OnSpark(spark), evidence) == embedded


@pytest.mark.wide
def test_a_worker_killed_in_the_middle_changes_nothing(
    cluster: StandaloneCluster, embedded: bytes, gather: Gather, kafka: SimulatedCluster
) -> None:
    """The last test on this cluster: one worker is left."""
    with spark_session(on(cluster)) as spark:
        wait_for_executors(spark, 2)
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            cluster.kill_worker(0)

        # Tasks of both workers wait for their brokers then.
        with (
            kafka.proxy.inject(Delay(4), api_key=ApiKey.DescribeLogDirs),
            kafka.proxy.inject(After(kill), api_key=ApiKey.ListOffsets, times=1),
        ):
            evidence = gather(OnSpark(spark))
        assert killed.is_set()
        assert set(rows_by_replica(evidence.replica_logs).values()) == {1}
        assert plan_bytes(OnSpark(spark), evidence) == embedded


@pytest.mark.wide
def test_a_spark_connect_server_makes_the_same_plan(
    embedded: bytes, gather: Gather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A host has them for the Internet. gRPC would use the first one.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with ConnectServer(tmp_path) as server, spark_session(SparkOptions(remote=server.remote)) as spark:
        assert type(spark).__module__.startswith("pyspark.sql.connect")
        assert plan_bytes(OnSpark(spark), gather(OnSpark(spark))) == embedded
    assert [each for each, content in contents(tmp_path).items() if _PASSWORD.encode() in content] == []


@pytest.mark.wide
def test_a_spark_connect_server_that_dies_in_the_middle_is_named(
    gather: Gather, kafka: SimulatedCluster, tmp_path: Path
) -> None:
    with ConnectServer(tmp_path) as server:
        died = threading.Event()

        def die() -> None:
            server.kill()
            died.set()

        def gather_there() -> None:
            with spark_session(SparkOptions(remote=server.remote)) as spark:
                kafka.proxy.clear()
                with kafka.proxy.inject(After(die), api_key=ApiKey.ListOffsets, times=1):
                    gather(OnSpark(spark))

        began = time.monotonic()
        with pytest.raises(SparkUnavailableError, match=f"the Spark Connect server at {server.remote} was lost: "):
            gather_there()
        assert died.is_set()
        # Spark's own client goes on for an hour.
        assert time.monotonic() - began < 240
    assert kafka.proxy.write_requests() == []


@pytest.mark.wide
def test_a_frozen_spark_connect_server_is_named_before_anything_is_sent(tmp_path: Path) -> None:
    with ConnectServer(tmp_path) as server:
        server.freeze()
        began = time.monotonic()
        with (
            pytest.raises(SparkUnavailableError, match="it accepted the connection and sent nothing in 10 s"),
            spark_session(SparkOptions(remote=server.remote)),
        ):
            pytest.fail("the server is frozen")
        assert time.monotonic() - began < 60


@pytest.mark.wide
@pytest.mark.parametrize("where", ["a Spark Connect server", "the driver's JVM"])
def test_a_run_whose_spark_dies_in_the_middle_asks_and_ranks_by_itself(
    where: str, embedded: bytes, gather: Gather, kafka: SimulatedCluster, tmp_path: Path
) -> None:
    is_remote = where == "a Spark Connect server"
    place = ConnectServer(tmp_path) if is_remote else StandaloneCluster(tmp_path)
    with place as started:
        options = SparkOptions(remote=started.remote) if isinstance(started, ConnectServer) else on(started)
        kill = started.kill if isinstance(started, ConnectServer) else kill_jvms
        with Engines(EngineOptions(spark=options, wait_ms=60_000)) as engines:
            engines.begin(1)
            kafka.proxy.clear()
            with kafka.proxy.inject(After(kill), api_key=ApiKey.ListOffsets, times=1):
                evidence = gather(engines)
            assert plan_bytes(engines, evidence) == embedded
            assert engines.use.name is EngineName.PROCESS
            assert ("was lost" if is_remote else "JVM ended") in engines.use.reason
        assert set(rows_by_replica(evidence.replica_logs).values()) == {1}
