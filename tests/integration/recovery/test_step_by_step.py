# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules one by one, as in a person's own playbook, and the role with named partitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import Cluster, scenarios
from lab.playbook import RECOVER, PlaybookRun, run_playbook, statuses
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version

_PLAY = Path(__file__).with_name("step_by_step.yml")


@pytest.mark.wide
def test_evidence_is_kept_ranked_later_and_elected_by_hand(cluster: Cluster, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, "steps")
    variables = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "kafka_request_timeout_ms": 10_000,
        "topic": offline.topic,
        "replicas": offline.replicas,
        "log_end_offsets": [offline.log_end_offsets.get(each) for each in offline.replicas],
        "best": offline.best,
        "evidence": str(tmp_path / "evidence"),
        "journal": str(tmp_path / "journal"),
    }
    run = run_playbook(str(_PLAY), variables)
    assert run.returncode == 0, run.output
    state = cluster.client.describe(offline.topic, broker=offline.best)[0]
    assert state.leader == offline.best
    assert tuple(state.replicas) == offline.replicas


@pytest.mark.wide
def test_only_the_partitions_named_by_file_or_inline_by_the_operators_own_properties(
    cluster: Cluster, recovery: Recovery, tmp_path: Path
) -> None:
    offline = scenarios.diverged(cluster, "named", partitions=3)
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers={cluster.bootstrap()}\nrequest.timeout.ms=10000\n")
    file = tmp_path / "partitions.json"
    file.write_text(json.dumps({"partitions": [{"topic": offline.topic, "partition": 1}]}))

    def recover(*arguments: str, **which: object) -> PlaybookRun:
        variables = recovery.variables(
            kafka_command_config=str(properties), unclean_recovery_automated_recovery=True, **which
        )
        del variables["kafka_bootstrap_servers"], variables["kafka_request_timeout_ms"]
        return run_playbook(RECOVER, variables, *arguments)

    check = recover("--check", unclean_recovery_partitions_file=str(file))
    assert check.returncode == 0, check.output
    assert statuses(recovery.report) == [(offline.topic, 1, "would_recover")]
    assert recovery.report["partitions"][0]["designatedLeader"] == offline.best
    assert cluster.proxy.write_requests() == []

    run = recover(unclean_recovery_partitions=[{"topic": offline.topic, "partitions": [0, 2]}])
    assert run.returncode == 0, run.output
    assert statuses(recovery.report) == [(offline.topic, 0, "recovered"), (offline.topic, 2, "recovered")]
    states = cluster.client.describe(offline.topic, broker=offline.best)
    assert {number: state.leader for number, state in states.items()} == {0: offline.best, 1: None, 2: offline.best}
    assert {tuple(state.replicas) for state in states.values()} == {offline.replicas}
