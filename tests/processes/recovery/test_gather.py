# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A gather reports every replica exactly once, whatever its broker does, and in time."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import Engine, gather
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import OnSpark
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.probe_task import (
    AskBroker,
    AskBrokers,
    AskReplicas,
    divide_by_broker,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import REPLICA_LOG_SCHEMA
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.workers import Deadline
from unit.fakes.brokers import FakeBrokers, a_broker, a_partition

REFERENCE = "/nonexistent/settings.json"
PARTITIONS = [a_partition("orders", number, (3, 1, 2)) for number in range(5)]
EVERY_REPLICA = {("orders", number, broker_id) for number in range(5) for broker_id in (1, 2, 3)}


@pytest.fixture(params=["in process", "in two processes", "on Spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "on Spark":
        return OnSpark(request.getfixturevalue("spark"))
    return OnThisHost() if request.param == "in process" else OnThisHost(processes=2)


@pytest.fixture
def deadline_ms(request: pytest.FixtureRequest) -> int:
    """Return a time in which an engine surely starts its processes."""
    return 2_000 if "in process" in request.node.name else 10_000


def reported(table: pa.Table) -> dict[tuple[str, int, int], dict[str, Any]]:
    """Return rows by replica. Fails if a replica is reported twice."""
    rows = table.to_pylist()
    keys = Counter((row["topic"], row["partition"], row["broker_id"]) for row in rows)
    assert set(keys.values()) == {1}
    return {(row["topic"], row["partition"], row["broker_id"]): row for row in rows}


def causes(table: pa.Table) -> dict[int, set[str | None]]:
    found: dict[int, set[str | None]] = {}
    for row in table.to_pylist():
        found.setdefault(row["broker_id"], set()).add(row["cause"])
    return found


def test_every_replica_is_reported_once_with_its_place_and_fencing(engine: Engine) -> None:
    brokers = [a_broker(1), a_broker(2, BrokerState.FENCED, fenced=True), a_broker(3)]
    table = gather(engine, REFERENCE, brokers, [*PARTITIONS, PARTITIONS[0]], 10_000, ask=FakeBrokers())
    rows = reported(table)
    assert table.schema.equals(REPLICA_LOG_SCHEMA)
    assert rows.keys() == EVERY_REPLICA
    assert {key[2]: row["place"] for key, row in rows.items()} == {3: 0, 1: 1, 2: 2}
    assert {key[2] for key, row in rows.items() if row["is_fenced"]} == {2}
    assert {row["cause"] for row in rows.values()} == {None}
    assert rows["orders", 4, 3] == {
        "topic": "orders",
        "partition": 4,
        "broker_id": 3,
        "place": 0,
        "is_fenced": False,
        "log_start_offset": 0,
        "log_end_offset": 1,
        "current_leader_epoch": 9,
        "last_written_epoch": 3,
        "lineage": [{"epoch": 3, "end_offset": 1}],
        "size_bytes": 1,
        "log_dir": "/data",
        "is_future": False,
        "cause": None,
        "error": "",
        "is_tiered": None,
        "local_log_start_offset": None,
        "last_tiered_offset": None,
        "is_rebuilt": False,
        "last_batch_offset": None,
        "last_batch_checksum": None,
    }


def test_brokers_that_cannot_be_asked_are_named_with_their_state(engine: Engine) -> None:
    no_address = Broker(1, None, None, None, True, BrokerState.FENCED, "the controller fences it")
    brokers = [no_address, a_broker(2, BrokerState.UNREACHABLE)]  # 3 is in the replica lists only
    rows = reported(gather(engine, REFERENCE, brokers, PARTITIONS, 10_000, ask=FakeBrokers()))
    assert rows.keys() == EVERY_REPLICA
    found = {key[2]: (row["cause"], row["error"], row["log_end_offset"]) for key, row in rows.items()}
    assert found == {
        1: ("fenced", "the controller fences it", None),
        2: ("unreachable", "seen so", None),
        3: ("fenced", "the controller does not list this broker", None),
    }


def test_no_partitions_give_no_rows(engine: Engine) -> None:
    table = gather(engine, REFERENCE, [a_broker(1)], [], 10_000, ask=FakeBrokers())
    assert table.num_rows == 0
    assert engine.rank(table).num_rows == 0


def test_a_broken_answer_does_not_affect_other_brokers(engine: Engine) -> None:
    ask = FakeBrokers(broken={1: "no such thing"}, forgetful=frozenset({2}))
    rows = reported(gather(engine, REFERENCE, [a_broker(1), a_broker(2), a_broker(3)], PARTITIONS, 10_000, ask=ask))
    assert rows.keys() == EVERY_REPLICA
    assert rows["orders", 0, 1]["cause"] == "error"
    assert rows["orders", 0, 1]["error"] == "asking broker 1 failed: RuntimeError('no such thing')"
    assert rows["orders", 0, 2]["cause"] == "bad_answer"
    assert rows["orders", 1, 2]["cause"] is None
    assert rows["orders", 0, 3]["cause"] is None


@pytest.mark.parametrize("question", [AskReplicas(), AskReplicas(native_key=1020)], ids=["public", "native"])
def test_an_executor_without_kafka_python_reports_it(monkeypatch: pytest.MonkeyPatch, question: AskBroker) -> None:
    monkeypatch.setitem(sys.modules, "kafka", None)  # as if it were not installed
    work = divide_by_broker([a_broker(1)], [a_partition("orders", 0, (1,))])
    ask_brokers = AskBrokers(REFERENCE, Deadline.after_ms(10_000), 1.0, question)
    [[row]] = [batch.to_pylist() for batch in ask_brokers(work)]
    assert row["cause"] == "error"
    assert row["error"].startswith("broker 1 was not asked: ")
    assert "lacks kafka-python: install it there" in row["error"]


def test_hung_brokers_are_asked_at_the_same_time(engine: Engine, deadline_ms: int) -> None:
    """Of 100 brokers all but one hang, and there are few task slots: a queue would take one deadline after another."""
    ids = range(1, 101)
    partitions = [a_partition("orders", broker_id, (broker_id,)) for broker_id in ids]
    ask = FakeBrokers(hung=frozenset(ids) - {1, 2}, deaf_to_deadline=frozenset({2}))
    started = time.monotonic()
    table = gather(engine, REFERENCE, [a_broker(broker_id) for broker_id in ids], partitions, deadline_ms, ask=ask)
    deadlines = (time.monotonic() - started) * 1000 / deadline_ms
    assert causes(table) == {1: {None}} | {broker_id: {"hung"} for broker_id in ids if broker_id != 1}
    assert 1 <= deadlines < 10


def test_this_host_does_not_use_the_connection_settings_of_other_hosts() -> None:
    """As if Spark's cluster were lost: the file is only on the hosts of the executors."""
    table = gather(
        OnThisHost(), "/nowhere/here", [a_broker(1)], PARTITIONS, 1_000, ask=AskReplicas(), elsewhere="/nowhere/there"
    )
    assert "/nowhere/here" in reported(table)["orders", 0, 1]["error"]


def test_a_host_that_cannot_ask_ends_the_tasks_so_that_another_host_asks() -> None:
    """Otherwise every broker would be silent because of a file on another host."""
    work = divide_by_broker([a_broker(1)], [a_partition("orders", 0, (1,))])
    tasks = AskBrokers("/nowhere/here", Deadline.after_ms(10_000), 1.0, AskReplicas(), "/nowhere/there").for_tasks()
    with pytest.raises(SettingsError, match="/nowhere/there"):
        list(tasks(work))


def test_a_lost_task_is_run_again_without_duplicate_rows(spark: SparkSession, tmp_path: Path) -> None:
    engine = OnSpark(spark)
    brokers = [a_broker(1), a_broker(2), a_broker(3)]
    undisturbed = gather(engine, REFERENCE, brokers, PARTITIONS, 10_000, ask=FakeBrokers())
    killer = tmp_path / "killed"
    table = gather(engine, REFERENCE, brokers, PARTITIONS, 10_000, ask=FakeBrokers(killer=killer))
    assert killer.exists()
    assert reported(table) == reported(undisturbed)


def test_a_helper_that_is_killed_costs_only_its_own_brokers_answers(tmp_path: Path) -> None:
    brokers = [a_broker(1), a_broker(2)]
    partitions = [a_partition("orders", number, (1, 2)) for number in range(5)]
    ask = FakeBrokers(killer=tmp_path / "killed")
    rows = reported(gather(OnThisHost(processes=2), REFERENCE, brokers, partitions, 10_000, ask=ask))
    errors = {key[2]: row["error"] for key, row in rows.items()}
    assert len(rows) == 10
    assert sorted(errors.values()) in (
        ["", f"the process that asked broker {broker_id} failed: it ended with -9"] for broker_id in (1, 2)
    )
    assert {key[2] for key, row in rows.items() if row["cause"] == "error"} == {each for each in errors if errors[each]}


def test_a_helper_that_fails_says_why() -> None:
    brokers, partitions = [a_broker(1), a_broker(2)], [a_partition("orders", 0, (1, 2))]
    table = gather(OnThisHost(processes=2), REFERENCE, brokers, partitions, 10_000, ask=UnreadableInAHelper())
    assert causes(table) == {1: {"error"}, 2: {"error"}}
    assert table["error"].to_pylist()[0] == (
        "the process that asked broker 1 failed: it ended with 1: "
        "ValueError: invalid literal for int() with base 10: 'nobody can read this'"
    )


def test_what_a_library_prints_in_a_helper_does_not_get_between_the_rows() -> None:
    brokers, partitions = [a_broker(1), a_broker(2)], [a_partition("orders", 0, (1, 2))]
    table = gather(
        OnThisHost(processes=2),
        REFERENCE,
        brokers,
        partitions,
        10_000,
        ask=FakeBrokers(printed="a warning of a library"),
    )
    assert causes(table) == {1: {None}, 2: {None}}


class UnreadableInAHelper(FakeBrokers):
    """Pickled by the test, it cannot be read again."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return int, ("nobody can read this",)
