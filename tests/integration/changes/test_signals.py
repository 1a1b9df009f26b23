# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SIGTERM and SIGHUP, to ansible-playbook, its worker and the module, while an election is requested.

What ansible-core does with them: docs/journal.md. In every case the module ends by itself: the request in flight is
completed, the orders are restored, nothing is pending, and the report is there.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_look import RUN_TOPIC
from lab import Cluster, scenarios
from lab.changes import pending_changes
from lab.faults import Before
from lab.leadership import leaders, orders
from lab.playbook import descendants, read_report, start_playbook, statuses
from lab.waiting import wait_until

_PLAYBOOK = Path(__file__).with_name("elect.yml")
_PLAYBOOK_ITSELF, _WORKER, _MODULE = "ansible-playbook", "its worker", "the module"


def _target(pid: int, who: str) -> int:
    """Return the process id of one part of a playbook that runs."""
    below = descendants(pid)
    if who == _PLAYBOOK_ITSELF:
        return pid
    if who == _WORKER:
        return next(each for each, command in below.items() if str(_PLAYBOOK) in command)
    return [each for each, command in below.items() if "AnsiballZ" in command][-1]


@pytest.mark.on_any_version
@pytest.mark.parametrize(
    ("who", "number"),
    [
        (_PLAYBOOK_ITSELF, signal.SIGTERM),
        pytest.param(_PLAYBOOK_ITSELF, signal.SIGHUP, marks=pytest.mark.wide),
        pytest.param(_WORKER, signal.SIGTERM, marks=pytest.mark.wide),
        pytest.param(_WORKER, signal.SIGHUP, marks=pytest.mark.wide),
        pytest.param(_MODULE, signal.SIGTERM, marks=pytest.mark.wide),
        (_MODULE, signal.SIGHUP),
    ],
)
def test_the_module_ends_in_order(cluster: Cluster, tmp_path: Path, who: str, number: signal.Signals) -> None:
    offline = scenarios.diverged(cluster, "killed", partitions=2)
    report = tmp_path / "report.json"
    designations = [
        {"topic": "killed", "partition": each, "designated_leader": offline.best} for each in offline.partitions
    ]
    variables = {
        "bootstrap_servers": cluster.bootstrap(),
        "designations": designations,
        "report_file": str(report),
    }
    process = start_playbook(str(_PLAYBOOK), variables)
    end = Before(lambda: os.kill(_target(process.pid, who), number))
    with cluster.proxy.inject(end, api_key=ApiKey.ElectLeaders, times=1) as rule:
        output, _errors = process.communicate(timeout=120)
    assert rule.hits, output
    wait_until(report.exists, 60, what="the module has written its report")
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 30, what="the module has released the lock")
    assert orders(cluster, "killed") == dict.fromkeys(offline.partitions, offline.replicas)
    assert pending_changes(cluster) == ()
    reported = statuses(read_report(report))
    assert len(reported) == len(offline.partitions)
    for _topic, partition, status in reported:
        assert leaders(cluster, "killed")[partition] == (offline.best if status == "recovered" else None)
    assert ("this would be the table" in output) is (who == _MODULE and "fatal" not in output)
