# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tail of __share_group_state is lost: a share group starts again where the dead broker's disk says.

Kafka's own console consumer is a member of the group.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import ShareConsumer

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from integration.groups.killed import run_killed_before_each_write
from integration.groups.lost_tails import (
    FIRST,
    GROUPS,
    ONE_PARTITION,
    ONLINE,
    SHARE,
    accept,
    describe_share,
    lose,
    share,
    share_elsewhere,
)
from integration.on_call import OnCall
from integration.salvage.disks import salvage
from lab import Cluster, settings, wait_until
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"


def go_back(cluster: Cluster, directory: Path) -> tuple[list[int], int]:
    """Let a share group go back to its third record, and save what it had done. Return who leads the rest."""
    dead, followers, witness = share_elsewhere(cluster, kept=3)
    lose(OnCall(cluster, directory), SHARE, dead, followers, witness)
    salvage(cluster, directory / "saved", log_dirs=cluster.brokers[dead].data_dirs)
    return followers, witness


@pytest.mark.wide
@pytest.mark.parametrize("with_salvage", [True, False])
@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_a_share_group_gets_its_start_offset_back(version: str, with_salvage: bool, tmp_path: Path) -> None:
    with Cluster(version, brokers=4, properties=ONE_PARTITION, proxied=True) as cluster:
        dead, followers, witness = share_elsewhere(cluster)
        lose(OnCall(cluster, tmp_path), SHARE, dead, followers, witness)
        given: dict[str, object] = {"kafka_bootstrap_servers": cluster.bootstrap()}
        if with_salvage:
            salvage(cluster, tmp_path / "saved", log_dirs=cluster.brokers[dead].data_dirs)
            given["group_recovery_salvage_dir"] = str(tmp_path / "saved")

        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, given)
        assert look.returncode == 2, look.output
        assert f"queue {ONLINE}-0 no state" in look.words, look.output
        assert cluster.proxy.write_requests() == []
        go = {**given, "group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}
        run = run_playbook(_PLAYBOOK, go)
        assert run.returncode == 0, run.output
        cluster.client.produce(ONLINE, 0, 3)
        described = describe_share(cluster)
        expected = 7 if with_salvage else 0
        assert re.search(rf"queue\s+{ONLINE}\s+0\s+{expected}\b", described), described
        assert share(cluster, ONLINE, 10 - expected) == 10 - expected
        assert run_playbook(_PLAYBOOK, given).returncode == 0


@pytest.mark.wide
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_a_share_group_that_went_back_is_given_back_unless_it_has_done_more_since(version: str, tmp_path: Path) -> None:
    with Cluster(version, brokers=4, properties=ONE_PARTITION, proxied=True) as cluster:
        go_back(cluster, tmp_path)
        given: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_salvage_dir": str(tmp_path / "saved"),
        }
        go = {**given, "group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}

        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, given)
        assert look.returncode == 2, look.output
        # Its start offset is late. Of the 7 records that it had done, its state has 3.
        assert f"queue {ONLINE}-0 went back would give back 0 7 7" in look.words, look.output
        assert run_playbook(_PLAYBOOK, go, "--check", "--diff").returncode == 0
        assert cluster.proxy.write_requests() == []
        with a_member(cluster, FIRST):
            alive = run_playbook(_PLAYBOOK, go)
        assert alive.returncode == 2, alive.output
        assert "has members" in alive.words, alive.output
        assert start_offset(cluster) == 0, "a group with members is untouched"

        wait_until(lambda: "Stable" not in describe_share(cluster, "--state"), 60, what="its member has left")
        options = {
            "bootstrap_servers": [cluster.bootstrap()],
            "salvage_dir": str(tmp_path / "saved"),
            "apply": True,
            "undo_file": str(tmp_path / "before"),
        }
        deaths, _last = run_killed_before_each_write(cluster, options)
        assert "AlterShareGroupOffsets" in deaths
        assert start_offset(cluster) == 7
        assert (tmp_path / "before.share-groups").read_text("utf-8") == f"queue,{ONLINE},0,0\n"
        cluster.proxy.clear()
        again = run_playbook(_PLAYBOOK, go)
        assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
        assert cluster.proxy.write_requests() == []
        cluster.client.produce(ONLINE, 0, 3)
        assert share(cluster, ONLINE, 3) == 3
        assert run_playbook(_PLAYBOOK, given).returncode == 0

        # It goes back once more, and then does a record that a higher start offset would deliver again.
        reset(cluster, 3)
        accept(cluster, ONLINE, {8}, among=7)
        stays = run_playbook(_PLAYBOOK, go)
        assert (stays.returncode, stays.counts["changed"]) == (0, 0), stays.output
        assert f"queue {ONLINE}-0 went back left alone 3 7 7" in stays.words, stays.output
        assert "somebody has reset or deleted its start offset since the election" in stays.words
        assert start_offset(cluster) == 3


