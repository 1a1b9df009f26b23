# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An incident in which every playbook has its part, for tests of other releases of Ansible, Python or Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from lab import Cluster, scenarios
from lab.playbook import PROJECT, PlaybookRun

Run: TypeAlias = Callable[..., PlaybookRun]
"""Runs a playbook with variables and further arguments, as ``run_playbook`` does."""


class Playbooks:
    """Runs playbooks, and records their names."""

    def __init__(self, run: Run, cluster: Cluster, directory: Path) -> None:
        self.ran: set[str] = set()
        self._run = run
        self._directory = directory
        controllers = ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())
        self._connection = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "kafka_bootstrap_controllers": controllers,
            "kafka_request_timeout_ms": 10_000,
        }

    def run(self, playbook: str, *arguments: str, exit_status: int = 0, **variables: object) -> str:
        """Run a playbook, and return its output."""
        ran = self._run(f"kafkaops.recovery.{playbook}", {**self._connection, **variables}, *arguments)
        assert ran.returncode == exit_status, ran.output
        # ansible-core announces removals one release earlier.
        assert "DEPRECATION" not in ran.output, ran.output
        self.ran.add(playbook)
        return ran.output

    def report(self, name: str) -> dict[str, Any]:
        """Return a report that a playbook wrote below the directory."""
        decoded: dict[str, Any] = json.loads((self._directory / name).read_text(encoding="utf-8"))
        return decoded


def run_every_playbook(run: Run, cluster: Cluster, topic: str, directory: Path) -> None:
    """Lose a leader, a disk and a controller, and let each playbook do its part. The cluster has three controllers.

    ``directory`` is for plans, reports and saved records. The cluster is read by another client.
    """
    playbooks = Playbooks(run, cluster, directory)
    replace_a_controller(playbooks, cluster)
    offline = scenarios.diverged(cluster, topic)
    recover(playbooks, topic, directory)
    assert playbooks.report("report.json")["partitions"][0]["status"] == "recovered"
    assert cluster.client.describe(topic, broker=offline.best)[0].leader == offline.best
    give_back(playbooks, [str(each) for each in cluster.brokers[offline.replicas[0]].data_dirs], directory)
    # The one record that only the dead broker has.
    assert len(cluster.client.consume_all(f"{topic}.salvaged", 0)) == 1

    cluster.brokers[offline.replicas[0]].start()
    playbooks.run("check_readiness")
    playbooks.run("drain_leadership", leadership_drain_brokers=[offline.best])
    assert cluster.client.describe(topic, broker=offline.best)[0].replicas[-1] == offline.best
    playbooks.run("restore_leadership")
    assert list(cluster.client.describe(topic, broker=offline.best)[0].replicas) == list(offline.replicas)
    playbooks.run("recover_log_cleaners", "--check")
    playbooks.run("record_cluster", cluster_recorder_dir=str(directory / "recordings"))
    playbooks.run("exposure_report", exposure_report_recordings=str(directory / "recordings"))
    playbooks.run("restore_groups")
    refuse_what_is_not_needed(playbooks, cluster)
    assert playbooks.ran == {each.stem for each in (PROJECT / "playbooks").glob("*.yml")}


def replace_a_controller(playbooks: Playbooks, cluster: Cluster) -> None:
    """Replace a controller's disk, and let the playbook add it as a voter again.

    A leader that starts with an empty disk before another one is elected ends with an IllegalStateException (4.3.1).
    """
    voter = next(each for each in cluster.controllers if each != cluster.active_controller().node_id)
    cluster.controllers[voter].kill()
    cluster.controllers[voter].wipe()
    cluster.controllers[voter].start()
    playbooks.run("replace_controller", controller_replacement_voter_id=voter)
    playbooks.run("check_quorum", quorum_preflight_fail_on="critical")


def refuse_what_is_not_needed(playbooks: Playbooks, cluster: Cluster) -> None:
    """Nothing is lost any more: no replica is replaced, all brokers must not stop, and the quorum is not recovered."""
    unchanged = playbooks.run("restore_redundancy", redundancy_lost_brokers=[1], redundancy_automated_recovery=True)
    assert "changed=0" in unchanged
    playbooks.run("check_stop", stop_gate_brokers=sorted(cluster.brokers), exit_status=2)
    voter = min(cluster.controllers)
    refused = playbooks.run(
        "recover_quorum",
        quorum_recovery_hosts="localhost",
        quorum_recovery_properties=str(cluster.work_dir / f"controller-{voter}.properties"),
        quorum_recovery_lost_voters=[each for each in cluster.controllers if each != voter],
        exit_status=2,
    )
    assert "answer" in refused


def recover(playbooks: Playbooks, topic: str, directory: Path) -> None:
    """Plan, compare the plan as data with the cluster, renew the digest without an edit, and carry out the file."""
    plan = str(directory / "plan.json")
    planned = playbooks.run(
        "recover_offline_partitions",
        unclean_recovery_partitions=[{"topic": topic, "partition": 0}],
        unclean_recovery_strategy="aggressive",
        unclean_recovery_manual_output_file=plan,
    )
    data = published(planned)
    del data["unclean_recovery_summary"]
    compared = published(playbooks.run("recover_offline_partitions", unclean_recovery_show_replica_info=True, **data))
    assert compared["unclean_recovery_summary"]["partitions"]["would_recover"] == 1
    playbooks.run("renew_plan_digest", unclean_recovery_plan_file=plan)
    playbooks.run(
        "recover_offline_partitions",
        unclean_recovery_plan_file=plan,
        unclean_recovery_automated_recovery=True,
        unclean_recovery_report_file=str(directory / "report.json"),
    )


def published(output: str) -> dict[str, Any]:
    """Return the data that a playbook published with set_stats."""
    stats: dict[str, Any] = json.loads(output.rpartition("RUN: ")[2].splitlines()[0])
    return stats


def give_back(playbooks: Playbooks, log_dirs: list[str], directory: Path) -> None:
    """Save the records that only a dead broker holds, replay them, and write a page about it."""
    saved = str(directory / "saved")
    playbooks.run("salvage_logs", log_salvage_log_dirs=log_dirs, log_salvage_dir=saved)
    playbooks.run("replay_salvaged_records", salvage_replay_dir=saved)
    page = directory / "incident.html"
    playbooks.run("incident_report", incident_report_dir=str(directory), incident_report_html=str(page))
    assert "</html>" in page.read_text(encoding="utf-8")
