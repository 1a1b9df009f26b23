# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restore the initial state of a cluster, so that the next test can use it."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient

from lab import settings, wire
from lab.cluster import Cluster
from lab.node import Broker, Node, each
from lab.waiting import wait_until

_TIMEOUT_S = 60.0
_CLUSTER_DEFAULT = ""


def heal(cluster: Cluster) -> None:
    """Undo the changes of a test; returns when every broker runs, is unfenced, and has no topics and no configs.

    Faults of the proxy, frozen and dead nodes, changed properties and JVM arguments, all topics (internal ones too),
    running reassignments, and dynamic broker configs. A test that changes ACLs, quotas, SCRAM users, features or voters
    takes this back itself, or uses a cluster of its own.

    Raises NodeError, TimeoutError, OSError and KafkaException: then start another cluster.
    """
    cluster.proxy.clear()
    _repair(cluster.nodes)
    brokers = [*cluster.brokers.values()]
    for broker in brokers:
        for resource in (_CLUSTER_DEFAULT, str(broker.node_id)):
            wire.delete_broker_configs(broker.host, broker.ports[settings.INTERNAL], resource)
    _delete_topics(cluster, brokers)
    wait_until(
        lambda: not any(_has_configs(broker) for broker in brokers), _TIMEOUT_S, what="no broker has dynamic configs"
    )
    cluster.proxy.clear()


def _repair(nodes: list[Node]) -> None:
    for node in nodes:
        if node.frozen and node.running:
            node.thaw()
        if not node.runs_as_created:
            node.kill()
            node.reset()
    each(lambda node: node.start(wait=False), [node for node in nodes if not node.running])
    each(Node.wait_ready, nodes)


def _delete_topics(cluster: Cluster, brokers: list[Broker]) -> None:
    """Delete all topics. Lists are read repeatedly, because a topic may be missing in a broker's first list."""

    def is_empty() -> bool:
        left = {topic for broker in brokers for topic in _topics(broker)}
        if left:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
            deleting = admin.delete_topics([*left], operation_timeout=_TIMEOUT_S)
            for deleted in deleting.values():
                deleted.exception(_TIMEOUT_S)  # the topic may have been deleted since the list was read
        return not left

    wait_until(is_empty, _TIMEOUT_S, what="every broker has forgotten all topics")


def _topics(broker: Broker) -> list[str]:
    return wire.topics(broker.host, broker.ports[settings.INTERNAL])


def _has_configs(broker: Broker) -> bool:
    return any(
        wire.broker_configs(broker.host, broker.ports[settings.INTERNAL], resource)
        for resource in (_CLUSTER_DEFAULT, str(broker.node_id))
    )
