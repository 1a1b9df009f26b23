# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare a disk right after its broker died, while the cluster still names the broker as the leader."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import by_status, salvage
from integration.salvage.wreck import LAST_LEADER
from lab import Cluster, wait_until

_TOPIC = "right-after"


@pytest.mark.on_any_version
def test_who_leads_next_is_asked(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic(_TOPIC, {0: (LAST_LEADER, 2, 3), 1: (2, 3, LAST_LEADER)})
    wait_until(
        lambda: all(set(each.isr) == {1, 2, 3} for each in cluster.client.describe(_TOPIC).values()),
        60,
        what="all replicas are in sync",
    )
    cluster.client.produce(_TOPIC, [0, 1], 10)
    cluster.brokers[LAST_LEADER].kill()
    done = salvage(cluster, tmp_path / "saved", topics={_TOPIC}, leaders_timeout_ms=120_000)
    (found,) = by_status(done).items()
    assert (found[0], [each.partition for each in found[1]]) == (SalvageStatus.NOTHING_LACKING, [0, 1]), done.findings
    assert LAST_LEADER not in {each.leader_id for each in done.findings}
