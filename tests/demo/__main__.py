# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The story, start to end. Nothing is left running, whatever fails."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from lab import Cluster
from lab.playbook import PROJECT, RECOVER
from lab.scenarios import Offline, diverged

TOPIC = "orders"
PARTITIONS = 3
COMMON, LONGER, LOST = RECORDS = (10, 5, 1)
"""Records of each partition: on all replicas, on two of them, and on the last leader alone."""

console = Console(highlight=False)


def main() -> int:
    """Break a cluster, recover it, and compare what is there. Returns the exit status."""
    chapter("A cluster of three brokers and one controller starts")
    with Cluster() as cluster, tempfile.TemporaryDirectory(prefix="kafkaops-demo-") as name:
        console.print(f"Kafka {cluster.version} at {cluster.bootstrap()}")
        chapter(f"Topic {TOPIC} loses the leaders of all its partitions")
        offline = diverged(cluster, TOPIC, PARTITIONS, records=RECORDS)
        console.print(what_happened(offline))
        chapter("The playbook recovers them")
        # The page outlives the demo: a person opens it afterwards.
        page = Path(tempfile.mkdtemp(prefix="kafkaops-demo-report-")) / "report.html"
        status = recover(cluster, offline.replicas[0], Path(name), page)
        chapter("What another client reads now")
        status = status or verdict(cluster, offline)
        console.print(f"Report: {page}", soft_wrap=True)
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


def recover(cluster: Cluster, dead: int, scratch: Path, page: Path) -> int:
    """Run the playbook as a person would, and return its exit status."""
    variables = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "unclean_recovery_all_offline_partitions": "true",
        "unclean_recovery_show_replica_info": "true",
        "unclean_recovery_automated_recovery": "true",
        "unclean_recovery_strategy": "aggressive",
        "unclean_recovery_lost_brokers": str(dead),
        "unclean_recovery_report_file": str(page.with_suffix(".json")),
        "unclean_recovery_report_html": str(page),
    }
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    shown = " \\\n".join(
        [f"ansible-playbook {RECOVER}", *(f"  -e {name}={value}" for name, value in variables.items())]
    )
    console.print(shown, markup=False, soft_wrap=True)
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    # In color also where it is piped: that is what makes the tables tables, and they are what the demo is for.
    environment = {"ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "1", **os.environ}
    return subprocess.run([program, RECOVER, *given], cwd=PROJECT, env=environment, check=False).returncode


def verdict(cluster: Cluster, offline: Offline) -> int:
    """Compare the records that are there, the leaders and the orders. Returns the exit status."""
    states = cluster.client.describe(offline.topic)
    kept = [*records("common", COMMON), *records("longer", LONGER)]
    is_right = len(states) == PARTITIONS
    for partition in offline.partitions:
        values = cluster.client.consume_all(offline.topic, partition)
        state = states[partition]
        console.print(
            f"{offline.topic}-{partition}: leader {state.leader}, replicas {list(state.replicas)}, {told(values)}"
        )
        is_right &= state.leader == offline.best and state.replicas == offline.replicas and values == kept
    console.print(
        f"Of each partition, {LONGER} records were saved by asking the replicas. "
        f"With broker {offline.replicas[0]}, {LOST} was lost."
        if is_right
        else "[bold red]This is not what was to be shown."
    )
    return 0 if is_right else 1


def records(label: str, count: int) -> list[str]:
    """Return the values that the scenario wrote under this label, in order."""
    return [f"{label}-{number}" for number in range(count)]


def told(values: Sequence[str]) -> str:
    counts = Counter(value.rpartition("-")[0] for value in values)
    return f"{len(values)} records ({', '.join(f'{count} {label}' for label, count in counts.items())})"


if __name__ == "__main__":
    sys.exit(main())
