# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last member of the ISR returned with an empty disk and leads, while the good copies are on stopped brokers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Position

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import PREFERRED, elect
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from integration.history.alone import controllers_at
from integration.on_call import OnCall
from lab import Cluster, settings, wait_until
from lab.module_process import run_module
from lab.playbook import RECOVER, run_playbook

_TOPIC, _UNUSED, _OFFLINE = "last_copies", "unused", "offline"
_REPLACED, _STOPPED = 1, (2, 3)
_RECORDS, _MORE = 100, 900


@pytest.mark.parametrize("written_since", [0, pytest.param(7, marks=pytest.mark.wide)])
def test_the_good_copies_are_saved_before_they_are_started(
    kafka_version: str, tmp_path: Path, written_since: int
) -> None:
    with Cluster(kafka_version, brokers=3) as cluster:
        _stop_all(cluster)
        cluster.brokers[_REPLACED].wipe()
        _lead_again(cluster, tmp_path)
        if written_since:
            cluster.client.produce(_TOPIC, 0, written_since, label="since")
        connection = {"bootstrap_servers": [cluster.bootstrap()]}

        wanted = {**connection, "partitions": [{"topic": _TOPIC, "partitions": [0]}]}
        found = run_module("offline_partition_info", wanted)
        assert (found["summary"]["offline"], found["summary"]["unknown"], found["led_by_replaced"]) == (0, 1, 1)
        (row,) = found["left_alone"]
        assert (row["status"], row["leader_before"]) == ("unknown", _REPLACED)
        assert "its disk seems to have been replaced. Brokers 2, 3 may hold the records" in row["reason"]
        recovered = run_module("unclean_recovery", wanted)
        assert "its disk seems to have been replaced" in recovered["msg"]
        assert recovered["led_by_replaced"] == 1
        # A partition without a leader waits for one of these brokers.
        looked = run_playbook(RECOVER, {"kafka_bootstrap_servers": cluster.bootstrap()}).words
        assert "save the records that only their disks may hold" in looked.partition(f"Start broker {_STOPPED[0]}")[0]

        checks = run_module("readiness_info", connection)["checks"]
        about = [each for each in checks if "disk seems to have been replaced" in each["found"]]
        assert [each["status"] for each in about] == ["failed"]
        assert "Save the disks of brokers 2, 3 before you start them" in about[0]["remedy"]
        for each in checks:
            assert each["name"] not in ("brokers", "partitions") or not each["remedy"].startswith("Start")

        gate = run_module("stop_gate", {**connection, "brokers": [_REPLACED]})
        assert "its disk seems to have been replaced" in json.dumps(gate)
        assert "save the disks of brokers 2, 3 (playbook kafkaops.recovery.salvage_logs), then start" in json.dumps(
            gate
        )

        copies = run_module("redundancy", {**connection, "all_under_replicated": True})
        assert any("its disk seems to have been replaced" in each for each in copies["notes"]), copies["notes"]

        saving = {**connection, "salvage_dir": str(tmp_path / "saved")}
        dirs = [str(each) for each in cluster.brokers[_STOPPED[0]].data_dirs]
        saved = run_module("replica_log_salvage", {**saving, "log_dirs": dirs, "topics": [_TOPIC]})
        assert saved["summary"]["saved_records"] == _RECORDS, saved
        for each in _STOPPED:
            cluster.brokers[each].start()
        wait_until(
            lambda: cluster.client.log_end_offset(_TOPIC, 0, _STOPPED[0]) == written_since, 60, what="they truncated"
        )
        given = run_module("salvage_replay", {**saving, "target": "original"})
        assert "msg" not in given, given["msg"]
        assert len({*cluster.client.consume_all(_TOPIC, 0)}) == _RECORDS + written_since
        again = run_module("offline_partition_info", wanted)
        assert (again["led_by_replaced"], again["summary"]["already_online"]) == (0, 1)


@pytest.mark.wide
def test_a_leader_whose_disk_is_an_older_copy_is_found_by_a_commit_beyond_its_end(kafka_version: str) -> None:
    with Cluster(kafka_version, brokers=3, properties={"offsets.topic.num.partitions": 1}) as cluster:
        _restore_an_older_copy(cluster)
        connection = {"bootstrap_servers": [cluster.bootstrap()]}
        wanted = {**connection, "partitions": [{"topic": _TOPIC, "partitions": [0]}]}
        found = run_module("offline_partition_info", wanted)
        assert (found["summary"]["unknown"], found["led_by_replaced"]) == (1, 1)
        (row,) = found["left_alone"]
        assert f"group readers committed offset {_RECORDS + 50}, and the log ends at {_RECORDS}" in row["reason"]
        assert "Brokers 2, 3 may hold the records" in row["reason"]
        checks = run_module("readiness_info", connection)["checks"]
        assert any("its disk seems to be an older copy" in each["found"] for each in checks)
        assert any("Save the disks of brokers 2, 3 before you start them" in each["remedy"] for each in checks)
        given_up = run_module("unclean_recovery", {**wanted, "lost_brokers": [*_STOPPED]}, check_mode=True)
        assert given_up["led_by_replaced"] == 0, "the operator has declared that no other copy is left"


