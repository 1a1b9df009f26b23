# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real faults of the log cleaner, their diagnosis, and the remedy for each."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource
from jsonschema import Draft202012Validator
from kafka.protocol.api_key import ApiKey

from lab.changes import pending_changes
from lab.cleaner import WELL, CleanerCluster, CleanerOperator, own_settings
from lab.faults import After
from lab.playbook import PROJECT, run_playbook
from lab.waiting import wait_until

_BACKOFF, _THREADS = "log.cleaner.backoff.ms", "log.cleaner.threads"
_SCHEMA = PROJECT / "docs" / "schemas" / "log-cleaner-report.schema.json"
_ALL_BROKERS = (1, 2, 3)


def _own(lab: CleanerCluster, broker: int) -> dict[str, str]:
    """Return the broker's own dynamic configs, as another client reads them."""
    return own_settings(lab.admin, broker)


def _own_of_topic(lab: CleanerCluster, topic: str) -> set[str]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = lab.admin.describe_configs([resource])[resource].result(30)
    return {name for name, entry in entries.items() if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}


def _set_own(lab: CleanerCluster, broker: int, name: str, value: str | None) -> None:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value or "", incremental_operation=operation)
    resource = ConfigResource(ConfigResource.Type.BROKER, str(broker), incremental_configs=[entry])
    lab.admin.incremental_alter_configs([resource])[resource].result(30)
    wait_until(lambda: _own(lab, broker).get(name) == value, what=f"broker {broker} has {name} {value}")


def _by_broker(reported: dict[str, Any], what: str) -> dict[int, Any]:
    return {each["broker_id"]: each[what] for each in reported["outcomes"]}


@pytest.fixture
def three_cases(lab: CleanerCluster, operator: CleanerOperator) -> Iterator[CleanerOperator]:
    """Broker 1 has dead threads, broker 2 leads an uncleanable partition, and broker 3 has nothing to do."""
    lab.damaged("marked", (2, 1, 3), 2, config={"min.insync.replicas": 2})
    for broker in (1, 3):
        _wait_compacted(lab, "marked", broker)
    wait_until(lambda: operator.diagnoses(brokers=[3]) == {3: "idle"}, 60, what="broker 3 has nothing to do")
    lab.kill_threads(1)
    yield operator
    lab.release_threads(1)


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_three_cases_are_diagnosed_and_repaired(
    lab: CleanerCluster, three_cases: CleanerOperator, tmp_path: Path
) -> None:
    operator = three_cases
    expected = {1: "dead_threads", 2: "uncleanable_partitions", 3: "idle"}
    assert operator.diagnoses() == expected
    reported = operator.run("log_cleaner_info", metrics_source="jolokia", metrics_url=lab.jolokia_url)
    assert {each["broker_id"]: each["diagnosis"] for each in reported["brokers"]} == expected
    assert reported["brokers"][0]["dead_threads"] == 1
    assert reported["brokers"][1]["log_dirs"][0]["uncleanable_partitions"] == 1
    assert [suspect["topic"] for suspect in reported["brokers"][1]["suspects"]] == ["marked"]
    before = {broker: _own(lab, broker) for broker in _ALL_BROKERS}

    lab.cluster.proxy.clear()
    check = operator.run("log_cleaner", check_mode=True)
    assert check["changed"]
    assert _by_broker(check, "status") == {1: "would_restart", 2: "not_helped", 3: "not_needed"}
    assert lab.cluster.proxy.write_requests() == []

    done = operator.run("log_cleaner")
    assert _by_broker(done, "status") == {1: "restarted", 2: "not_helped", 3: "not_needed"}
    assert _by_broker(done, "verified_by")[1] == "metrics"
    assert {broker: _own(lab, broker) for broker in _ALL_BROKERS} == before
    after = operator.diagnoses()
    assert after[1] in WELL
    assert after[2] == "uncleanable_partitions"

    lab.cluster.proxy.clear()
    again = operator.run("log_cleaner")
    assert not again["changed"]
    assert lab.cluster.proxy.write_requests() == []

    # Without metrics the diagnosis is inferred, with the same suspect.
    inferred = operator.run(
        "log_cleaner_info",
        metrics_source="none",
        metrics_url=None,
        evidence_dir=str(tmp_path / "looks"),
        looks=2,
        look_interval_ms=200,
    )["brokers"]
    assert all(each["is_inferred"] for each in inferred)
    assert inferred[1]["diagnosis"] in ("uncleanable_partitions", "dead_threads")
    assert [suspect["topic"] for suspect in inferred[1]["suspects"]] == ["marked"]
    assert len([*(tmp_path / "looks").glob("*.parquet")]) == 2

    _recover_by_playbook(lab, operator, tmp_path)


