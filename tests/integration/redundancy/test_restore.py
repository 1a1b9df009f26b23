# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two of six brokers are lost with their disks: the partitions get their replicas back, on real brokers in three racks.

What the cluster looks like is read by confluent-kafka and by the lab's own client.
"""

from __future__ import annotations

import json
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.redundancy.six_brokers import PLAYBOOK, RACKS, TOPIC, check_restored, six_brokers
from integration.redundancy.throttles import throttles
from lab import Cluster, wait_until
from lab.playbook import run_playbook, signal_tree, start_playbook

_LOST = (3, 5)
_FULL_AT = 2_500_000
"""The size of files in bytes at which a disk counts as full. A replica has twice that."""


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with six_brokers(kafka_version, _LOST) as started:
        yield started


def test_lost_replicas_are_placed_and_no_healthy_one_moves(cluster: Cluster, tmp_path: Path) -> None:
    before = cluster.client.describe(TOPIC)
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    lost = {"kafka_bootstrap_servers": cluster.bootstrap(), "redundancy_lost_brokers": "3,5"}
    look = run_playbook(PLAYBOOK, {**lost, "redundancy_manual_output_file": str(plan)})
    planned = json.loads(plan.read_text("utf-8"))
    racks = {each["brokerId"]: each["rack"] for each in planned["racks"]}
    assert {broker: rack for broker, rack in racks.items() if broker not in _LOST} == {
        broker: rack for broker, rack in RACKS.items() if broker not in _LOST
    }
    assert all(f"{broker} ({RACKS[broker]})" in look.output for each in planned["moves"] for broker in each["adding"])
    go = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "redundancy_plan_file": str(plan),
        "redundancy_automated_recovery": "true",
        "redundancy_throttle_bytes_per_second": "50000000",
    }
    checked = run_playbook(PLAYBOOK, go, "--check")
    assert checked.returncode == 0, checked.output
    assert cluster.client.describe(TOPIC) == before
    run = run_playbook(PLAYBOOK, {**go, "redundancy_report_file": str(report)})
    assert run.returncode == 0, run.output
    check_restored(cluster)
    after = cluster.client.describe(TOPIC)
    assert all({*state.isr} <= {*after[number].replicas} for number, state in before.items())
    assert json.loads(report.read_text("utf-8"))["summary"]["restored"] == sum(
        bool({*_LOST} & {*each.replicas}) for each in before.values()
    )
    twice = run_playbook(PLAYBOOK, go)
    assert (twice.returncode, "changed=0" in twice.output) == (0, True), twice.output
    assert "got new replicas before" in twice.words
    again = run_playbook(PLAYBOOK, {**lost, "redundancy_automated_recovery": "true"})
    assert (again.returncode, "changed=0" in again.output) == (0, True), again.output


@pytest.mark.wide
def test_the_copies_of_a_killed_run_are_throttled_again_and_awaited(cluster: Cluster) -> None:
    given = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "redundancy_lost_brokers": "3,5",
        "redundancy_automated_recovery": "true",
    }
    run = start_playbook(PLAYBOOK, {**given, "redundancy_throttle_bytes_per_second": "500000"})
    wait_until(
        lambda: any(len(each.replicas) > 3 for each in cluster.client.describe(TOPIC).values()),
        90,
        what="a reassignment runs",
    )
    time.sleep(1)
    signal_tree(run.pid, signal.SIGKILL)
    run.wait()
    assert throttles(cluster, TOPIC)

    again = run_playbook(PLAYBOOK, {**given, "redundancy_throttle_bytes_per_second": "20000000"}, timeout=400)
    assert again.returncode == 0, again.output
    check_restored(cluster)


@pytest.mark.wide
@pytest.mark.parametrize("returning", [_LOST[:1], _LOST], ids=["one of two", "both"])
def test_lost_brokers_that_return_keep_what_is_whole_by_that(
    cluster: Cluster, tmp_path: Path, returning: tuple[int, ...]
) -> None:
    """Each partition has lost both brokers or none. One alone completes none of them, so all copies go on."""
    report = tmp_path / "report.json"
    given = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "redundancy_lost_brokers": "3,5",
        "redundancy_automated_recovery": "true",
        "redundancy_throttle_bytes_per_second": "300000",
        "redundancy_report_file": str(report),
    }
    run = start_playbook(PLAYBOOK, given)
    wait_until(
        lambda: any(len(each.replicas) > 3 for each in cluster.client.describe(TOPIC).values()),
        90,
        what="a reassignment runs",
    )
    for each in returning:
        cluster.brokers[each].start()
    output, _nothing = run.communicate(timeout=600)
    assert run.returncode == 0, output
    check_restored(cluster)
    kept = [number for number, each in cluster.client.describe(TOPIC).items() if {*_LOST} & {*each.replicas}]
    assert json.loads(report.read_text("utf-8"))["summary"]["returned"] == len(kept), output
    assert bool(kept) is (returning == _LOST), output


@pytest.mark.wide
@pytest.mark.timeout(900)
def test_the_partitions_of_a_disk_that_fills_get_other_brokers(cluster: Cluster, tmp_path: Path) -> None:
    """A limit on the size of files is to the broker what a full disk is: its only log directory goes offline."""
    full, report = 4, tmp_path / "report.json"
    given = {"kafka_bootstrap_servers": cluster.bootstrap(), "redundancy_automated_recovery": "true"}
    limits = {"redundancy_throttle_bytes_per_second": "1500000", "redundancy_report_file": str(report)}
    run = start_playbook(PLAYBOOK, {**given, **limits, "redundancy_lost_brokers": "3,5"})
    wait_until(
        lambda: any(full in each.replicas and 3 in each.replicas for each in cluster.client.describe(TOPIC).values()),
        90,
        what=f"broker {full} copies",
    )
    pid = cluster.brokers[full].pid
    assert pid is not None
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (_FULL_AT, _FULL_AT))
    output, _nothing = run.communicate(timeout=600)
    assert not cluster.brokers[full].running, "the disk was not full"
    assert run.returncode == 0, output
    words = " ".join(output.split())
    assert f"broker {full} is down, so our throttle is still on" in words, output
    after = cluster.client.describe(TOPIC)
    copied = [number for number in after if number % 2 == 0]
    assert all({*after[number].isr} == {*after[number].replicas} == {1, 2, 6} for number in copied), output
    assert throttles(cluster, TOPIC) == []

    cluster.brokers[full].start()
    assert {name for name, _setting in throttles(cluster, TOPIC)} == {str(full)}
    back = run_playbook(PLAYBOOK, {**given, "redundancy_lost_brokers": "3,5"})
    assert back.returncode == 0, back.output
    assert throttles(cluster, TOPIC) == []
