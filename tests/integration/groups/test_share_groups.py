# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tail of __share_group_state is lost: a share group starts again where the dead broker's disk says.

Kafka's own console consumer is a member of the group.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from integration.groups.lost_tails import ONE_PARTITION, ONLINE, SHARE, describe_share, lose, share, share_elsewhere
from integration.on_call import OnCall
from integration.salvage.disks import salvage
from lab import Cluster
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"


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
