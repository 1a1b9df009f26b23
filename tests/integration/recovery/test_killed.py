# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that is killed at a critical moment, and the next run. Its findings depend on the release of Kafka."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios
from lab.faults import After, Before, Fault
from lab.leadership import leaders, orders
from lab.module_process import results
from lab.playbook import RECOVER, signal_tree, start_playbook
from lab.recovery import Recovery


@pytest.mark.wide
@pytest.mark.parametrize(
    ("moment", "api_key"),
    [
        # The next run watches the order for more than a minute.
        pytest.param(Before, ApiKey.AlterPartitionReassignments, id="before reorder", marks=pytest.mark.wide),
        pytest.param(Before, ApiKey.ElectLeaders, id="before elect"),
        pytest.param(After, ApiKey.ElectLeaders, id="before restore"),
    ],
)
def test_sigkill_and_a_rerun(
    cluster: Cluster, on_call: OnCall, moment: Callable[[Callable[[], object]], Fault], api_key: int
) -> None:
    offline = scenarios.diverged(cluster, "killed", partitions=2)
    process = on_call.start_elections(on_call.plan(Strategy.AGGRESSIVE, "killed"))
    with cluster.proxy.inject(moment(process.kill), api_key=api_key, times=1) as rule:
        process.communicate(timeout=60)
    assert rule.hits, "the run never came as far as the moment it was to die at"
    assert process.returncode == -signal.SIGKILL

    on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, "killed"))
    _assert_recovered(cluster, offline)
    cluster.proxy.clear_once_idle()
    on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, "killed"))
    assert cluster.proxy.write_requests() == []


@pytest.mark.on_any_version
def test_sigkill_of_the_playbook_and_all_that_it_started(cluster: Cluster, recovery: Recovery, on_call: OnCall) -> None:
    offline = scenarios.diverged(cluster, "killed", partitions=2)
    process = start_playbook(
        RECOVER,
        recovery.variables(unclean_recovery_all_offline_partitions=True, unclean_recovery_automated_recovery=True),
    )
    kill = Before(lambda: signal_tree(process.pid, signal.SIGKILL))
    with cluster.proxy.inject(kill, api_key=ApiKey.ElectLeaders, times=1) as rule:
        process.communicate(timeout=120)
    assert rule.hits
    assert process.returncode == -signal.SIGKILL

    run = recovery.recover()
    assert run.returncode == 0, run.output
    _assert_recovered(cluster, offline)
    assert recovery.recover().counts["changed"] == 0


def _assert_recovered(cluster: Cluster, offline: scenarios.Offline) -> None:
    assert leaders(cluster, offline.topic) == dict.fromkeys(offline.partitions, offline.best)
    assert orders(cluster, offline.topic) == dict.fromkeys(offline.partitions, offline.replicas)


@pytest.mark.wide
def test_sigterm_ends_the_run_in_order(cluster: Cluster, on_call: OnCall) -> None:
    """The module completes the current request, restores the orders, and reports the elections that it did not do."""
    offline = scenarios.diverged(cluster, "stopped", partitions=2)
    process = on_call.start_elections(on_call.plan(Strategy.AGGRESSIVE, "stopped"))
    stop = Before(process.terminate)
    with cluster.proxy.inject(stop, api_key=ApiKey.AlterPartitionReassignments, times=1) as rule:
        reported = results(process)
    assert rule.hits
    assert reported["failed"]
    assert process.returncode != 0
    assert [(each["partition"], each["status"]) for each in reported["partitions"]] == [(0, "failed"), (1, "failed")]
    assert leaders(cluster, "stopped") == {0: None, 1: None}
    assert orders(cluster, "stopped") == dict.fromkeys(offline.partitions, offline.replicas)
    assert ApiKey.ElectLeaders not in {request.api_key for request in cluster.proxy.requests()}
