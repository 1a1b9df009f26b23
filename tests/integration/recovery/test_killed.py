# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that dies at the worst moment, and the next one."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

import pytest

from lab import Cluster, scenarios
from lab.faults import After, Before, Fault
from lab.playbook import RECOVER, signal_tree, start_playbook, statuses
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version

_ALTER_PARTITION_REASSIGNMENTS, _ELECT_LEADERS = 45, 43


@pytest.mark.parametrize(
    ("moment", "api_key"),
    [
        pytest.param(Before, _ALTER_PARTITION_REASSIGNMENTS, id="before reorder"),
        pytest.param(Before, _ELECT_LEADERS, id="before elect"),
        pytest.param(After, _ELECT_LEADERS, id="before restore"),
    ],
)
def test_sigkill_and_a_rerun(
    cluster: Cluster, recovery: Recovery, moment: Callable[[Callable[[], object]], Fault], api_key: int
) -> None:
    offline = scenarios.diverged(cluster, "killed", partitions=2)
    plan = recovery.make_plan()
    variables = recovery.variables(unclean_recovery_plan_file=str(plan), unclean_recovery_automated_recovery=True)
    process = start_playbook(RECOVER, variables)
    kill = moment(lambda: signal_tree(process.pid, signal.SIGKILL))
    with cluster.proxy.inject(kill, api_key=api_key, times=1) as rule:
        process.communicate(timeout=60)
    assert rule.hits, "the run never came as far as the moment it was to die at"
    assert process.returncode == -signal.SIGKILL

    run = recovery.recover()
    assert run.returncode == 0, run.output
    after = cluster.client.describe("killed")
    assert {state.leader for state in after.values()} == {offline.best}
    assert {state.replicas for state in after.values()} == {offline.replicas}
    again = recovery.recover()
    assert again.counts["changed"] == 0


def test_sigterm_ends_the_run_in_order(cluster: Cluster, recovery: Recovery) -> None:
    """The request in flight is finished, the orders are put back, and what was not done is told."""
    offline = scenarios.diverged(cluster, "stopped", partitions=2)
    plan = recovery.make_plan()
    variables = recovery.variables(unclean_recovery_plan_file=str(plan), unclean_recovery_automated_recovery=True)
    process = start_playbook(RECOVER, variables)
    stop = Before(lambda: signal_tree(process.pid, signal.SIGTERM, only="AnsiballZ_designated_election"))
    with cluster.proxy.inject(stop, api_key=_ALTER_PARTITION_REASSIGNMENTS, times=1):
        output = _output_of(process)
    assert process.returncode != 0
    assert "Traceback" not in output
    assert {status for _topic, _number, status in statuses(recovery.report)} == {"failed"}
    after = cluster.client.describe("stopped")
    assert {state.leader for state in after.values()} == {None}
    assert {state.replicas for state in after.values()} == {offline.replicas}
    assert _ELECT_LEADERS not in {request.api_key for request in cluster.proxy.requests()}


def _output_of(process: subprocess.Popen[str]) -> str:
    output, _nothing = process.communicate(timeout=60)
    return output
