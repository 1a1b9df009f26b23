# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo from start to end. It stops all processes, also after an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from lab import Cluster
from lab.playbook import INCIDENT, PROJECT, RECOVER, REPLAY, SALVAGE
from lab.scenarios import Offline, diverged

TOPIC = "orders"
PARTITIONS = 3
COMMON, LONGER, LOST = RECORDS = (10, 5, 1)
"""Records of each partition: on all replicas, on two of them, and only on the last leader."""

HELD_BY = {"common": "of all three replicas", "longer": "of two", "lost": "of the dead broker's disk"}
"""The replicas that held the records with this label when all leaders were lost."""

console = Console(highlight=False)


def main() -> int:
    """Break a cluster, recover it, and compare its records. Returns the exit status."""
    chapter("A cluster of three brokers and one controller starts")
    with Cluster() as cluster, tempfile.TemporaryDirectory(prefix="kafkaops-demo-") as name:
        console.print(f"Kafka {cluster.version} at {cluster.bootstrap()}")
        chapter(f"Topic {TOPIC} loses the leaders of all its partitions")
        offline = diverged(cluster, TOPIC, PARTITIONS, records=RECORDS)
        console.print(what_happened(offline))
        chapter("The playbook recovers them")
        # A person opens the page after the demo.
        page = Path(tempfile.mkdtemp(prefix="kafkaops-demo-report-")) / "report.html"
        status = recover(cluster, offline.replicas[0], page.with_name("recovery.html"))
        chapter("What another client reads now")
        status = status or verdict(cluster, offline)
        chapter(f"What only the disk of broker {offline.replicas[0]} holds is saved, before it is started again")
        status = status or salvage(cluster, offline, Path(name) / "salvage", page.with_name("salvage.html"))
        chapter("It is given back to the topic that it came from")
        status = status or give_back(cluster, Path(name) / "salvage", page.with_name("replay.html"))
        chapter("All of it becomes one page")
        status = status or join(cluster, page)
        chapter("What another client reads in the end")
        status = status or last_verdict(cluster, offline)
        chapter("The page stays")
        console.print(f"{page}", soft_wrap=True)
        return status


def chapter(title: str) -> None:
    console.print()
    console.print(Rule(f"[bold]{title}", align="left"))


def what_happened(offline: Offline) -> str:
    dead, shorter, longer = offline.replicas
    return (
        f"Each partition has its replicas on brokers {dead}, {shorter} and {longer}, in this order. "
        f"Of its records, {COMMON} reached all three.\n"
        f"Then broker {shorter} fell behind: {LONGER} more reached brokers {dead} and {longer}.\n"
        f"Then broker {longer} fell behind too: {LOST} more reached broker {dead} alone. "
        "It was killed with SIGKILL, and stays dead.\n"
        "No partition has a leader. Kafka's own unclean election takes the first live replica in order, "
        f"broker {shorter}, and loses the {LONGER} records that broker {longer} still holds."
    )


def recover(cluster: Cluster, dead: int, page: Path) -> int:
    """Run the playbook as a person would, and return its exit status."""
    variables = {
        "unclean_recovery_all_offline_partitions": "true",
        "unclean_recovery_show_replica_info": "true",
        "unclean_recovery_automated_recovery": "true",
        "unclean_recovery_strategy": "aggressive",
        "unclean_recovery_lost_brokers": str(dead),
        "unclean_recovery_report_file": str(page.with_suffix(".json")),
        "unclean_recovery_report_html": str(page),
    }
    return run(RECOVER, cluster, variables)


def salvage(cluster: Cluster, offline: Offline, directory: Path, page: Path) -> int:
    """Save the records that only the dead broker's disk holds, on its own host, and return the exit status."""
    disks = json.dumps([str(each) for each in cluster.brokers[offline.replicas[0]].data_dirs])
    variables = {"log_salvage_log_dirs": disks, "log_salvage_dir": str(directory), "log_salvage_report_html": str(page)}
    return run(SALVAGE, cluster, variables)


def give_back(cluster: Cluster, directory: Path, page: Path) -> int:
    """Replay the saved records, and return the exit status."""
    variables = {"salvage_replay_dir": str(directory), "salvage_replay_target": "original"}
    return run(REPLAY, cluster, {**variables, "salvage_replay_report_html": str(page)})


def join(cluster: Cluster, page: Path) -> int:
    """Join the reports of recovery, salvage and replay, and return the exit status."""
    return run(INCIDENT, cluster, {"incident_report_dir": str(page.parent), "incident_report_html": str(page)})


def run(playbook: str, cluster: Cluster, variables: Mapping[str, str]) -> int:
    """Run a playbook as a person would, and return its exit status."""
    reported = {"kafka_bootstrap_servers": cluster.bootstrap(), **variables}
    words = [
        f"'{{\"{name}\": {value}}}'" if value.startswith("[") else f"{name}={value}" for name, value in reported.items()
    ]
    given = [word for each in words for word in ("-e", each.strip("'"))]
    shown = " \\\n".join([f"ansible-playbook {playbook}", *(f"  -e {each}" for each in words)])
    console.print(shown, markup=False, soft_wrap=True)
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    # In color also through a pipe: tables need color, and the demo must show them.
    environment = {"ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "1", **os.environ}
    return subprocess.run([program, playbook, *given], cwd=PROJECT, env=environment, check=False).returncode


def verdict(cluster: Cluster, offline: Offline) -> int:
    """Compare the records, the leaders and the orders. Returns the exit status."""
    states = cluster.client.describe(offline.topic)
    kept = [*records("common", COMMON), *records("longer", LONGER)]
    is_right = len(states) == PARTITIONS
    for partition in offline.partitions:
        values = cluster.client.consume_all(offline.topic, partition)
        state = states[partition]
        console.print(
            f"{offline.topic}-{partition}: leader {state.leader}, replicas {list(state.replicas)}, {reported(values)}"
        )
        is_right &= state.leader == offline.best and state.replicas == offline.replicas and values == kept
    console.print(
        f"Of each partition, {LONGER} records were saved by asking the replicas. "
        f"The cluster lacks {LOST} more, which only the disk of broker {offline.replicas[0]} holds."
        if is_right
        else "[bold red]This is not what was to be shown."
    )
    return 0 if is_right else 1


def last_verdict(cluster: Cluster, offline: Offline) -> int:
    """Compare every acknowledged record with the cluster's records. Returns the exit status."""
    written = [*records("common", COMMON), *records("longer", LONGER), *records("lost", LOST)]
    is_right = True
    for partition in offline.partitions:
        values = cluster.client.consume_all(offline.topic, partition)
        console.print(f"{offline.topic}-{partition}: {reported(values)}")
        is_right &= values == written
    console.print(
        f"Nothing was lost: all {PARTITIONS * len(written)} records are there, each exactly once."
        if is_right
        else "[bold red]This is not what was to be shown."
    )
    return 0 if is_right else 1


def records(label: str, count: int) -> list[str]:
    """Return the values that the scenario wrote under this label, in order."""
    return [f"{label}-{number}" for number in range(count)]


def reported(values: Sequence[str]) -> str:
    counts = Counter(value.rpartition("-")[0] for value in values)
    return f"{len(values)} records ({', '.join(f'{count} {HELD_BY[label]}' for label, count in counts.items())})"


if __name__ == "__main__":
    sys.exit(main())
