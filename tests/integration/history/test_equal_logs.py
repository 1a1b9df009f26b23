# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two survivors have equal logs, and only one of them left the ISR last: the proof is good for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.history.alone import options_of, produce
from lab import Cluster, scenarios
from lab.module_process import run_module

_TOPIC = "equal"


@pytest.mark.wide
def test_the_first_of_equal_logs_is_elected_by_the_proof_of_the_other(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic(_TOPIC, {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    produce(cluster, _TOPIC, 20, "all")
    # 2 leaves first, and nothing is written until 3 has left, too.
    for broker, isr in ((2, {1, 3}), (3, {1})):
        cluster.brokers[broker].freeze()
        scenarios.wait_isr(cluster, _TOPIC, isr, seen_by=1)
    produce(cluster, _TOPIC, 5, "1")
    cluster.brokers[1].kill()
    for broker in (2, 3):
        cluster.brokers[broker].thaw()
    for broker in (2, 3):
        scenarios.wait_offline(cluster, _TOPIC, away={1}, seen_by=broker)

    report = str(tmp_path / "report.json")
    asked = options_of(cluster, _TOPIC, recovery_strategy="balanced", proof="accept", report_file=report)
    (row,) = run_module("unclean_recovery", asked)["partitions"]
    assert row["status"] == "recovered", row["reason"]
    proofs = {each["broker_id"]: (each["acks_all_lost"], each["proof"]) for each in row["losses"]}
    assert proofs[3][0] == 0
    assert proofs[2] == (0, f"it holds all that broker 3 holds, and {proofs[3][1]}")
    assert cluster.client.leader(_TOPIC) == 2
    assert cluster.client.log_end_offset(_TOPIC, 0, 2) == 20, "all that was acknowledged with acks=all is there"
