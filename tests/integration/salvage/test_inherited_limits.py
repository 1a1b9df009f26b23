# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Limits of a cluster or a topic on the age of records: saved ones are given back with their timestamps."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.salvage.test_lost_ledgers import give, save
from lab import Cluster, settings, wait_until

_LIMITS = [f"message.timestamp.{each}.max.ms" for each in ("before", "after")]
_OLDER = 30


@pytest.mark.wide
@pytest.mark.on_every_version
@pytest.mark.timeout(600)
def test_a_limit_of_the_cluster_stops_no_replay(kafka_version: str, tmp_path: Path) -> None:
    limits = ["message.timestamp.difference.max.ms"] if kafka_version.startswith("3.") else _LIMITS
    properties = {
        **{f"log.{each}": 1000 for each in limits},
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 1,
    }
    with Cluster(kafka_version, properties=properties) as cluster:
        saved = save(cluster, "old", tmp_path / "saved", dict.fromkeys(_LIMITS, 2**62))
        for target in ("side", "original"):
            assert give(cluster, saved, target=target)["summary"]["given"] == _OLDER
        assert len(cluster.client.consume_all("old.salvaged", 0)) == _OLDER


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_a_replay_to_a_topic_that_keeps_no_record_of_that_age_says_so(kafka_version: str, tmp_path: Path) -> None:
    properties = {
        "log.retention.check.interval.ms": 1000,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 1,
    }
    with Cluster(kafka_version, properties=properties) as cluster:
        saved = save(cluster, "old", tmp_path / "saved")
        where = ("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "--topic", "old")
        altered = cluster.client.run_tool(
            "kafka.admin.ConfigCommand", *where, "--alter", "--add-config", "retention.ms=1000,file.delete.delay.ms=0"
        )
        assert altered.returncode == 0, altered.stderr
        for check_mode in (True, False):
            done = give(cluster, saved, target="original", check_mode=check_mode)
            assert any("retention.ms of topic old is 1000" in str(each) for each in done["warnings"]), done
        assert done["summary"]["given"] == _OLDER
        wait_until(lambda: cluster.client.consume_all("old", 0) == [], 60, what="the records are deleted again")
