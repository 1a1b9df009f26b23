# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Our own topics on clusters whose defaults would make records unreadable, refused or deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.configs import write_configs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import parse_addresses, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import OWN_TOPIC_CONFIG
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import TOPIC_RESOURCE
from lab import Cluster, settings
from lab.changes import a_change, cluster_journal
from lab.waiting import wait_until

HOSTILE = {
    # A record of a bastion whose clock is wrong, in either direction, is refused.
    "log.message.timestamp.before.max.ms": "0",
    "log.message.timestamp.after.max.ms": "0",
    "log.cleanup.policy": "compact",
    "log.retention.ms": "1",
    "log.retention.bytes": "1",
    "log.segment.bytes": "1048576",
    "log.preallocate": "true",
    "message.max.bytes": "100",
    "min.insync.replicas": "3",
}


@pytest.fixture(params=["snappy", *(pytest.param(each, marks=pytest.mark.wide) for each in ("lz4", "zstd", "gzip"))])
def hostile(request: pytest.FixtureRequest, kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, properties={**HOSTILE, "compression.type": request.param}) as started:
        yield started


def config_of(cluster: Cluster, kind: ResourceType, name: str) -> dict[str, str]:
    """Read configs with another client."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    resource = ConfigResource(kind, name)
    return {each.name: each.value for each in admin.describe_configs([resource])[resource].result(30).values()}


def own_config_of(cluster: Cluster) -> dict[str, str]:
    """Return what the run topic has of the config that we give to our topics."""
    found = config_of(cluster, ResourceType.TOPIC, RUN_TOPIC)
    return {name: found[name] for name in OWN_TOPIC_CONFIG}


def run_once(cluster: Cluster) -> None:
    """Write a change in one run, read it in the next one, and end it there."""
    with cluster_journal(cluster.bootstrap()) as lock:
        with lock.open() as journal:
            journal.begin([a_change()])
        assert lock.read().changes == (a_change(),)
        with lock.open() as journal:
            journal.end([a_change()], "test")
        assert lock.read().changes == ()


def test_a_run_needs_nothing_of_the_cluster_s_defaults_and_repairs_earlier_topics(hostile: Cluster) -> None:
    run_once(hostile)
    at = hostile.bootstrap()
    with cluster_journal(at) as lock:
        with lock.open() as journal:
            journal.begin([a_change()])
            # An earlier version set neither codec nor retention.
            codec = config_of(hostile, ResourceType.BROKER, "1")["compression.type"]
            with Wire(settings_from({"bootstrap_servers": at})) as wire:
                edits = {name: None for name in OWN_TOPIC_CONFIG if name.startswith(("compression", "retention"))}
                write_configs(wire, parse_addresses(at)[0], TOPIC_RESOURCE, RUN_TOPIC, edits)
            wait_until(
                lambda: config_of(hostile, ResourceType.TOPIC, RUN_TOPIC)["compression.type"] == codec, 30, what=codec
            )
            time.sleep(0.5)
            journal.begin([a_change(1)])
        assert {*lock.read().changes} == {a_change(), a_change(1)}
        with lock.open() as journal:
            # The broker that this client asks may apply it a moment later.
            wait_until(lambda: own_config_of(hostile) == {**OWN_TOPIC_CONFIG}, what="the run topic's config")
            journal.end([a_change(), a_change(1)], "test")
        assert lock.read().changes == ()
