# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Revoke each ACL of each playbook's modules. The error message names the operation and the resource.

Readiness names them before (test_permissions). Without an optional ACL, and where a warning is enough, work goes on.
The tests are one story: brokers are well at first; then one dies, its partition is recovered, and its disk is salvaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_ticket import TICKET_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.permissions import NEEDS, Resource
from integration.kafka.test_permissions import (
    GROUP,
    IMPLIED_BY,
    JOURNAL,
    MEMORY,
    TOPIC,
    TRANSACTION,
    Alice,
    Grant,
    commit,
    grants,
)
from lab import Cluster, scenarios
from lab.cleaner import CleanerCluster
from lab.module_process import run_module

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version, pytest.mark.timeout(600)]

_NAMES: Mapping[Resource, str] = {
    Resource.CLUSTER: "the cluster",
    Resource.TOPICS: "topic",
    Resource.JOURNAL: JOURNAL,
    Resource.MEMORY: MEMORY,
    Resource.TICKETS: TICKET_TOPIC,
    Resource.GROUPS: "group",
    Resource.SALVAGE_TRANSACTION: TRANSACTION,
}


def required(playbook: str, *resources: Resource) -> list[Any]:
    """Return parameters: the required ACLs of the playbook, on these kinds of resources or on all."""
    wanted = dict.fromkeys(grants(playbook, optional=False))
    return [
        pytest.param(each, id=f"{each[0]} on {each[1].value}") for each in wanted if each[1] in (resources or Resource)
    ]


def assert_named(results: Mapping[str, Any], grant: Grant) -> None:
    """Find the operation, or an operation that implies it and was revoked with it, and the resource.

    A module that goes on without says so in a warning, or of the partition concerned.
    """
    text = json.dumps({name: value for name, value in results.items() if name != "invocation"})
    operations = "|".join((grant[0], *IMPLIED_BY.get(grant[0], ())))
    in_command = "|".join(each.title().replace("_", "") for each in operations.split("|"))
    assert re.search(rf"\b({operations})\b[^.;:]* on |--operation ({in_command})\b", text), text
    assert _NAMES[grant[1]] in text, text
    assert results.get("failed") or results.get("warnings") or results.get("partitions") or results.get("outcomes")


@dataclass
class Person:
    """Runs the modules as user alice, as their playbooks call them."""

    alice: Alice
    directory: Path
    is_drained: bool = False

    @property
    def cluster(self) -> Cluster:
        return self.alice.cluster

    def run(self, module: str, **options: Any) -> dict[str, Any]:
        connection = {
            "bootstrap_servers": [self.cluster.bootstrap("SASL_PLAINTEXT")],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": "alice",
            "sasl_password": "alice-secret",
            "request_timeout_ms": 5000,
        }
        return run_module(module, {**connection, **options})

    def have(self, playbook: str) -> None:
        self.alice.have(set(grants(playbook)))

    def drain(self, state: str) -> dict[str, Any]:
        results = self.run("preferred_leader_blacklist", brokers=[1], state=state)
        if results.get("changed"):
            self.is_drained = state == "present"
        return results

    def forget(self, topic: str) -> None:
        """Delete one of our topics if it exists."""
        if self.cluster.client.describe(topic):
            self.cluster.client.delete_topic(topic)


