# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inventory of a cluster's nodes, whose controllers lose their disks."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from lab.cluster import Cluster
from lab.node import Controller, Node
from lab.playbook import PlaybookRun, run_playbook, start_playbook
from lab.waiting import wait_until

_PLAYBOOK = "kafkaops.recovery.recover_quorum"


def cluster_with_snapshots(
    version: str, *, dynamic_quorum: bool = True, super_users: Sequence[str] | None = None
) -> Cluster:
    """Return a cluster of one broker and three controllers, which take a snapshot after a few records."""
    return Cluster(
        version,
        brokers=1,
        controllers=3,
        controller_properties={"metadata.log.max.record.bytes.between.snapshots": 2000},
        dynamic_quorum=dynamic_quorum,
        super_users=super_users,
    )


class Site:
    """The hosts of a cluster's nodes: names of an inventory, all on this machine."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.directory = directory
        self.inventory = directory / "inventory.json"
        hosts = {
            f"node{node.node_id}": {
                "ansible_connection": "local",
                "quorum_recovery_properties": str(node.write_properties()),
            }
            for node in cluster.nodes
        }
        controllers: dict[str, object] = {f"node{node_id}": {} for node_id in cluster.controllers}
        groups = {"kafka_controllers": {"hosts": controllers}}
        self.inventory.write_text(json.dumps({"all": {"hosts": hosts, "children": groups}}), encoding="utf-8")

    def run(self, *arguments: str, **variables: object) -> PlaybookRun:
        """Run the playbook with variables of the role, without their prefix."""
        named = {f"quorum_recovery_{name}": value for name, value in variables.items()}
        return run_playbook(_PLAYBOOK, named, "-i", str(self.inventory), *arguments)

    def run_without_start_command(self, command: str, **variables: object) -> PlaybookRun:
        """Run the playbook, and start the survivor by a command when the run says that it waits for that."""
        named = {f"quorum_recovery_{name}": value for name, value in variables.items()}
        with start_playbook(_PLAYBOOK, named, "-i", str(self.inventory)) as process:
            assert process.stdout is not None
            printed = ""
            for line in process.stdout:
                printed += line
                if "This run waits for it." in line:
                    subprocess.run(command, shell=True, check=True)
            return PlaybookRun(process.wait(), printed)

    def carry_out(
        self, plan: Path, report: Path, lost: Sequence[int], start_command: str, **variables: object
    ) -> PlaybookRun:
        """Carry out a plan, with a backup beside the report, and with further variables of the role."""
        return self.run(
            lost_voters=lost,
            plan_file=str(plan),
            automated_recovery=True,
            backup_dir=str(report.with_name("backup")),
            report_file=str(report),
            start_command=start_command,
            **variables,
        )

    @contextmanager
    def started(self, controller: Controller) -> Iterator[str]:
        """Yield a command that starts a controller as a service does. At the end, the controller is killed."""
        pid = self.directory / "controller.pid"
        command = shlex.join(map(str, self.cluster.java_command(controller.jvm_args, self.properties(controller))))
        try:
            yield f"setsid {command} >> {controller.log_path} 2>&1 < /dev/null & echo $! > {pid}"
        finally:
            with suppress(FileNotFoundError, ProcessLookupError):  # A run that failed has started none.
                os.kill(int(pid.read_text("utf-8")), signal.SIGKILL)

    def properties(self, node: Node) -> Path:
        hosts = json.loads(self.inventory.read_text("utf-8"))["all"]["hosts"]
        return Path(hosts[f"node{node.node_id}"]["quorum_recovery_properties"])


def lose(cluster: Cluster, lost: Sequence[int]) -> None:
    """Kill controllers, and delete their disks.

    If all run, each has what was committed before, and all are killed at once. A broker that had read more than the
    survivor has would end itself.
    """
    if all(each.running for each in cluster.controllers.values()):
        wait_until(cluster.has_whole_quorum, what="each controller has all that was committed")
    for node_id in lost:
        cluster.controllers[node_id].kill()
    for node_id in lost:
        shutil.rmtree(cluster.controllers[node_id].data_dirs[0])


def files_of(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
