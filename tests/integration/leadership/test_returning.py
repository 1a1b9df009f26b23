# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that is not back when its leaders are restored leads again by the same command, as it is typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Cluster, settings, wait_until
from lab.leadership import leaders, orders, wait_in_sync
from lab.playbook import PlaybookRun, typed

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]
_ORIGINAL = {0: (1, 2, 3), 1: (1, 3, 2), 2: (2, 1, 3)}
_PREFERRED = {0: 1, 1: 1, 2: 2}


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    """Return a cluster whose broker 1 is drained and down."""
    with Cluster(kafka_version, proxied=True) as started:
        started.client.create_topic("orders", _ORIGINAL)
        yield started


def play(cluster: Cluster, directory: Path, playbook: str, *given: str) -> PlaybookRun:
    given = (f"kafka_bootstrap_servers={cluster.bootstrap()}", *given)
    words = (word for each in given for word in ("-e", each))
    return typed(directory, "ansible-playbook", f"kafkaops.recovery.{playbook}", *words)


def drain_and_kill(cluster: Cluster, directory: Path) -> None:
    drained = play(cluster, directory, "drain_leadership", "leadership_drain_brokers=1")
    assert drained.returncode == 0, drained.output
    cluster.brokers[1].kill()
    wait_until(
        lambda: all(1 not in each.isr for each in cluster.client.describe("orders").values()), what="1 leaves the ISRs"
    )


def check_all_back(cluster: Cluster, directory: Path) -> None:
    """Require every order and leader, and that one more run finds nothing to do."""
    assert orders(cluster, "orders") == _ORIGINAL
    assert leaders(cluster, "orders") == _PREFERRED
    cluster.proxy.clear_once_idle()
    again = play(cluster, directory, "restore_leadership")
    assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
    assert cluster.proxy.write_requests() == []


def test_leaders_return_after_the_broker_does(cluster: Cluster, tmp_path: Path) -> None:
    drain_and_kill(cluster, tmp_path)
    early = play(cluster, tmp_path, "restore_leadership")
    assert early.returncode == 2, early.output
    assert "does not say where its log begins" in early.words
    assert "run again when it runs and has caught up" in early.words
    assert orders(cluster, "orders")[0] == (2, 3, 1), "Kafka would let it lead by itself, with any log"
    cluster.brokers[1].start()
    wait_in_sync(cluster, "orders")
    # A scheduled drain of no broker would do the same.
    restored = play(cluster, tmp_path, "restore_leadership")
    assert restored.returncode == 0, restored.output
    check_all_back(cluster, tmp_path)


def test_a_broker_that_is_not_registered_is_named_before_orders_are_refused(
    cluster: Cluster, tmp_path: Path, kafka_version: str
) -> None:
    drain_and_kill(cluster, tmp_path)
    servers = ",".join(settings.address(each.host, each.ports[settings.INTERNAL]) for each in cluster.live_brokers)
    tool = ("org.apache.kafka.tools.ClusterTool", "unregister", "--bootstrap-server", servers, "--id", "1")
    unregistered = cluster.client.run_tool(*tool)
    assert unregistered.returncode == 0, unregistered.stderr

    failed = play(cluster, tmp_path, "restore_leadership")
    assert failed.returncode == 2, failed.output
    assert "broker 1 in its replica list is not registered" in failed.words
    assert "redundancy_lost_brokers=1" in failed.words
    # Before Kafka 4.0, a broker that is not listed may be fenced, so the controller is asked.
    assert ("3 failed" if kafka_version.startswith("3.") else "3 left alone") in failed.words

    cluster.brokers[1].start()
    wait_in_sync(cluster, "orders")
    restored = play(cluster, tmp_path, "restore_leadership")
    assert restored.returncode == 0, restored.output
    check_all_back(cluster, tmp_path)