def _restore_an_older_copy(cluster: Cluster) -> None:
    """Let the first broker lead alone, with the log that it had when the partition ended at _RECORDS."""
    client, broker, other = cluster.client, cluster.brokers[_REPLACED], _STOPPED[0]
    client.create_topic(_TOPIC, {0: [_REPLACED, *_STOPPED]}, {"min.insync.replicas": 1})
    client.produce(_TOPIC, 0, _RECORDS)
    broker.stop()
    (disk,) = broker.data_dirs
    image = shutil.copytree(disk, cluster.work_dir / "image")
    broker.start()
    wait_until(lambda: _REPLACED in client.describe(_TOPIC, broker=other)[0].isr, 60, what="it is in sync again")
    client.produce(_TOPIC, 0, _MORE)
    for each in _STOPPED:
        cluster.brokers[each].stop()
    wait_until(lambda: client.describe(_TOPIC, broker=_REPLACED)[0].isr == (_REPLACED,), 60, what="it is alone")
    with Consumer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": "readers"}) as reader:
        reader.commit(offsets=[Position(_TOPIC, 0, _RECORDS + 50)], asynchronous=False)
    broker.stop()
    shutil.rmtree(disk / f"{_TOPIC}-0")
    shutil.copytree(image / f"{_TOPIC}-0", disk / f"{_TOPIC}-0")
    for checkpoint in image.glob("*-offset-checkpoint"):
        shutil.copy(checkpoint, disk / checkpoint.name)
    broker.start()
    wait_until(lambda: client.leader(_TOPIC) == _REPLACED, 60, what="it leads")
    assert client.log_end_offset(_TOPIC, 0, _REPLACED) == _RECORDS


@pytest.mark.wide
def test_an_old_disk_with_an_unused_partition_is_no_finding(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=3) as cluster:
        _stop_all(cluster)
        _lead_again(cluster, tmp_path)
        wanted = [{"topic": each, "partitions": [0]} for each in (_TOPIC, _UNUSED)]
        found = run_module("offline_partition_info", {"bootstrap_servers": [cluster.bootstrap()], "partitions": wanted})
        assert (found["led_by_replaced"], found["summary"]["already_online"]) == (0, 2)
        remedies = _remedies(run_module("readiness_info", {"bootstrap_servers": [cluster.bootstrap()]}))
        assert any(each.startswith("Start") for each in remedies)
        assert not any("Save" in each for each in remedies)


def _remedies(result: dict[str, Any]) -> list[str]:
    return [each["remedy"] for each in result["checks"] if each["name"] in ("brokers", "partitions")]


def _stop_all(cluster: Cluster) -> None:
    """Stop all brokers cleanly, the first one last: it is the only member of the ISR then."""
    client = cluster.client
    for topic in (_TOPIC, _UNUSED):
        client.create_topic(topic, {0: [_REPLACED, *_STOPPED]}, {"min.insync.replicas": 1})
    client.create_topic(_OFFLINE, {0: [_STOPPED[0]]}, {"min.insync.replicas": 1})
    client.produce(_TOPIC, 0, _RECORDS)
    for each in _STOPPED:
        cluster.brokers[each].stop()
    wait_until(
        lambda: all(client.describe(each, broker=_REPLACED)[0].isr == (_REPLACED,) for each in (_TOPIC, _UNUSED)),
        60,
        what="it is alone in the ISR",
    )
    cluster.brokers[_REPLACED].stop()


def _lead_again(cluster: Cluster, directory: Path) -> None:
    """Start the first broker. Before 4.0, with a new disk, it leads after the next change of the partition."""
    cluster.brokers[_REPLACED].start()

    def is_led() -> bool:
        asked = [TopicPartition(topic, 0) for topic in (_TOPIC, _UNUSED)]
        with Wire(OnCall(cluster, directory).settings) as wire:
            elect(wire, Address(cluster.host, cluster.brokers[_REPLACED].port), PREFERRED, asked)
        return all(cluster.client.leader(each.topic) == _REPLACED for each in asked)

    wait_until(is_led, 60, what="it leads", interval=2)


@pytest.mark.wide
def test_an_unused_partition_with_one_replica_left_is_well_if_its_broker_ran_on(kafka_version: str) -> None:
    with Cluster(kafka_version, brokers=3) as cluster:
        cluster.client.create_topic(_UNUSED, {0: [2, 1, 3]})
        for each in (2, 3):
            cluster.brokers[each].kill()
        wait_until(
            lambda: cluster.client.describe(_UNUSED, broker=1)[0].isr == (1,), 60, what="broker 1 leads it alone"
        )
        wanted = {"bootstrap_servers": [cluster.bootstrap()], "bootstrap_controllers": [controllers_at(cluster)]}
        without = {**wanted, "bootstrap_controllers": ["127.0.0.1:1"]}
        # The only log of its directory is empty, in the second leader epoch.
        (unproven,) = run_module("offline_partition_info", without)["left_alone"]
        assert "its disk seems to have been replaced" in unproven["reason"]
        assert "(the metadata log may know better, but: " in unproven["reason"]
        found = run_module("offline_partition_info", wanted)
        assert (found["led_by_replaced"], found["left_alone"]) == (0, []), found

        # The directory id is the same, and that proves nothing.
        cluster.brokers[1].restart()
        (row,) = run_module("offline_partition_info", wanted)["left_alone"]
        assert "its disk seems to have been replaced" in row["reason"]
