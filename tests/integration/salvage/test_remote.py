# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Salvages on a real HDFS and in an object store, read with Hadoop's own shell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.salvage.disks import read_rows, records
from integration.salvage.oracle import Oracle, in_short
from integration.salvage.test_replay import of_partition, returned, settled
from integration.salvage.wreck import BROKER_CODECS, LAST_LEADER, LEDGER
from lab import Cluster
from lab.hdfs import Hdfs
from lab.module_process import run_module
from lab.pool import STANDARD, ClusterPool
from lab.s3 import S3
from lab.scenarios import longer_log_of_older_epoch

pytestmark = pytest.mark.wide

_ZSTD = BROKER_CODECS["zstd"]
_OLDER = 50


Store = Hdfs | S3


@pytest.fixture(scope="module", params=[Hdfs, S3])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with request.param(tmp_path_factory.mktemp("store")) as started, pytest.MonkeyPatch.context() as patch:
        for name, value in started.environment.items():
            patch.setenv(name, value)
        yield started


def copied(store: Store, uri: str, target: Path) -> Path:
    """Copy a salvage with another client than the tested one, and compare it with its manifest."""
    store.copy(uri, target)
    manifest = json.loads((target / "manifest.json").read_bytes())
    digests = {f"records/{each['name']}": each["sha256"] for each in manifest["files"]}
    assert {name: hashlib.sha256((target / name).read_bytes()).hexdigest() for name in digests} == digests
    found = {str(each.relative_to(target)) for each in target.rglob("*") if each.is_file()}
    assert {each for each in found if not each.endswith(".crc")} == {"manifest.json", *digests}
    if isinstance(store, Hdfs):
        files = dict.fromkeys(("manifest.json", *digests), "-rw-------")
        assert store.modes(uri) == {"records": "drwx------", **files}
    return target


def test_records_of_a_disk_are_saved_and_given_back(store: Store, oracle: Oracle, tmp_path: Path) -> None:
    place = f"{store.uri}/incident/disk"
    where: dict[str, Any] = {"bootstrap_servers": [oracle.cluster.bootstrap()], "salvage_dir": place}
    disks = [str(each) for each in oracle.cluster.brokers[LAST_LEADER].data_dirs]
    saving = {**where, "log_dirs": disks, "topics": [_ZSTD]}
    saved = run_module("replica_log_salvage", saving)
    assert "msg" not in saved, saved["msg"]
    assert [each["status"] for each in saved["partitions"]] == ["saved"]
    lost = oracle.of("lost", _ZSTD)
    assert in_short(records(read_rows(copied(store, place, tmp_path / "copy")))) == in_short(lost)
    again = run_module("replica_log_salvage", saving)
    assert (again["changed"], again["partitions"][0]["status"]) == (False, "already_saved")
    other = run_module("replica_log_salvage", {**saving, "topics": [LEDGER]})
    assert f"{place} holds another salvage" in other["msg"]
    assert read_rows(copied(store, place, tmp_path / "afterwards")) == read_rows(tmp_path / "copy")
    info = run_module("salvage_info", {"salvage_dir": place})
    assert (info["salvage_id"], info["summary"]["records"]) == (saved["salvage_id"], len(lost))
    # The stores share the cluster, so that one gives back to the topic and one beside it.
    target, suffix = ("original", "") if isinstance(store, Hdfs) else ("side", ".salvaged")
    replaying = {**where, "target": target, "progress_topic": f"from-{target}"}
    given = run_module("salvage_replay", replaying)
    assert "msg" not in given, given["msg"]
    assert of_partition(given, _ZSTD)["given"] == len(lost)
    assert in_short(returned(oracle.cluster, [_ZSTD], suffix)) == in_short(settled(lost, "none"))
    if suffix:
        # The tests of replays, which have the same cluster, count the records in this topic.
        oracle.cluster.client.delete_topic(_ZSTD + suffix)


def test_a_directory_that_is_no_salvage_is_left_alone(store: Store, oracle: Oracle, tmp_path: Path) -> None:
    place = f"{store.uri}/incident/other"
    store.make_directory(f"{place}/records")
    disks = [str(each) for each in oracle.cluster.brokers[LAST_LEADER].data_dirs]
    options = {"bootstrap_servers": [oracle.cluster.bootstrap()], "log_dirs": disks, "topics": [_ZSTD]}
    refused = run_module("replica_log_salvage", {**options, "salvage_dir": place})
    assert f"{place} exists and is no finished salvage" in refused["msg"]
    store.copy(place, tmp_path / "copy")
    assert [each.name for each in (tmp_path / "copy").rglob("*")] == ["records"]


def test_records_of_live_losers_are_saved_or_nothing_is_elected(
    store: Store, clusters: ClusterPool, kafka_version: str, tmp_path: Path
) -> None:
    place = f"{store.uri}/incident/tails"
    with clusters.lease(STANDARD, kafka_version) as cluster:
        offline = longer_log_of_older_epoch(cluster, "tails", 2, records=(10, _OLDER, 5))
        where: dict[str, Any] = {"bootstrap_servers": [cluster.bootstrap()]}
        plan = str(tmp_path / "plan.json")
        wanted = [{"topic": offline.topic, "partitions": [0, 1]}]
        planned = run_module(
            "leader_candidate_info",
            {**where, "recovery_strategy": "aggressive", "partitions": wanted, "plan_file": plan},
        )
        assert "msg" not in planned, planned["msg"]
        electing = {**where, "plan_file": plan, "salvage": "required"}
        store.kill()
        refused = run_module("designated_election", {**electing, "salvage_dir": place})
        assert f"{place} could not be" in refused["msg"]
        assert "refused" in refused["msg"]
        assert leaders(cluster, offline.topic) == {None}
        store.start()
        elected = run_module("designated_election", {**electing, "salvage_dir": place})
        assert "msg" not in elected, elected["msg"]
        assert [(each["held_by_losers"], each["saved"]) for each in elected["salvage"]["partitions"]] == [
            (_OLDER, _OLDER)
        ] * 2
        assert leaders(cluster, offline.topic) == {offline.best}
        labels = [f"older-{number}" for number in range(_OLDER)]
        rows = read_rows(copied(store, place, tmp_path / "copy"))
        assert [row["value"].decode() for row in rows] == labels * 2
        given = run_module(
            "salvage_replay",
            {**where, "salvage_dir": place, "target": "original"},
        )
        assert "msg" not in given, given["msg"]
        for partition in offline.partitions:
            assert cluster.client.consume_all(offline.topic, partition)[-_OLDER:] == labels


def leaders(cluster: Cluster, topic: str) -> set[int | None]:
    return {each.leader for each in cluster.client.describe(topic).values()}
