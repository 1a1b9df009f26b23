# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ctrl-C and SIGTERM during the elections of many partitions end with the counts, the report and how to go on."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from lab import Cluster, scenarios
from lab.changes import pending_changes
from lab.faults import Before
from lab.leadership import leaders, orders
from lab.playbook import RECOVER, read_report, run_playbook, start_playbook

_PARTITIONS = 1100
_STOPPED_AT = 2
"""The request that elects a whole batch: the first one elects a single partition."""


def ctrl_c(pid: int) -> None:
    """Do what a terminal does: signal the process group, which neither a worker nor a module is in."""
    os.killpg(pid, signal.SIGINT)


def end(pid: int) -> None:
    """Do what a supervisor does: signal the process that it started."""
    os.kill(pid, signal.SIGTERM)


@pytest.mark.wide
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("send", "name"), [(ctrl_c, "Ctrl-C"), (end, "SIGTERM")])
def test_the_run_ends_with_its_counts_and_the_same_command_goes_on(
    kafka_version: str, tmp_path: Path, send: Callable[[int], None], name: str
) -> None:
    report = tmp_path / "report.json"
    with Cluster(kafka_version, proxied=True, heap="1g") as cluster:
        offline = scenarios.diverged(cluster, "many", partitions=_PARTITIONS, records=(1, 1, 1))
        variables = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "unclean_recovery_all_offline_partitions": True,
            "unclean_recovery_automated_recovery": True,
            "unclean_recovery_strategy": "aggressive",
            "unclean_recovery_lost_brokers": [offline.replicas[0]],
            "unclean_recovery_report_file": str(report),
        }
        process = start_playbook(RECOVER, variables)
        requests: list[ApiKey] = []

        def stop() -> None:
            requests.append(ApiKey.ElectLeaders)
            if len(requests) == _STOPPED_AT:
                send(process.pid)

        with cluster.proxy.inject(Before(stop), api_key=ApiKey.ElectLeaders, times=_STOPPED_AT):
            output, _errors = process.communicate(timeout=240)
        assert len(requests) == _STOPPED_AT, output
        assert process.returncode != 0
        said = output[output.index("Stopped by") :]
        counted = re.match(rf"Stopped by {name}\. ([0-9,]+) of 1,100 partitions recovered; ", said)
        assert counted, said
        recovered = int(counted[1].replace(",", ""))
        assert 0 < recovered < _PARTITIONS
        assert f"\nReport: {report}\nRun the same command again with another unclean_recovery_report_file: " in said

        led = [each for each in leaders(cluster, "many").values() if each == offline.best]
        assert len(led) == recovered
        assert read_report(report)["summary"]["recovered"] == recovered
        assert orders(cluster, "many") == dict.fromkeys(offline.partitions, offline.replicas)
        assert pending_changes(cluster) == ()

        again = run_playbook(RECOVER, {**variables, "unclean_recovery_report_file": str(tmp_path / "again.json")})
        assert again.returncode == 0, again.output
        left = _PARTITIONS - recovered
        assert f"{left} of {left} partitions recovered" in again.words
        assert {*leaders(cluster, "many").values()} == {offline.best}