def _recover_by_playbook(lab: CleanerCluster, operator: CleanerOperator, tmp_path: Path) -> None:
    """Repair with the role."""
    lab.kill_threads(3)
    report_file = tmp_path / "report.json"
    variables = {
        "kafka_bootstrap_servers": lab.cluster.bootstrap(),
        "log_cleaner_recovery_metrics_source": "jolokia",
        "log_cleaner_recovery_metrics_url": lab.jolokia_url,
        "log_cleaner_recovery_metrics_timeout_ms": 30_000,
        "log_cleaner_recovery_repair_uncleanable": True,
        "log_cleaner_recovery_report_file": str(report_file),
        "log_cleaner_recovery_suspect_bytes": 500_000,
    }
    unreported = {name: value for name, value in variables.items() if name != "log_cleaner_recovery_report_file"}
    looks = [
        run_playbook("kafkaops.recovery.recover_log_cleaners", unreported | more, "--check")
        for more in ({}, {"log_cleaner_recovery_fail_on_unhealthy": "true"})
    ]
    assert [each.returncode for each in looks] == [0, 2]
    assert "not healthy: broker 2 (uncleanable partitions), broker 3 (dead threads)" in looks[1].words
    run = run_playbook("kafkaops.recovery.recover_log_cleaners", variables)
    assert run.returncode == 0, run.output
    assert "repair marked-0 on broker 2 repaired" in run.words
    report = json.loads(report_file.read_text(encoding="utf-8"))
    Draft202012Validator(json.loads(_SCHEMA.read_text(encoding="utf-8"))).validate(report)
    assert [each["diagnosis"] for each in report["before"]][1:] == ["uncleanable_partitions", "dead_threads"]
    assert [each["brokerId"] for each in report["after"]] == [*_ALL_BROKERS]
    assert {each["diagnosis"] for each in report["after"]} <= WELL
    assert [each["status"] for each in report["restarts"]] == ["not_needed", "not_helped", "restarted"]
    assert [(each["topic"], each["status"]) for each in report["repairs"]] == [("marked", "repaired")]

    # The order and the leader are restored, and compaction works again.
    lab.assert_in_sync("marked", (2, 1, 3), leader=2)
    _assert_compacted(lab, "marked", 2)
    assert all("throttled" not in name for broker in _ALL_BROKERS for name in _own(lab, broker))
    assert all("throttled" not in name for name in _own_of_topic(lab, "marked"))

    lab.cluster.proxy.clear()
    again = run_playbook(
        "kafkaops.recovery.recover_log_cleaners",
        {**variables, "log_cleaner_recovery_report_file": str(tmp_path / "again.json")},
    )
    assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
    assert lab.cluster.proxy.write_requests() == []


def _assert_compacted(lab: CleanerCluster, topic: str, broker: int) -> None:
    """Check that this broker compacts what is written now."""
    lab.write(topic)
    _wait_compacted(lab, topic, broker)


def _wait_compacted(lab: CleanerCluster, topic: str, broker: int) -> None:
    written = 3 * 105 * 10_000
    wait_until(lambda: lab.size(topic, broker) < written / 2, 60, what=f"{topic} is compacted on broker {broker}")


