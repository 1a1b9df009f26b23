# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cluster's default refuses records that are a second old: saved ones are given back with their timestamps."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.salvage.test_lost_ledgers import give, save
from lab import Cluster

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
