# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A streams group (KIP-1071) whose offset is beyond the log end: like a consumer group, and never while it lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.groups.lost_tails import ONE_PARTITION, ONLINE, commit, committed
from integration.groups.streams_member import join, leave
from lab import Cluster, settings
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_GROUP = "streams"


@pytest.mark.wide
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_a_streams_group_gets_its_offset_only_without_members(version: str, tmp_path: Path) -> None:
    with Cluster(version, brokers=1, properties=ONE_PARTITION, proxied=True) as cluster:
        cluster.client.create_topic(ONLINE, {0: [1]}, {"min.insync.replicas": 1})
        cluster.client.produce(ONLINE, 0, 5)
        commit(cluster, "first one", 5)
        join(cluster, _GROUP, ONLINE)
        leave(cluster, _GROUP)
        commit(cluster, _GROUP, 100)
        tool = "org.apache.kafka.tools.streams.StreamsGroupCommand"
        listed = cluster.client.run_tool(tool, "--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "--list")
        assert listed.stdout.split() == [_GROUP], "it is a streams group for Kafka's own tool"
        given: dict[str, object] = {"kafka_bootstrap_servers": cluster.bootstrap()}
        go = {**given, "group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}

        join(cluster, _GROUP, ONLINE)
        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, given)
        assert look.returncode == 2, look.output
        assert f"has members {_GROUP} at {ONLINE}-0" in look.words, look.output
        assert cluster.proxy.write_requests() == []
        alive = run_playbook(_PLAYBOOK, go)
        assert alive.returncode == 2, alive.output
        assert "has members" in alive.words, alive.output
        assert committed(cluster, _GROUP) == 100

        leave(cluster, _GROUP)
        done = run_playbook(_PLAYBOOK, go)
        assert done.returncode == 0, done.output
        assert committed(cluster, _GROUP) == 5
        assert run_playbook(_PLAYBOOK, given).returncode == 0
        # The group can go on: it is still a streams group.
        join(cluster, _GROUP, ONLINE)