@pytest.mark.wide
@pytest.mark.parametrize("own", [None, "700"], ids=["unset", "set for the broker"])
def test_sigkill_between_the_edits_and_a_rerun(lab: CleanerCluster, operator: CleanerOperator, own: str | None) -> None:
    """The next run restores value and source, and has nothing else to do."""
    _set_own(lab, 3, _BACKOFF, own)
    before = _own(lab, 3)
    process: Any = None

    def kill() -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    with lab.cluster.proxy.inject(After(kill), api_key=ApiKey.IncrementalAlterConfigs, times=1) as rule:
        process = operator.start("log_cleaner", brokers=[3], force=True)
        assert process.wait(60) == -signal.SIGKILL
    assert rule.hits
    wait_until(lambda: _own(lab, 3) != before, what="the first edit is in effect")

    foreseen = operator.run("log_cleaner", check_mode=True)
    assert foreseen["changed"]
    assert [each["undoing"] for each in foreseen["leftovers"]] == ["would_restore"]
    rerun = operator.run("log_cleaner")
    assert rerun["changed"]
    assert [each["undoing"] for each in rerun["leftovers"]] == ["restored"]
    assert _own(lab, 3) == before
    assert not operator.run("log_cleaner")["changed"]
    _set_own(lab, 3, _BACKOFF, None)


@pytest.mark.wide
@pytest.mark.on_any_version
def test_settings_are_changed_permanently(lab: CleanerCluster, operator: CleanerOperator) -> None:
    refused = operator.run("log_cleaner", state="configured", brokers=[3], settings={"threads": 3})
    assert "Kafka takes 1 to 2" in refused["msg"]
    # Without metrics a restart is verified by the config alone.
    forced = operator.run("log_cleaner", brokers=[3], force=True, metrics_source="none", metrics_url=None)
    assert _by_broker(forced, "verified_by") == {3: "config"}, forced
    assert _own(lab, 3) == {}
    wanted = {"threads": 2, "io_max_bytes_per_second": 5_000_000}
    done = operator.run("log_cleaner", state="configured", brokers=[3], settings=wanted)
    assert done["changed"], done
    assert _own(lab, 3) == {_THREADS: "2", "log.cleaner.io.max.bytes.per.second": "5000000.0"}
    assert not operator.run("log_cleaner", state="configured", brokers=[3], settings=wanted)["changed"]
    undone = operator.run("log_cleaner", state="configured", brokers=[3], unset=[*wanted])
    assert undone["diff"]["after"] == {"broker 3": {_THREADS: None, "log.cleaner.io.max.bytes.per.second": None}}
    assert _own(lab, 3) == {}


@pytest.mark.wide
@pytest.mark.on_any_version
def test_impossible_repairs_are_refused_with_remedies(lab: CleanerCluster, operator: CleanerOperator) -> None:
    lab.create("single", (2,))
    lab.create("pair", (2, 1))
    lab.create("strict", (2, 1, 3), {"min.insync.replicas": 3})
    lab.damaged("rotten", (2, 1, 3), 2, 1, 3)
    lab.cluster.proxy.clear()
    reported = operator.run(
        "log_cleaner_repair",
        brokers=[2],
        partitions=[{"topic": topic, "partition": 0} for topic in ("single", "pair", "strict", "rotten")],
    )
    reasons = {each["topic"]: (each["status"], each["reason"]) for each in reported["outcomes"]}
    assert {status for status, _reason in reasons.values()} == {"refused"}
    assert "add a replica on another broker" in reasons["single"][1]
    assert "allow_single_copy" in reasons["pair"][1]
    assert "allow_below_min_isr" in reasons["strict"][1]
    assert "DeleteRecords" in reasons["rotten"][1]
    assert all(text in reported["msg"] for _status, text in reasons.values())
    assert lab.cluster.proxy.write_requests() == []
    deleted = lab.admin.delete_topics(["rotten"])
    deleted["rotten"].result(30)
    wait_until(operator.is_healthy, 60, what="the marks went with the topic")


@pytest.mark.wide
@pytest.mark.on_any_version
def test_a_damaged_leader_is_no_source_and_replicas_are_repaired_one_by_one(
    lab: CleanerCluster, operator: CleanerOperator
) -> None:
    """Broker 2 leads. Its copy and that of broker 1 are damaged, and both are re-created from broker 3."""
    lab.damaged("half", (2, 1, 3), 2, 1)
    first = operator.run("log_cleaner_repair", brokers=[1, 2])
    found = {each["broker_id"]: (each["status"], each["source"]) for each in first["outcomes"]}
    assert found == {1: ("repaired", 3), 2: ("refused", None)}, first
    assert "run again" in first["msg"]
    second = operator.run("log_cleaner_repair", brokers=[1, 2])
    assert [(each["broker_id"], each["status"]) for each in second["outcomes"]] == [(2, "repaired")], second
    lab.assert_in_sync("half", (2, 1, 3))
    operator.assert_healthy(1, 2)


