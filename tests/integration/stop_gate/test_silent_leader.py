# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller may elect a broker that does not answer this host: nobody here knows what that one has."""

from __future__ import annotations

from threading import Thread

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import StopReasonKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Answer, Gate
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.looking import check_stop
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import Question
from lab import Cluster, wait_until

pytestmark = [pytest.mark.wide, pytest.mark.timeout(300)]

_HELD_S = 600


def ask(cluster: Cluster, broker_id: int) -> Gate:
    given = {"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 2000}
    with Wire(settings_from(given)) as connection:
        return check_stop(Kafka(connection), Question(((broker_id,),)))


def test_no_leader_stops_if_the_next_one_does_not_answer(kafka_version: str) -> None:
    """Broker 2 is frozen, for less time than the controller and its leader wait. It is elected all the same."""
    fenced_late = {"broker.session.timeout.ms": _HELD_S * 1000}
    in_sync = {"replica.lag.time.max.ms": _HELD_S * 1000}
    with Cluster(kafka_version, brokers=3, properties=in_sync, controller_properties=fenced_late) as cluster:
        orders = {0: [1, 2, 3], 1: [3, 1, 2], 2: [1, 3, 2]}
        cluster.client.create_topic("orders", orders, {"min.insync.replicas": 1})
        cluster.brokers[2].freeze()
        try:
            found, other = ask(cluster, 1), ask(cluster, 3)
            assert (found.verdict, [each.kind for each in found.reasons]) == (
                Answer.NO,
                [StopReasonKind.SILENT_LEADER],
            )
            assert [each.partition for each in found.reasons[0].partitions] == [0]
            assert (other.verdict, other.reasons) == (Answer.YES, ())
            stopping = Thread(target=cluster.brokers[1].stop)
            stopping.start()

            def led() -> dict[int, int | None]:
                return {number: each.leader for number, each in cluster.client.describe("orders", broker=3).items()}

            wait_until(lambda: led() == {0: 2, 1: 3, 2: 3}, 60, what="the frozen broker leads")
        finally:
            cluster.brokers[2].thaw()
        stopping.join()
