# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs on two brokers at a time, and repairs that are stopped or lose their broker."""

from __future__ import annotations

import signal

import pytest
from kafka.protocol.api_key import ApiKey

from lab.changes import pending_changes
from lab.cleaner import CleanerCluster, CleanerOperator
from lab.faults import After
from lab.module_process import results
from lab.waiting import wait_until

pytestmark = pytest.mark.on_any_version


@pytest.mark.wide
def test_two_brokers_at_a_time_and_one_replica_of_each(lab: CleanerCluster, operator: CleanerOperator) -> None:
    orders = {"first": (1, 2, 3), "second": (2, 3, 1), "third": (3, 2, 1)}
    for topic, broker in {"first": 2, "second": 3, "third": 2}.items():
        lab.damaged(topic, orders[topic], broker)
    reported = operator.run("log_cleaner_repair", max_concurrent=2)
    assert [(each["topic"], each["broker_id"], each["status"]) for each in reported["outcomes"]] == [
        ("first", 2, "repaired"),
        ("second", 3, "repaired"),
        ("third", 2, "repaired"),
    ], reported
    for topic, order in orders.items():
        lab.assert_in_sync(topic, order)
    operator.assert_healthy()


@pytest.mark.wide
def test_sigterm_undoes_the_current_repair_and_begins_no_other(lab: CleanerCluster, operator: CleanerOperator) -> None:
    """Threads that hang keep the mark, so the run is stopped while the replica is dropped."""
    lab.damaged("begun", (1, 2, 3), 3)
    lab.damaged("waiting", (2, 1, 3), 3)
    lab.hang_threads(3)
    lab.cluster.proxy.clear()
    process = operator.start("log_cleaner_repair", brokers=[3])
    wait_until(lambda: lab.drops(3), 60, what="a replica is dropped")
    process.send_signal(signal.SIGTERM)
    reported = results(process)
    lab.release_threads(3)
    assert sorted(each["status"] for each in reported["outcomes"]) == ["failed", "stopped"], reported
    assert "the run was asked to stop; restored" in reported["msg"]
    assert len(lab.drops(3)) == 1
    lab.assert_in_sync("begun", (1, 2, 3))
    lab.assert_in_sync("waiting", (2, 1, 3))
    assert pending_changes(lab.cluster) == ()
    wait_until(
        lambda: operator.diagnoses(brokers=[3]) == {3: "uncleanable_partitions"}, 60, what="the marks are reported"
    )
    again = operator.run("log_cleaner_repair", brokers=[3], force=True)
    assert {each["status"] for each in again["outcomes"]} == {"repaired"}, again


@pytest.mark.wide
def test_a_broker_that_dies_is_left_to_the_next_run_and_holds_nobody_up(
    lab: CleanerCluster, operator: CleanerOperator
) -> None:
    lab.damaged("dying", (1, 2, 3), 2)
    # Not on broker 2: Kafka drops a replica only while the other replicas of the partition are alive.
    lab.damaged("living", (1, 3), 3)
    lab.cluster.proxy.clear()

    def kill_its_broker() -> None:
        """Wait until the damaged copy is deleted: a broker that dies earlier still has it, and needs the repair."""
        if lab.drops(2):
            wait_until(lambda: not lab.segments("dying", 2), what="broker 2 drops its copy")
            lab.cluster.brokers[2].kill()

    lab.cluster.proxy.inject(After(kill_its_broker), api_key=ApiKey.AlterPartitionReassignments)
    reported = operator.run("log_cleaner_repair", max_concurrent=2, verify_timeout_ms=20_000, allow_single_copy=True)
    lab.cluster.proxy.clear()
    outcomes = {each["topic"]: (each["status"], each["reason"]) for each in reported["outcomes"]}
    assert outcomes["living"][0] == "repaired", str(outcomes)
    assert outcomes["dying"][0] == "failed"
    assert "start broker 2" in outcomes["dying"][1]
    assert "the throttle is still on" in outcomes["dying"][1]
    assert lab.cluster.client.describe("dying")[0].replicas == (1, 2, 3)
    assert pending_changes(lab.cluster)

    lab.cluster.brokers[2].start()
    wait_until(lambda: sorted(lab.cluster.client.describe("dying")[0].isr) == [1, 2, 3], 60, what="broker 2 is in sync")
    after = operator.run("log_cleaner_repair", brokers=[2], partitions=[{"topic": "dying", "partition": 0}])
    assert after["leftovers"], after
    assert {each["undoing"] for each in after["leftovers"]} <= {"restored", "already_back"}, after
    assert [each["status"] for each in after["outcomes"]] == ["not_needed"], after
    assert pending_changes(lab.cluster) == ()
    lab.assert_in_sync("dying", (1, 2, 3))


@pytest.mark.wide
def test_a_copy_that_takes_longer_than_the_time_limit_goes_on(lab: CleanerCluster, operator: CleanerOperator) -> None:
    """The undo of the repair waits for it as long again. A copy that began from nothing again would never end."""
    lab.create("huge", (1, 2, 3))
    lab.write("huge", 6)
    lab.assert_in_sync("huge", (1, 2, 3))
    reported = operator.run(
        "log_cleaner_repair",
        brokers=[3],
        partitions=[{"topic": "huge", "partition": 0}],
        force=True,
        metrics_source="none",
        metrics_url=None,
        repair_timeout_ms=30_000,
        throttle_bytes_per_second=100_000,
    )
    assert "the new replica on broker 3 is not in sync at its deadline; restored" in reported["msg"], reported
    lab.assert_in_sync("huge", (1, 2, 3))
    assert pending_changes(lab.cluster) == ()
