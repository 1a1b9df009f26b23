# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tail of __transaction_state is lost: the transactions that hang are aborted, and those of live producers are not.

What read_committed consumers get is read by confluent-kafka.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.protocol.api_key import ApiKey

from integration.groups.killed import run_killed_before_each_write
from integration.groups.lost_tails import ONLINE, STATE, lose, read_committed, replicas_of, writer
from integration.on_call import OnCall
from integration.strategies.outages import wait_isr
from lab import Cluster
from lab.faults import SwallowRequest
from lab.module_process import run_module
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_LIMIT_S = 30
"""transaction.max.timeout.ms: a coordinator that has a transaction ends it by then."""
_LIMIT = {"transaction.max.timeout.ms": _LIMIT_S * 1000}
_OTHER = "first"


@dataclass(frozen=True)
class Forgotten:
    """A cluster with a transaction that its coordinator has forgotten, in a partition that never went offline."""

    cluster: Cluster
    producer: Producer
    began_at: float
    """Monotonic seconds."""

    def wait_until_it_hangs(self) -> None:
        time.sleep(max(0.0, self.began_at + _LIMIT_S + 1 - time.monotonic()))

    def variables(self, **given: object) -> dict[str, object]:
        """Return the variables of the playbook, as a shell passes them."""
        variables = {f"group_recovery_{name}": value for name, value in given.items()}
        return {"kafka_bootstrap_servers": self.cluster.bootstrap(), **variables}


@pytest.fixture
def forgotten(kafka_version: str, tmp_path: Path) -> Iterator[Forgotten]:
    properties = {"transaction.state.log.num.partitions": 1, "broker.session.timeout.ms": 10_000, **_LIMIT}
    with Cluster(kafka_version, brokers=4, properties=properties, proxied=True) as cluster:
        writer(cluster, "known", _LIMIT_S).init_transactions(60)
        dead, followers, witness = replicas_of(cluster, STATE)
        cluster.client.create_topic(ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
        cluster.client.create_topic(_OTHER, {0: [witness]}, {"min.insync.replicas": 1})
        wait_isr(cluster, [STATE], {dead, *followers}, seen_by=dead)
        for each in followers:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [STATE], {dead}, seen_by=dead)
        producer = writer(cluster, "forgotten", _LIMIT_S)
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(ONLINE, "hangs", partition=0)
        producer.flush(60)
        began_at = time.monotonic()
        cluster.client.produce(ONLINE, 0, 3)
        lose(OnCall(cluster, tmp_path), STATE, dead, followers, witness)
        yield Forgotten(cluster, producer, began_at)


@pytest.mark.wide
def test_a_transaction_that_its_coordinator_forgot_is_aborted(forgotten: Forgotten, tmp_path: Path) -> None:
    cluster, plan = forgotten.cluster, tmp_path / "plan.json"
    live = writer(cluster, "live", _LIMIT_S)
    live.init_transactions(60)
    forgotten.wait_until_it_hangs()
    cluster.proxy.clear()
    look = run_playbook(_PLAYBOOK, forgotten.variables(manual_output_file=str(plan)))
    assert look.returncode == 2, look.output
    assert "1 transaction that no coordinator has is open." in look.words
    assert "-e group_recovery_abort_hanging_transactions=true" in look.words

    go = forgotten.variables(plan_file=str(plan), automated_recovery="true", undo_file=str(tmp_path / "before"))
    unasked = run_playbook(_PLAYBOOK, go)
    assert unasked.returncode == 2, unasked.output
    assert "without the operator's word" in unasked.words
    go["group_recovery_abort_hanging_transactions"] = "true"
    checked = run_playbook(_PLAYBOOK, go, "--check", "--diff")
    assert checked.returncode == 0, checked.output
    assert cluster.proxy.write_requests() == [], "neither a look nor check mode sends a write"
    assert read_committed(cluster) == [], "its consumers stand still"

    live.begin_transaction()
    live.produce(_OTHER, "in progress", partition=0)
    live.flush(60)
    del go["group_recovery_plan_file"]
    run = run_playbook(_PLAYBOOK, go)
    live.commit_transaction(60)
    assert run.returncode == 0, run.output
    assert "1 hanging transaction aborted." in run.words
    assert len(read_committed(cluster)) == 3, "its consumers go on, without the aborted record"
    assert (tmp_path / "before.transactions").read_text("utf-8").startswith(f"{ONLINE},0,")
    assert read_committed(cluster, _OTHER) == ["in progress"], "a live producer's transaction is untouched"

    cluster.proxy.clear()
    everything = {"automated_recovery": "true", "abort_hanging_transactions": "true"}
    again = run_playbook(_PLAYBOOK, forgotten.variables(**everything))
    assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
    assert cluster.proxy.write_requests() == []


@pytest.mark.wide
def test_a_transaction_of_a_recent_producer_is_left_open(forgotten: Forgotten) -> None:
    cluster, now = forgotten.cluster, int(time.time() * 1000)
    # Its producer lives, and has just written: with a clock that is ahead, so that the test need not hurry.
    forgotten.producer.produce(ONLINE, "still here", partition=0, timestamp=now + 600_000)
    forgotten.producer.flush(60)
    run = run_playbook(_PLAYBOOK, forgotten.variables(automated_recovery="true", abort_hanging_transactions="true"))
    assert run.returncode == 2, run.output
    assert "its producer may still use it: look again in" in run.words
    assert read_committed(cluster) == []


@pytest.mark.wide
def test_nothing_is_aborted_while_a_coordinator_does_not_answer(forgotten: Forgotten, tmp_path: Path) -> None:
    cluster = forgotten.cluster
    forgotten.wait_until_it_hangs()
    coordinator = cluster.client.describe(STATE)[0].leader
    options = {**_options(cluster, tmp_path), "request_timeout_ms": 3000}
    with cluster.proxy.inject(SwallowRequest(), broker=coordinator, api_key=ApiKey.ListTransactions):
        done = run_module("group_recovery", options)
    assert [each["status"] for each in done["transactions"]] == ["unknown"], done
    assert f"broker {coordinator}" in done["transactions"][0]["reason"]
    assert read_committed(cluster) == []


@pytest.mark.wide
def test_a_run_that_is_killed_before_any_write_is_repeated(forgotten: Forgotten, tmp_path: Path) -> None:
    forgotten.wait_until_it_hangs()
    deaths, _last = run_killed_before_each_write(forgotten.cluster, _options(forgotten.cluster, tmp_path))
    assert "WriteTxnMarkers" in deaths
    assert len(read_committed(forgotten.cluster)) == 3


def _options(cluster: Cluster, directory: Path) -> dict[str, object]:
    return {
        "bootstrap_servers": [cluster.bootstrap()],
        "apply": True,
        "abort_hanging_transactions": True,
        "undo_file": str(directory / "before"),
    }
