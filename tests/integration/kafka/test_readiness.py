# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The readiness of a real cluster: green if it is healthy, red with the broker's name if not, and no writes."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    Address,
    ConnectionSettings,
    ControllerListeners,
    settings_from,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import (
    RED,
    Check,
    CheckName,
    CheckStatus,
    Readiness,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.inspection import (
    ReadinessOptions,
    check_readiness,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.write_test import try_own_topics
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import Question
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.taking import TicketTerms, take_ticket
from lab import Cluster, wait_until
from lab.changes import Run
from lab.playbook import run_playbook
from lab.pool import STANDARD, ClusterPool

PLAYBOOK = "kafkaops.recovery.check_readiness"
SAFE = {"min.insync.replicas": 2}


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    with clusters.lease(STANDARD, kafka_version) as leased:
        leased.client.create_topic("orders", {0: [1, 2, 3], 1: [2, 3, 1]}, SAFE)
        yield leased


def settings_of(cluster: Cluster) -> ConnectionSettings:
    return settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 3000})


def look(cluster: Cluster, directory: Path) -> Readiness:
    """Check the cluster from this process."""
    controllers = tuple(Address(each.host, each.ports["CONTROLLER"]) for each in cluster.controllers.values())
    options = ReadinessOptions(
        journal=JournalOptions(),
        memory_topic="_kafkaops_leadership",
        evidence_dir=str(directory),
        salvage_dir=str(directory),
    )
    with Wire(settings_of(cluster), ControllerListeners(controllers)) as wire:
        return check_readiness(Kafka(wire), options)


def of(found: Readiness, name: CheckName) -> list[Check]:
    return [each for each in found.checks if each.name is name]


@pytest.mark.on_every_version
def test_a_healthy_cluster_is_green_and_nothing_is_written(cluster: Cluster, tmp_path: Path) -> None:
    found = look(cluster, tmp_path)
    assert [each for each in found.checks if each.status in RED] == []
    assert found.is_ready
    assert {each.name for each in found.checks} == {*CheckName}
    assert [each.offline_partitions for each in found.broker_losses] == [0, 0, 0]
    assert cluster.proxy.write_requests() == []
    checks = [each for each in cluster.proxy.requests() if each.api_key == ApiKey.CreateTopics]
    assert checks
    assert all(each.payload.endswith(b"\x01\x00") for each in checks), "validate_only"
    assert look(cluster, tmp_path).is_ready, "nothing was created"


