# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition that lost its leader during a reassignment: its election is refused, with the effect of Kafka's tool."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, settings, wait_until
from lab.leadership import request_reassignments, wait_in_sync

_TOPIC, _ADDED = "moving", 4
_ADVICE = re.compile(
    r"a reassignment of it is running, and completes only with a leader: "
    r"kafka-leader-election\.sh --election-type unclean elects broker (\d), not the designated (\d)"
)


def test_kafkas_tool_elects_the_broker_that_the_refusal_names(cluster: Cluster, tmp_path: Path) -> None:
    on_call = OnCall(cluster, tmp_path)
    offline = scenarios.diverged(cluster, _TOPIC)
    request_reassignments(cluster, _TOPIC, {0: (*offline.replicas, _ADDED)})
    wait_until(lambda: _ADDED in cluster.client.describe(_TOPIC)[0].replicas, 60, what="the replica is being added")
    (outcome,) = on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, _TOPIC))
    assert outcome.status is Status.REFUSED
    advised = _ADVICE.search(outcome.reason)
    assert advised, outcome.reason
    dead, elected, best = offline.replicas
    assert [int(each) for each in advised.groups()] == [elected, best]
    done = cluster.client.run_tool(
        "org.apache.kafka.tools.LeaderElectionCommand",
        *("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "--election-type", "unclean"),
        *("--topic", _TOPIC, "--partition", "0"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert cluster.client.leader(_TOPIC) == elected
    cluster.brokers[dead].start()
    wait_in_sync(cluster, _TOPIC)
    assert cluster.client.describe(_TOPIC)[0].replicas == (*offline.replicas, _ADDED)
