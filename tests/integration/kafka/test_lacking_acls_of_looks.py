# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Revoke each ACL of the playbooks around an outage: no verdict is green on what could not be read.

As test_lacking_acls: brokers are well at first; then broker 1 dies for good.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_ticket import TICKET_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.permissions import Resource
from integration.kafka.test_lacking_acls import Person, assert_named, required
from integration.kafka.test_permissions import GROUP, JOURNAL, TOPIC, Alice, Grant, commit
from lab import Cluster, wait_until

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def person(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    properties = {"offsets.topic.num.partitions": 1, "offsets.topic.replication.factor": 3}
    with Cluster(
        kafka_version, brokers=4, listeners=("SASL_PLAINTEXT",), super_users=[], properties=properties
    ) as cluster:
        cluster.client.allow("alice", "ALL", topic="__consumer_offsets")
        cluster.client.create_topic(TOPIC, {0: [1, 2]}, {"min.insync.replicas": 1})
        cluster.client.produce(TOPIC, 0, 5)
        commit(cluster)
        yield Person(Alice(cluster, set()), tmp_path_factory.mktemp("looks"))


@pytest.mark.parametrize("grant", required("check_stop"))
def test_check_stop(person: Person, grant: Grant) -> None:
    person.have("check_stop")
    if not person.cluster.client.describe(TICKET_TOPIC):
        assert person.run("stop_gate", brokers=[4], take=True)["verdict"] == "yes"
        assert person.run("stop_gate", brokers=[4], release=True)["changed"]
    assert person.run("stop_gate", brokers=[4])["verdict"] == "yes"
    with person.alice.lacking(grant):
        found = person.run("stop_gate", brokers=[1])
    assert found.get("verdict") != "yes"
    assert_named({**found, "partitions": found.get("reasons")}, grant)


@pytest.mark.parametrize("grant", required("record_cluster"))
def test_record_cluster(person: Person, grant: Grant) -> None:
    person.have("record_cluster")
    with person.alice.lacking(grant):
        found = person.run("cluster_recording", recorder_dir=str(person.directory / "recordings"), scope=TOPIC)
    assert_named({**found, "warnings": found["notes"]}, grant)


def test_no_offline_partition_is_no_verdict_where_no_topic_is_seen(person: Person) -> None:
    person.have("recover_offline_partitions")
    person.cluster.client.revoke("alice", "ALL", topic="__consumer_offsets")
    try:
        with person.alice.lacking(("DESCRIBE", Resource.TOPICS)):
            found = person.run("leader_candidate_info")
    finally:
        person.cluster.client.allow("alice", "ALL", topic="__consumer_offsets")
    assert found["failed"]
    assert_named(found, ("DESCRIBE", Resource.TOPICS))


@pytest.fixture
def lost(person: Person) -> None:
    """Broker 1 is dead, and a partition has a replica there."""
    client = person.cluster.client
    for topic in (TOPIC, JOURNAL):
        person.forget(topic)
    person.cluster.brokers[1].kill()
    client.create_topic(TOPIC, {0: [2, 1]}, {"min.insync.replicas": 1})
    wait_until(lambda: client.describe(TOPIC, broker=2)[0].isr == (2,), 60, what="broker 1 is in no ISR")


@pytest.mark.usefixtures("lost")
@pytest.mark.parametrize("grant", required("restore_redundancy"))
def test_restore_redundancy(person: Person, grant: Grant) -> None:
    person.have("restore_redundancy")
    with person.alice.lacking(grant):
        found = person.run("redundancy", lost_brokers=[1], apply=True, max_rows=10)
    assert_named(found, grant)
    restored = [each["topic"] for each in found.get("partitions", []) if each["status"] == "restored"]
    assert (TOPIC in restored) == (grant == ("DELETE", Resource.JOURNAL))


def test_groups_that_may_be_hidden_are_not_known(person: Person) -> None:
    """Without DESCRIBE on the cluster, a broker leaves groups out of its list, and returns no error."""
    person.have("restore_groups")
    with person.alice.lacking(("DESCRIBE", Resource.CLUSTER)):
        found = person.run("group_recovery")
    assert [each["groups"] for each in found["unknown"] if "are hidden from us" in each["reason"]] == [[]]


@pytest.mark.usefixtures("lost")
@pytest.mark.parametrize("grant", required("restore_groups"))
def test_restore_groups(person: Person, grant: Grant) -> None:
    """Its group has committed an offset beyond the end of the log that was created again."""
    person.have("restore_groups")
    commit(person.cluster, 1000)
    with person.alice.lacking(grant):
        undo = person.directory / f"{grant[0]}-{grant[1].name}.json"
        found = person.run("group_recovery", groups=[GROUP], apply=True, undo_file=str(undo))
    assert_named(found, grant)
