# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook run the way AWX runs it: by ansible-runner, without a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import ansible_runner
import pytest

from lab import Cluster, scenarios
from lab.playbook import PROJECT, RECOVER, statuses
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version


def test_ansible_runner(cluster: Cluster, recovery: Recovery, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, "awx")
    variables = recovery.variables(
        unclean_recovery_all_offline_partitions=True, unclean_recovery_automated_recovery=True
    )
    private = tmp_path / "runner"
    private.mkdir()
    ran = ansible_runner.run(
        private_data_dir=str(private),
        project_dir=str(PROJECT),
        playbook=RECOVER,
        extravars=variables,
        envvars={
            "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
        },
        quiet=True,
    )
    output = ran.stdout.read()
    assert ran.status == "successful", output
    assert statuses(recovery.report) == [("awx", 0, "recovered")]
    assert cluster.client.describe("awx", broker=offline.best)[0].leader == offline.best
    # ansible-runner reads through a pseudo-terminal, and still: nothing drawn over, no boxes.
    assert not any(character in output.replace("\r\n", "\n") for character in "\r│┃╭━")
    assert "1 recovered  awx 0" in output