@pytest.mark.wide
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", ["4.3.1"])
def test_several_partitions_of_the_state_are_lost_at_once(version: str, tmp_path: Path) -> None:
    properties = {**ONE_PARTITION, "share.coordinator.state.topic.num.partitions": 3}
    with Cluster(version, brokers=4, properties=properties, proxied=True) as cluster:
        dead, followers, witness = share_elsewhere(cluster, 3, partitions=5, states=3)
        lose(OnCall(cluster, tmp_path), SHARE, dead, followers, witness)
        salvage(cluster, tmp_path / "saved", log_dirs=cluster.brokers[dead].data_dirs)
        for each in range(4):
            cluster.client.produce(ONLINE, each, 2)
        # An operator lets the group read one partition again.
        reset(cluster, 2, 4)
        given: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_salvage_dir": str(tmp_path / "saved"),
        }
        plan = tmp_path / "plan.json"
        look = run_playbook(_PLAYBOOK, {**given, "group_recovery_manual_output_file": str(plan)})
        assert look.returncode == 2, look.output
        steps = json.loads(plan.read_text("utf-8"))["commits"]
        assert [(each["partition"], each["target"], each["choice"]) for each in steps] == [
            *((each, 7, "give_back") for each in range(4)),
            (4, 7, "leave_alone"),
        ]
        go = {"group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}
        run = run_playbook(
            _PLAYBOOK,
            {"kafka_bootstrap_servers": cluster.bootstrap(), "group_recovery_plan_file": str(plan), **go},
        )
        assert run.returncode == 0, run.output
        assert [start_offset(cluster, each) for each in range(5)] == [7, 7, 7, 7, 2]
        cluster.proxy.clear()
        again = run_playbook(_PLAYBOOK, {**given, **go})
        assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
        assert cluster.proxy.write_requests() == []
        named = run_playbook(_PLAYBOOK, {**given, **go, "group_recovery_overwrite_groups": "queue"})
        assert named.returncode == 0, named.output
        assert start_offset(cluster, 4) == 7
        assert share(cluster, ONLINE, 8) == 8


@pytest.mark.wide
@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_a_share_group_that_nobody_lists_is_named(version: str, tmp_path: Path) -> None:
    with Cluster(version, brokers=4, properties=ONE_PARTITION, proxied=True) as cluster:
        followers, witness = go_back(cluster, tmp_path)
        # As after a lost tail of __consumer_offsets, which has the group: its state is not deleted.
        cluster.client.delete_topic(GROUPS)
        cluster.client.create_topic(GROUPS, {0: [witness]}, {"min.insync.replicas": 1, "cleanup.policy": "compact"})
        for each in (*followers, witness):
            cluster.brokers[each].kill()
            cluster.brokers[each].start()
        given = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_salvage_dir": str(tmp_path / "saved"),
        }
        look = run_playbook(_PLAYBOOK, given)
        assert look.returncode == 2, look.output
        assert "queue no coordinator lists this share group to us, and its state is still there" in look.words, (
            look.output
        )
        # That is so: Kafka gives a new group of this name nothing.
        cluster.client.produce(ONLINE, 0, 3)
        with pytest.raises(TimeoutError):
            accept(cluster, ONLINE, range(10), among=1)


def start_offset(cluster: Cluster, partition: int = 0) -> int:
    """Return what Kafka's own tool says of a partition of ``ONLINE``."""
    described = describe_share(cluster)
    found = re.search(rf"queue\s+{ONLINE}\s+{partition}\s+(\d+)", described)
    assert found, described
    return int(found[1])


def reset(cluster: Cluster, offset: int, partition: int = 0) -> None:
    """Set the start offset of a partition. Kafka's own tool knows only its earliest and latest one."""
    with Wire(settings_from({"bootstrap_servers": cluster.bootstrap()})) as wire:
        kafka = Kafka(wire)
        addresses = kafka.describe_cluster().unfenced.values()
        coordinator = next(each for each in addresses if kafka.share_group_states(each))
        assert kafka.set_share_start_offsets(coordinator, "queue", {TopicPartition(ONLINE, partition): offset}) == {
            TopicPartition(ONLINE, partition): None
        }


@contextmanager
def a_member(cluster: Cluster, topic: str) -> Iterator[None]:
    """Keep a member in the group that reads another topic."""
    member = ShareConsumer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": "queue"})
    member.subscribe([topic])

    def is_member() -> bool:
        member.poll(1.0)
        return "Stable" in describe_share(cluster, "--state")

    wait_until(is_member, 60, what="the group has a member")
    try:
        yield
    finally:
        member.close()
