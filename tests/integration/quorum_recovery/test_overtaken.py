# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller that is left does not know that a broker was stopped: it would let that broker lead with an older log.

Two brokers have 50 records more, all of acks=all. The look names that broker, and if it starts last, nothing
is lost.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from integration.quorum_recovery.site import Site, lose
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until
from lab.playbook import RECOVER, run_playbook

pytestmark = [pytest.mark.timeout(1200), pytest.mark.wide]

_TOPIC, _BOTH, _MORE = "orders", 100, 50


def test_a_broker_that_left_the_isr_starts_last(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=3, controllers=3, dynamic_quorum=True) as cluster:
        client = cluster.client
        client.create_topic(_TOPIC, {0: [1, 2, 3]}, {"min.insync.replicas": 1})
        client.produce(_TOPIC, [0], _BOTH)
        active = cluster.active_controller().node_id
        behind, *lost = sorted(cluster.controllers, key=lambda each: each == active)
        cluster.controllers[behind].stop()
        # By 4.x, a broker that was killed leaves the ISR when it registers.
        cluster.brokers[1].stop()
        wait_isr(cluster, [_TOPIC], {2, 3}, seen_by=2)
        client.produce(_TOPIC, [0], _MORE)
        site = Site(cluster, tmp_path)
        lose(cluster, lost)
        plan, report = tmp_path / "plan.json", tmp_path / "report.json"
        look = site.run(lost_voters=lost, manual_output_file=str(plan), hosts="all")
        assert look.returncode == 0, look.output
        assert f"{_TOPIC}-0: the log that goes on has broker 1 in sync" in look.words, look.output
        assert "all records are only on brokers 2, 3" in look.words, look.output

        with site.started(cluster.controllers[behind]) as start_command:
            run = site.carry_out(plan, report, lost, start_command, hosts="all", verify_timeout_ms=20_000)
            assert "Start broker 1 last, when others lead these partitions" in run.words, run.output
            _copy_metadata_again(cluster, (2, 3))
            wait_until(lambda: client.describe(_TOPIC, broker=2)[0].leader != 1, 60, what="broker 1 is fenced")
            if client.describe(_TOPIC, broker=2)[0].leader is None:
                # By the recovered log, only broker 1 is in sync.
                _recover_without(cluster, 1, tmp_path / "partitions.json")
            wait_until(lambda: client.leader(_TOPIC) in (2, 3), 60, what="a broker that has all records leads")
            _copy_metadata_again(cluster, (1,))
            wait_isr(cluster, [_TOPIC], {1, 2, 3}, seen_by=2)
            assert len(client.consume_all(_TOPIC, 0)) == _BOTH + _MORE


def _recover_without(cluster: Cluster, broker: int, partitions: Path) -> None:
    partitions.write_text(json.dumps({"partitions": [{"topic": _TOPIC, "partition": 0}]}), encoding="utf-8")
    recovered = run_playbook(
        RECOVER,
        {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "unclean_recovery_partitions_file": str(partitions),
            "unclean_recovery_lost_brokers": broker,
            "unclean_recovery_automated_recovery": True,
        },
    )
    assert recovered.returncode == 0, recovered.output


def _copy_metadata_again(cluster: Cluster, brokers: Sequence[int]) -> None:
    """Do what the run says: stop each broker, remove its copy of the metadata log, and start it."""
    for each in brokers:
        cluster.brokers[each].kill()
        shutil.rmtree(cluster.brokers[each].data_dirs[0] / "__cluster_metadata-0")
        cluster.brokers[each].start(wait=False)
    for each in brokers:
        cluster.brokers[each].wait_ready()
