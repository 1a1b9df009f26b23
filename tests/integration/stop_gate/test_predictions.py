# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stop gate on real brokers: random sets of brokers on random states, predicted, and then really stopped.

These are a few seeds of the campaign (``python -m campaign.stops``): a failure can be repeated there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import StopReasonKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Answer, Gate
from campaign.stops.__main__ import SETS, ask, run_seed
from lab import Cluster
from lab.playbook import run_playbook


def named(gate: Gate, *kinds: StopReasonKind) -> set[tuple[str, int]]:
    return {(one.topic, one.partition) for each in gate.reasons if each.kind in kinds for one in each.partitions}


@pytest.mark.parametrize(
    ("seed", "sets"), [(1, 1), *(pytest.param(each, SETS, marks=pytest.mark.wide) for each in (2, 3))]
)
def test_what_is_predicted_happens(cluster: Cluster, seed: int, sets: int) -> None:
    verdict = run_seed(cluster, seed, cluster.version, sets)
    assert verdict.is_clean, verdict
    assert verdict.sets == sets
    assert cluster.proxy.write_requests() == []


@pytest.mark.wide
def test_a_hung_broker_makes_it_a_no(cluster: Cluster) -> None:
    cluster.client.create_topic("orders", {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    cluster.brokers[2].freeze()
    gate = ask(cluster, [1])
    assert gate.verdict is Answer.NO
    assert named(gate, StopReasonKind.BELOW_MIN_ISR) == {("orders", 0)}
    # Once the controller has fenced it, releases differ in what it looks like.
    wanted = ("find out why broker 2", "start broker 2")
    assert any(part in each for each in gate.stops[0].changes for part in wanted), gate.stops


def test_the_playbook_answers_by_its_exit_status(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5]}, {"min.insync.replicas": 2})
    settings = {"kafka_bootstrap_servers": cluster.bootstrap()}
    yes = run_playbook("kafkaops.recovery.check_stop", settings | {"stop_gate_brokers": "1,2"})
    assert yes.returncode == 0, yes.output
    assert "YES: brokers 1, 2 may stop now." in yes.words
    no = run_playbook(
        "kafkaops.recovery.check_stop",
        settings | {"stop_gate_sets": ["1+3"], "stop_gate_racks": "c", "stop_gate_report_html": f"{tmp_path}/no.html"},
    )
    assert no.returncode == 2, no.output
    assert "NO: brokers 1, 3; then broker 5 must not stop now: 1 reason." in no.words
    assert '"verdict": "no"' in (tmp_path / "no.html.json").read_text("utf-8")
    assert cluster.proxy.write_requests() == []
