# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the playbook as AWX does: by ansible-runner, without a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from lab import Cluster, scenarios
from lab.playbook import PROJECT, RECOVER, statuses
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version


@pytest.mark.wide
def test_ansible_runner(cluster: Cluster, recovery: Recovery, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, "awx")
    variables = recovery.variables(
        unclean_recovery_all_offline_partitions=True, unclean_recovery_automated_recovery=True
    )
    ran = run_job(tmp_path / "runner", variables)
    output = ran.stdout.read()
    assert ran.status == "successful", output
    assert statuses(recovery.report) == [("awx", 0, "recovered")]
    assert cluster.client.describe("awx", broker=offline.best)[0].leader == offline.best
    # ansible-runner reads through a pseudo-terminal, and still: nothing drawn over, no boxes.
    assert not any(character in output.replace("\r\n", "\n") for character in "\r│┃╭━")
    assert "1 recovered  awx 0" in output


@pytest.mark.wide
def test_a_plan_goes_from_one_job_to_the_next(cluster: Cluster, recovery: Recovery, tmp_path: Path) -> None:
    """The second job gets only the artifact data of the first one: the jobs share no directory and no file."""
    offline = scenarios.diverged(cluster, "workflow", partitions=60)
    ran = run_job(
        tmp_path / "plan",
        recovery.variables(unclean_recovery_all_offline_partitions=True, unclean_recovery_publish_plan=True),
    )
    assert ran.status == "successful", ran.stdout.read()
    artifacts = artifact_data(ran)
    assert artifacts["unclean_recovery_plan"]["encoding"] == "zlib+base64", "60 elections take more than 64 KiB"
    assert artifacts["unclean_recovery_plan"]["digest"] == artifacts["unclean_recovery_plan_digest"]
    summary = artifacts["unclean_recovery_summary"]
    assert (summary["mode"], summary["partitions"]["would_recover"]) == ("check", 60)
    assert (summary["lost_at_least"], summary["lost_at_most"]) == (0, None), "the last leader is dead: unknown, not 0"

    later = {**artifacts, "unclean_recovery_automated_recovery": True}
    other = run_job(
        tmp_path / "other",
        recovery.variables(**{**later, "unclean_recovery_plan_digest": f"sha256:{'0' * 64}"}),
    )
    assert (other.status, "was approved" in other.stdout.read()) == ("failed", True)
    assert {each.leader for each in cluster.client.describe("workflow", broker=offline.best).values()} == {None}

    ran = run_job(tmp_path / "apply", recovery.variables(**later))
    assert ran.status == "successful", ran.stdout.read()
    states = cluster.client.describe("workflow", broker=offline.best)
    assert {each.leader for each in states.values()} == {offline.best}
    summary = artifact_data(ran)["unclean_recovery_summary"]
    assert (summary["mode"], summary["partitions"]["recovered"]) == ("apply", 60)
    assert artifact_data(ran).keys() == {"unclean_recovery_summary"}


@pytest.mark.wide
def test_a_partition_that_nobody_can_recover_does_not_keep_the_plan_from_the_next_job(
    cluster: Cluster, recovery: Recovery, tmp_path: Path
) -> None:
    """The job that plans fails, and extensions/awx goes on to the approval."""
    cluster.client.create_topic("alone", {0: [1]})
    offline = scenarios.diverged(cluster, "some")
    planned = run_job(
        tmp_path / "plan",
        recovery.variables(unclean_recovery_all_offline_partitions=True, unclean_recovery_publish_plan=True),
    )
    assert planned.status == "failed", planned.stdout.read()
    artifacts = artifact_data(planned)
    assert artifacts["unclean_recovery_summary"]["partitions"]["would_recover"] == 1

    later = {**artifacts, "unclean_recovery_automated_recovery": True}
    applied = run_job(tmp_path / "apply", recovery.variables(**later))
    assert cluster.client.describe("some", broker=offline.best)[0].leader == offline.best, applied.stdout.read()
    assert artifact_data(applied)["unclean_recovery_summary"]["partitions"]["recovered"] == 1


def run_job(private: Path, variables: Mapping[str, object]) -> ansible_runner.Runner:
    """Run the playbook in its own private directory, as AWX does."""
    private.mkdir()
    return ansible_runner.run(
        private_data_dir=str(private),
        project_dir=str(PROJECT),
        playbook=RECOVER,
        extravars=dict(variables),
        envvars={
            "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
        },
        quiet=True,
    )


def artifact_data(ran: ansible_runner.Runner) -> dict[str, Any]:
    """Return the data that the job published with set_stats."""
    (stats,) = (each for each in ran.events if each["event"] == "playbook_on_stats")
    data: dict[str, Any] = stats["event_data"]["artifact_data"]
    return data
