# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an election gives up in time, in promises and in records is known before it, although the last leader is dead.

The oracle wrote the records itself, at a steady rate, and knows which of them were acknowledged with acks=all.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Message, Producer

from extensions.awx_parts import job_template
from integration.history.alone import controllers_at, options_of
from lab import Cluster, scenarios
from lab.module_process import run_module
from lab.playbook import RECOVER, run_playbook

_PER_SECOND = 50
_OTHER = "unproven"


def write_steadily(
    cluster: Cluster, topic: str, seconds: float, acks: str, may_end: Callable[[], bool] = lambda: True
) -> dict[int, datetime]:
    """Write records at a steady rate for some time, or until it may end.

    Return the offset and the time of each record that was acknowledged.
    """
    acknowledged = {}

    def note(error: object, message: Message) -> None:
        offset, (_kind, milliseconds) = message.offset(), message.timestamp()
        if error is None and offset is not None:
            acknowledged[offset] = datetime.fromtimestamp(milliseconds / 1000, UTC)

    producer = Producer({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "acks": acks, "log_level": 0})
    begun = time.monotonic()
    for number in itertools.count():
        if number >= round(seconds * _PER_SECOND) and may_end():
            break
        producer.produce(topic, b"x", partition=0, on_delivery=note)
        producer.poll(0)
        time.sleep(max(begun + (number + 1) / _PER_SECOND - time.monotonic(), 0))
    producer.flush(30)
    return acknowledged


def write_until_isr(cluster: Cluster, topic: str, isr: set[int]) -> dict[int, datetime]:
    """Write for three seconds, and until the ISR is this one. Return what was acknowledged by all.

    That takes long on a busy machine, and a pause of the producer would change the rate.
    """
    with ThreadPoolExecutor(1) as pool:
        shrinking = pool.submit(scenarios.wait_isr, cluster, topic, isr, seen_by=1)
        written = write_steadily(cluster, topic, 3, "all", shrinking.done)
        shrinking.result()
    return written


def in_process(cluster: Cluster, topic: str, **more: Any) -> dict[str, Any]:
    return options_of(cluster, topic, engine="process", **more)


def run_unattended(cluster: Cluster, directory: Path) -> dict[str, str]:
    """Run AWX's job template that elects without a person, and return the status of each topic."""
    variables = {
        **job_template("elect what loses nothing")["extra_vars"],
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "kafka_bootstrap_controllers": controllers_at(cluster),
        "unclean_recovery_report_file": str(directory / "report.json"),
    }
    run = run_playbook(RECOVER, variables)
    assert run.returncode == 2, run.output
    report = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    return {each["topic"]: each["status"] for each in report["partitions"]}


def test_balanced_elects_on_a_proof_and_keeps_what_was_acknowledged_by_all(cluster: Cluster, tmp_path: Path) -> None:
    topic = "known"
    cluster.client.create_topic(topic, {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    # Alone, the last leader acknowledged records of this topic with acks=all.
    cluster.client.create_topic(_OTHER, {0: [1, 2, 3]}, {"min.insync.replicas": 1})
    promised = write_steadily(cluster, topic, 8, "all")
    cluster.brokers[2].kill()
    promised |= write_until_isr(cluster, topic, {1, 3})
    cluster.brokers[3].freeze()
    frozen = time.time()
    alone = write_steadily(cluster, topic, 14, "1")
    scenarios.wait_isr(cluster, topic, {1}, seen_by=1)
    cluster.brokers[1].kill()
    killed = time.time()
    cluster.brokers[3].thaw()
    scenarios.wait_offline(cluster, topic, away={1, 2}, seen_by=3)

    refused = run_module("leader_candidate_info", in_process(cluster, topic))
    (waits,) = refused["partitions"]
    assert waits["status"] == "refused", waits
    (row,) = run_module("leader_candidate_info", in_process(cluster, topic, proof="accept"))["partitions"]
    assert (row["status"], row["designated_leader"]) == ("would_recover", 3), row["reason"]
    (loss,) = row["losses"]
    assert (loss["at_most"], loss["acks_all_lost"]) == (None, 0)
    survivor = cluster.client.log_end_offset(topic, 0, 3)
    assert survivor is not None
    assert datetime.fromisoformat(loss["log_ends_at"]) == (promised | alone)[survivor - 1]
    # Broker 3 held everything at most 1.5 times replica.lag.time.max.ms (3 s) and 2 s before it left the ISR. Broker 1
    # led for the session timeout (3 s) and up to a check after its death. A busy controller adds half a minute.
    assert killed - frozen <= loss["lacks_seconds"] <= killed - frozen + 90
    lost = sum(offset >= survivor for offset in alone)
    estimate = loss["estimate"]
    assert estimate["low"] <= estimate["records"] <= estimate["high"], estimate
    assert lost / 2 <= estimate["records"] <= lost * 2, (lost, estimate)
    history = row["history"]
    assert (history["last_leader_id"], history["missing"]) == (1, [])
    assert history["alone_since"] < history["leader_lost_at"]
    assert "acknowledged with acks=all" in row["reason"]
    assert f"broker 1 led alone from {history['alone_since']} until {history['leader_lost_at']}" in row["reason"]

    limited = in_process(cluster, topic, proof="accept", max_estimated_loss=estimate["high"] - 1)
    (above,) = run_module("leader_candidate_info", limited)["partitions"]
    assert above["status"] == "refused"
    assert "limit of the estimate" in above["reason"]
    unknown = in_process(cluster, topic, recovery_strategy="aggressive", max_estimated_loss=10**9)
    without = run_module("leader_candidate_info", unknown | {"bootstrap_controllers": ["127.0.0.1:1"]})
    (blind,) = without["partitions"]
    assert blind["status"] == "refused"
    assert "neither be bounded nor estimated" in blind["reason"]
    assert "127.0.0.1:1: " in " ".join(blind["history"]["missing"])
    assert "the last leaders took alone is unknown, or known in part: no controller" in str(without["warnings"])

    # What runs unattended elects this partition, and leaves the other one to a person.
    assert run_unattended(cluster, tmp_path) == {topic: "recovered", _OTHER: "refused"}
    assert cluster.client.leader(topic) == 3
    assert cluster.client.leader(_OTHER) is None
    assert survivor > max(promised)