@pytest.mark.wide
def test_a_repair_that_times_out_is_undone_and_a_killed_repair_is_resumed(
    lab: CleanerCluster, operator: CleanerOperator
) -> None:
    """Threads that hang never clear a mark. They are alive, so the case is only stalled."""
    order = (3, 1, 2)
    lab.damaged("slow", order, 3)
    lab.hang_threads(3)
    options: dict[str, Any] = {"brokers": [3], "repair_timeout_ms": 12_000}
    timed_out = operator.run("log_cleaner_repair", **options)
    assert timed_out["summary"]["failed"] == 1, timed_out
    assert "still has the mark" in timed_out["msg"]
    assert "restored" in timed_out["msg"]
    lab.assert_in_sync("slow", order)
    assert pending_changes(lab.cluster) == ()
    assert all("throttled" not in name for name in _own(lab, 3))
    assert operator.diagnoses(brokers=[3], stalled_after_ms=1000, tolerated_uncleanable_partitions=1) == {3: "stalled"}

    lab.release_threads(3)
    wait_until(
        lambda: (
            operator.diagnoses(brokers=[3]) == {3: "uncleanable_partitions"}
            and operator.run("log_cleaner_info", brokers=[3])["brokers"][0]["time_since_last_run_ms"] < 2000
        ),
        60,
        what="the cleaner of broker 3 runs again, and has its mark",
    )
    # The mark is still there, because the replica was re-created before any pass of the cleaner.
    named: dict[str, Any] = {"brokers": [3], "partitions": [{"topic": "slow", "partition": 0}]}
    process: Any = None

    def kill_after_the_drop() -> None:
        if lab.drops(3):
            process.send_signal(signal.SIGKILL)
            process.wait()

    lab.cluster.proxy.clear()
    lab.cluster.proxy.inject(After(kill_after_the_drop), api_key=ApiKey.AlterPartitionReassignments)
    process = operator.start("log_cleaner_repair", force=True, **named)
    assert process.wait(60) == -signal.SIGKILL
    lab.cluster.proxy.clear()
    assert pending_changes(lab.cluster)
    wait_until(lambda: 3 not in lab.cluster.client.describe("slow")[0].replicas, what="the replica is dropped")
    resumed = operator.run("log_cleaner_repair", **named)
    assert resumed["leftovers"], resumed
    assert {each["undoing"] for each in resumed["leftovers"]} <= {"restored", "already_back"}, resumed
    assert "failed" not in resumed, resumed
    lab.assert_in_sync("slow", order, leader=3)
    assert operator.diagnoses(brokers=[3])[3] in WELL
    assert all("throttled" not in name for name in {*_own(lab, 3), *_own_of_topic(lab, "slow")})
    _assert_compacted(lab, "slow", 3)


@pytest.mark.wide
@pytest.mark.on_any_version
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics_url": "http://{host}:1/metrics?{broker_id}"}, "could not be reached"),
        ({"metrics_url": "http://{host}:1/metrics"}, "is the URL of brokers 1, 2, 3, and shows the metrics of one"),
        ({"metrics_url": "http://{hots}:1/metrics"}, "only {broker_id} and {host} are replaced"),
        ({"metrics_source": "jolokia"}, "is not JSON"),
    ],
    ids=["bad URL", "same URL", "bad template", "wrong payload"],
)
def test_a_wrong_metrics_source_is_explained(operator: CleanerOperator, options: dict[str, Any], said: str) -> None:
    reported = operator.run("log_cleaner_info", **options)
    assert reported["failed"]
    assert said in reported["msg"]


@pytest.mark.wide
@pytest.mark.on_any_version
def test_a_metrics_endpoint_that_is_too_slow(operator: CleanerOperator) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        reported = operator.run(
            "log_cleaner_info", metrics_url=f"http://{{host}}:{port}/metrics?{{broker_id}}", metrics_timeout_ms=300
        )
    assert "did not answer within 0.3 s" in reported["msg"]
    assert "broker 3: http://127.0.0.1" in reported["msg"]
