# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unknown cleaner does not count as healthy, and a replica without a proven mark is not dropped."""

from __future__ import annotations

import urllib.request
from pathlib import Path
from typing import Any

import pytest

from lab.cleaner import WELL, CleanerCluster, CleanerOperator
from lab.waiting import wait_until

_DEAD_THREADS = "kafka.log:type=LogCleaner,name=DeadThreadCount"


def _exported(lab: CleanerCluster, broker: int) -> str:
    """Return what a broker's exporter reports, as another client reads it."""
    url = lab.prometheus_url.format(host=lab.cluster.host, broker_id=broker)
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode().lower())


@pytest.mark.wide
def test_a_cleaner_with_unreported_threads_is_not_healthy(lab: CleanerCluster, operator: CleanerOperator) -> None:
    """The threads of broker 1 are dead, and those of brokers 2 and 3 live. Without the gauge, they look alike."""
    lab.kill_threads(1)
    brokers = (*lab.cluster.brokers,)
    with lab.without_mbean(_DEAD_THREADS):
        assert all("kafka_log_logcleaner_deadthreadcount" not in _exported(lab, each) for each in brokers)
        assert "kafka_log_logcleanermanager_time_since_last_run_ms" in _exported(lab, 1)
        reported = operator.run("log_cleaner_info")["brokers"]
        assert [(each["diagnosis"], each["dead_threads"], each["restart_helps"]) for each in reported] == [
            ("unknown", None, False)
        ] * len(brokers)
        assert all("does not have DeadThreadCount" in each["reason"] for each in reported)
        # No thread of broker 1 has looked for work for long, and the reason is unknown.
        wait_until(
            lambda: operator.run("log_cleaner_info", brokers=[1])["brokers"][0]["time_since_last_run_ms"] > 1000,
            what="the dead threads have not run for a second",
        )
        assert operator.diagnoses(brokers=[1], stalled_after_ms=1000) == {1: "unknown"}
        lab.cluster.proxy.clear()
        left_alone = operator.run("log_cleaner")
        assert {each["status"] for each in left_alone["outcomes"]} == {"unknown"}, left_alone
        assert lab.cluster.proxy.write_requests() == []
        by_jolokia = operator.diagnoses(metrics_source="jolokia", metrics_url=lab.jolokia_url)
        assert by_jolokia[1] == "dead_threads"
        assert {by_jolokia[2], by_jolokia[3]} <= WELL
    assert all("kafka_log_logcleaner_deadthreadcount" in _exported(lab, each) for each in brokers)
    operator.run("log_cleaner")
    operator.assert_healthy()


@pytest.mark.wide
def test_a_limited_search_repairs_proven_replicas_and_names_the_rest(
    lab: CleanerCluster, operator: CleanerOperator
) -> None:
    """Two replicas of broker 3 are marked, and the first copy exceeds the total limit."""
    order = (3, 1, 2)
    topics = {"first", "second"}
    for topic in topics:
        lab.damaged(topic, order, 3)
    lab.cluster.proxy.clear()
    limited: dict[str, Any] = {"brokers": [3], "max_total_read_bytes": 1000}
    foreseen = operator.run("log_cleaner_repair", check_mode=True, search_in_check_mode=True, **limited)
    assert [each["status"] for each in foreseen["outcomes"]] == ["would_repair"], foreseen
    assert lab.cluster.proxy.write_requests() == []

    reported = operator.run("log_cleaner_repair", **limited)
    assert [each["status"] for each in reported["outcomes"]] == ["repaired"], reported
    assert reported["failed"]
    (unidentified,) = reported["unidentified_marks"]
    assert unidentified in reported["msg"]
    assert "broker 3 marks 2 partitions" in unidentified
    assert "1 of its copies are damaged" in unidentified
    assert "the limit of 1000 bytes for all copies (max_total_read_bytes) was reached" in unidentified
    (left,) = topics - {reported["outcomes"][0]["topic"]}
    dropped = {topic.name for request in lab.drops(3) for topic in request.decode().topics}
    assert dropped == topics - {left}
    for topic in topics:
        lab.assert_in_sync(topic, order, leader=3)
    assert operator.diagnoses(brokers=[3]) == {3: "uncleanable_partitions"}

    rest = operator.run("log_cleaner_repair", brokers=[3])
    assert [(each["topic"], each["status"]) for each in rest["outcomes"]] == [(left, "repaired")], rest
    operator.assert_healthy(3)


@pytest.mark.wide
def test_a_named_replica_needs_a_mark_in_its_own_log_directory(kafka_version: str, tmp_path: Path) -> None:
    """The broker has two log directories, and the mark is in the other one."""
    order = (3, 1, 2)
    with CleanerCluster(kafka_version, log_dirs=2) as lab:
        operator = CleanerOperator(lab)
        lab.damaged("marked", order, 3)
        named = _in_another_directory(lab, "marked", order, 3)
        lab.cluster.proxy.clear()
        options: dict[str, Any] = {"brokers": [3], "partitions": [{"topic": named, "partition": 0}]}
        (left,) = operator.run("log_cleaner_repair", **options)["outcomes"]
        own, other = (lab.segments(topic, 3)[0].parent.parent for topic in (named, "marked"))
        assert left["status"] == "not_needed"
        assert f"marks no partition as uncleanable in {own}, where its copy is, only in {other}" in left["reason"]
        assert lab.cluster.proxy.write_requests() == []

        # With force it is dropped and re-created. The mark, which is not its own, stays and is reported.
        (forced,) = operator.run("log_cleaner_repair", force=True, **options)["outcomes"]
        assert forced["status"] == "failed"
        assert "the mark is not this replica's; restored" in forced["reason"]
        assert {topic.name for request in lab.drops(3) for topic in request.decode().topics} == {named}
        lab.assert_in_sync(named, order, leader=3)
        assert operator.diagnoses(brokers=[3]) == {3: "uncleanable_partitions"}


def _in_another_directory(lab: CleanerCluster, topic: str, replicas: tuple[int, ...], broker: int) -> str:
    """Create topics until the broker keeps one in another log directory than this topic: it takes the emptiest."""
    taken = lab.segments(topic, broker)[0].parent.parent
    for name in (f"whole-{number}" for number in range(4)):
        lab.create(name, replicas)
        lab.write(name, 1)
        if lab.segments(name, broker)[0].parent.parent != taken:
            return name
    raise AssertionError(f"broker {broker} keeps everything in {taken}")