def test_the_replication_factor_bounds_min_insync_replicas(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("strict", {0: [1, 2]}, {"min.insync.replicas": 3})
    cluster.client.produce("strict", 0, 1)  # with acks=all
    found = look(cluster, tmp_path)
    assert [each for each in found.checks if each.status in RED] == []
    (min_isr,) = of(found, CheckName.MIN_INSYNC_REPLICAS)
    assert (min_isr.status, "strict" in min_isr.found) == (CheckStatus.WARNING, True)


def test_what_a_dead_broker_means_is_named(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("fragile", {0: [2]})
    cluster.brokers[3].kill()
    found = look(cluster, tmp_path)
    assert not found.is_ready
    assert [(each.subject, each.status) for each in of(found, CheckName.BROKERS) if each.status in RED] == [
        ("broker 3", CheckStatus.FAILED)
    ]
    losses = {each.broker_id: each for each in found.broker_losses}
    assert losses.keys() == {1, 2}
    assert (losses[2].unrecoverable_partitions, losses[2].unrecoverable) == (1, "fragile 0")


def test_leftovers_and_settings_are_found(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("loose", {0: [1, 2, 3]}, {"unclean.leader.election.enable": "true"})
    cluster.client.create_topic("__CruiseControlMetrics", {0: [1, 2, 3]}, SAFE)
    run = Run.start(cluster)
    assert run.do("begin") == "done"
    run.signal(signal.SIGKILL)
    run.end()
    found = look(cluster, tmp_path)
    (left, *_notes) = of(found, CheckName.LEFTOVERS)
    assert left.status is CheckStatus.FAILED
    (unclean,) = of(found, CheckName.UNCLEAN_ELECTION)
    assert (unclean.status, "loose" in unclean.found) == (CheckStatus.WARNING, True)
    (party,) = of(found, CheckName.OTHER_PARTIES)
    assert (party.status, "Cruise Control" in party.found) == (CheckStatus.WARNING, True)


def test_nobody_answers(tmp_path: Path) -> None:
    settings = settings_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout_ms": 500})
    with Wire(settings) as wire:
        found = check_readiness(Kafka(wire), ReadinessOptions(journal=JournalOptions(), memory_topic="m"))
    assert (found.cluster_id, found.is_ready) == (None, False)
    assert {each.name for each in found.checks} == {*CheckName}


def test_the_playbook_reports_by_its_exit_status(cluster: Cluster, tmp_path: Path) -> None:
    variables = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "kafka_request_timeout_ms": 3000,
    }
    write = {"readiness_write_record": "true"}
    green = run_playbook(PLAYBOOK, variables | write | {"readiness_report_html": str(tmp_path / "green.html")})
    assert green.returncode == 0, green.output
    assert "GREEN: a recovery would work" in green.words
    assert green.counts["changed"] == 0
    report = json.loads((tmp_path / "green.html.json").read_text(encoding="utf-8"))
    assert report["isReady"]
    found = {each["found"] for each in report["checks"] if each["name"] == "journal"}
    assert found >= {
        "a record was written to it and read back. Then it was deleted",
        "topic _kafkaops_run can be created",
    }
    assert "A recovery would work" in (tmp_path / "green.html").read_text(encoding="utf-8")
    cluster.brokers[3].kill()
    red = run_playbook(PLAYBOOK, variables | {"readiness_report_file": str(tmp_path / "red.json")})
    assert red.returncode != 0
    assert "RED:" in red.words
    assert "not ready for a recovery: brokers" in red.words


def test_a_record_is_written_to_our_own_topics_and_read_back(cluster: Cluster) -> None:
    """The topic of the memory refuses records: no check that only reads notices."""
    memory = "_kafkaops_leadership"
    cluster.client.create_topic(memory, {0: [1, 2, 3]}, {"cleanup.policy": "compact", "max.message.bytes": 1})
    try:
        (looked,) = _try_to_write(cluster, memory, check_mode=True)
        assert (looked.status, "no record was written" in looked.found) == (CheckStatus.OK, True)
        assert cluster.proxy.write_requests() == []
        journal, red = _try_to_write(cluster, memory)
        assert (journal.status, journal.subject) == (CheckStatus.OK, "topic _kafkaops_run")
        assert (red.status, red.subject) == (CheckStatus.FAILED, f"topic {memory}")
        assert "a drain could not write to it" in red.found
        cluster.client.delete_topic(memory)
        cluster.client.create_topic(memory, {0: [1, 2, 3]}, {"cleanup.policy": "compact"})
        assert [each.status for each in _try_to_write(cluster, memory)] == [CheckStatus.OK, CheckStatus.OK]
        leader = cluster.client.leader(memory)
        assert leader is not None
        assert cluster.client.log_end_offset(memory, 0, leader) == 1
    finally:
        cluster.client.delete_topic(memory)


def test_a_ticket_is_no_reason_to_delete_the_journal(cluster: Cluster) -> None:
    terms = TicketTerms(owner="another person", minutes=5, wait_s=60.0, journal=JournalOptions(), check_mode=False)
    with Wire(settings_of(cluster)) as wire:
        kafka = Kafka(wire)
        assert take_ticket(kafka, Question(((2,),)), terms).reasons == ()
        ticket, journal, _memory = try_own_topics(kafka, JournalOptions(), "_kafkaops_leadership", check_mode=False)
    try:
        assert "broker 2 is being stopped by another person" in ticket.found
        assert (ticket.status, "delete" in ticket.remedy, "check_stop" in ticket.remedy) == (
            CheckStatus.WARNING,
            False,
            True,
        )
        assert journal.status is CheckStatus.OK
    finally:
        cluster.client.delete_topic("_kafkaops_stops")


def _try_to_write(cluster: Cluster, memory: str, *, check_mode: bool = False) -> tuple[Check, ...]:
    with Wire(settings_of(cluster)) as wire:
        return try_own_topics(Kafka(wire), JournalOptions(), memory, check_mode=check_mode)


@pytest.mark.wide
def test_a_removed_broker_that_is_still_registered_is_a_warning(clusters: ClusterPool, tmp_path: Path) -> None:
    with clusters.lease(STANDARD, "4.3.1") as cluster:
        cluster.client.create_topic("elsewhere", {0: [1, 2]}, {"min.insync.replicas": 1})
        cluster.brokers[3].stop()
        wait_until(
            lambda: _brokers_of(look(cluster, tmp_path), CheckStatus.WARNING) == ["broker 3"], 30, what="it is fenced"
        )
        found = look(cluster, tmp_path)
        assert not [each for each in found.checks if each.name is CheckName.BROKERS and each.status in RED]
        (told,) = (each for each in found.checks if each.subject == "broker 3")
        assert told.remedy.endswith(f"kafka-cluster.sh unregister --bootstrap-server {cluster.bootstrap()} --id 3")
        _command, *words = shlex.split(told.remedy.partition("unregister it: ")[2])
        cluster.client.run_tool("org.apache.kafka.tools.ClusterTool", *words).check_returncode()
        wait_until(lambda: not _brokers_of(look(cluster, tmp_path), CheckStatus.WARNING), 30, what="it is unregistered")


def _brokers_of(found: Readiness, status: CheckStatus) -> list[str]:
    return [each.subject for each in found.checks if each.name is CheckName.BROKERS and each.status is status]
