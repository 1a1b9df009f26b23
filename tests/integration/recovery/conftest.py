# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A proxied cluster that every test breaks in its own way and finds whole again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from lab import Cluster, settings, wait_until
from lab.recovery import Recovery


@pytest.fixture(scope="module")
def shared_cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, proxied=True) as started:
        yield started


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """The module's cluster, whole: every broker runs, no fault is set, and no topic of an earlier test is left."""
    _heal(shared_cluster)
    yield shared_cluster
    shared_cluster.proxy.clear()


@pytest.fixture
def recovery(cluster: Cluster, tmp_path: Path) -> Recovery:
    return Recovery(cluster, tmp_path)


def _heal(cluster: Cluster) -> None:
    for broker in cluster.brokers.values():
        if broker.frozen:
            broker.thaw()
        if not broker.running:
            broker.start()
    bootstrap = cluster.bootstrap(settings.INTERNAL)
    if left := _topics(bootstrap):
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        for deleted in admin.delete_topics(left).values():
            deleted.result()
    every_broker = [f"{each.host}:{each.ports[settings.INTERNAL]}" for each in cluster.brokers.values()]
    wait_until(lambda: not any(map(_topics, every_broker)), 60, what="every broker has forgotten earlier tests' topics")


def _topics(bootstrap: str) -> list[str]:
    """The topics that a broker knows."""
    return list(AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=30).topics)
