# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Between a salvage and its replay, other leaders were elected: no record is written twice, none over a newer one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.salvage.disks import salvage
from integration.salvage.oracle import Oracle, read_all
from integration.salvage.test_replay import give_back, of_partition
from integration.salvage.wreck import PATIENT, PROPERTIES
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until

ORDERS, TABLE = "orders", "table"
KEYS = [b"key %d" % number for number in range(10)]
NEWER = KEYS[:3]


@dataclass(frozen=True)
class Saved:
    oracle: Oracle
    directory: Path
    disks: tuple[Path, ...]
    """A copy of broker 1's disks, made when it was dead."""


def elect(cluster: Cluster, topic: str, leader: int) -> None:
    def is_offline() -> bool:
        return cluster.client.describe(topic, broker=leader)[0].leader is None

    wait_until(is_offline, 60, what=f"{topic} is offline", interval=0.2)
    cluster.client.elect_unclean(topic, [0])
    wait_until(
        lambda: cluster.client.describe(topic, broker=leader)[0].leader == leader, 30, what=f"{leader} leads {topic}"
    )


@pytest.fixture(scope="module")
def saved(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Saved]:
    """Broker 1's disk is saved while broker 2 leads. Then broker 2 dies.

    Broker 1 leads ORDERS again, and has all records. Broker 3, which was down the whole time, leads TABLE: its log ends
    before the saved records begin, and it gets newer records of some keys there.
    """
    directory = tmp_path_factory.mktemp("held") / "saved"
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = Oracle(cluster)
        one = {"min.insync.replicas": 1, "retention.ms": -1}
        cluster.client.create_topic(ORDERS, {0: (1, 2)}, one)
        cluster.client.create_topic(TABLE, {0: (3, 1, 2)}, {**one, "cleanup.policy": "compact"})
        oracle.write("common", ORDERS, 0, 10)
        oracle.write_keys("common", TABLE, 0, [b"other"] * 5)
        wait_isr(cluster, [TABLE], {1, 2, 3}, seen_by=1)
        cluster.brokers[3].kill()
        wait_isr(cluster, [TABLE], {1, 2}, seen_by=1)
        oracle.write_keys("common", TABLE, 0, [b"other"] * 15)
        cluster.brokers[2].kill()
        wait_isr(cluster, [ORDERS, TABLE], {1}, seen_by=1)
        oracle.write("lost", ORDERS, 0, 18)
        oracle.write_keys("lost", TABLE, 0, KEYS)
        cluster.brokers[1].kill()
        cluster.brokers[2].start()
        for each in (ORDERS, TABLE):
            elect(cluster, each, 2)
        disks = tuple(directory.with_name(each.name) for each in cluster.brokers[1].data_dirs)
        for source, target in zip(cluster.brokers[1].data_dirs, disks, strict=True):
            shutil.copytree(source, target)
        salvage(cluster, directory, log_dirs=cluster.brokers[1].data_dirs)
        oracle.write("after", ORDERS, 0, 3)
        cluster.brokers[2].kill()
        cluster.brokers[1].start()
        cluster.brokers[3].start()
        elect(cluster, ORDERS, 1)
        elect(cluster, TABLE, 3)
        oracle.write_keys("newer", TABLE, 0, [*NEWER, *[b"other"] * 30])
        yield Saved(oracle, directory, disks)


@pytest.mark.wide
def test_nothing_is_written_that_the_topic_has_again(saved: Saved) -> None:
    cluster = saved.oracle.cluster
    before = read_all(cluster, ORDERS, [0])
    assert {each.value for each in saved.oracle.of("lost", ORDERS)} <= {each.value for each in before}
    for check_mode in (True, False):
        result = give_back(cluster, saved.directory, topics=[ORDERS], target="original", check_mode=check_mode)
        row = of_partition(result, ORDERS)
        assert (row["status"], row["to_give"], row["left_out"]) == ("nothing_left", 0, {"held": 18})
        assert not result["changed"]
        assert result["account"]["total"]["still_lost"] == 0
    assert read_all(cluster, ORDERS, [0]) == before


@pytest.mark.wide
def test_a_side_topic_gets_all_records_and_a_warning(saved: Saved) -> None:
    result = give_back(saved.oracle.cluster, saved.directory, topics=[ORDERS], progress_topic="side")
    assert of_partition(result, ORDERS)["given"] == 18
    assert any("broker 1, the leader, holds 18 of the saved records again" in str(each) for each in result["warnings"])


@pytest.mark.wide
def test_newer_keys_below_the_saved_offsets_are_kept(saved: Saved) -> None:
    """The leader's log ended at offset 5 when it was elected, and the saved records begin at offset 20."""
    cluster = saved.oracle.cluster
    assert min(each.offset for each in saved.oracle.of("newer", TABLE)) < 20
    result = give_back(cluster, saved.directory, topics=[TABLE], target="original", include_compacted=True)
    assert "msg" not in result, result["msg"]
    assert of_partition(result, TABLE)["left_out"] == {"newer_key": len(NEWER)}
    newest = {each.key: each.value for each in read_all(cluster, TABLE, [0])}
    of_all = {label: {each.key: each.value for each in saved.oracle.of(label, TABLE)} for label in ("lost", "newer")}
    assert newest == of_all["lost"] | of_all["newer"]


@pytest.mark.wide
def test_records_that_two_salvages_have_are_given_back_once(saved: Saved, tmp_path: Path) -> None:
    """Brokers 1 and 2 both hold 15 records that broker 3 lacks, and broker 1 holds 10 more."""
    cluster = saved.oracle.cluster
    salvage(cluster, tmp_path / "two", log_dirs=cluster.brokers[2].data_dirs, topics={TABLE})
    salvage(cluster, tmp_path / "one", log_dirs=saved.disks, topics={TABLE})
    first = give_back(cluster, tmp_path / "two", topics=[TABLE], progress_topic="two")
    second = give_back(cluster, tmp_path / "one", topics=[TABLE], progress_topic="two")
    assert (first["summary"]["given"], second["summary"]["given"]) == (15, len(KEYS))
    lost = [each for label in ("common", "lost") for each in saved.oracle.of(label, TABLE) if each.offset >= 5]
    found = read_all(cluster, f"{TABLE}.salvaged", [0])
    assert sorted((each.key, each.value) for each in found) == sorted((each.key, each.value) for each in lost)
