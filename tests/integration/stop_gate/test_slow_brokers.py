# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that applies metadata late: it does not know a ticket that was just taken, and cannot lead at once."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import StopReasonKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Answer, Gate, PartitionName
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.looking import check_stop
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import Question
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.taking import TicketTerms, take_ticket
from integration.stop_gate.tickets import TOPIC, tickets_in, write_ticket
from lab import Cluster, settings, wait_until, wire
from lab.slow_metadata import SlowMetadata

SLOW = 3


@pytest.mark.wide
@pytest.mark.on_every_version
def test_the_ticket_of_another_pipeline_is_seen(cluster: Cluster) -> None:
    cluster.client.create_topic("orders", {0: [1, 2], 1: [2, 1]}, {"min.insync.replicas": 1})
    slow = SlowMetadata(cluster.brokers[SLOW])
    slow.prepare()
    wait_until(lambda: "orders" in shown_by(cluster, SLOW), 30, what="the broker knows the topics")
    with slow.applied_late():
        create_tickets_topic(cluster)
        write_ticket(cluster, "one", [1], minutes_ago=0, minutes=30, by=1)
        assert TOPIC not in shown_by(cluster, SLOW)
        found = take(cluster, 2)
        assert TOPIC not in shown_by(cluster, SLOW), "it did not know the topic all the time"
    assert found.verdict is Answer.NO
    assert any("being stopped by one" in each.text for each in found.reasons), found.reasons
    assert tickets_in(cluster).keys() == {"one"}


@pytest.mark.wide
@pytest.mark.on_every_version
def test_a_ticket_is_taken_and_its_topic_gets_no_copy_on_it(cluster: Cluster) -> None:
    slow = SlowMetadata(cluster.brokers[SLOW])
    slow.prepare()
    with slow.applied_late():
        create_tickets_topic(cluster)
        found = take(cluster, 5)
        assert TOPIC not in shown_by(cluster, SLOW)
        replicas = cluster.client.describe(TOPIC, broker=1)[0].replicas
    assert found.verdict is Answer.YES, found.reasons
    assert len(replicas) == 3
    assert SLOW not in replicas


@pytest.mark.wide
@pytest.mark.on_every_version
def test_no_leader_stops_if_the_next_one_is_slow(cluster: Cluster) -> None:
    cluster.client.create_topic("orders", {0: [1, SLOW], 1: [1, 2]})
    slow = SlowMetadata(cluster.brokers[SLOW])
    slow.prepare()
    wait_until(lambda: len(cluster.client.describe("orders")[0].isr) > 1, 30, what="it is in sync")
    with slow.applied_late():
        create_tickets_topic(cluster)  # from now on, there is metadata that it lacks
        found = ask(cluster, 1)
        assert cluster.client.describe("orders")[0].isr == (1, SLOW), "it is in the ISR all the time"
    assert found.verdict is Answer.NO
    assert len(found.reasons) == 1, found.reasons
    against = found.reasons[0]
    assert (against.kind, against.partitions) == (StopReasonKind.LATE_LEADER, (PartitionName("orders", 0),))
    assert "would be led by broker 3, which applies metadata late" in against.text
    wait_until(lambda: ask(cluster, 1).verdict is Answer.YES, 90, what="it has caught up")


def create_tickets_topic(cluster: Cluster) -> None:
    """Create it on two other brokers, and do not wait until every broker shows it."""
    topic = NewTopic(TOPIC, num_partitions=1, replica_assignment=[[1, 2]], config={"cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})  # has to live until the answer
    admin.create_topics([topic])[TOPIC].result(30)


def shown_by(cluster: Cluster, broker_id: int) -> list[str]:
    broker = cluster.brokers[broker_id]
    return wire.topics(broker.host, broker.ports[settings.INTERNAL])


def ask(cluster: Cluster, broker_id: int) -> Gate:
    with Wire(settings_from({"bootstrap_servers": cluster.bootstrap()})) as connection:
        return check_stop(Kafka(connection), Question(((broker_id,),)))


def take(cluster: Cluster, broker_id: int) -> Gate:
    """Ask the slow broker first."""
    terms = TicketTerms(owner="two", minutes=5, wait_s=10.0, journal=JournalOptions(), check_mode=False)
    brokers = [cluster.brokers[SLOW], *(each for each in cluster.brokers.values() if each.node_id != SLOW)]
    servers = [settings.address(each.host, each.advertised_port("PLAINTEXT")) for each in brokers]
    with Wire(settings_from({"bootstrap_servers": servers})) as connection:
        return take_ticket(Kafka(connection), Question(((broker_id,),)), terms)
