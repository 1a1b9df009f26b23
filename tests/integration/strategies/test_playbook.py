# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables for what an operator accepts: a limit of lost records, and a controller that elects by itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import write_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, settings, wait_until
from lab.playbook import read_report
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version

_DEAD, _OLDER, _NEWER = 1, 2, 3
_COMMON, _IN_OLDER_EPOCH, _IN_NEWER_EPOCH = 10, 20, 5
_UNCLEAN = "unclean.leader.election.enable"


@pytest.mark.wide
def test_a_limit_of_lost_records_and_a_controller_that_may_race(
    cluster: Cluster, on_call: OnCall, tmp_path: Path
) -> None:
    """The log of the newer epoch leads. It loses further records of the other log, and the limit refuses this."""
    cluster.client.create_topic("kept", {0: [_DEAD, _OLDER, _NEWER]}, {"min.insync.replicas": 1})
    cluster.client.produce("kept", 0, _COMMON)
    records = (_COMMON, _IN_OLDER_EPOCH, _IN_NEWER_EPOCH)
    scenarios.longer_log_of_older_epoch(cluster, "limited", replicas=(_DEAD, _OLDER, _NEWER), records=records)
    wait_until(lambda: cluster.client.leader("kept") is None, 60, what="kept has no leader")
    kept = cluster.client.describe("kept")[0]
    recovery = Recovery(cluster, tmp_path)

    run = recovery.recover(unclean_recovery_max_lost_records=_IN_OLDER_EPOCH - 1)
    assert run.returncode != 0
    by_topic = {each["topic"]: each for each in recovery.report["partitions"]}
    assert by_topic["kept"]["status"] == "recovered", run.output
    assert by_topic["limited"]["status"] == "refused"
    for topic, state in (("kept", kept), ("limited", cluster.client.describe("limited")[0])):
        found = tuple(by_topic[topic][name] for name in ("isr", "elr", "lastKnownElr"))
        assert found == ([*state.isr], [*state.elr], [*state.last_known_elr]), "also of one that is left alone"
    reason = f"electing {_NEWER} loses {_IN_OLDER_EPOCH} or more records, and the limit is {_IN_OLDER_EPOCH - 1}"
    assert reason in by_topic["limited"]["reason"]
    assert reason in run.words
    assert cluster.client.leader("limited") is None

    plan = on_call.plan(Strategy.AGGRESSIVE, "limited", max_lost_records=_IN_OLDER_EPOCH)
    path = tmp_path / "plan.json"
    write_plan(plan, str(path))
    _may_race(recovery, cluster, path)


def _may_race(recovery: Recovery, cluster: Cluster, plan: Path) -> None:
    """Make a plan, then set the config to true: for the topic, or for one broker."""
    before = cluster.client.describe("limited")
    for resource in ((ResourceType.TOPIC, "limited"), (ResourceType.BROKER, str(_NEWER))):
        _alter(cluster, resource, AlterConfigOpType.SET)
        run = recovery.carry_out(plan)
        assert run.returncode != 0
        assert f"{_UNCLEAN} is true for limited" in run.words
        assert "acknowledge_unclean_leader_election" in run.output
        assert cluster.client.describe("limited") == before, "nothing was written"
        _alter(cluster, resource, AlterConfigOpType.DELETE)

    _alter(cluster, (ResourceType.TOPIC, "limited"), AlterConfigOpType.SET)
    run = recovery.carry_out(
        plan, unclean_recovery_acknowledge_unclean_leader_election=True, unclean_recovery_report_file="{{ omit }}"
    )
    assert run.returncode == 0, run.output
    (report,) = Path(os.environ["XDG_STATE_HOME"], "kafkaops-recovery", "reports").glob("*.json")
    assert report.name in run.words
    assert [each["topic"] for each in read_report(report)["partitions"]] == ["limited"]
    assert cluster.client.leader("limited") == _NEWER
    assert len(cluster.client.consume_all("limited", 0)) == _COMMON + _IN_NEWER_EPOCH


def _alter(cluster: Cluster, resource: tuple[ResourceType, str], how: AlterConfigOpType) -> None:
    change = ConfigResource(*resource, incremental_configs=[ConfigEntry(_UNCLEAN, "true", incremental_operation=how)])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
    admin.incremental_alter_configs([change])[change].result(60)