@pytest.fixture(scope="module")
def person(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    properties = {"transaction.state.log.num.partitions": 1, "offsets.topic.num.partitions": 1}
    with Cluster(
        kafka_version,
        controllers=3,
        dynamic_quorum=True,
        listeners=("SASL_PLAINTEXT",),
        super_users=[],
        properties=properties,
    ) as cluster:
        cluster.client.create_topic(TOPIC, {0: [1, 2, 3]})
        commit(cluster)
        yield Person(Alice(cluster, set()), tmp_path_factory.mktemp("lacking"))


@pytest.mark.parametrize("grant", required("check_quorum"))
def test_check_quorum(person: Person, grant: Grant) -> None:
    person.have("check_quorum")
    with person.alice.lacking(grant):
        found = person.run("quorum_info", window_ms=0)
    assert found["failed"]
    assert_named(found, grant)


def test_check_quorum_goes_on_without_the_configs(person: Person) -> None:
    person.have("check_quorum")
    with person.alice.lacking(("DESCRIBE_CONFIGS", Resource.CLUSTER)):
        found = person.run("quorum_info", window_ms=0)
    assert len(found["voters"]) == 3


@pytest.mark.parametrize("grant", required("replace_controller"))
def test_replace_controller(person: Person, grant: Grant) -> None:
    person.have("replace_controller")
    person.forget(JOURNAL)
    with person.alice.lacking(grant):
        refused = person.run("quorum_voter", state="absent", voter_id=103, verify_timeout_ms=30_000)
    if grant == ("DELETE", Resource.JOURNAL):
        # The voter is already removed, and does not join again by itself.
        assert refused["changed"]
    else:
        assert refused["failed"]
    assert_named(refused, grant)


@pytest.mark.parametrize("grant", required("drain_leadership"))
def test_drain_leadership(person: Person, grant: Grant) -> None:
    person.have("drain_leadership")
    if person.is_drained:
        assert person.drain("absent")["changed"]
    if grant == ("CREATE", Resource.MEMORY):
        person.forget(MEMORY)
    if grant == ("DESCRIBE", Resource.TOPICS):
        # Kafka does not list the topic then, so a topic without stored orders is missing.
        assert person.drain("present")["changed"]
    with person.alice.lacking(grant):
        results = person.drain("present")
    assert_named(results, grant)


@pytest.mark.parametrize("grant", required("restore_leadership"))
def test_restore_leadership(person: Person, grant: Grant) -> None:
    person.have("drain_leadership")
    if not person.is_drained:
        assert person.drain("present")["changed"]
    person.have("restore_leadership")
    with person.alice.lacking(grant):
        results = person.drain("absent")
    assert_named(results, grant)


@pytest.fixture(scope="module")
def plan(person: Person) -> Path:
    """Return the plan of a partition whose last leader, broker 1, is dead."""
    person.have("drain_leadership")
    if person.is_drained:
        person.drain("absent")
    # Existing partitions lose their leader with broker 1, too.
    for topic in (TOPIC, JOURNAL, MEMORY):
        person.forget(topic)
    scenarios.diverged(person.cluster, TOPIC)
    person.cluster.client.elect_unclean("__consumer_offsets", [0])
    # On 3.9.2 the new coordinator lists no group whose offsets it has only read from the log.
    commit(person.cluster)
    person.cluster.client.allow("alice", "DESCRIBE", topic="__consumer_offsets")
    person.have("recover_offline_partitions")
    path = person.directory / "plan.json"
    planned = candidates(person, plan_file=str(path))
    assert "msg" not in planned, planned["msg"]
    assert [each["status"] for each in planned["partitions"]] == ["would_recover"], planned
    return path


def candidates(person: Person, **options: object) -> dict[str, Any]:
    asked = {"recovery_strategy": "aggressive", "lost_brokers": [1], "max_rows": 10}
    return person.run("leader_candidate_info", **asked, **options)


def elect(person: Person, plan: Path) -> dict[str, Any]:
    return person.run("designated_election", plan_file=str(plan), max_rows=10)


_RECOVER = "recover_offline_partitions"


def elections() -> list[Any]:
    """Return ACLs that elections need and the gather does not. DELETE is missing here: see below."""
    parameters = required(_RECOVER, Resource.CLUSTER, Resource.JOURNAL)
    return [each for each in parameters if each.values != (("DELETE", Resource.JOURNAL),)]


@pytest.mark.parametrize("grant", elections())
def test_the_elections_of_a_recovery(person: Person, plan: Path, grant: Grant) -> None:
    person.have(_RECOVER)
    person.forget(JOURNAL)
    with person.alice.lacking(grant):
        refused = elect(person, plan)
    assert refused["failed"]
    assert_named(refused, grant)


@pytest.mark.parametrize("grant", required(_RECOVER, Resource.TOPICS))
def test_the_questions_of_a_recovery(person: Person, plan: Path, grant: Grant) -> None:
    person.have(_RECOVER)
    person.forget(JOURNAL)
    chosen = {"partitions": [{"topic": TOPIC, "partition": 0}]}
    with person.alice.lacking(grant):
        asked = candidates(person, plan_file=str(person.directory / f"{grant[0]}.json"), **chosen)
        elected = elect(person, plan) if grant[0] == "DESCRIBE" else asked
    assert_named(asked, grant)
    assert_named(elected, grant)
    assert "would_recover" not in {each["status"] for each in asked.get("partitions", [])}


def test_a_recovery_goes_on(person: Person, plan: Path) -> None:
    """Recover without optional ACLs and without DELETE on the journal's topic: warnings name them, except configs."""
    person.have(_RECOVER)
    person.forget(JOURNAL)
    lacking: list[Grant] = [
        ("DESCRIBE_CONFIGS", Resource.CLUSTER),
        ("DESCRIBE", Resource.GROUPS),
        ("DELETE", Resource.JOURNAL),
    ]
    person.alice.have(person.alice.granted - {*lacking})
    recovered = elect(person, plan)
    assert [each["status"] for each in recovered["partitions"]] == ["recovered"], recovered
    assert_named(recovered, ("DESCRIBE", Resource.GROUPS))
    assert f"of 1 group ({GROUP})" in json.dumps(recovered["aftermath"])
    assert_named(recovered, ("DELETE", Resource.JOURNAL))


def salvage(person: Person, directory: Path) -> dict[str, Any]:
    log_dirs = [str(each) for each in person.cluster.brokers[1].data_dirs]
    options = {"log_dirs": log_dirs, "salvage_dir": str(directory), "topics": [TOPIC], "max_rows": 10}
    return person.run("replica_log_salvage", **options)


@pytest.mark.parametrize("grant", required("salvage_logs"))
def test_salvage_logs(person: Person, plan: Path, tmp_path: Path, grant: Grant) -> None:
    assert plan.exists()
    person.have("salvage_logs")
    with person.alice.lacking(grant):
        refused = salvage(person, tmp_path / "saved")
    assert refused["failed"], refused
    assert_named(refused, grant)


@pytest.fixture(scope="module")
def saved(person: Person, plan: Path) -> Path:
    assert plan.exists()
    person.have("salvage_logs")
    directory = person.directory / "saved"
    done = salvage(person, directory)
    assert done["changed"], done
    return directory


_REPLAY = "replay_salvaged_records"


@pytest.mark.parametrize("grant", required(_REPLAY))
def test_replay_salvaged_records(person: Person, saved: Path, grant: Grant) -> None:
    person.have(_REPLAY)
    person.forget(JOURNAL)
    with person.alice.lacking(grant):
        refused = person.run("salvage_replay", salvage_dir=str(saved), target="original", max_rows=10)
    assert_named(refused, grant)


@pytest.fixture(scope="module")
def lab(kafka_version: str) -> Iterator[CleanerCluster]:
    with CleanerCluster(kafka_version, listeners=("SASL_PLAINTEXT",), super_users=[]) as started:
        started.damaged(TOPIC, (3, 1, 2), 3)
        yield started


@pytest.fixture(scope="module")
def carer(lab: CleanerCluster, tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(Alice(lab.cluster, set()), tmp_path_factory.mktemp("carer"))


_CLEANERS = "recover_log_cleaners"


def care(carer: Person, lab: CleanerCluster, module: str, **options: Any) -> dict[str, Any]:
    metrics: dict[str, Any] = {
        "metrics_source": "prometheus",
        "metrics_url": lab.prometheus_url,
        "suspect_bytes": 500_000,
    }
    return carer.run(module, metrics_timeout_ms=30_000, **metrics, **options)


@pytest.mark.parametrize("grant", required(_CLEANERS)[::-1])
def test_recover_log_cleaners(carer: Person, lab: CleanerCluster, grant: Grant) -> None:
    """Restart threads, and repair a replica if only the repair needs the ACL.

    Without ALTER on the cluster at the end: what is put back then is in the journal, which the next test deletes.
    """
    carer.have(_CLEANERS)
    carer.forget(JOURNAL)
    with carer.alice.lacking(grant):
        if grant[1] is Resource.TOPICS or grant[0] == "ALTER":
            chosen = {"partitions": [{"topic": TOPIC, "partition": 0}]}
            results = care(carer, lab, "log_cleaner_repair", brokers=[3], **chosen)
        else:
            results = care(carer, lab, "log_cleaner", force=True)
    assert_named(results, grant)


def test_every_playbook_is_here() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    others = {"check_readiness", _RECOVER}  # test_permissions, and the tests of elections and questions
    looks = {"check_stop", "record_cluster", "restore_redundancy", "restore_groups"}  # test_lacking_acls_of_looks
    untried = {"recover_quorum"}  # docs/permissions.md says so
    assert set(NEEDS) - tested - others - looks == untried
